// A WhyReport in words.
#include <algorithm>

#include "base/utf8.h"
#include "main/verbs/pages/why_report.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using control::EvictionHint;
using control::MissReason;
using control::PageField;

std::string count_text(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string token_text(std::uint32_t token, const std::string& text) {
  return std::to_string(token) + " \"" + printable(text) + "\"";
}

std::string evicted_text(const control::PageMiss& why) {
  const std::string when =
      "evicted " + decimal(static_cast<double>(why.gone_ns) * 1e-9, 1) + " s before: pages ran out";
  switch (why.hint) {
    case EvictionHint::Done:
      return when + ", and its program had said it was done with it";
    case EvictionHint::WillResume:
    case EvictionHint::SharedPrefix:
      return when + ", though its program had said it would be wanted again";
    case EvictionHint::Keep:
      return when + ", though its program had said to keep it";
    case EvictionHint::None:
      break;
  }
  return when + ", and no program had said it would be wanted again";
}

std::string differs_text(const WhyMiss& miss) {
  const control::PageMiss& why = miss.why;
  const std::string slot = " at slot " + std::to_string(why.slot);
  switch (why.field) {
    case PageField::Tokens:
      return "the page most like it differs" + slot + ": token " +
             token_text(why.here, miss.here_text) + " here, " +
             token_text(why.there, miss.there_text) + " there";
    case PageField::Positions:
      return "a page has its tokens at other positions" + slot + ": " + std::to_string(why.here) +
             " here, " + std::to_string(why.there) + " there";
    case PageField::View:
      return "a page has its tokens, but they saw other slots: a range was dropped or masked";
    case PageField::Media:
      return "a page has its tokens, but other media";
    case PageField::Adapters:
      return "a page has its tokens, but under other adapters";
    case PageField::None:
      break;
  }
  return "it differs";
}

std::string reason_text(const WhyMiss& miss) {
  switch (miss.why.reason) {
    case MissReason::NeverSeen:
      return miss.page == 0 ? "never seen: no page begins a context yet"
                            : "never seen: nothing is known after the page before it";
    case MissReason::Differs:
      return differs_text(miss);
    case MissReason::Evicted:
      return evicted_text(miss.why);
    case MissReason::NotInPool:
      return "known, but not in the pool: dropped, or on disk only";
    case MissReason::OtherDomain:
      return "only another sharing domain has it";
    case MissReason::Opaque:
      return "opaque: not all that its bits depend on can be named";
    case MissReason::InFlight:
      return "another was writing it, and this context held a part of it";
    case MissReason::Off:
      return "nothing is shared in this engine (--kv basic)";
    case MissReason::NoState:
      return "no state: its page is there, but the nearest state of recurrent layers stands before";
  }
  return "";
}

std::string totals_text(const control::InstanceStatistics& statistics) {
  const double share = statistics.asked_token_count == 0
                           ? 0.0
                           : 100.0 * static_cast<double>(statistics.found_token_count) /
                                 static_cast<double>(statistics.asked_token_count);
  std::string text = count_text(statistics.asked_token_count, "token") + " asked, " +
                     std::to_string(statistics.found_token_count) + " found (" + decimal(share, 0) +
                     " % saved)";
  if (statistics.waited_token_count > 0) {
    text += ", " + std::to_string(statistics.waited_token_count) +
            " of them while another computed them";
  }
  text += ", " + std::to_string(statistics.computed_token_count) + " computed";
  if (statistics.opened_token_count > 0) {
    text += "; " + std::to_string(statistics.opened_token_count) + " opened from a snapshot";
  }
  return text;
}

std::string instance_text(const WhyInstance& instance, bool knows_all) {
  std::string text = "instance " + std::to_string(instance.number) + ": " +
                     totals_text(instance.statistics) + "\n";
  const bool has_several = std::any_of(instance.misses.begin(), instance.misses.end(),
                                       [](const WhyMiss& miss) { return miss.context > 0; });
  std::uint64_t explained = 0;
  for (const WhyMiss& miss : instance.misses) {
    text += "  ";
    if (has_several) text += "context " + std::to_string(miss.context) + ", ";
    text += "page " + std::to_string(miss.page) + ", " + count_text(miss.token_count, "token") +
            " from " + std::to_string(miss.position) + " on: " + reason_text(miss) + "\n";
    explained += miss.token_count;
  }
  const std::uint64_t computed = instance.statistics.computed_token_count;
  if (knows_all && computed > explained) {
    text += "  " + count_text(computed - explained, "token") +
            ": of pages not yet full, which are not looked up, or once more for the logits\n";
  }
  return text;
}

}  // namespace

std::string why_text(const WhyReport& report) {
  std::string text;
  control::InstanceStatistics sum;
  for (const WhyInstance& each : report.instances) {
    sum.asked_token_count += each.statistics.asked_token_count;
    sum.found_token_count += each.statistics.found_token_count;
    sum.waited_token_count += each.statistics.waited_token_count;
    sum.computed_token_count += each.statistics.computed_token_count;
    sum.opened_token_count += each.statistics.opened_token_count;
    text += instance_text(each, report.forgotten_count == 0);
  }
  if (report.instances.size() > 1) {
    text += "all " + std::to_string(report.instances.size()) + ": " + totals_text(sum) + "\n";
  }
  if (report.forgotten_count > 0) {
    text += std::to_string(report.forgotten_count) + " older misses are forgotten\n";
  }
  return text;
}

}  // namespace quire
