#pragma once
// ResponseStore: responses that the server keeps, so that a later request reads one, goes on with it
// or deletes it. They are values of the tenant's store (docs/guide/store.md), which outlive the
// server.
//
// A response has one entry, "responses/ID", which is written last, so that the response appears as a
// whole. Its parts are "response_parts/ID/KIND/NUMBER". The snapshot of its context has the name ID.
// An id begins with the second in which the response expires, so that keys are in the order in which
// they leave.
//
// Errors   not-supported: the server has no store; not-found; quota-exceeded: the tenant keeps as many
//          responses as it may; those of the store.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "members.h"

namespace endpoints::openai {

struct ResponseLimits {
  std::uint32_t ttl_seconds = 24 * 60 * 60;
  std::uint32_t count_max = 1000;

  void read(OptionReader& in) {
    in.number("ttl-seconds", ttl_seconds, "How long a response is kept", {1, 365 * 24 * 60 * 60});
    in.number("count-max", count_max, "How many responses of a tenant are kept", {1, 10'000});
  }
};

// The answer to a request that needs a kept response, on a server without a store.
inline constexpr std::string_view kKeepsNothing =
    "this server keeps no responses, because it runs without a store: start quire serve without "
    "--no-store, and with a --store FOLDER that it can write";

// A response without its parts.
struct ResponseEntry {
  std::string status;  // As the interface names it.
  bool is_background = false;
  std::uint32_t begun_part_count = 0;     // The response as it began, if it is not over,
  std::uint32_t response_part_count = 0;  // or as it ended.
  std::uint32_t input_part_count = 0;
  std::uint32_t token_part_count = 0;
  std::uint64_t version = 0;  // Of the value in the store; 0: not there yet.

  bool is_over() const { return status != "queued" && status != "in_progress"; }
  std::string json() const {
    JsonWriter json;
    json.begin_object().key("status").text(status).key("background").boolean(is_background);
    json.key("begun_parts").number(begun_part_count);
    json.key("response_parts").number(response_part_count);
    json.key("input_parts").number(input_part_count);
    return json.key("token_parts").number(token_part_count).end_object().str();
  }
};

enum class ResponsePart : std::uint8_t { Begun, Response, Input, Tokens, Events };

class ResponseStore {
 public:
  static constexpr std::size_t kPartBytesMax = 60'000;

  explicit ResponseStore(ResponseLimits limits) : limits_(limits) {}

  std::string make_id() const {
    char expiry[16];
    std::snprintf(expiry, sizeof expiry, "%09llx",
                  static_cast<unsigned long long>(std::time(nullptr)) + limits_.ttl_seconds);
    return std::string(kIdPrefix) + expiry + random_id() + random_id().substr(0, kRandomBytes - 24);
  }
  // The id of the response that wrote an item with the id `item`, as ResponseOutput makes it; no such
  // response need be there.
  static std::string id_of_item(const std::string& item) {
    constexpr std::size_t kBytes = kExpiryDigits + kRandomBytes;
    return std::string(kIdPrefix) + item.substr(item.size() - std::min(item.size(), kBytes));
  }
  SaveOptions save_options() const {
    return {.overwrite = false, .time_to_live = std::chrono::seconds(limits_.ttl_seconds)};
  }

  // Removes some of what has expired. Fails if the tenant then has as many as it may.
  Task<> make_room() const {
    co_await sweep();
    const std::vector<store::Key> keys = co_await store::all_keys(kEntries);
    const auto is_kept = [](const store::Key& each) {
      return seconds_left(id_of(each.name, kEntries)) > 0;
    };
    const auto count = std::ranges::count_if(keys, is_kept);
    if (std::cmp_less(count, limits_.count_max)) co_return;
    const auto oldest = std::ranges::find_if(keys, is_kept);
    co_await fail(wrong("store",
                        "the server keeps at most " + std::to_string(limits_.count_max) +
                            " responses, and has " + std::to_string(count) +
                            "; the oldest leaves in " +
                            std::to_string(seconds_left(id_of(oldest->name, kEntries))) +
                            " s: delete some (DELETE /v1/responses/ID), or send \"store\": false",
                        ErrorCode::QuotaExceeded));
  }

  // The ids of all that have not expired, the youngest first.
  Task<std::vector<std::string>> ids() const {
    std::vector<std::string> all;
    for (const store::Key& each : co_await store::all_keys(kEntries)) {
      std::string id = id_of(each.name, kEntries);
      if (seconds_left(id) > 0) all.push_back(std::move(id));
    }
    std::ranges::reverse(all);
    co_return all;
  }

  static Task<bool> has_store() {
    const Result<store::KeyList> keys = co_await attempt(store::list_keys(kEntries, "", 1));
    co_return keys.ok() || keys.error().code != ErrorCode::NotSupported;
  }

  // Finds a response that has not expired.
  Task<ResponseEntry> find(std::string id) const {
    Result<store::Value> value(Error{ErrorCode::NotFound, ""});
    if (seconds_left(id) > 0) value = co_await attempt(store::get(kEntries + id));
    const bool is_missing = !value.ok() && (value.error().code == ErrorCode::NotFound ||
                                            value.error().code == ErrorCode::NotSupported);
    if (is_missing) {
      const bool keeps_any = co_await has_store();
      co_await fail(ErrorCode::NotFound, keeps_any
                                             ? "the server has no response " + json_string(id) +
                                                   "; it may have expired, or been deleted"
                                             : std::string(kKeepsNothing));
    }
    const store::Value found = co_await std::move(value);
    const Json json = co_await Json::parse(found.bytes);
    const auto count_of = [&](const char* name) {
      const Result<double> count = json.number(name);  // Which publish() wrote.
      return count.ok() ? static_cast<std::uint32_t>(count.value()) : 0;
    };
    co_return ResponseEntry{.status = std::string(json.text("status")),
                            .is_background = json.boolean("background"),
                            .begun_part_count = count_of("begun_parts"),
                            .response_part_count = count_of("response_parts"),
                            .input_part_count = count_of("input_parts"),
                            .token_part_count = count_of("token_parts"),
                            .version = found.version};
  }
  // Writes the entry in place of the version that it was read from. already-exists or not-found: it
  // was changed or deleted meanwhile.
  Task<ResponseEntry> publish(std::string id, ResponseEntry entry) const {
    entry.version =
        co_await store::put(kEntries + id, entry.json(), store::Expected::version(entry.version));
    co_return entry;
  }

  // Returns how many parts `bytes` take.
  Task<std::uint32_t> put(std::string id, ResponsePart kind, std::string bytes) const {
    std::vector<Future<std::uint64_t>> writes;
    for (std::size_t at = 0; at < bytes.size(); at += kPartBytesMax) {
      const auto number = static_cast<std::uint32_t>(writes.size());
      writes.push_back(store::put(part_key(id, kind, number),
                                  std::string_view(bytes).substr(at, kPartBytesMax)));
    }
    for (Future<std::uint64_t>& each : writes) co_await std::move(each);
    co_return static_cast<std::uint32_t>(writes.size());
  }
  Task<std::string> get(std::string id, ResponsePart kind, std::uint32_t part_count) const {
    std::string all;
    for (std::uint32_t i = 0; i < part_count; ++i) {
      const store::Value value = co_await store::get(part_key(id, kind, i));
      all += value.bytes;
    }
    co_return all;
  }
  Task<Json> get_json(std::string id, ResponsePart kind, std::uint32_t part_count) const {
    co_return co_await Json::parse_in_place(co_await get(id, kind, part_count));
  }
  static std::string part_key(const std::string& id, ResponsePart kind, std::uint32_t number) {
    constexpr const char* kNames[] = {"/begun/", "/response/", "/input/", "/tokens/", "/events/"};
    char digits[16];
    std::snprintf(digits, sizeof digits, "%06u", number);
    return kParts + id + kNames[static_cast<std::size_t>(kind)] + digits;
  }

  Task<> erase(std::string id) const {
    co_await removed(kEntries + id);
    for (const store::Key& each : co_await store::all_keys(kParts + id + "/")) {
      co_await removed(each.name);
    }
    const Result<void> deleted = co_await attempt(Context::remove(id));
    if (!deleted.ok() && deleted.error().code != ErrorCode::NotFound) co_await deleted;
  }

 private:
  static constexpr std::string_view kIdPrefix = "resp_";
  static constexpr std::size_t kExpiryDigits = 9;
  static constexpr std::size_t kRandomBytes = 39;
  static constexpr const char* kEntries = "responses/";
  static constexpr const char* kParts = "response_parts/";

  static std::string id_of(const std::string& key, const std::string& prefix) {
    const std::size_t end = std::min(key.find('/', prefix.size()), key.size());
    return key.substr(prefix.size(), end - prefix.size());
  }
  // Until the response expires; not above 0 if it has, or if `id` is not one of this server.
  static std::int64_t seconds_left(const std::string& id) {
    if (!id.starts_with(kIdPrefix) || id.size() < kIdPrefix.size() + kExpiryDigits) return 0;
    const std::string digits = id.substr(kIdPrefix.size(), kExpiryDigits);
    if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return 0;
    return std::strtoll(digits.c_str(), nullptr, 16) -
           static_cast<std::int64_t>(std::time(nullptr));
  }

  // Another request may have removed the same value first.
  static Task<> removed(std::string key) {
    const Result<void> outcome = co_await attempt(store::remove(key));
    if (!outcome.ok() && outcome.error().code != ErrorCode::NotFound) co_await outcome;
  }
  // Expired keys come first, so each request that stores a response removes more than one leaves.
  Task<> sweep() const {
    constexpr std::uint32_t kCountMax = 64;
    for (const char* prefix : {kEntries, kParts}) {
      const store::KeyList oldest = co_await store::list_keys(prefix, "", kCountMax);
      for (const store::Key& each : oldest.keys) {
        if (seconds_left(id_of(each.name, prefix)) > 0) break;
        co_await removed(each.name);
      }
    }
  }

  ResponseLimits limits_;
};

}  // namespace endpoints::openai
