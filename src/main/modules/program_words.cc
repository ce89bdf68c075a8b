// check_program_words(): a program's command line against the options that it declares, before an
// engine is started. It follows OptionReader::parse in sdk/cpp/include/quire/options.h, rule by rule
// and word by word; tests/end_to_end/program_options_test.cc compares the two.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/json.h"
#include "cli/spelling.h"
#include "main/modules/declared_options.h"

namespace quire::modules {
namespace {

Error refused(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

std::string json_text(const std::string& text) {
  return dump_json(Json(text));
}

std::string form_of(const DeclaredOption& option) {
  if (!option.choices.empty()) return "one of " + listed_choices(option);
  if (option.kind == OptionKind::Text || option.kind == OptionKind::Texts) return "a text";
  std::string out = option.kind == OptionKind::Whole ? "a whole number" : "a number";
  if (!option.minimum.empty()) out += " from " + option.minimum + " to " + option.maximum;
  return out;
}

// A long double has the 64 bits of every whole number that an option can be.
std::optional<long double> whole_number(const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t below_zero = 0;
  std::uint64_t above = 0;
  const bool is_negative = text.starts_with('-');
  const auto [stopped, error] = is_negative ? std::from_chars(text.data(), end, below_zero)
                                            : std::from_chars(text.data(), end, above);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return is_negative ? static_cast<long double>(below_zero) : static_cast<long double>(above);
}

std::optional<long double> real_number(const std::string& text) {
  if (text.empty() || static_cast<unsigned char>(text[0]) <= ' ') return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

Result<void> check_value(const DeclaredOption& option, const std::string& value) {
  if (!option.choices.empty() && std::ranges::find(option.choices, value) == option.choices.end()) {
    return refused("--" + option.name + " must be " + form_of(option) + ", not " +
                   json_text(value));
  }
  if (option.kind != OptionKind::Whole && option.kind != OptionKind::Real) return {};
  const bool is_whole = option.kind == OptionKind::Whole;
  const std::optional<long double> number = is_whole ? whole_number(value) : real_number(value);
  const auto limit = [](const std::string& text, long double otherwise) {
    return text.empty() ? otherwise : std::strtold(text.c_str(), nullptr);
  };
  const bool is_taken = number && *number >= limit(option.minimum, -HUGE_VALL) &&
                        *number <= limit(option.maximum, HUGE_VALL);
  if (is_taken) return {};
  return refused("--" + option.name + " must be " + form_of(option) + ", not " + json_text(value));
}

class WordsCheck {
 public:
  explicit WordsCheck(const DeclaredOptions& options) : options_(options) {}

  Result<void> run(const std::vector<std::string>& words) {
    bool options_ended = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (options_ended || !word.starts_with("--")) {
        loose_.push_back(word);
      } else if (word == "--") {
        options_ended = true;
      } else {
        TRY(take_option(words, i));
      }
    }
    TRY(check_loose_words());
    for (const DeclaredOption& each : options_) {
      if (each.is_required && !given_.contains(each.name)) {
        return refused("give --" + each.name + ": " + each.meaning);
      }
    }
    return {};
  }

 private:
  Result<void> take_option(const std::vector<std::string>& words, std::size_t& at) {
    const std::string& word = words[at];
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(2, equals - 2);
    const auto option = std::find_if(options_.begin(), options_.end(),
                                     [&](const auto& each) { return each.name == name; });
    if (option == options_.end()) return unknown(name);
    const bool has_value = equals < word.size();
    given_.insert(name);
    if (option->kind == OptionKind::Flag) {
      if (has_value) return refused("--" + name + " takes no value");
      return {};
    }
    if (has_value) return check_value(*option, word.substr(equals + 1));
    if (at + 1 == words.size()) return refused("--" + name + " needs a value: " + form_of(*option));
    return check_value(*option, words[++at]);
  }

  Result<void> check_loose_words() {
    if (loose_.empty()) return {};
    const auto taker = std::find_if(options_.begin(), options_.end(),
                                    [](const auto& each) { return each.takes_words; });
    if (taker == options_.end()) return refused(json_text(loose_[0]) + " belongs to no option");
    if (given_.contains(taker->name)) {
      return refused("give --" + taker->name + " or words of their own, not both");
    }
    given_.insert(taker->name);
    return {};
  }

  Error unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const DeclaredOption& each : options_) names.push_back("--" + each.name);
    constexpr std::size_t kComparedBytesMax = 64;
    const std::string given = "--" + name.substr(0, kComparedBytesMax);
    const std::string shown = dump_json(Json(given));
    return refused("unknown option " + shown.substr(1, shown.size() - 2) +
                   cli::did_you_mean(given, names));
  }

  const DeclaredOptions& options_;
  std::vector<std::string> loose_;
  std::set<std::string> given_;
};

}  // namespace

Result<void> check_program_words(const DeclaredOptions& options,
                                 const std::vector<std::string>& words) {
  return WordsCheck(options).run(words);
}

}  // namespace quire::modules
