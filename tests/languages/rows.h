#pragma once
// Rows writes what came of each call: a line `INTERFACE.CALL = VALUE` or `INTERFACE.CALL ! ERROR`,
// the same in each language of this folder. After the call " as WORD" may follow: another word of
// the SDK that makes it, which not every language has.
//
// Numbers are decimal, a float is the bits of its f64, and what is long is its length and FNV-1a
// hash.
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/quire.h"

namespace quire::languages {

inline std::string shown(bool value) {
  return value ? "true" : "false";
}
template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
std::string shown(T value) {
  return std::to_string(value);
}
inline std::string shown(double value) {
  return std::to_string(std::bit_cast<std::uint64_t>(value));
}
inline std::string shown(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) out += each == '\n' ? ' ' : each;
  return out + "\"";
}
inline std::string shown(Unit) {
  return "ok";
}
std::string shown(const Distribution& next);
std::string shown(const DrawnToken& drawn);
template <typename T>
std::string shown(const std::vector<T>& list) {
  std::string out = "[";
  for (const T& each : list) out += (out.size() > 1 ? " " : "") + shown(each);
  return out + "]";
}
inline std::string shown(const ContextCounters& counters) {
  return shown(std::vector<std::uint32_t>{counters.seq_len, counters.committed_page_count,
                                          counters.working_page_count,
                                          counters.working_page_token_count});
}
inline std::string shown(const Distribution& next) {
  return shown(next.tokens) + " " +
         shown(std::vector<double>(next.probabilities.begin(), next.probabilities.end()));
}
inline std::string shown(const DrawnToken& drawn) {
  std::string out = shown(drawn.token) + " " + shown(double{drawn.probability});
  for (const TokenProbability& each : drawn.top)
    out += " " + shown(each.token) + " " + shown(double{each.probability});
  return out;
}
inline std::string shown(const Draws& draws) {
  return shown(draws.tokens);
}
inline std::string shown(const Generation& answer) {
  return shown(answer.tokens) + " " + shown(answer.text) + " " + shown(answer.log_probability);
}

// The hash of a list that is too long to be shown.
template <typename T>
std::string hash_of(const std::vector<T>& list) {
  std::uint32_t hash = 2'166'136'261;
  for (const std::byte each : std::as_bytes(std::span(list))) {
    hash = (hash ^ static_cast<std::uint32_t>(each)) * 16'777'619;
  }
  return shown(list.size()) + " #" + shown(hash);
}

template <typename T>
Result<T> just(T value) {
  return value;
}
template <typename T, typename Change>
auto changed(Result<T> result, Change change) -> Result<decltype(change(result.value()))> {
  if (!result.ok()) return std::move(result).take_error();
  return change(result.value());
}

class Rows {
 public:
  // In an instance that a request launched there is no session: the lines go to the queue "served".
  explicit Rows(bool is_served = false) : is_served_(is_served) {}

  template <typename T>
  void operator()(const std::string& row, const Result<T>& result) {
    line(row + (result.ok() ? " = " + shown(result.value()) : " ! " + result.error().text()));
  }
  // A call that gives nothing but whether it worked.
  void raw(const std::string& row, std::int32_t returned) { (*this)(row, checked_empty(returned)); }
  // The same of a future.
  Task<> future(std::string row, std::int32_t returned) {
    (*this)(row, co_await attempt(Future<void>(returned)));
  }
  void line(std::string text) {
    text += "\n";
    const Result<void> sent = is_served_ ? messaging::push("served", text) : session::send(text);
    if (!sent.ok()) panic(sent.error().text());
  }

 private:
  bool is_served_;
};

}  // namespace quire::languages
