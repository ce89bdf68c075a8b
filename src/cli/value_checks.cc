// Validators of CLI11 check the values of flags. A message here follows "--flag: ", of which
// with_subject() makes a sentence.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <string>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// Digits only. CLI11 itself would read 010 as 8 and 0x10 as 16.
bool is_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Without the zeros at its front, which make CLI11 read an octal number.
std::string without_leading_zeros(const std::string& digits) {
  const std::size_t begin = digits.find_first_not_of('0');
  return begin == std::string::npos ? "0" : digits.substr(begin);
}

std::string number_text(double value) {
  std::ostringstream out;
  out.precision(15);
  const bool is_small = value != 0.0 && std::abs(value) < 1e-3;
  if (is_small) out << std::fixed << std::setprecision(6);
  out << value;
  return out.str();
}

// The whole text as a number that is finite, as in 0.5, 1e-3, -2.
std::optional<double> real_of(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return {};
  return value;
}

CLI::Validator real_check(const std::string& range, const std::string& description,
                          std::function<bool(double)> is_within) {
  const auto check = [range, is_within = std::move(is_within)](std::string& text) -> std::string {
    const std::optional<double> value = real_of(text);
    if (!value) return in_quotes(text) + " is not a number (it must be " + range + ")";
    return is_within(*value) ? "" : "must be " + range + ", not " + text;
  };
  return CLI::Validator(check, description);
}

}  // namespace

CLI::Validator whole_within(std::uint64_t least, std::uint64_t most) {
  const std::string numbers = std::to_string(least) + " to " + std::to_string(most);
  const std::string range = "from " + numbers;
  const auto check = [least, most, range](std::string& text) -> std::string {
    const bool is_negative = text.size() > 1 && text.front() == '-' && is_digits(text.substr(1));
    if (!is_digits(text) && !is_negative) {
      return in_quotes(text) + " is not a whole number (it must be " + range + ")";
    }
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (is_negative || parsed.ec != std::errc() || value < least || value > most) {
      return "must be " + range + ", not " + text;
    }
    text = without_leading_zeros(text);
    return "";
  };
  // If every number of 32 or 64 bits is valid, the range is not shown.
  const bool has_range = least > 0 || most < UINT32_MAX;
  return CLI::Validator(check, has_range ? numbers : "");
}

CLI::Validator real_within(double least, double most) {
  const std::string numbers = number_text(least) + " to " + number_text(most);
  return real_check("from " + numbers, numbers,
                    [=](double value) { return value >= least && value <= most; });
}

CLI::Validator probability_above_zero() {
  return real_check("above 0 and at most 1", "above 0, at most 1",
                    [](double value) { return value > 0.0 && value <= 1.0; });
}

std::string with_subject(std::string message) {
  const std::size_t colon = message.find(": must be ");
  if (colon != std::string::npos) message.erase(colon, 1);
  return message;
}

CLI::Validator on_or_off() {
  const auto check = [](std::string& text) -> std::string {
    return text == "on" || text == "off" ? "" : "must be on or off, not " + printable(text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator byte_count() {
  const auto check = [](std::string& text) -> std::string {
    const Result<std::uint64_t> bytes = parse_bytes(text);
    return bytes.ok() ? "" : std::string(bytes.error().message());
  };
  return CLI::Validator(check, "");
}

}  // namespace quire::cli
