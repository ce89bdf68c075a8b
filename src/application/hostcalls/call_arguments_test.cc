// Every call with every kind of wrong argument: an error code, nothing outside the memory touched,
// every invariant whole. A guest could not do worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/hostcalls_test_support.h"
#include "application/net/fake_http_client.h"
#include "base/random.h"
#include "base/seeds.h"
#include "quire/draw_rule.h"

namespace quire::hostcalls {
namespace {

constexpr std::size_t kMemoryBytes = 1u << 16;
constexpr std::size_t kMarginBytes = 4096;
constexpr std::byte kCanary{0xa5};

// A guest that calls at random, with a memory between two margins that no call may write to.
class WildGuest {
 public:
  explicit WildGuest(std::uint64_t seed)
      : random_(seed),
        state_(parts_, GuestIdentity{.instance = control::InstanceId{1},
                                     .tenant = {},
                                     .arguments = {"argument"},
                                     .limits = limits(),
                                     .control_limits = {},
                                     .request = request(seed)}),
        memory_(kMemoryBytes + 2 * kMarginBytes, kCanary) {
    control_.told_misses.emplace(3);
    state_.script = std::make_shared<const sandbox::Script>(
        sandbox::Script{"the source of a script", "its byte code"});
    random_.fill(std::span(memory_).subspan(kMarginBytes, kMemoryBytes));
    http_.respond("http://a.example:80/", {.after_ns = 2000, .body = {{0, "one"}, {3000, "two"}}});
  }

  void step() {
    const std::span<const sandbox::HostFunction> functions = host_functions();
    if (random_.next() % 4 == 0) {
      const sandbox::HostFunction& function = functions[random_.next() % functions.size()];
      const std::string_view signature = function.signature;
      std::vector<std::int64_t> arguments;
      for (const char letter : signature.substr(0, signature.find('>'))) {
        arguments.push_back(letter == 'F' ? number() : argument(letter == 'I'));
      }
      call(function, arguments);
    } else if (std::exchange(is_new_, false) || random_.next() % 64 == 0) {
      tell_a_story();
    } else {
      tame_call();
    }
    if (random_.next() % 4 == 0) answer();
    if (random_.next() % 4 == 0) {
      for (net::HttpEvent& each : http_.take_events()) state_.http.take_in(std::move(each));
    }
    if (random_.next() % 16 == 0) (void)state_.push_message("message");
    if (random_.next() % 16 == 0) {
      const GuestHandle child{static_cast<std::int32_t>(child_)};
      if (random_.next() % 4 == 0) {
        state_.children.ended(child, "an end", "the child has ended");
      } else {
        (void)state_.children.message(child, "message");
      }
    }
    if (random_.next() % 64 == 0) clock_.advance_ns(random_.next() % 10'000);
    while (random_.next() % 4 != 0 && !state_.outbox.empty()) state_.said_taken();
    if (random_.next() % 16 == 0) push_file_part();
    if (random_.next() % 16 == 0 && state_.served.is_served() && state_.served.wants_part()) {
      state_.served.push("part", random_.next() % 64 == 0);
    }
    if (random_.next() % 4096 == 0 && state_.served.is_served()) state_.served.client_gone();
  }

  std::set<std::string> succeeded;  // Calls that did what they are for at least once.

  void check() const {
    for (std::size_t i = 0; i < kMarginBytes; ++i) {
      ASSERT_EQ(memory_[i], kCanary);
      ASSERT_EQ(memory_[kMarginBytes + kMemoryBytes + i], kCanary);
    }
    state_.verify();
    broker_.verify();
  }

 private:
  static GuestLimits limits() {
    GuestLimits limits;
    limits.future_count_max = 64;
    limits.log_bytes_max = 1u << 16;
    limits.http_grants = {net::parse_http_grant("*").value()};
    return limits;
  }

  // A request launched an eighth of the guests; the others have a session.
  static std::optional<RequestHead> request(std::uint64_t seed) {
    if (seed / 8 % 8 != 0) return std::nullopt;  // A share of the seeds has one remainder of 8.
    return RequestHead{"POST", "/", "x-request-id: r1\n", seed % 64 == 0};
  }

  // The client sends files of three bytes, a byte at a time, and gives some of them up.
  void push_file_part() {
    const bool is_new = file_offset_ == 0 || random_.next() % 8 == 0;
    const std::uint64_t offset = is_new ? 0 : file_offset_;
    const Result<void> pushed = state_.files.push({"a.txt", "text/plain", 3, offset, "x"});
    file_offset_ = pushed.ok() ? (offset + 1) % 3 : 0;
  }

  bool is_new_ = true;  // A guest that has used nothing up runs a whole story at once.

  std::int64_t argument(bool wide) {
    static constexpr std::int64_t kEdges[] = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              16,
                                              kMemoryBytes - 4,
                                              kMemoryBytes - 1,
                                              kMemoryBytes,
                                              kMemoryBytes + 1,
                                              INT32_MAX,
                                              INT32_MIN,
                                              UINT32_MAX,
                                              UINT32_MAX - 3,
                                              UINT32_MAX - kMemoryBytes};
    static constexpr std::int64_t kWideEdges[] = {0, 1, -1, 1000, INT64_MAX, INT64_MIN};
    if (wide) return kWideEdges[random_.next() % std::size(kWideEdges)];
    switch (random_.next() % 4) {
      case 0:
        return kEdges[random_.next() % std::size(kEdges)];
      case 1:
        return static_cast<std::int64_t>(random_.next() % kMemoryBytes);
      case 2:
        return static_cast<std::int64_t>(random_.next() % 8);
      default:  // A handle that was given out at some time, where there is one.
        return handles_.empty() ? 1 : handles_[random_.next() % handles_.size()];
    }
  }

