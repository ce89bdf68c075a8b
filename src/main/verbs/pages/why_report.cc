#include "main/verbs/pages/why_report.h"

#include <array>
#include <utility>

namespace quire {
namespace {

using control::EvictionHint;
using control::MissReason;
using control::PageField;

// In the order of the enums.
constexpr std::array<const char*, 9> kReasons = {"never-seen",  "differs",      "evicted",
                                                 "not-in-pool", "other-domain", "opaque",
                                                 "in-flight",   "off",          "no-state"};
constexpr std::array<const char*, 6> kFields = {"none", "tokens", "positions",
                                                "view", "media",  "adapters"};
constexpr std::array<const char*, 5> kHints = {"none", "done", "will-resume", "shared-prefix",
                                               "keep"};
static_assert(static_cast<std::size_t>(MissReason::NoState) + 1 == kReasons.size());
static_assert(static_cast<std::size_t>(PageField::Adapters) + 1 == kFields.size());
static_assert(static_cast<std::size_t>(EvictionHint::Keep) + 1 == kHints.size());

nlohmann::json miss_json(const WhyMiss& miss) {
  nlohmann::json json = {{"context", miss.context},
                         {"page", miss.page},
                         {"position", miss.position},
                         {"tokens", miss.token_count},
                         {"reason", kReasons.at(static_cast<std::size_t>(miss.why.reason))}};
  if (miss.why.reason == MissReason::Evicted) {
    json["gone_ns"] = miss.why.gone_ns;
    json["hint"] = kHints.at(static_cast<std::size_t>(miss.why.hint));
  }
  if (miss.why.reason != MissReason::Differs) return json;
  json["field"] = kFields.at(static_cast<std::size_t>(miss.why.field));
  json["slot"] = miss.why.slot;
  json["here"] = miss.why.here;
  json["there"] = miss.why.there;
  json["here_text"] = miss.here_text;
  json["there_text"] = miss.there_text;
  return json;
}

// Reads the fields of objects; remembers the first that is not as it must be.
class Reader {
 public:
  std::uint64_t number(const nlohmann::json& object, const char* key) {
    const nlohmann::json* field = find(object, key);
    if (field != nullptr && field->is_number_unsigned()) return field->get<std::uint64_t>();
    return wrong(key), 0;
  }
  std::uint32_t small(const nlohmann::json& object, const char* key) {
    const std::uint64_t value = number(object, key);
    if (value > 0xffffffffu) wrong(key);
    return static_cast<std::uint32_t>(value);
  }
  std::string text(const nlohmann::json& object, const char* key) {
    const nlohmann::json* field = find(object, key);
    if (field != nullptr && field->is_string()) return field->get<std::string>();
    return wrong(key), "";
  }
  template <typename Enum, std::size_t N>
  Enum choice(const nlohmann::json& object, const char* key,
              const std::array<const char*, N>& names) {
    const std::string name = text(object, key);
    for (std::size_t index = 0; index < N; ++index) {
      if (name == names[index]) return static_cast<Enum>(index);
    }
    return wrong(key), Enum{};
  }
  const nlohmann::json& list(const nlohmann::json& object, const char* key) {
    static const nlohmann::json kEmpty = nlohmann::json::array();
    const nlohmann::json* field = find(object, key);
    if (field != nullptr && field->is_array()) return *field;
    return wrong(key), kEmpty;
  }
  const std::string& first_wrong() const { return first_wrong_; }

 private:
  static const nlohmann::json* find(const nlohmann::json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  void wrong(const char* key) {
    if (first_wrong_.empty()) first_wrong_ = key;
  }
  std::string first_wrong_;
};

WhyMiss read_miss(Reader& reader, const nlohmann::json& json) {
  WhyMiss miss{.context = reader.small(json, "context"),
               .page = reader.small(json, "page"),
               .position = reader.small(json, "position"),
               .token_count = reader.small(json, "tokens"),
               .why = {},
               .here_text = {},
               .there_text = {}};
  miss.why.reason = reader.choice<MissReason>(json, "reason", kReasons);
  if (miss.why.reason == MissReason::Evicted) {
    miss.why.gone_ns = reader.number(json, "gone_ns");
    miss.why.hint = reader.choice<EvictionHint>(json, "hint", kHints);
  }
  if (miss.why.reason != MissReason::Differs) return miss;
  miss.why.field = reader.choice<PageField>(json, "field", kFields);
  miss.why.slot = reader.small(json, "slot");
  miss.why.here = reader.small(json, "here");
  miss.why.there = reader.small(json, "there");
  miss.here_text = reader.text(json, "here_text");
  miss.there_text = reader.text(json, "there_text");
  return miss;
}

}  // namespace

nlohmann::json why_json(const WhyReport& report) {
  nlohmann::json instances = nlohmann::json::array();
  for (const WhyInstance& each : report.instances) {
    nlohmann::json misses = nlohmann::json::array();
    for (const WhyMiss& miss : each.misses) misses.push_back(miss_json(miss));
    instances.push_back({{"instance", each.number},
                         {"asked_tokens", each.statistics.asked_token_count},
                         {"found_tokens", each.statistics.found_token_count},
                         {"waited_tokens", each.statistics.waited_token_count},
                         {"computed_tokens", each.statistics.computed_token_count},
                         {"opened_tokens", each.statistics.opened_token_count},
                         {"misses", std::move(misses)}});
  }
  return {{"page_size", report.page_size},
          {"forgotten_misses", report.forgotten_count},
          {"instances", std::move(instances)}};
}

Result<WhyReport> read_why_report(const nlohmann::json& json) {
  Reader reader;
  WhyReport report{.page_size = reader.small(json, "page_size"),
                   .forgotten_count = reader.number(json, "forgotten_misses"),
                   .instances = {}};
  for (const nlohmann::json& each : reader.list(json, "instances")) {
    WhyInstance instance{.number = reader.number(each, "instance"), .statistics = {}, .misses = {}};
    instance.statistics.asked_token_count = reader.number(each, "asked_tokens");
    instance.statistics.found_token_count = reader.number(each, "found_tokens");
    instance.statistics.waited_token_count = reader.number(each, "waited_tokens");
    instance.statistics.computed_token_count = reader.number(each, "computed_tokens");
    if (each.contains("opened_tokens")) {  // Earlier reports do not have it.
      instance.statistics.opened_token_count = reader.number(each, "opened_tokens");
    }
    for (const nlohmann::json& miss : reader.list(each, "misses")) {
      instance.misses.push_back(read_miss(reader, miss));
    }
    report.instances.push_back(std::move(instance));
  }
  if (!reader.first_wrong().empty()) {
    return Error(ErrorCode::Corrupted,
                 "its field \"" + reader.first_wrong() + "\" is missing or of another kind");
  }
  return report;
}

}  // namespace quire
