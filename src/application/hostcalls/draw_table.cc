#include "application/hostcalls/draw_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace quire::hostcalls {

Result<GuestHandle> DrawTable::add_rule(std::uint8_t model, SharedRule rule) {
  const GuestHandle handle = TRY(handles_.add(HandleKind::Rule, {.model = model}));
  rules_[number(handle)] = std::move(rule);
  return handle;
}

Result<void> DrawTable::check_grammar_room() const {
  return handles_.check_room(HandleKind::Grammar, 1 + handles_.count(HandleKind::ReservedGrammar));
}

Result<GuestHandle> DrawTable::reserve_grammar(std::uint8_t model) {
  const GuestHandle handle = TRY(handles_.add(HandleKind::ReservedGrammar, {.model = model}));
  grammars_[number(handle)] = {};
  return handle;
}

void DrawTable::set_grammar(GuestHandle handle, SharedGrammar grammar, std::uint64_t bytes) {
  grammars_.at(number(handle)) = {.grammar = std::move(grammar), .bytes = bytes};
  grammar_bytes_ += bytes;
}

void DrawTable::forget(GuestHandle handle) {
  rules_.erase(number(handle));
  if (const auto found = grammars_.find(number(handle)); found != grammars_.end()) {
    grammar_bytes_ -= found->second.bytes;
    grammars_.erase(found);
  }
  handles_.remove(handle);
}

Result<GuestHandle> DrawTable::add_matcher(std::uint8_t model) {
  const GuestHandle handle = TRY(handles_.add(HandleKind::Matcher, {.model = model}));
  matchers_[number(handle)] = {};
  return handle;
}

Result<HandleTable::Entry> DrawTable::find_matcher(GuestHandle matcher) const {
  const HandleTable::Entry entry = TRY(handles_.find(matcher, HandleKind::Matcher));
  const GuestHandle user = matchers_.at(number(matcher)).user;
  if (user == GuestHandle{}) return entry;
  const std::string of = std::to_string(static_cast<std::int32_t>(user));
  const bool is_generation = handles_.find(user, HandleKind::Generation).ok();
  return Error(ErrorCode::Unavailable,
               "matcher " + std::to_string(static_cast<std::int32_t>(matcher)) + " is used by " +
                   (is_generation ? "generation " + of + " until it ends; stop_generation ends it"
                                  : "a draw until its future " + of + " is ready or dropped"));
}

void DrawTable::use(const std::vector<control::ObjectId>& matchers, GuestHandle user) {
  for (const control::ObjectId each : matchers) {
    Matcher& matcher = matchers_.at(static_cast<std::uint32_t>(each));
    QUIRE_CHECK(matcher.user == GuestHandle{}, "find_matcher() looked at each");
    matcher.user = user;
  }
}

std::vector<GuestHandle> DrawTable::release(const std::vector<control::ObjectId>& matchers,
                                            GuestHandle user) {
  std::vector<GuestHandle> dropped;
  for (const control::ObjectId each : matchers) {
    const auto found = matchers_.find(static_cast<std::uint32_t>(each));
    QUIRE_CHECK(found != matchers_.end() && found->second.user == user, "DT2");
    found->second.user = GuestHandle{};
    if (!found->second.is_dropped) continue;
    matchers_.erase(found);
    dropped.push_back(GuestHandle{static_cast<std::int32_t>(each)});
  }
  return dropped;
}

bool DrawTable::drop_matcher(GuestHandle matcher) {
  const auto found = matchers_.find(number(matcher));
  QUIRE_CHECK(found != matchers_.end(), "found by its handle");
  handles_.remove(matcher);
  if (found->second.user != GuestHandle{}) {
    found->second.is_dropped = true;
    return false;
  }
  matchers_.erase(found);
  return true;
}

bool DrawTable::is_used(const std::vector<control::ObjectId>& matchers, GuestHandle user) const {
  return std::all_of(matchers.begin(), matchers.end(), [&](control::ObjectId each) {
    const auto found = matchers_.find(static_cast<std::uint32_t>(each));
    return found != matchers_.end() && found->second.user == user;
  });
}

void DrawTable::verify() const {
  for (const auto& [handle, rule] : rules_) {
    const GuestHandle each{static_cast<std::int32_t>(handle)};
    QUIRE_CHECK(rule != nullptr && handles_.find(each, HandleKind::Rule).ok(), "DT1");
  }
  QUIRE_CHECK(rules_.size() == handles_.count(HandleKind::Rule), "DT1");
  std::uint64_t bytes = 0;
  for (const auto& [handle, grammar] : grammars_) {
    bytes += grammar.bytes;
    const GuestHandle each{static_cast<std::int32_t>(handle)};
    const bool is_reserved = handles_.find(each, HandleKind::ReservedGrammar).ok();
    const bool is_known = handles_.find(each, HandleKind::Grammar).ok();
    QUIRE_CHECK(is_reserved || (is_known && grammar.grammar != nullptr), "DT1");
  }
  QUIRE_CHECK(grammars_.size() ==
                  handles_.count(HandleKind::Grammar) + handles_.count(HandleKind::ReservedGrammar),
              "DT1");
  QUIRE_CHECK(bytes == grammar_bytes_, "DT3");
  std::size_t live_count = 0;
  for (const auto& [handle, matcher] : matchers_) {
    const GuestHandle each{static_cast<std::int32_t>(handle)};
    live_count += matcher.is_dropped ? 0 : 1;
    QUIRE_CHECK(matcher.is_dropped != handles_.find(each, HandleKind::Matcher).ok(), "DT2");
    QUIRE_CHECK(!matcher.is_dropped || matcher.user != GuestHandle{}, "DT2");
    QUIRE_CHECK(matcher.user == GuestHandle{} ||
                    handles_.find(matcher.user, HandleKind::Future).ok() ||
                    handles_.find(matcher.user, HandleKind::Generation).ok(),
                "DT4");
  }
  QUIRE_CHECK(live_count == handles_.count(HandleKind::Matcher), "DT2");
}

}  // namespace quire::hostcalls