  static std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }
  std::int64_t number() {
    static constexpr double kEdges[] = {0.0,
                                        -0.0,
                                        0.5,
                                        0.999,
                                        1.0,
                                        -1.0,
                                        1e-310,
                                        1e300,
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN()};
    return bits(kEdges[random_.next() % std::size(kEdges)]);
  }

  // Addresses of the arguments of calls in the guest's memory.
  enum Place : std::int64_t {
    kPages = 1024,
    kEmbeds = 2048,
    kTokens = 3072,
    kText = 4096,
    kMask = 5120,
    kFutures = 6144,
    kNote = 6400,
    kUrl = 7168,
    kHeaders = 7424,
    kMediaType = 7680,
    kFileRecord = 7936,
    kBuffer = 8192,
    kEmbedTwice = 12'288,
    kMatchers = 12'352,
    kTokenMask = 12'416,
    kRandoms = 12'480,
    kOptions = 12'544,
    kGrammarRecord = 12'608,
  };
  static constexpr std::string_view kUrlText = "http://a.example/";
  static constexpr std::string_view kHeaderText = "x: y\n";
  static constexpr std::string_view kMethodText = "POST";
  static constexpr std::string_view kMediaTypeText = "text/plain";
  static constexpr std::string_view kTraitText = "forward";

  void prepare_lists() {
    const auto store = [&](std::int64_t address, std::int64_t value) {
      const auto number = static_cast<std::int32_t>(value);
      std::memcpy(memory_.data() + kMarginBytes + address, &number, sizeof number);
    };
    for (std::int64_t i = 0; i < 4; ++i) {
      store(kTokens + 4 * i, static_cast<std::int64_t>(random_.next() % 100));
      store(kText + 4 * i, 0x20202020);
    }
    for (std::int64_t i = 0; i < 64; ++i) store(kMask + 4 * i, 0x01010101);
    store(kFutures, future_);
    for (std::int64_t i = 0; i < 2; ++i) store(kEmbedTwice + 4 * i, read(kEmbeds));
    store(kMatchers, matcher_);
    for (std::int64_t i = 0; i < 4; ++i) store(kTokenMask + 4 * i, i == 3 ? 0xf : -1);
    const double randoms[] = {0.0, 0.25, 0.5, 0.75, 0.999};
    std::memcpy(memory_.data() + kMarginBytes + kRandoms, randoms, sizeof randoms);
    const std::vector<std::uint8_t> options = draw_options({.temperature = 0.7, .top_k = 40});
    option_bytes_ = static_cast<std::int64_t>(options.size());
    std::memcpy(memory_.data() + kMarginBytes + kOptions, options.data(), options.size());
    const auto put = [&](std::int64_t address, std::string_view text) {
      std::memcpy(memory_.data() + kMarginBytes + address, text.data(), text.size());
    };
    put(kUrl, kUrlText);
    put(kHeaders, kHeaderText);
    put(kHeaders + 64, kMethodText);
    put(kMediaType, kMediaTypeText);
    put(kHeaders + 96, kTraitText);
  }

