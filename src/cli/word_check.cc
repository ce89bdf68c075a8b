#include "cli/word_check.h"

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "cli/rows.h"
#include "cli/spelling.h"

namespace quire::cli {
namespace {

constexpr std::size_t kSuggestedCommandBytesMax = 160;

// Variables that are not flags: where models, caches and the SDK lie, and those of tests and tools.
constexpr std::string_view kOtherVariables[] = {"QUIRE_DATA",
                                                "QUIRE_CACHE",
                                                "QUIRE_RUNTIMES",
                                                "QUIRE_KEY",
                                                "QUIRE_SEED_SHARE",
                                                "QUIRE_TEST_SEED",
                                                "QUIRE_TEST_SEED_COUNT",
                                                "QUIRE_TEST_MODEL",
                                                "QUIRE_SIMULATION_SEED",
                                                "QUIRE_BUILD",
                                                "QUIRE_FUZZ_SECONDS",
                                                "QUIRE_COVERAGE_SECONDS"};

Error wrong(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : verbs_of(app)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> names_of_flags(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : options_of(app)) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool has_flag(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = names_of_flags(app);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// How the shell takes it for one word.
std::string as_shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=./:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return "\"" + printable(word) + "\"";
}

// "quire run p.wasm -- --prompt hi": the command with "--" before the word at `at`. Empty if the
// line would be long.
std::string with_dashes(const CommandWords& command, std::size_t at) {
  std::string text = command.program;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    text += (i == at ? " -- " : " ") + as_shell_word(command.words[i]);
  }
  for (const std::string& each : command.after_dashes) text += " " + as_shell_word(each);
  return text.size() > kSuggestedCommandBytesMax ? "" : text;
}

std::string dashes_hint(const CommandWords& command, std::size_t at) {
  const std::string better = with_dashes(command, at);
  return "What follows \"--\" goes to " + command.hands_rest_to +
         (better.empty() ? "" : ": " + better);
}

// Says which verbs of the program have the flag; empty if none has it.
std::string elsewhere(const CLI::App& program, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* each : verbs_of(program)) {
    if (has_flag(*each, name)) names.push_back(full_name(*each));
  }
  if (names.empty()) return "";
  const bool is_many = names.size() > 3;
  if (is_many) names.resize(3);
  return listed(names) + (is_many ? " and other verbs have it" : " has it");
}

class WordCheck {
 public:
  WordCheck(const CLI::App& program, const CommandWords& command, CheckedWords& parsed)
      : program_(program), command_(command), parsed_(parsed) {
    parsed_.verb = &program;
  }

  Result<void> run() {
    while (at_ < command_.words.size()) {
      const std::string& word = command_.words[at_];
      if (word == "--") return {};  // What follows are values, whatever they look like.
      if (word.size() > 1 && word.front() == '-') {
        TRY(take_flag(word));
        continue;
      }
      ++at_;
      TRY(take_value(word));
    }
    return check_has_verb();
  }

 private:
  const CLI::App& verb() const { return *parsed_.verb; }

  bool asks_for_help() const {
    return std::any_of(parsed_.given.begin(), parsed_.given.end(), [](const CLI::Option* each) {
      return each->check_lname("help") || each->check_lname("help-all") ||
             each->check_lname("version");
    });
  }

  // A verb's name, or a value that stands by its position.
  Result<void> take_value(const std::string& word) {
    const std::vector<const CLI::App*> verbs = verbs_of(verb());
    if (verbs.empty()) {
      ++parsed_.value_count;
      return {};
    }
    for (const CLI::App* each : verbs) {
      if (each->get_name() != word) continue;
      parsed_.verb = each;
      return {};
    }
    if (asks_for_help()) return {};
    const bool is_program = parsed_.verb == &program_;
    const std::string where = is_program ? "" : " of " + full_name(verb());
    if (word == "help") {
      return wrong("there is no verb \"help\"" + where + "; " + full_name(verb()) +
                   " --help lists the verbs, and " + full_name(verb()) +
                   " VERB --help explains one");
    }
    if (is_program && word.ends_with(".wasm")) {
      return wrong(in_quotes(word) + " is not a verb; quire run " + as_shell_word(word) +
                   " runs it");
    }
    if (is_program && word.ends_with(".cpp")) {
      return wrong(in_quotes(word) + " is not a verb; quire build " + as_shell_word(word) +
                   " makes a program of it");
    }
    const std::string near = did_you_mean(word, names_of_verbs(verb()));
    return wrong("there is no verb " + in_quotes(word) + where +
                 (near.empty() ? "; there are: " + listed_all(names_of_verbs(verb())) : near));
  }

  static std::string listed_all(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
    return text;
  }

  Result<void> take_flag(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    const CLI::Option* flag = find_flag(verb(), name);
    // -prompt is not -p with the value "rompt".
    const bool lacks_dash = !is_long && word.size() > 2 && has_flag(verb(), "-" + word);
    if (flag == nullptr || lacks_dash) {
      if (asks_for_help()) {
        at_ = command_.words.size();
        return {};
      }
      return unknown_flag(is_long ? name : word);
    }
    parsed_.given.insert(flag);
    ++at_;
    if (!takes_value(*flag)) {  // It takes no value, or one after "=" only.
      if (!is_long && word.size() > 2)
        return wrong(name + " takes no value, and " + word + " has one");
      return {};
    }
    const bool has_value = is_long ? equals != std::string::npos : word.size() > 2;
    if (is_long && has_value && equals + 1 == word.size()) {
      return wrong(name + " needs a value after \"=\"" + kind_of(*flag));
    }
    return has_value ? Result<void>() : take_value_of(*flag, name);
  }

