#pragma once
// Query reads the parameters of a request's query, as Members reads the members of its body: an
// endpoint honors or accepts each of them, or refuses it by its name.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "members.h"

namespace endpoints {

class Query {
 public:
  explicit Query(serve::Request request) : request_(std::move(request)) {}

  std::optional<std::string> find(std::string_view name) {
    known_.push_back(std::string(name));
    return request_.query_value(name);
  }
  Result<bool> flag(std::string_view name) {
    const std::string value = find(name).value_or("false");
    if (value == "true" || value == "false") return value == "true";
    return wrong(name, "must be true or false");
  }
  Result<std::optional<std::uint64_t>> whole(std::string_view name, Range<std::uint64_t> range) {
    const std::optional<std::string> text = find(name);
    if (!text) return std::optional<std::uint64_t>();
    std::uint64_t value = 0;
    const char* const end = text->data() + text->size();
    const std::from_chars_result read = std::from_chars(text->data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= range.min && value <= range.max) {
      return std::optional(value);
    }
    return wrong(name, "must be a whole number from " + std::to_string(range.min) + " to " +
                           std::to_string(range.max));
  }
  // An error that names the first parameter that was not read.
  Result<void> finish() const {
    for (const auto& [name, value] : request_.query_parameters()) {
      if (std::ranges::find(known_, name) == known_.end()) {
        return wrong(name, "is not supported in the query", ErrorCode::NotSupported);
      }
    }
    return {};
  }

 private:
  serve::Request request_;
  std::vector<std::string> known_;
};

}  // namespace endpoints