  std::int64_t call_named(std::string_view interface, std::string_view name,
                          std::vector<std::int64_t> arguments) {
    const bool is_script = interface == "script";  // Not one of interface/.
    const std::string module =
        (is_script ? "quire:" : "quire:core/") + std::string(interface) + "@1";
    for (const sandbox::HostFunction& function : host_functions()) {
      if (module == function.module && name == function.name) return call(function, arguments);
    }
    ADD_FAILURE() << name;
    return 0;
  }

  struct Tame {
    const char* interface;
    const char* name;
    std::vector<std::int64_t> arguments;
  };

  // Calls that would do something, with the handles that were given out last.
  std::vector<Tame> tame_calls() {
    return {
        {"models", "get-model", {0, 0}},
        {"queue", "create-queue", {model_, 1}},
        {"context", "create", {queue_}},
        {"context", "append", {context_, kTokens, 4}},
        {"context", "flush", {context_}},
        {"context", "forward", {context_, kEmbeds, 1}},
        {"context", "fork", {context_}},
        {"context", "truncate", {context_, 1}},
        {"context", "rewind", {context_, 1}},
        {"context", "drop-range", {context_, 1, 2}},
        {"context", "splice", {context_, context_, 0, 4}},
        {"context", "reserve-working-pages", {context_, 1}},
        {"context", "commit-working-pages", {context_, 1}},
        {"context", "release-working-pages", {context_, 1}},
        {"context", "truncate-working-page-tokens", {context_, 1}},
        {"context", "hint", {context_, 3, 60}},
        {"context", "allow-beyond-context", {context_, 1}},
        {"context", "mark", {context_}},
        {"context", "save", {context_, kText, 16, 1, 60}},
        {"context", "save-with-note", {context_, kText, 16, 1, 60, kTokens, 16}},
        {"context", "note-of", {opened_, kNote, 16}},
        {"context", "open", {queue_, kText, 16}},
        {"context", "take", {queue_, kText, 16}},
        {"context", "delete", {kText, 16}},
        {"context", "list", {}},
        {"context", "pages", {context_, 0, 2, kPages}},
        {"context", "from-pages", {queue_, kPages, 2, kTokens, 4}},
        {"context", "seq-len", {context_}},
        {"context", "page-size", {context_}},
        {"context", "committed-page-count", {context_}},
        {"context", "working-page-count", {context_}},
        {"context", "working-page-token-count", {context_}},
        {"allocate", "alloc-kvpage", {queue_, 2, kPages}},
        {"allocate", "alloc-emb", {queue_, 2, kEmbeds}},
        {"allocate", "dealloc-kvpage", {queue_, kPages, 2}},
        {"allocate", "dealloc-emb", {queue_, kEmbeds, 2}},
        {"allocate", "copy-kvpage", {queue_, read(kPages), read(kPages + 4), 0, 8, 4}},
        {"allocate", "export-kvpage", {queue_, kPages, 2, kText, 16, 0}},
        {"allocate", "import-kvpage", {queue_, kText, 16, 2, kPages}},
        {"allocate", "unexport-kvpage", {kText, 16}},
        {"allocate", "list-exports", {}},
        {"input", "embed-txt", {queue_, kEmbeds, 2, kTokens, 2, kTokens, 2}},
        {"forward",
         "forward",
         {queue_, kPages, 2, kEmbeds, 2, kPages, 2, kEmbeds, 1, kMask, 128, 0}},
        {"forward", "mask-kvpage", {queue_, read(kPages), kMask, 16}},
        {"output", "get-next-dist", {queue_, read(kEmbeds), 0}},
        {"output", "get-logits", {queue_, read(kEmbeds)}},
        {"output", "get-logprobs", {queue_, read(kEmbeds), kTokens, 4}},
        {"output", "get-next-dists", {queue_, kEmbedTwice, 2, kTokenMask, 4, 0}},
        {"output", "get-logprobs-of", {queue_, kEmbedTwice, 2, kTokens, 2}},
        {"draw", "create-rule", {model_, kOptions, option_bytes_}},
        {"draw", "forward-draw", {context_, rule_, kMatchers, 1, kTokenMask, 4, bits(0.5), 2, 1}},
        {"draw", "forward-draw", {context_, rule_, 0, 0, 0, 0, bits(0.5), 0, 0}},
        {"draw",
         "draw-tokens",
         {queue_, kEmbedTwice, 2, rule_, kMatchers, 1, kTokenMask, 4, kRandoms, 2, 3}},
        {"draw", "draw-tokens", {queue_, kEmbedTwice, 1, rule_, 0, 0, 0, 0, kRandoms, 1, 0}},
        {"draw", "verify", {context_, rule_, kMatchers, 1, 0, 0, kTokens, 4, kRandoms, 5, 2, 3}},
        {"draw", "verify", {context_, rule_, 0, 0, 0, 0, kTokens, 1, kRandoms, 2, 0, 0}},
        {"draw", "generate", {context_, rule_, 0, 0, 7, 3, kTokens, 1, 2, 0}},
        {"draw", "generate", {context_, rule_, kMatchers, 1, 7, 3, kTokens, 1, 2, 0}},
        {"draw", "next-draws", {generation_, 2}},
        {"draw", "stop-generation", {generation_}},
        {"constraint", "compile-grammar", {model_, 1, kText, 16}},
        {"future", "take", {grammar_future_, kGrammarRecord, 4}},
        {"constraint", "create-matcher", {read(kGrammarRecord)}},
        {"constraint", "fits", {read(kGrammarRecord), kText, 16}},
        {"constraint", "fork-matcher", {matcher_}},
        {"constraint", "token-mask", {matcher_}},
        {"constraint", "accept-tokens", {matcher_, kTokens, 4}},
        {"constraint", "roll-back", {matcher_, 1}},
        {"constraint", "forced-tokens", {matcher_, 8}},
        {"future", "drop", {matcher_}},
        {"future", "drop", {rule_}},
        {"future", "drop", {read(kGrammarRecord)}},
        {"output", "get-entropy", {queue_, read(kEmbeds)}},
        {"output", "get-embedding", {queue_, read(kEmbeds)}},
        {"future", "drop", {generation_}},
        {"tokenize", "tokenize", {model_, kText, 16, 0}},
        {"tokenize", "detokenize", {model_, kTokens, 4, 0}},
        {"tokenize", "apply-chat-template", {model_, kText, 16}},
        {"tokenize", "tokenize-chat", {model_, kText, 16}},
        {"tokenize", "get-vocabs", {model_, 90, 10}},
        {"tokenize", "get-token-kinds", {model_, 90, 10}},
        {"models", "model-info", {model_, kBuffer, 64}},
        {"models", "model-name", {model_, kBuffer, 64}},
        {"models", "available-traits", {model_, kBuffer, 64}},
        {"models", "trait-version", {model_, kHeaders + 96, kTraitText.size()}},
        {"store", "put", {kText, 16, kTokens, 16, -1}},
        {"store", "get", {kText, 16}},
        {"store", "delete", {kText, 16, -1}},
        {"store", "list-keys", {kText, 4, kText, 8, 10}},
        {"queue", "synchronize", {queue_}},
        {"queue", "set-queue-priority", {queue_, 2}},
        {"queue", "destroy-queue", {queue_}},
        {"future", "wait", {kFutures, 1, 500}},
        {"future", "poll", {kFutures, 1, kBuffer}},
        {"future", "take", {future_, kBuffer, 1024}},
        {"future", "drop", {future_}},
        {"messaging", "subscribe", {kText, 16}},
        {"messaging", "broadcast", {kText, 16, kTokens, 8}},
        {"messaging", "next-message", {subscription_}},
        {"messaging", "unsubscribe", {subscription_}},
        {"messaging", "push", {kText, 16, kTokens, 8}},
        {"messaging", "pull", {kText, 16}},
        {"runtime", "limits", {kBuffer, 64}},
        {"runtime", "get-tenant", {kBuffer, 64}},
        {"runtime", "misses", {kBuffer, 64}},
        {"runtime", "launch", {kText, 16, kTokens, 0, 50}},
        {"runtime", "wait-child", {child_}},
        {"runtime", "receive-child", {child_}},
        {"runtime", "send-child", {child_, kText, 16}},
        {"runtime", "kill-child", {child_}},
        {"future", "drop", {child_}},
        {"runtime", "sleep", {500}},
        {"script", "size", {}},
        {"script", "read", {4, kBuffer, 64}},
        {"script", "bytecode-size", {}},
        {"script", "read-bytecode", {4, kBuffer, 64}},
        {"session", "receive", {}},
        {"session", "send-file", {kText, 16, kMediaType, kMediaTypeText.size(), 8}},
        {"session", "write-file", {file_, kText, 4}},
        {"session", "receive-file", {}},
        {"future", "take", {file_future_, kFileRecord, 256}},
        {"session", "read-file", {read(kFileRecord)}},
        {"future", "drop", {file_}},
        {"future", "drop", {read(kFileRecord)}},
        {"serve", "request-head", {kBuffer, 1024}},
        {"serve", "read-request", {}},
        {"serve", "respond", {200, kHeaders, kHeaderText.size(), 1}},
        {"serve", "write-response", {kText, 16}},
        {"serve", "finish-response", {}},
        {"net", "http-get", {kUrl, kUrlText.size(), kHeaders, kHeaderText.size()}},
        {"net", "http-post", {kUrl, kUrlText.size(), kHeaders, kHeaderText.size(), kText, 16}},
        {"net",
         "http-request",
         {kHeaders + 64, kMethodText.size(), kUrl, kUrlText.size(), kHeaders, 0, -1}},
        {"net", "write-body", {exchange_, kText, 16}},
        {"net", "finish-body", {exchange_}},
        {"net", "response-head", {exchange_}},
        {"net", "read-body", {exchange_}},
        {"future", "drop", {exchange_}},
    };
  }

