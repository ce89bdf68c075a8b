#pragma once
// OptionReader: the options of a program, each declared once.
//
//   struct Options {
//     std::string prompt;
//     std::uint32_t n = 4;
//     GenerateOptions generate = {.temperature = 0.8};
//
//     void read(OptionReader& in) {
//       in.text("prompt", prompt, "The question", Required::Yes);
//       in.number("n", n, "Answers of which the most probable is given", {1, 64});
//       in.generation(generate);
//     }
//   };
//   Task<> program(Options options) { ... }
//   QUIRE_MAIN(program)
//
// The declaration gives the parser, the defaults (what the members hold), the errors, and a JSON
// schema that `quire build` writes to the module's section quire.options: `quire run PROGRAM --help`
// prints it without a model. On the command line an option is --name VALUE or --name=VALUE, a flag
// is --name, and -- ends the options. Of several values of one option the last counts, but texts()
// takes all.
//
// Errors   invalid-argument names the option, what was given and what may be; for an unknown option
//          also the one that is spelled most alike.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/json.h"
#include "quire/result.h"

namespace quire {

enum class Required : std::uint8_t { No, Yes };

// Both ends are allowed.
template <typename T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

class OptionReader {
 public:
  void text(const char* name, std::string& into, const char* meaning,
            Required required = Required::No) {
    Option& option = add(name, Kind::Text, meaning, required, &into, &set_text);
    option.otherwise = json_string(into);
  }
  // Without a default: absent where it is not given.
  void text(const char* name, std::optional<std::string>& into, const char* meaning,
            Required required = Required::No) {
    add(name, Kind::Text, meaning, required, &into, &set_optional);
  }
  // May be given several times.
  void texts(const char* name, std::vector<std::string>& into, const char* meaning,
             Required required = Required::No) {
    add(name, Kind::Texts, meaning, required, &into, &add_text);
  }
  // The same as text, or the words that belong to no option, joined with blanks. One at most.
  void words(const char* name, std::string& into, const char* meaning,
             Required required = Required::No) {
    text(name, into, meaning, required);
    options_.back().takes_words = true;
  }
  void flag(const char* name, bool& into, const char* meaning) {
    add(name, Kind::Flag, meaning, Required::No, &into, &set_flag);
  }
  // A whole number or a real one, by the type of `into`.
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  void number(const char* name, T& into, const char* meaning,
              std::type_identity_t<Range<T>> range = {}, Required required = Required::No) {
    constexpr bool kIsWhole = std::is_integral_v<T>;
    Option& option =
        add(name, kIsWhole ? Kind::Whole : Kind::Real, meaning, required, &into, &set_number<T>);
    option.otherwise = json_number(into);
    option.min = static_cast<double>(range.min);
    option.max = static_cast<double>(range.max);
    option.min_text = json_number(range.min);
    option.max_text = json_number(range.max);
    option.is_limited = kIsWhole || range.min != std::numeric_limits<T>::lowest() ||
                        range.max != std::numeric_limits<T>::max();
  }
  // How a text is generated: --max-tokens, --temperature and the like. `into` is GenerateOptions; this
  // header needs none of what those need, so that hosts can compile it too.
  template <typename Generate>
  void generation(Generate& into) {
    number("max-tokens", into.max_tokens, "Tokens of a text at most");
    number("temperature", into.temperature, "0: always the most probable token", {0, 1e6});
    number("top-k", into.top_k, "Draw among this many of the most probable tokens; 0: among all");
    number("top-p", into.top_p, "Draw among the tokens that together hold this share", {0, 1});
    number("min-p", into.min_p, "Draw among tokens of this share of the most probable one", {0, 1});
    number("seed", into.seed, "Another seed draws other tokens");
    texts("stop", into.stop, "A text that ends the generation; may be given several times");
    flag("ignore-eos", into.ignore_stop_tokens, "Go on past tokens that end a text");
  }

  // Sets what was declared from the words of a command line.
  Result<void> parse(const std::vector<std::string>& words) {
    std::vector<std::string> loose;
    bool options_ended = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (options_ended || !word.starts_with("--")) {
        loose.push_back(word);
        continue;
      }
      if (word == "--") {
        options_ended = true;
        continue;
      }
      const std::size_t equals = std::min(word.find('='), word.size());
      const std::string name = word.substr(2, equals - 2);
      Option* option = find(name);
      if (option == nullptr) return unknown(name);
      const bool has_value = equals < word.size();
      std::string value = has_value ? word.substr(equals + 1) : "";
      if (option->kind == Kind::Flag) {
        if (has_value) return wrong("--" + name + " takes no value");
      } else if (!has_value) {
        if (i + 1 == words.size())
          return wrong("--" + name + " needs a value: " + form_of(*option));
        value = words[++i];
      }
      TRY(set(*option, value));
    }
    TRY(take_words(loose));
    for (const Option& each : options_) {
      if (each.required == Required::Yes && !each.is_given) {
        return wrong(std::string("give --") + each.name + ": " + each.meaning);
      }
    }
    return {};
  }

  // The declared options, as a JSON schema of an object with a member for each.
  std::string schema() const {
    JsonWriter json;
    json.begin_object().key("type").text("object").key("properties").begin_object();
    for (const Option& each : options_) {
      json.key(each.name);
      write(json, each);
    }
    json.end_object().key("required").begin_array();
    for (const Option& each : options_) {
      if (each.required == Required::Yes) json.text(each.name);
    }
    json.end_array().key("additionalProperties").boolean(false);
    return json.end_object().str();
  }

