#pragma once
// FakeHost stands in for the server: every quire::abi function, with futures that become ready when
// the test says so or when its clock gets there, and a model that continues each token by a rule.
//
// Owns     the handles that were given out; `live_handles()` is what a program leaked.
// Thread   one. It is a global because the functions of the interface are; reset() begins a test.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quire/bindings.h"
#include "quire/draw_rule.h"
#include "quire/json.h"
#include "quire/sampling.h"

namespace quire::test {

class FakeHost {
 public:
  struct PendingFuture {
    bool ready = false;
    std::int64_t ready_at_ns = -1;  // By the clock; -1: not by the clock.
    std::int32_t error = 0;         // Minus a code, or 0.
    std::string message;
    std::string bytes;
  };
  struct Context {
    std::vector<std::uint32_t> computed;
    std::vector<std::uint32_t> queued;
    std::set<std::uint32_t> dropped;  // Indexes in `computed`.
    std::uint32_t reserved_page_count = 0;
    std::uint32_t hint = 0;
    std::uint32_t hint_seconds = 0;
    bool beyond_context = false;
    std::vector<std::size_t> marks = {};  // In tokens.
    std::string note = {};                // Of its snapshot, until it is given.
  };
  struct Snapshot {
    Context context;
    std::uint32_t ttl_seconds = 0;
    std::string note = {};
  };
  struct StoredValue {
    std::uint64_t version = 0;
    std::string bytes;
  };
  // A request to a server, and its answer.
  struct HttpAsked {
    std::string method;
    std::string url;
    std::string headers;
    std::string body;
  };
  struct HttpAnswer {
    std::uint32_t status = 200;
    std::string headers = {};
    std::vector<std::string> pieces = {};
  };
  struct HttpExchange {
    HttpAsked asked;
    std::optional<HttpAnswer> answer;  // Once the request is whole.
    std::size_t piece_count = 0;       // Given so far.
  };

  void reset() { *this = FakeHost(); }

  std::int32_t new_handle(const char* kind) {
    handles_[++last_handle_] = kind;
    return last_handle_;
  }
  std::int32_t new_future() {
    const std::int32_t future = new_handle("future");
    futures_[future] = {};
    made_.push_back(future);
    return future;
  }
  std::int32_t ready_future(std::string bytes) {
    const std::int32_t future = new_future();
    complete(future, std::move(bytes));
    return future;
  }
  void complete(std::int32_t future, std::string bytes = "") {
    futures_.at(future).ready = true;
    futures_.at(future).bytes = std::move(bytes);
  }
  void fail(std::int32_t future, abi::ErrorCode code, std::string message) {
    futures_.at(future) = {true, -1, -static_cast<std::int32_t>(code), std::move(message), ""};
  }
  std::int32_t refuse(abi::ErrorCode code, std::string message) {
    last_error = std::move(message);
    return -static_cast<std::int32_t>(code);
  }
  bool knows(std::int32_t handle) const { return handles_.contains(handle); }
  bool forget(std::int32_t handle) {
    futures_.erase(handle);
    contexts.erase(handle);
    exchanges.erase(handle);
    loops.erase(handle);
    rules.erase(handle);
    grammars.erase(handle);
    matchers.erase(handle);
    pages.erase(handle);
    return handles_.erase(handle) > 0;
  }
  PendingFuture* future(std::int32_t handle) {
    const auto found = futures_.find(handle);
    return found == futures_.end() ? nullptr : &found->second;
  }
  // The futures made so far, in order; dropped and taken ones too.
  const std::vector<std::int32_t>& made() const { return made_; }
  std::multiset<std::string> live_handles() const {
    std::multiset<std::string> kinds;
    for (const auto& [handle, kind] : handles_) kinds.insert(kind);
    return kinds;
  }

  // Called when a program waits and nothing is ready: makes something happen, or returns false.
  std::function<bool()> on_wait;
  std::int64_t clock_ns = 0;
  std::uint64_t wait_count = 0;
  std::string last_error;
  std::vector<std::string> arguments;
  std::vector<std::string> sent;
  std::vector<std::string> logged;
  std::deque<std::string> inbox;  // For receive; when empty the client has ended its side.
  struct File {
    std::string name;
    std::string media_type;
    std::uint64_t file_bytes = 0;
    std::deque<std::string> parts;
    std::uint64_t parts_bytes() const {
      std::uint64_t bytes = 0;
      for (const std::string& each : parts) bytes += each.size();
      return bytes;
    }
  };
  std::map<std::int32_t, File> files;  // By handle, dropped ones too.
  std::deque<File> files_in;           // For receive_file, as inbox.
  std::string result;