  // One of its arguments is wild now and then.
  void tame_call() {
    prepare_lists();
    const std::vector<Tame> calls = tame_calls();
    const Tame& tame = calls[random_.next() % calls.size()];
    // Without a request there is nothing to serve.
    if (std::string_view(tame.interface) == "serve" && !state_.served.is_served()) return;
    std::vector<std::int64_t> arguments = tame.arguments;
    if (!arguments.empty() && random_.next() % 4 == 0) {
      arguments[random_.next() % arguments.size()] = argument(false);
    }
    remember(tame.name, call_named(tame.interface, tame.name, arguments));
  }

  // Calls with many preconditions hardly ever succeed by chance, so a story makes them in order.
  void tell_a_story() {
    static constexpr std::string_view kGeneration[] = {"get-model",  "create-queue",   "create",
                                                       "append",     "create-rule",    "generate",
                                                       "next-draws", "stop-generation"};
    static constexpr std::string_view kDraws[] = {
        "get-model", "create-queue", "compile-grammar", "answer",         "take",
        "create",    "append",       "create-rule",     "generate",       "next-draws",
        "alloc-emb", "embed-txt",    "create-matcher",  "token-mask",     "accept-tokens",
        "roll-back", "fork-matcher", "forced-tokens",   "get-next-dists", "draw-tokens",
        "generate",  "next-draws",   "stop-generation"};
    static constexpr std::string_view kForward[] = {
        "get-model", "create-queue",  "alloc-kvpage", "alloc-emb",   "embed-txt",
        "forward",   "get-next-dist", "get-logits",   "get-logprobs"};
    static constexpr std::string_view kResponse[] = {"request-head", "read-request", "respond",
                                                     "write-response", "finish-response"};
    const std::span<const std::string_view> stories[] = {kGeneration, kForward, kDraws, kResponse};
    for (const std::string_view name : stories[random_.next() % std::size(stories)]) {
      if (name == "answer") {
        answer();
        continue;
      }
      prepare_lists();
      const std::vector<Tame> calls = tame_calls();
      const auto tame = std::find_if(calls.begin(), calls.end(), [&](const Tame& each) {
        // Several calls have that name; this takes the one with a grammar.
        const bool is_other = name == "take" && each.interface != std::string_view("future");
        return each.name == name && !is_other;
      });
      ASSERT_NE(tame, calls.end()) << name;
      remember(tame->name, call_named(tame->interface, tame->name, tame->arguments));
    }
  }

