#pragma once
// Harness makes calls of one interface by name, and notes what came of each.
//
// A program of this folder sends one message in the end. It has a line `CALL interface.call
// outcome` for each outcome that it saw, which is "ok" or the name of an error. It has a line `FAIL
// ...` for each difference from the WIT. An outcome is noted only where it was expected. A future's
// outcome is that of its call. The exit code is 1 where anything failed. An instance that an HTTP
// request launched pushes the message to the topic "noted" instead.
//
// In addition to a queue of the first model, the harness holds one handle of each common kind. It
// also has a child that holds some: numbers that are a handle there and none here.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "call_table.h"

namespace quire::conformance {

using abi::Call;
using abi::ErrorCode;
using abi::Word;
using abi::WordKind;

using Handles = std::vector<std::int32_t>;
using Tokens = std::vector<std::uint32_t>;
using Bytes = std::vector<std::uint8_t>;
using Codes = std::vector<ErrorCode>;

inline constexpr std::int64_t kPatienceNs = 60'000'000'000;
inline constexpr std::uint32_t kPageSlots = 16;

// A number outside of the program's memory.
inline std::uint32_t memory_end() {
  return static_cast<std::uint32_t>(__builtin_wasm_memory_size(0) * 65536);
}

// The words of a call from arguments as the bindings take them; a list is a pointer and a count.
class Arguments {
 public:
  template <typename... A>
  explicit Arguments(const A&... values) {
    (add(values), ...);
  }
  std::vector<Word> words;

 private:
  void add(std::string_view text) { add_list(text.data(), text.size()); }
  void add(const char* text) { add(std::string_view(text)); }
  void add(const std::string& text) { add(std::string_view(text)); }
  template <typename T>
  void add(const std::vector<T>& list) {
    add_list(list.data(), list.size());
  }
  void add(double number) { words.push_back(std::bit_cast<Word>(number)); }
  template <typename T>
    requires std::is_integral_v<T>
  void add(T number) {
    words.push_back(static_cast<Word>(static_cast<std::int64_t>(number)));
  }
  void add(void* address) { words.push_back(reinterpret_cast<std::uintptr_t>(address)); }
  void add_list(const void* first, std::size_t count) {
    words.push_back(reinterpret_cast<std::uintptr_t>(first));
    words.push_back(count);
  }
};

class Harness {
 public:
  // All of these are alive until `finish`.
  std::int32_t model = 0, queue = 0, page = 0, embed = 0, context = 0, subscription = 0;
  static constexpr const char* kNoted = "noted";  // The topic of notes, without a session.
  int finish_wait_ms = 60'000;                    // For commands that end and children that leave.

  Harness() {
    base_ = limits();
    model = abi::models::get_model(nullptr, 0);
    queue = abi::queue::create_queue(model, 1);
    abi::allocate::alloc_kvpage(queue, 1, &page);
    abi::allocate::alloc_emb(queue, 1, &embed);
    context = abi::context::create(queue);
    subscription = abi::messaging::subscribe(bytes("harness"), 7);
    std::int32_t embeds[3];
    abi::allocate::alloc_emb(queue, 3, embeds);
    for (const std::int32_t each : embeds) drop(each);
    begin_neighbour();
  }

  // The call gives a value, handle or future, which is returned.
  template <typename... A>
  std::int32_t ok(const char* name, const A&... arguments) {
    const Call& call = find(name);
    const std::int64_t value = make(call, Arguments(arguments...));
    if (value < 0) return failed(call, "ok", value);
    // The result of a future decides the outcome of its call.
    if (!call.gives_future) note(call, "ok");
    return static_cast<std::int32_t>(value);
  }

  // The call's future gives a result, which is returned.
  template <typename... A>
  std::string result(const char* name, const A&... arguments) {
    const Call& call = find(name);
    const std::int64_t future = make(call, Arguments(arguments...));
    if (future < 0) return failed(call, "a future", future), std::string();
    return take(call, static_cast<std::int32_t>(future));
  }

  // The result of a future that `ok` gave for the call of that name.
  std::string take(const char* name, std::int32_t future) { return take(find(name), future); }