 private:
  enum class Kind : std::uint8_t { Text, Texts, Flag, Whole, Real };
  struct Option {
    const char* name;
    Kind kind;
    const char* meaning;
    Required required;
    void* into;
    Result<void> (*assign)(const Option& option, const std::string& value);
    bool takes_words = false;
    bool is_given = false;
    bool is_limited = false;
    double min = 0.0;
    double max = 0.0;
    std::string min_text = {};
    std::string max_text = {};
    std::string otherwise = {};  // As JSON.
  };
  using Assign = decltype(Option::assign);

  Option& add(const char* name, Kind kind, const char* meaning, Required required, void* into,
              Assign assign) {
    if (find(name) != nullptr) panic(std::string("the option --") + name + " is declared twice");
    options_.push_back({name, kind, meaning, required, into, assign});
    return options_.back();
  }
  Option* find(std::string_view name) {
    const auto found = std::find_if(options_.begin(), options_.end(),
                                    [&](const Option& each) { return each.name == name; });
    return found == options_.end() ? nullptr : &*found;
  }

  static Error wrong(std::string message) {
    return Error{ErrorCode::InvalidArgument, std::move(message)};
  }
  static std::string form_of(const Option& option) {
    if (option.kind == Kind::Text || option.kind == Kind::Texts) return "a text";
    std::string out = option.kind == Kind::Whole ? "a whole number" : "a number";
    if (option.is_limited) out += " from " + option.min_text + " to " + option.max_text;
    return out;
  }
  static Error refused(const Option& option, const std::string& value) {
    return wrong(std::string("--") + option.name + " must be " + form_of(option) + ", not " +
                 json_string(value));
  }

  static Result<void> set(Option& option, const std::string& value) {
    TRY(option.assign(option, value));
    option.is_given = true;
    return {};
  }
  static Result<void> set_text(const Option& option, const std::string& value) {
    *static_cast<std::string*>(option.into) = value;
    return {};
  }
  static Result<void> set_optional(const Option& option, const std::string& value) {
    *static_cast<std::optional<std::string>*>(option.into) = value;
    return {};
  }
  static Result<void> add_text(const Option& option, const std::string& value) {
    auto& list = *static_cast<std::vector<std::string>*>(option.into);
    if (!option.is_given) list.clear();  // What is there is the default.
    list.push_back(value);
    return {};
  }
  static Result<void> set_flag(const Option& option, const std::string&) {
    *static_cast<bool*>(option.into) = true;
    return {};
  }
  template <typename T>
  static Result<void> set_number(const Option& option, const std::string& value) {
    T parsed = {};
    if constexpr (std::is_integral_v<T>) {
      const char* end = value.data() + value.size();
      const auto [stopped, error] = std::from_chars(value.data(), end, parsed);
      if (error != std::errc() || stopped != end) return refused(option, value);
    } else {
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      const bool is_whole_text = end == value.c_str() + value.size();
      const bool begins_with_blank = !value.empty() && static_cast<unsigned char>(value[0]) <= ' ';
      if (value.empty() || !is_whole_text || begins_with_blank || !std::isfinite(number)) {
        return refused(option, value);
      }
      parsed = static_cast<T>(number);
    }
    if (static_cast<double>(parsed) < option.min || static_cast<double>(parsed) > option.max) {
      return refused(option, value);
    }
    *static_cast<T*>(option.into) = parsed;
    return {};
  }

  Result<void> take_words(const std::vector<std::string>& words) {
    if (words.empty()) return {};
    const auto taker = std::find_if(options_.begin(), options_.end(),
                                    [](const Option& each) { return each.takes_words; });
    if (taker == options_.end()) {
      return wrong(json_string(words[0]) + " belongs to no option");
    }
    if (taker->is_given) {
      return wrong(std::string("give --") + taker->name + " or words of their own, not both");
    }
    std::string joined;
    for (const std::string& each : words) joined += (joined.empty() ? "" : " ") + each;
    return set(*taker, joined);
  }

  // How many letters must be added, taken away or changed to make one word of the other.
  static std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < b.size(); ++j) {
        const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
      }
    }
    return row.back();
  }
  Error unknown(const std::string& name) const {
    constexpr std::size_t kComparedBytesMax = 64;
    const std::string_view compared = std::string_view(name).substr(0, kComparedBytesMax);
    std::string message = "unknown option --" + valid_utf8(compared);
    const Option* nearest = nullptr;
    std::size_t fewest = compared.size() / 2 + 1;
    for (const Option& each : options_) {
      const std::size_t changes = distance(compared, each.name);
      if (changes > fewest || (changes == fewest && nearest != nullptr)) continue;
      nearest = &each;
      fewest = changes;
    }
    if (nearest != nullptr) message += std::string("; did you mean --") + nearest->name + "?";
    return wrong(message + " (quire run PROGRAM --help lists the options)");
  }

  static void write(JsonWriter& json, const Option& option) {
    json.begin_object().key("type");
    switch (option.kind) {
      case Kind::Text:
        json.text("string");
        break;
      case Kind::Texts:
        json.text("array").key("items").begin_object().key("type").text("string").end_object();
        break;
      case Kind::Flag:
        json.text("boolean");
        break;
      case Kind::Whole:
        json.text("integer");
        break;
      case Kind::Real:
        json.text("number");
        break;
    }
    json.key("description").text(option.meaning);
    if (option.is_limited) {
      json.key("minimum").raw(option.min_text).key("maximum").raw(option.max_text);
    }
    const bool has_default = !option.otherwise.empty() && option.otherwise != "\"\"";
    if (has_default && option.required == Required::No) json.key("default").raw(option.otherwise);
    if (option.takes_words) json.key("words").boolean(true);
    json.end_object();
  }

  std::vector<Option> options_;
};

}  // namespace quire