  void remember(std::string_view name, std::int64_t result) {
    if (result <= 0) return;
    if (name == "get-model") model_ = result;
    if (name == "create-queue") queue_ = result;
    if (name == "create") context_ = result;
    if (name == "generate") generation_ = result;
    if (name == "create-rule") rule_ = result;
    if (name == "create-matcher") matcher_ = result;
    if (name == "compile-grammar") grammar_future_ = result;
    if (name == "http-request") exchange_ = result;
    if (name == "subscribe") subscription_ = result;
    if (name == "launch") child_ = result;
    if (name == "send-file") file_ = result;
    if (name == "receive-file") file_future_ = result;
    static const std::set<std::string_view> kFutureCalls = {"flush",
                                                            "sleep",
                                                            "receive",
                                                            "tokenize",
                                                            "fork",
                                                            "splice",
                                                            "rewind",
                                                            "save",
                                                            "save-with-note",
                                                            "open",
                                                            "take",
                                                            "list",
                                                            "pages",
                                                            "forward-draw",
                                                            "draw-tokens",
                                                            "verify",
                                                            "next-draws",
                                                            "get-next-dists",
                                                            "get-logprobs-of",
                                                            "get-token-kinds",
                                                            "token-mask",
                                                            "accept-tokens",
                                                            "roll-back",
                                                            "forced-tokens",
                                                            "next-tokens",
                                                            "next-message",
                                                            "pull",
                                                            "stop-generation",
                                                            "from-pages",
                                                            "copy-kvpage",
                                                            "import-kvpage",
                                                            "list-exports",
                                                            "http-get",
                                                            "http-post",
                                                            "write-body",
                                                            "response-head",
                                                            "read-body",
                                                            "wait-child",
                                                            "receive-child",
                                                            "write-file",
                                                            "read-file",
                                                            "get-vocabs",
                                                            "put",
                                                            "get",
                                                            "delete",
                                                            "list-keys"};
    if (kFutureCalls.contains(name)) future_ = result;
  }