  // The call, or its future, gives this error.
  template <typename... A>
  void refused(const char* name, ErrorCode code, const A&... arguments) {
    const Call& call = find(name);
    expect(call, {code}, outcome(call, Arguments(arguments...).words), "");
  }
  // Whether the call gives this error when it is made so often; the reader of its results may run
  // between two calls. Handles from earlier calls are dropped.
  template <typename... A>
  bool refused_after(std::uint32_t count_max, const char* name, ErrorCode code,
                     const A&... arguments) {
    const Call& call = find(name);
    const Arguments words(arguments...);
    std::int64_t value = 0;
    for (std::uint32_t i = 0; i < count_max && value >= 0; ++i) {
      value = make(call, words);
      const bool is_held = value > 0 && (call.gives_future || call.gives_handle);
      if (is_held) abi::future::drop(static_cast<std::int32_t>(value));
    }
    const bool is_refused = value == -static_cast<std::int64_t>(code);
    if (is_refused) note(call, outcome_name(value));
    return is_refused;
  }
  // As `ok`, once what stands in the way has gone, which is not this program's to do.
  template <typename... A>
  std::int32_t ok_in_time(const char* name, const A&... arguments) {
    const Call& call = find(name);
    const Arguments words(arguments...);
    std::int64_t value = make(call, words);
    for (int i = 0; i < 6000 && value < 0; ++i) {
      sleep_ms(10);
      value = make(call, words);
    }
    if (value < 0) return failed(call, "ok in time", value);
    if (!call.gives_future) note(call, "ok");
    return static_cast<std::int32_t>(value);
  }
  // The future that `ok` gave for the call of that name gives this error.
  void fails(const char* name, ErrorCode code, std::int32_t future) {
    expect(find(name), {code}, outcome_of(future), "");
  }

  // Every wrong handle, pointer, length, number and text, one at a time, in the place of each of
  // these arguments, which are well. Nothing may take effect.
  template <typename... A>
  void mistakes(const char* name, const A&... arguments);
  // Lists of no elements and of the last bytes of the memory: whatever comes, no harm is done.
  template <typename... A>
  void edges(const char* name, const A&... arguments);

  void check(bool holds, const char* what) {
    if (!holds) lines_.insert(std::string("FAIL ") + what);
  }

  // Drops any handle, which is then tried as a stale one.
  void drop(std::int32_t handle) {
    abi::future::drop(handle);
    stale_.push_back(handle);
  }
  void wait(std::int32_t future) { abi::future::wait(&future, 1, kPatienceNs); }
  void sleep_ms(std::int64_t ms) { abi::future::wait(nullptr, 0, ms * 1'000'000); }

  // Adds the notes of a child that is such a program too.
  void adopt(const std::string& lines) {
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      lines_.insert(lines.substr(at, end - at));
      at = end + 1;
    }
  }
  // Everything goes back; sends what was noted. The program's exit code.
  std::int32_t finish();

  // The program's argument; which of its runs this is.
  static std::string argument(std::uint32_t index = 0) {
    char text[256] = {};
    abi::runtime::get_arg(index, text, sizeof text - 1);
    return text;
  }
  // The work of a child of the harness.
  static std::int32_t be_neighbour();
  static std::int32_t be_deaf();

 private:
  static const std::uint8_t* bytes(const char* text) {
    return reinterpret_cast<const std::uint8_t*>(text);
  }
  static std::string name_of(const Call& call) {
    return std::string(call.interface_name) + "." + call.name;
  }
  const Call& find(std::string_view name) {
    for (const Call& call : abi::kCalls) {
      if (name_of(call) == name) return call;
    }
    __builtin_trap();  // A mistake in the program: no such call.
  }
  static std::int64_t make(const Call& call, const Arguments& arguments) {
    return make(call, arguments.words);
  }
  static std::int64_t make(const Call& call, const std::vector<Word>& words) {
    if (words.size() != call.word_count) __builtin_trap();
    return call.make(words.data());
  }

