#pragma once
// Arguments of a program: `--name value`, `--name=value`, `--flag`, and the rest by position.
//
//   const Arguments arguments = co_await Arguments::parse(
//       command_line, {.values = {"prompt", "max-tokens"}, .flags = {"json"}});
//
// Errors   invalid-argument names the argument and what was wrong with it: an unknown name, a
//          value that is missing or is no number. `--` ends the names. The last of several counts.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/result.h"

namespace quire {

// The names that a program knows, without their dashes.
struct ArgumentNames {
  std::vector<std::string> values = {};  // Take a value.
  std::vector<std::string> flags = {};   // Take none.
};

class Arguments {
 public:
  static Result<Arguments> parse(const std::vector<std::string>& given,
                                 const ArgumentNames& names) {
    Arguments out;
    bool names_ended = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string& each = given[i];
      if (names_ended || !each.starts_with("--")) {
        out.positional_.push_back(each);
        continue;
      }
      if (each == "--") {
        names_ended = true;
        continue;
      }
      const std::size_t equals = each.find('=');
      const std::string name = each.substr(2, equals == std::string::npos ? equals : equals - 2);
      if (contains(names.flags, name)) {
        if (equals != std::string::npos) return wrong("--" + name + " takes no value");
        out.named_[name] = "";
      } else if (!contains(names.values, name)) {
        return wrong("unknown argument --" + name + known(names));
      } else if (equals != std::string::npos) {
        out.named_[name] = each.substr(equals + 1);
      } else if (i + 1 < given.size()) {
        out.named_[name] = given[++i];
      } else {
        return wrong("--" + name + " needs a value");
      }
    }
    return out;
  }

  bool has(const std::string& name) const { return named_.contains(name); }
  bool flag(const std::string& name) const { return has(name); }

  std::string text(const std::string& name, std::string_view otherwise = "") const {
    const auto found = named_.find(name);
    return found == named_.end() ? std::string(otherwise) : found->second;
  }

  Result<std::uint64_t> integer(const std::string& name, std::uint64_t otherwise) const {
    const auto found = named_.find(name);
    if (found == named_.end()) return otherwise;
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      return wrong("--" + name + " is no whole number from 0 to 2^64-1: " + text);
    }
    return value;
  }

  // A whole number of at most 32 bits.
  Result<std::uint32_t> count(const std::string& name, std::uint32_t otherwise) const {
    const std::uint64_t value = TRY(integer(name, otherwise));
    if (value > UINT32_MAX) return wrong("--" + name + " is above 4294967295: " + text(name));
    return static_cast<std::uint32_t>(value);
  }

  Result<double> number(const std::string& name, double otherwise) const {
    const auto found = named_.find(name);
    if (found == named_.end()) return otherwise;
    const char* start = found->second.c_str();
    char* end = nullptr;
    const double value = std::strtod(start, &end);
    if (end == start || *end != '\0' || !std::isfinite(value)) {
      return wrong("--" + name + " is no number: " + found->second);
    }
    return value;
  }

  const std::vector<std::string>& positional() const { return positional_; }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static Error wrong(std::string message) {
    return Error{ErrorCode::InvalidArgument, std::move(message)};
  }
  static std::string known(const ArgumentNames& names) {
    std::string out = " (known:";
    for (const std::string& each : names.values) out += " --" + each;
    for (const std::string& each : names.flags) out += " --" + each;
    return out + ")";
  }

  std::map<std::string, std::string> named_;
  std::vector<std::string> positional_;
};

}  // namespace quire