  std::int64_t read(std::int64_t address) const {
    std::int32_t value = 0;
    std::memcpy(&value, memory_.data() + kMarginBytes + address, sizeof value);
    return value;
  }

  std::int64_t call(const sandbox::HostFunction& function,
                    const std::vector<std::int64_t>& arguments) {
    RawValue values[17] = {};
    for (std::size_t i = 0; i < arguments.size(); ++i) values[i].set(arguments[i]);
    const GuestMemory memory(memory_.data() + kMarginBytes, kMemoryBytes);
    check_outcome(function, memory, values);
    return values[0].as<std::int32_t>();
  }

  void check_outcome(const sandbox::HostFunction& function, const GuestMemory& memory,
                     RawValue* values) {
    const CallOutcome outcome = function.call(&state_, memory, values);
    if (outcome == CallOutcome::Suspend) {
      ASSERT_TRUE(function.suspends);
      clock_.advance_ns(1000);
      (void)state_.end_wait();
      return;
    }
    if (outcome == CallOutcome::End) return;
    const auto result = values[0].as<std::int32_t>();
    if (std::string_view(function.module).starts_with("quire")) {
      ASSERT_GE(result, -18) << function.module << "." << function.name;
      if (result < 0) {
        ASSERT_FALSE(state_.last_error.empty());
      }
      if (result >= 0) succeeded.insert(std::string(function.module) + "." + function.name);
      if (result > 100) handles_.push_back(result);
    }
  }