  void note(const Call& call, const std::string& outcome) {
    lines_.insert("CALL " + name_of(call) + " " + outcome);
  }
  static std::string outcome_name(std::int64_t value) {
    if (value >= 0) return "ok";
    return abi::error_code_name(static_cast<ErrorCode>(-value));
  }
  static std::string last_error() {
    std::string text(4096, '\0');
    const std::int32_t count =
        abi::runtime::last_error(text.data(), static_cast<std::uint32_t>(text.size()));
    text.resize(static_cast<std::size_t>(std::min(std::max(count, 0), 4096)));
    return text;
  }
  std::int32_t failed(const Call& call, const char* wanted, std::int64_t value) {
    const std::string message = last_error();
    lines_.insert("FAIL " + name_of(call) + ": wanted " + wanted + ", came " + outcome_name(value) +
                  " (" + message + ")");
    return static_cast<std::int32_t>(value);
  }
  void expect(const Call& call, const Codes& allowed, std::int64_t value, const std::string& why) {
    for (const ErrorCode each : allowed) {
      if (value == -static_cast<std::int64_t>(each)) return note(call, outcome_name(value));
    }
    failed(call, (std::string(abi::error_code_name(allowed[0])) + " for " + why).c_str(), value);
  }

  // A value, or minus an error, of the call or the future that it gives; nothing is kept.
  std::int64_t outcome(const Call& call, const std::vector<Word>& words) {
    const std::int64_t value = make(call, words);
    if (value >= 0 && call.gives_future) return outcome_of(static_cast<std::int32_t>(value));
    if (value >= 0 && call.gives_handle) abi::future::drop(static_cast<std::int32_t>(value));
    return value;
  }
  std::int64_t outcome_of(std::int32_t future) {
    wait(future);
    std::int32_t value = abi::future::take(future, nullptr, 0);
    if (value > 0) abi::future::drop(future);
    return value;
  }
  std::string take(const Call& call, std::int32_t future) {
    wait(future);
    std::string result(256, '\0');
    for (;;) {
      const std::int32_t count =
          abi::future::take(future, result.data(), static_cast<std::uint32_t>(result.size()));
      if (count < 0) return failed(call, "a result", count), std::string();
      const bool fits = static_cast<std::size_t>(count) <= result.size();
      result.resize(static_cast<std::size_t>(count));
      if (!fits) continue;
      note(call, "ok");
      return result;
    }
  }

  // The limits that must be as in the beginning when everything was given back.
  static std::string limits() {
    std::string text(8192, '\0');
    const std::int32_t count =
        abi::runtime::limits(text.data(), static_cast<std::uint32_t>(text.size()));
    text.resize(static_cast<std::size_t>(std::max(count, 0)));
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      bool only_grows = false;
      for (const char* each : {"memory_bytes_max", "log_bytes_max", "log_pending", "cpu_", "wall_",
                               "token_count_max", "http.call_count_max", "output_bytes_max",
                               "outbox", "inbox", "file_inbox", "request_inbox", "response_outbox",
                               "handle_count_max", "tenant.message_queue", "tenant.queued"}) {
        only_grows = only_grows || line.starts_with(each);
      }
      if (!only_grows) kept += line + "\n";
    }
    return kept;
  }

  void begin_neighbour();
  std::vector<Word> wrong_handles(const Call& call, const std::string& parameter) const;
  void try_word(const Call& call, std::vector<Word> words, std::size_t at, Word value,
                const Codes& allowed);
  void wrong_handle(const Call& call, const std::vector<Word>& words, std::size_t at);
  void wrong_list(const Call& call, const std::vector<Word>& words, std::size_t at);
  void wrong_elements(const Call& call, const std::vector<Word>& words, std::size_t at);
  void wrong_text(const Call& call, const std::vector<Word>& words, std::size_t at);
  void wrong_address(const Call& call, const std::vector<Word>& words, std::size_t at);

  std::set<std::string> lines_;
  std::string base_;
  Handles stale_, foreign_;
  std::int32_t neighbour_ = 0;
};

}  // namespace quire::conformance

#include "mistakes.h"

// A program of this folder; `body` is a function of a Harness&.
#define CONFORMANCE(body)                                                   \
  extern "C" __attribute__((export_name("run"))) std::int32_t run();        \
  extern "C" std::int32_t run() {                                           \
    using namespace quire::conformance;                                     \
    if (Harness::argument() == "neighbour") return Harness::be_neighbour(); \
    if (Harness::argument() == "deaf") return Harness::be_deaf();           \
    Harness t;                                                              \
    body(t);                                                                \
    return t.finish();                                                      \
  }
