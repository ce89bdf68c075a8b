#include "application/server/metrics_text.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace quire::server {
namespace {

// Edges of Histogram, so the counts below them are exact.
constexpr std::uint64_t kTimeEdgesNs[] = {
    100'000,        250'000,        500'000,        1'000'000,       2'500'000,
    5'000'000,      10'000'000,     25'000'000,     50'000'000,      100'000'000,
    250'000'000,    500'000'000,    1'000'000'000,  2'500'000'000,   5'000'000'000,
    10'000'000'000, 25'000'000'000, 50'000'000'000, 100'000'000'000, 250'000'000'000,
    500'000'000'000};
constexpr std::uint64_t kSizeEdges[] = {1,   2,   5,    10,   20,   50,    100,
                                        200, 500, 1000, 2000, 5000, 10'000};

template <std::size_t kCount>
constexpr bool are_edges(const std::uint64_t (&all)[kCount]) {
  return std::all_of(std::begin(all), std::end(all), [](std::uint64_t each) {
    return std::binary_search(Histogram::edges().begin(), Histogram::edges().end(), each);
  });
}
static_assert(are_edges(kTimeEdgesNs) && are_edges(kSizeEdges), "their counts would not be exact");

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

std::string seconds_text(std::uint64_t ns) {
  char text[48];
  std::snprintf(text, sizeof text, "%llu.%09llu",
                static_cast<unsigned long long>(ns / kNanosecondsPerSecond),
                static_cast<unsigned long long>(ns % kNanosecondsPerSecond));
  std::string trimmed(text);
  trimmed.erase(trimmed.find_last_not_of('0') + 1);
  if (trimmed.back() == '.') trimmed.pop_back();
  return trimmed;
}

std::string escaped(std::string_view text, bool is_quoted) {
  std::string result;
  for (const char each : text) {
    if (each == '\\') {
      result += "\\\\";
    } else if (each == '\n') {
      result += "\\n";
    } else if (each == '"' && is_quoted) {
      result += "\\\"";
    } else {
      result += each;
    }
  }
  return result;
}

}  // namespace

void MetricsText::family(const char* name, const char* type, const char* help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + escaped(help, false) + "\n# TYPE " + name_ + " " + type + "\n";
}

void MetricsText::line(std::string_view suffix, Labels labels, const std::string& value) {
  text_ += name_;
  text_ += suffix;
  const char* separator = "{";
  for (const auto& [name, text] : labels) {
    text_ += std::string(separator) + name + "=\"" + escaped(text, true) + "\"";
    separator = ",";
  }
  if (labels.size() > 0) text_ += "}";
  text_ += " " + value + "\n";
}

void MetricsText::sample(Labels labels, std::uint64_t value) {
  line("", labels, std::to_string(value));
}

void MetricsText::sample(Labels labels, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  line("", labels, text);
}

void MetricsText::seconds(Labels labels, std::uint64_t ns) {
  line("", labels, seconds_text(ns));
}

void MetricsText::counter(const char* name, const char* help, std::uint64_t value) {
  family(name, "counter", help);
  sample({}, value);
}

void MetricsText::gauge(const char* name, const char* help, std::uint64_t value) {
  family(name, "gauge", help);
  sample({}, value);
}

void MetricsText::times(const char* name, const char* help, const Histogram& histogram) {
  family(name, "histogram", help);
  for (const std::uint64_t edge : kTimeEdgesNs) {
    line("_bucket", {{"le", seconds_text(edge)}}, std::to_string(histogram.count_at_most(edge)));
  }
  line("_bucket", {{"le", "+Inf"}}, std::to_string(histogram.count()));
  line("_sum", {}, seconds_text(histogram.sum()));
  line("_count", {}, std::to_string(histogram.count()));
}

void MetricsText::sizes(const char* name, const char* help, const Histogram& histogram) {
  family(name, "histogram", help);
  for (const std::uint64_t edge : kSizeEdges) {
    line("_bucket", {{"le", std::to_string(edge)}}, std::to_string(histogram.count_at_most(edge)));
  }
  line("_bucket", {{"le", "+Inf"}}, std::to_string(histogram.count()));
  line("_sum", {}, std::to_string(histogram.sum()));
  line("_count", {}, std::to_string(histogram.count()));
}

}  // namespace quire::server
