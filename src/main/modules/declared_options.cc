#include "main/modules/declared_options.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/word_wrap.h"
#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

constexpr std::size_t kOptionCountMax = 1'000;
constexpr std::size_t kNameColumnsMax = 30;
constexpr std::uint32_t kNarrowColumns =
    76;  // On fewer the meanings need them more than the names.
constexpr std::size_t kNarrowNameColumnsMax = 16;

Error wrong(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

Result<OptionKind> kind_of(const std::string& name, const OrderedJson& declared) {
  const auto type = declared.find("type");
  const std::string text =
      type != declared.end() && type->is_string() ? type->get<std::string>() : "";
  if (text == "string") return OptionKind::Text;
  if (text == "array") return OptionKind::Texts;
  if (text == "boolean") return OptionKind::Flag;
  if (text == "integer") return OptionKind::Whole;
  if (text == "number") return OptionKind::Real;
  return wrong("the option " + in_quotes(name) + " has the type " + in_quotes(text) +
               ", which is not one of string, array, boolean, integer and number");
}

Result<std::string> number_text(const std::string& name, const OrderedJson& declared,
                                const char* member) {
  const auto found = declared.find(member);
  if (found == declared.end()) return std::string();
  if (!found->is_number()) {
    return wrong("the option " + in_quotes(name) + " has a " + member + " that is not a number");
  }
  return dump_json(*found);
}

Result<std::vector<std::string>> choices_of(const std::string& name, const OrderedJson& declared) {
  std::vector<std::string> choices;
  const auto found = declared.find("enum");
  if (found == declared.end()) return choices;
  const auto is_text = [](const OrderedJson& each) { return each.is_string(); };
  if (!found->is_array() || !std::ranges::all_of(*found, is_text)) {
    return wrong("the option " + in_quotes(name) + " has an enum that is not a list of texts");
  }
  for (const OrderedJson& each : *found) choices.push_back(each.get<std::string>());
  return choices;
}

Result<DeclaredOption> parse_option(const std::string& name, const OrderedJson& declared) {
  if (!declared.is_object()) return wrong("the option " + in_quotes(name) + " is not an object");
  DeclaredOption option;
  option.name = name;
  option.kind = TRY(kind_of(name, declared));
  option.minimum = TRY(number_text(name, declared, "minimum"));
  option.maximum = TRY(number_text(name, declared, "maximum"));
  option.choices = TRY(choices_of(name, declared));
  if (const auto meaning = declared.find("description");
      meaning != declared.end() && meaning->is_string()) {
    option.meaning = meaning->get<std::string>();
  }
  if (const auto found = declared.find("default"); found != declared.end()) {
    option.default_text = dump_json(*found);
  }
  const auto words = declared.find("words");
  option.takes_words = words != declared.end() && *words == true;
  return option;
}

// The name in a line of help, as in "--max-tokens N".
std::string spelled(const DeclaredOption& option) {
  const std::string name = "--" + printable(option.name);
  switch (option.kind) {
    case OptionKind::Flag:
      return name;
    case OptionKind::Text:
    case OptionKind::Texts:
      return name + " TEXT";
    case OptionKind::Whole:
      return name + " N";
    case OptionKind::Real:
      return name + " X";
  }
  return name;
}

// Whether a limit says more than that the number has 32 or 64 bits.
bool is_telling(const std::string& limit) {
  constexpr std::string_view kOfTypes[] = {"0",
                                           "255",
                                           "65535",
                                           "4294967295",
                                           "18446744073709551615",
                                           "2147483647",
                                           "-2147483648",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9007199254740991",
                                           "-9007199254740991"};
  return !limit.empty() &&
         std::find(std::begin(kOfTypes), std::end(kOfTypes), limit) == std::end(kOfTypes);
}

// "required; 1 to 64; default 4".
std::string facts_of(const DeclaredOption& option) {
  std::vector<std::string> facts;
  if (option.is_required) facts.push_back("required");
  if (option.kind == OptionKind::Texts) facts.push_back("may be repeated");
  if (option.takes_words) facts.push_back("or words without an option");
  if (!option.choices.empty()) facts.push_back("one of " + printable(listed_choices(option)));
  if (is_telling(option.minimum) || is_telling(option.maximum)) {
    facts.push_back(option.minimum + " to " + option.maximum);
  }
  if (!option.default_text.empty()) facts.push_back("default " + printable(option.default_text));
  std::string text;
  for (const std::string& each : facts) text += (text.empty() ? "" : "; ") + each;
  return text;
}

}  // namespace

std::string listed_choices(const DeclaredOption& option) {
  std::string text;
  for (const std::string& each : option.choices) text += (text.empty() ? "" : ", ") + each;
  return text;
}

Result<DeclaredOptions> parse_declared_options(std::string_view json) {
  const OrderedJson schema = TRY(parse_ordered_json(json, std::string(kOptionsSection)));
  const bool has_properties =
      schema.is_object() && schema.contains("properties") && schema["properties"].is_object();
  if (!has_properties) return wrong("the declared options are not an object with \"properties\"");
  const OrderedJson& properties = schema["properties"];
  if (properties.size() > kOptionCountMax) {
    return wrong(std::to_string(properties.size()) + " options are declared, at most " +
                 std::to_string(kOptionCountMax) + " may be");
  }
  DeclaredOptions options;
  for (const auto& [name, declared] : properties.items()) {
    options.push_back(TRY(parse_option(name, declared)));
  }
  if (!schema.contains("required") || !schema["required"].is_array()) return options;
  std::set<std::string> required;
  for (const OrderedJson& each : schema["required"]) {
    if (each.is_string()) required.insert(each.get<std::string>());
  }
  for (DeclaredOption& each : options) each.is_required = required.contains(each.name);
  return options;
}

Result<std::optional<DeclaredOptions>> declared_options_of(std::string_view wasm) {
  const std::vector<ModuleSection> sections = TRY(read_sections(wasm));
  const auto json = find_custom(sections, kOptionsSection);
  if (!json) return std::optional<DeclaredOptions>();
  return std::optional<DeclaredOptions>(TRY(parse_declared_options(*json)));
}

std::string options_help(const std::string& program, const DeclaredOptions& options,
                         std::uint32_t columns) {
  if (options.empty()) return program + " takes no options.\n";
  const std::size_t name_columns_max =
      columns < kNarrowColumns ? kNarrowNameColumnsMax : kNameColumnsMax;
  std::size_t column = 0;
  for (const DeclaredOption& each : options) {
    const std::size_t bytes = spelled(each).size() + 4;
    if (bytes <= name_columns_max) column = std::max(column, bytes);
  }
  column = std::max<std::size_t>(column, 12);
  std::string out = "Options of " + program + ", given after \"--\":\n\n";
  for (const DeclaredOption& each : options) {
    std::string line = "  " + spelled(each);
    line += line.size() + 2 > column ? "\n" + std::string(column, ' ')
                                     : std::string(column - line.size(), ' ');
    const std::string facts = facts_of(each);
    const auto indent = static_cast<std::uint32_t>(column);
    out += line +
           cli::wrapped(printable(each.meaning) + (facts.empty() ? "" : " (" + facts + ")"),
                        {.width = columns, .indent = indent, .column = indent}) +
           "\n";
  }
  return out;
}

}  // namespace quire::modules