  // The model: what follows a token, as (token, probability) falling; and the bytes of a token.
  std::function<std::vector<std::pair<std::uint32_t, float>>(const std::vector<std::uint32_t>&)>
      next;
  std::vector<std::uint32_t> stop_tokens = {2};
  std::uint32_t context_length = 2048;
  bool has_states = false;
  std::optional<abi::ErrorCode> compute_error;       // Of every pass; none: passes succeed.
  std::map<std::uint32_t, std::string> token_texts;  // Of tokens that are not one byte.
  // The chat template: the text of a request, in which texts of token_texts are those tokens; nothing
  // where it refuses the request. Without it a template of the fake's own renders the turns.
  std::function<std::optional<std::string>(const Json& request)> render_chat;

  // The grammars: which tokens may come after those that a matcher has accepted, none where the
  // text is complete. Without it the model has no grammars.
  std::function<std::vector<std::uint32_t>(const std::string& source,
                                           const std::vector<std::uint32_t>& accepted)>
      allowed;
  struct Matcher {
    std::string source;
    std::vector<std::uint32_t> accepted;
  };
  std::map<std::int32_t, std::string> grammars;  // Their sources.
  std::map<std::int32_t, Matcher> matchers;
  std::map<std::int32_t, DrawRule> rules;

  // A loop of the host. It is `run_ahead` tokens further than the program has asked for.
  struct Loop {
    std::int32_t context = 0;
    DrawRule rule;
    sampling::Random random{0};
    double next_random = -1.0;  // Drawn from `random` and not used; below 0: none.
    std::vector<std::int32_t> matchers = {};
    std::uint32_t top_count = 0;
    bool forces = true;
    std::uint32_t count_max = 0;
    std::vector<std::uint32_t> stops;
    std::uint32_t count = 0;
    std::uint32_t end = 0;
    std::deque<std::string> untaken = {};  // Records of draws.
  };
  std::map<std::int32_t, Loop> loops;
  std::uint32_t run_ahead = 2;
  std::uint32_t loop_count_max = 64;

  // Pages by their handles: the tokens that they hold. Exports by name.
  using Page = std::vector<std::uint32_t>;
  std::map<std::int32_t, Page> pages;
  std::map<std::string, std::vector<Page>> exports;
  bool refuses_exports = false;
  std::map<std::int32_t, Context> contexts;
  std::map<std::string, Snapshot> snapshots;
  std::optional<abi::ErrorCode> open_error;   // What opens of snapshots end with.
  std::map<std::string, StoredValue> values;  // The tenant's, by key.
  std::uint64_t last_version = 0;
  std::map<std::int32_t, std::vector<std::uint32_t>> embed_texts;  // What an output has seen.

  // The outside; without it no program has a network.
  std::function<HttpAnswer(const HttpAsked&)> serve;
  std::map<std::int32_t, HttpExchange> exchanges;

  // The request that launched the program; without it no request did. Its body comes part by part.
  struct HttpServed {
    std::string method = "POST";
    std::string target = "/";
    std::string headers = "x-request-id: r1\n";
    std::deque<std::string> parts = {};
    bool is_body_open = false;  // Another part may come: a read waits for it.
  };
  struct HttpSaid {
    std::uint32_t status = 0;  // 0: the program has not responded.
    std::string headers;
    std::uint32_t flags = 0;
    std::vector<std::string> parts;
    bool is_finished = false;
    bool has_room = true;  // A write is ready at once; else the test completes it.
    std::string body() const {
      std::string all;
      for (const std::string& each : parts) all += each;
      return all;
    }
  };
  std::optional<HttpServed> request;
  HttpSaid response;
  bool is_client_gone = false;

  // The earliest time of the clock at which a future becomes ready, up to `limit_ns`.
  bool advance_clock(std::int64_t limit_ns) {
    std::int64_t earliest = -1;
    for (const auto& [handle, each] : futures_) {
      if (each.ready || each.ready_at_ns < 0) continue;
      if (earliest < 0 || each.ready_at_ns < earliest) earliest = each.ready_at_ns;
    }
    if (earliest < 0 || (limit_ns >= 0 && earliest > limit_ns)) return false;
    clock_ns = std::max(clock_ns, earliest);
    for (auto& [handle, each] : futures_) {
      if (each.ready_at_ns >= 0 && each.ready_at_ns <= clock_ns) each.ready = true;
    }
    return true;
  }

 private:
  std::int32_t last_handle_ = 0;
  std::map<std::int32_t, std::string> handles_;
  std::map<std::int32_t, PendingFuture> futures_;
  std::vector<std::int32_t> made_;
};

extern FakeHost host;

std::int32_t failed_future(abi::ErrorCode code, std::string message);
// Computes what is queued; a failed future if it does not fit.
std::optional<std::int32_t> compute(FakeHost::Context& held);

}  // namespace quire::test