  // Answers the oldest command that waits, well or with an error.
  void answer() {
    if (!control_.waits()) {
      control_.commands.clear();
      return;
    }
    const control::Command command = control_.take_waiting();
    Result<control::AnswerBody> body = control::AnswerBody(control::Done{});
    if (random_.next() % 4 == 0) {
      body = Error(ErrorCode::NoFreePage, "none");
    } else if (const auto* fork = std::get_if<control::ContextFork>(&command.body)) {
      body = control::AnswerBody(control::Forked{fork->child, {}});
    } else if (const auto* made = std::get_if<control::ContextFromPages>(&command.body)) {
      body = control::AnswerBody(control::Forked{made->context, {}});
    } else if (std::holds_alternative<control::ImportPages>(command.body) ||
               std::holds_alternative<control::ContextPages>(command.body)) {
      body = control::AnswerBody(control::SharedPages{{{0, 1}, {1, 255}}});
    } else if (std::holds_alternative<control::ListExports>(command.body)) {
      body = control::AnswerBody(control::Exports{{{"name", 1, 2, true, false}}});
    } else if (std::holds_alternative<control::ContextFlush>(command.body) ||
               std::holds_alternative<control::ContextEdit>(command.body) ||
               std::holds_alternative<control::ContextDropRange>(command.body) ||
               std::holds_alternative<control::ContextSplice>(command.body)) {
      body = control::AnswerBody(control::ContextState{.context = {}, .counters = counters()});
    } else if (const auto* open = std::get_if<control::ContextOpen>(&command.body)) {
      opened_ = static_cast<std::int64_t>(open->context);
      const std::size_t note_bytes = random_.next() % 3 * 5000;
      body = control::AnswerBody(
          control::Opened{open->context, counters(), std::string(note_bytes, 'n')});
    } else if (const auto* draw = std::get_if<control::ContextDraw>(&command.body)) {
      body = control::AnswerBody(draws(draw->draw, 1));
    } else if (const auto* many = std::get_if<control::DrawTokens>(&command.body)) {
      body = control::AnswerBody(draws(many->draw, many->embeds.size()));
    } else if (std::holds_alternative<control::CompileGrammar>(command.body)) {
      body = control::AnswerBody(control::CompiledGrammar{some_grammar()});
    } else if (std::holds_alternative<control::CheckText>(command.body)) {
      body = control::AnswerBody(control::TextChecked{true});
    } else if (const auto* dists = std::get_if<control::GetNextDists>(&command.body)) {
      body = control::AnswerBody(control::NextDistributions{
          std::vector<control::NextDistribution>(dists->embeds.size(), {{7}, {0.5f}})});
    } else if (std::holds_alternative<control::GetTokenMask>(command.body)) {
      body = control::AnswerBody(control::TokenMaskWords{{1, 2, 3, 4}});
    } else if (std::holds_alternative<control::AcceptTokens>(command.body)) {
      body = control::AnswerBody(control::Accepted{true});
    } else if (std::holds_alternative<control::GetForcedTokens>(command.body)) {
      body = control::AnswerBody(control::Tokens{{1}});
    } else if (std::holds_alternative<control::GetTokenKinds>(command.body)) {
      body = control::AnswerBody(control::TokenKinds{{0, 1, 2}});
    } else if (std::holds_alternative<control::GetLogits>(command.body) ||
               std::holds_alternative<control::GetLogprobs>(command.body) ||
               std::holds_alternative<control::GetLogprobsOf>(command.body) ||
               std::holds_alternative<control::GetEntropy>(command.body) ||
               std::holds_alternative<control::GetEmbedding>(command.body)) {
      body = control::AnswerBody(control::Values{{1.0f, 2.0f}});
    } else if (std::holds_alternative<control::SnapshotList>(command.body)) {
      body = control::AnswerBody(control::Snapshots{{{"name", 1, 2, 3, 4}}, 4});
    } else if (std::holds_alternative<control::Tokenize>(command.body)) {
      body = control::AnswerBody(control::Tokens{{1, 2, 3}});
    } else if (std::holds_alternative<control::GetVocabulary>(command.body)) {
      body = control::AnswerBody(control::TokenBytes{{"a", "bc"}});
    } else if (std::holds_alternative<control::PutValue>(command.body)) {
      body = control::AnswerBody(control::ValueVersion{7});
    } else if (std::holds_alternative<control::GetValue>(command.body)) {
      body = control::AnswerBody(control::StoredValue{7, "value"});
    } else if (std::holds_alternative<control::ListKeys>(command.body)) {
      body = control::AnswerBody(control::ListedKeys{{{"key", 7, 5}}, true});
    }
    state_.answer({command.instance, command.future, std::move(body)});
  }