  static std::string kind_of(const CLI::Option& flag) {
    const std::string type = type_of(flag);
    return type.empty() ? "" : ": " + type;
  }

  Result<void> take_value_of(const CLI::Option& flag, const std::string& name) {
    if (at_ == command_.words.size()) return wrong(name + " needs a value" + kind_of(flag));
    const std::string& value = command_.words[at_];
    if (value.size() > 1 && find_exactly(value)) {
      return wrong(name + " needs a value" + kind_of(flag) + "; " + value +
                   " is a flag (if it is the value, write " + name + "=" + value + ")");
    }
    ++at_;
    const bool takes_more =
        flag.get_items_expected_max() > 1 && flag.get_allow_extra_args();  // As in --lengths 1 2.
    while (takes_more && at_ < command_.words.size() && !command_.words[at_].starts_with('-')) {
      ++at_;
    }
    return {};
  }

  bool find_exactly(const std::string& word) const {
    return word.starts_with('-') && has_flag(verb(), word);
  }

  Result<void> unknown_flag(const std::string& name) {
    const std::string where = " of " + full_name(verb());
    if (parsed_.verb == &program_) {
      const std::string verbs = elsewhere(program_, name);
      if (!verbs.empty()) {
        return wrong(name + " follows the verb that it is for; " + verbs);
      }
      return wrong("there is no flag " + printable(name) +
                   did_you_mean(name, names_of_flags(program_)));
    }
    // A word with one dash is compared as if it had two.
    const std::string spelled = name.starts_with("--") || name.size() == 2 ? name : "-" + name;
    std::string message = "there is no flag " + printable(name) + where +
                          did_you_mean(spelled, names_of_flags(verb()));
    const bool may_be_of_program = !command_.hands_rest_to.empty() && parsed_.value_count > 0;
    if (may_be_of_program && nearest(spelled, names_of_flags(verb())).empty()) {
      return wrong(printable(name) + " is not a flag" + where + ". " + dashes_hint(command_, at_));
    }
    if (may_be_of_program) {
      message += " If it is for " + command_.hands_rest_to + ": " + with_dashes(command_, at_);
    } else if (nearest(spelled, names_of_flags(verb())).empty()) {
      const std::string others = elsewhere(program_, spelled);
      if (!others.empty()) message += "; " + others;
    }
    return wrong(message);
  }

  Result<void> check_has_verb() const {
    const std::vector<std::string> names = names_of_verbs(verb());
    if (names.empty() || asks_for_help()) return {};
    return wrong(full_name(verb()) + " needs a verb: " + listed_all(names));
  }

  const CLI::App& program_;
  const CommandWords& command_;
  CheckedWords& parsed_;
  std::size_t at_ = 0;
};

void add_variables(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* each : options_of(app)) {
    if (!each->get_envname().empty()) names.push_back(each->get_envname());
  }
  for (const CLI::App* each : verbs_of(app)) add_variables(*each, names);
}

}  // namespace

Result<void> check_words(const CLI::App& program, const CommandWords& command,
                         CheckedWords& parsed) {
  return WordCheck(program, command, parsed).run();
}

std::string too_many_words(const CLI::App& verb, const CommandWords& command,
                           const std::vector<std::string>& left_over) {
  const std::string& first = left_over.front();
  std::vector<std::string> takes;
  for (const CLI::Option* each : options_of(verb)) {
    if (each->get_positional()) takes.push_back(each->get_name(true));
  }
  std::string message = in_quotes(first) + " is one word too many: " + full_name(verb) + " takes " +
                        (takes.empty() ? "flags only" : "only " + takes.front());
  for (std::size_t i = 1; i < takes.size(); ++i) message += ", " + takes[i];
  if (!command.hands_rest_to.empty()) {
    const auto at = std::find(command.words.begin(), command.words.end(), first);
    return message + ". " +
           dashes_hint(command, static_cast<std::size_t>(at - command.words.begin()));
  }
  return takes.empty() ? message : message + "; put a text of several words in quotes";
}

std::vector<std::string> misspelt_variables(const CLI::App& program,
                                            const char* const* environment) {
  std::vector<std::string> known(std::begin(kOtherVariables), std::end(kOtherVariables));
  add_variables(program, known);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  // All names begin with the prefix, so it does not count as a likeness.
  constexpr std::string_view kPrefix = "QUIRE_";
  std::vector<std::string> endings;
  for (const std::string& each : known) endings.push_back(each.substr(kPrefix.size()));
  std::vector<std::string> lines;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string name(entry.substr(0, entry.find('=')));
    if (!name.starts_with(kPrefix)) continue;
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    const std::vector<std::string> near = misspelt(name.substr(kPrefix.size()), endings);
    if (near.empty()) continue;
    std::vector<std::string> meant;
    for (const std::string& each : near) meant.push_back(std::string(kPrefix) + each);
    lines.push_back("Quire reads no variable " + printable(name) + "; did you mean " +
                    listed(meant) + "?");
  }
  return lines;
}

}  // namespace quire::cli
