#pragma once
// The endpoints' use of the server's cache of prompts: how long it keeps a conversation, and why
// tokens were not found in it. Changing lines of the system prompt, which would keep the cache from
// finding a conversation, are moved.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "../prompt_repair/line_repair.h"
#include "answer_drafts.h"
#include "live_options.h"
#include "members.h"

namespace endpoints {

// The options of each program for conversations.
struct ConversationOptions {
  bool repairs_prompts = false;
  LiveOptions live = {};
  DraftOptions drafts;

  void read(OptionReader& in) {
    live.read(in);
    in.flag(
        "prompt-repair", repairs_prompts,
        "Move lines of the system prompt of which a number, time, id or path changes to its end");
    drafts.read(in);
  }
};

// The page store keeps pages no longer than this, whatever a request asks for.
inline constexpr std::chrono::seconds kKeptMax = std::chrono::hours(1);

// ---- why tokens were not found ------------------------------------------------------------------

inline const char* reason_name(MissReason reason) {
  switch (reason) {
    case MissReason::NeverSeen:
      return "never-seen";
    case MissReason::Differs:
      return "differs";
    case MissReason::Evicted:
      return "evicted";
    case MissReason::NotInPool:
      return "not-in-pool";
    case MissReason::Opaque:
      return "opaque";
    case MissReason::InFlight:
      return "in-flight";
    case MissReason::Off:
      return "off";
    case MissReason::NoState:
      return "no-state";
  }
  return "unknown";  // Of a later version of the server.
}

inline Task<std::string> miss_json(Model model, Miss miss) {
  JsonWriter json;
  json.begin_object().key("position").number(miss.position);
  json.key("tokens").number(miss.token_count).key("reason").text(reason_name(miss.reason));
  if (miss.reason == MissReason::Evicted) json.key("gone_ms").number(miss.gone_ms);
  if (miss.reason == MissReason::Differs && miss.field == MissField::Token) {
    const std::uint32_t page_size = model.info().page_size;
    const std::vector<std::uint32_t> here(1, miss.here);
    const std::vector<std::uint32_t> there(1, miss.there);
    json.key("differs_at").number(miss.position - miss.position % page_size + miss.slot);
    json.key("wanted").text(co_await model.detokenize(here, true));
    json.key("cached").text(co_await model.detokenize(there, true));
  }
  co_return json.end_object().str();
}

// The misses of this program up to now, as a JSON array; empty if the server does not explain them.
inline Task<std::string> explained_misses(Model model) {
  const Result<std::vector<Miss>> misses = runtime::misses();
  if (!misses.ok() && misses.error().code == ErrorCode::NotSupported) co_return std::string();
  JsonWriter json;
  json.begin_array();
  for (const Miss& each : co_await misses) json.raw(co_await miss_json(model, each));
  co_return json.end_array().str();
}

// Members of a usage that no protocol has: they are there if the operator asked for them.
inline void write_cache_members(JsonWriter& json, const Usage& usage) {
  if (!usage.misses.empty()) json.key("cache_misses").raw(usage.misses);
  if (usage.moved_line_count > 0)
    json.key("prompt_repair_moved_lines").number(usage.moved_line_count);
}

// ---- prompt repair ------------------------------------------------------------------------------

// Takes the changing lines out of a system prompt, and returns them. A value of the store keeps
// what was learned of the prompt. The shape of the prompt selects one of kSlotCount keys, and a
// prompt of another shape may overwrite the value.
inline Task<std::string> take_changing_lines(std::string& system) {
  constexpr std::uint64_t kSlotCount = 256;
  if (!repair::may_change(system)) co_return std::string();
  const std::uint64_t shape = repair::shape_of(system);
  const std::string key = "prompt_repair/" + std::to_string(shape % kSlotCount);
  std::string head(sizeof shape, '\0');  // Of the value: whose it is.
  std::memcpy(head.data(), &shape, sizeof shape);
  Result<store::Value> kept = co_await attempt(store::get(key));
  if (!kept.ok() && kept.error().code != ErrorCode::NotFound) {
    runtime::log(LogLevel::Warning, "the prompt is not repaired: " + kept.error().message);
    co_return std::string();
  }
  const std::string before = kept.ok() ? std::move(kept).take().bytes : std::string();
  const bool is_own = before.starts_with(head);
  repair::LineRepair lines = is_own
                                 ? repair::LineRepair(std::string_view(before).substr(head.size()))
                                 : repair::LineRepair();
  lines.see(system);
  if (const std::string now = head + lines.bytes(); now != before) {
    const Result<std::uint64_t> put = co_await attempt(store::put(key, now));
    if (!put.ok()) {
      runtime::log(LogLevel::Warning,
                   "what the prompt repair learned is lost: " + put.error().message);
    }
  }
  co_return lines.take(system);
}

}  // namespace endpoints