  // As many tokens as asked for where nothing else is said, or fewer or more with matchers.
  control::Draws draws(const control::DrawSpec& draw, std::size_t count) {
    control::Draws out;
    const std::uint32_t top_count = draw.more == nullptr ? 0 : draw.more->top_count;
    if (draw.more != nullptr && !draw.more->matchers.empty() && random_.next() % 4 == 0) {
      out.end = random_.next() % 2 == 0 ? control::DrawEnd::GrammarComplete
                                        : control::DrawEnd::NoTokenAllowed;
      count = 0;
    } else if (draw.more != nullptr && !draw.more->matchers.empty()) {
      count += random_.next() % 3;
    }
    for (std::size_t i = 0; i < count; ++i) {
      out.all.push_back({7, 0.5f, random_.next() % 2 == 0});
      out.top_tokens.insert(out.top_tokens.end(), top_count, 9);
      out.top_probabilities.insert(out.top_probabilities.end(), top_count, 0.25f);
    }
    out.random_count = random_.next() % 2;
    out.counters = counters();
    return out;
  }

  control::ContextCounters counters() {
    return {.seq_len = static_cast<std::uint32_t>(random_.next() % 32),
            .queued_token_count = static_cast<std::uint32_t>(random_.next() % 32)};
  }

  SeededRandom random_;
  ManualClock clock_;
  ManualWallClock wall_clock_;
  SeededRandom guest_random_{3};
  RecordingControl control_{nullptr};
  net::FakeHttpClient http_{clock_};
  MessageBroker broker_;
  RecordingLauncher launcher_;
  HostParts parts_{control_,  clock_, wall_clock_, guest_random_, broker_,
                   launcher_, 0,      nullptr,     &http_};
  GuestState state_;
  std::vector<std::byte> memory_;
  std::vector<std::int64_t> handles_;  // Every one that was given out.
  std::int64_t model_ = 0, queue_ = 0, context_ = 0, future_ = 0, generation_ = 0, exchange_ = 0,
               subscription_ = 0, child_ = 0, opened_ = 0;
  std::int64_t file_ = 0, file_future_ = 0;
  std::int64_t rule_ = 0, matcher_ = 0, grammar_future_ = 0, option_bytes_ = 0;
  std::uint64_t file_offset_ = 0;
};

TEST(CallArguments, NoCallBreaksAnythingWhateverItIsGiven) {
  std::set<std::string> succeeded;
  // Many seeds are better than long runs, because a guest that has used its quotas up is refused
  // most calls.
  const std::vector<std::uint64_t> seeds = campaign_seeds(256);
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE(seed);
    WildGuest guest(seed);
    for (int i = 0; i < 12'000; ++i) {
      guest.step();
      if (i % 64 == 0) guest.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    succeeded.merge(guest.succeeded);
  }
  // Every call must have succeeded once; else the arguments are so wild that they only try the
  // first check. Calls of traits that no model has never succeed. An eighth of the seeds reaches
  // every call, a handful does not.
  if (seeds.size() < 32) return;
  for (const sandbox::HostFunction& function : host_functions()) {
    const std::string_view module = function.module;
    if (!module.starts_with("quire")) continue;
    const bool is_absent = module == "quire:core/adapter@1" ||
                           module == "quire:core/input-image@1" ||
                           std::string_view(function.name) == "put-bytecode";
    const std::string name = std::string(module) + "." + function.name;
    EXPECT_NE(succeeded.contains(name), is_absent) << name;
  }
}

}  // namespace
}  // namespace quire::hostcalls
