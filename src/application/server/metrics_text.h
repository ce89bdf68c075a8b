#pragma once
// MetricsText writes figures in the text format of Prometheus, version 0.0.4: a family has its HELP and
// TYPE line, then a line for each sample.
//
// Thread   any.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace quire::server {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class MetricsText {
 public:
  using Label = std::pair<const char*, std::string_view>;
  using Labels = std::initializer_list<Label>;

  // Samples that follow are of this family. "counter" or "gauge".
  void family(const char* name, const char* type, const char* help);
  void sample(Labels labels, std::uint64_t value);
  void sample(Labels labels, double value);
  // A sample of nanoseconds, written in seconds without a rounding error.
  void seconds(Labels labels, std::uint64_t ns);

  // A family of one sample.
  void counter(const char* name, const char* help, std::uint64_t value);
  void gauge(const char* name, const char* help, std::uint64_t value);
  // Whole families. Times are given in nanoseconds and printed in seconds.
  void times(const char* name, const char* help, const Histogram& histogram);
  void sizes(const char* name, const char* help, const Histogram& histogram);

  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, Labels labels, const std::string& value);

  std::string text_;
  std::string name_;  // Of the family.
};

}  // namespace quire::server
