#include "cli/parse.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/config_layer.h"
#include "cli/help.h"
#include "cli/rows.h"
#include "cli/verb.h"
#include "cli/word_check.h"

extern "C" char** environ;

namespace quire::cli {
namespace {

constexpr const char* kDescription =
    "Quire: a serving system for language models in which the unit of service is a program.";

constexpr const char* kFooter = R"(Examples:
  quire run text_completion -- --prompt "The capital of France is"
  quire generate --prompt "The capital of France is" --max-tokens 32
  quire chat
  quire serve

Exit codes:
  0    done
  1    the work failed, or its output could not be written; the message says what, which and how much
  2    a verb or flag that does not exist, or a value that a flag does not take
  3    a model or a file that is not there
  4    the program (the guest) is not a module, returned an error or an exit code that is not 0,
       trapped, was stopped, or ran into a limit
  130  interrupted

Flags of the engine may also be set as environment variables: --kv-format as QUIRE_KV_FORMAT.)";

// The words after "--" belong to the program of `run` and `bench launch`, and to the compiler of
// `build`, flags included.
CommandWords split(const std::vector<std::string>& arguments, CommandLine program) {
  const bool is_bench = program == CommandLine::QuireBench;
  const auto begins_with = [&](const std::vector<std::string>& verb) {
    return arguments.size() >= verb.size() &&
           std::equal(verb.begin(), verb.end(), arguments.begin());
  };
  CommandWords command;
  if (is_bench) command.program = "quire-bench";
  if (is_bench ? begins_with({"launch"})
               : begins_with({"run"}) || begins_with({"bench", "launch"})) {
    command.hands_rest_to = "the program";
  } else if (!is_bench && begins_with({"build"})) {
    command.hands_rest_to = "the compiler";
  }
  const auto end = command.hands_rest_to.empty()
                       ? arguments.end()
                       : std::find(arguments.begin(), arguments.end(), "--");
  command.words.assign(arguments.begin(), end);
  if (end != arguments.end()) command.after_dashes.assign(end + 1, arguments.end());
  return command;
}

void hand_on(Request& request, std::vector<std::string> rest) {
  if (auto* run = std::get_if<RunOptions>(&request)) run->arguments = std::move(rest);
  if (auto* bench = std::get_if<BenchLaunchOptions>(&request)) bench->arguments = std::move(rest);
  if (auto* build = std::get_if<BuildOptions>(&request)) build->flags = std::move(rest);
}

Parsed usage_error(const std::string& what, const CLI::App& app) {
  Parsed parsed;
  parsed.text = what + "\nSee: " + full_name(app) + " --help\n";
  parsed.exit_code = ExitCode::Usage;
  return parsed;
}

// A value that came from the environment is an error of the variable, not of the flag.
std::string with_variable(std::string message, const CheckedWords& checked) {
  for (const CLI::Option* each : checked.verb->get_options()) {
    const std::string name = each->get_name();
    if (!message.starts_with(name + ":") && !message.starts_with(name + " ")) continue;
    if (each->get_envname().empty() || checked.given.contains(each)) continue;
    if (std::getenv(each->get_envname().c_str()) == nullptr) continue;
    message.replace(0, name.size(), each->get_envname() + " (which stands for " + name + ")");
    break;
  }
  return message;
}

// A flag wins over a variable that excludes it.
void prefer_flags(const std::vector<Verb>& verbs, const CheckedWords& checked) {
  for (const Verb& verb : verbs) {
    if (verb.app != checked.verb) continue;
    for (CLI::Option* each : verb.app->get_options()) {
      if (!checked.given.contains(each)) continue;
      for (CLI::Option* other : each->get_excludes()) {
        if (!checked.given.contains(other)) other->envname("");
      }
    }
  }
}

// `quire help model add` is `quire model add --help`.
std::vector<std::string> with_help_as_flag(const std::vector<std::string>& typed) {
  if (typed.empty() || typed.front() != kHelpVerb) return typed;
  const bool is_of_itself = typed.size() > 1 && typed[1].starts_with('-');
  if (is_of_itself) return typed;
  std::vector<std::string> words(typed.begin() + 1, typed.end());
  words.emplace_back("--help");
  return words;
}

// `quire run PROGRAM --help` asks for the options of the program, which its file knows.
std::optional<RunOptions> asks_for_program(const CLI::App& verb) {
  if (full_name(verb) != "quire run") return std::nullopt;
  const CLI::Option* program = verb.get_option("PROGRAM");
  if (program->results().empty()) return std::nullopt;
  RunOptions options;
  options.program = program->results().front();
  options.shows_options = true;
  return options;
}

// Says in words what the verb lacks; CLI11 gives the names alone.
std::string missing_text(const CLI::App& verb, std::string message) {
  for (const CLI::Option* each : verb.get_options()) {
    if (message != each->get_name() + " is required") continue;
    message = full_name(verb) + " needs " + each->get_name();
    if (each->nonpositional()) message += " " + type_of(*each);
    return message + ": " + each->get_description();
  }
  constexpr std::string_view kOneOf = "Exactly 1 option from [";
  const std::size_t end = message.find(']');
  if (message.starts_with(kOneOf) && end != std::string::npos) {
    std::string names = message.substr(kOneOf.size(), end - kOneOf.size());
    const std::size_t last = names.rfind(',');
    for (std::size_t at = names.size(); at-- > 0;) {
      if (names[at] == ',') names.replace(at, 1, at == last ? " and " : ", ");
    }
    return full_name(verb) + " takes exactly one of " + names;
  }
  return message;
}

std::string error_text(const CLI::ParseError& error, const CheckedWords& checked,
                       const CommandWords& command, const ConfigLayer& layer) {
  const CLI::App& verb = *checked.verb;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> left_over = verb.remaining();
    if (!left_over.empty()) return too_many_words(verb, command, left_over);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return missing_text(verb, error.what());
  }
  return with_variable(with_place(with_subject(error.what()), layer), checked);
}

bool asks_for_help(const CheckedWords& checked) {
  return std::any_of(checked.given.begin(), checked.given.end(),
                     [](const CLI::Option* each) { return each->check_lname("help"); });
}

// A file that cannot be read, or that says something wrong.
Parsed config_error(const Error& error, const CLI::App& verb) {
  Parsed parsed = usage_error(std::string(error.message()), verb);
  if (error.code() == ErrorCode::NotFound) parsed.exit_code = ExitCode::Missing;
  return parsed;
}

// The options of the verb that was parsed.
Parsed finished(const std::vector<Verb>& verbs, const CheckedWords& checked, const CLI::App& app,
                const ConfigLayer& layer) {
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    Result<Request> request = verb.finish();
    if (!request.ok()) {
      const std::string message(request.error().message());
      return usage_error(with_variable(with_place(message, layer), checked), *verb.app);
    }
    Parsed parsed;
    parsed.request = std::move(request).take();
    if (auto* shown = std::get_if<ConfigOptions>(&*parsed.request)) {
      shown->file = layer.file;
      shown->values = shown_values(*verb.app, checked, layer);
    }
    return parsed;
  }
  return usage_error("no verb was given", app);
}

}  // namespace

std::vector<Verb> add_verbs(CLI::App& app, CommandLine program) {
  if (program == CommandLine::QuireBench) return add_measurements(app);
  app.name("quire");
  app.description(kDescription);
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("quire ") + QUIRE_VERSION);
  app.set_help_all_flag("--help-all", "The help of every verb");

  std::vector<Verb> verbs;
  for (auto* add : {add_run, add_serve, add_status, add_ps, add_attach, add_send, add_abort,
                    add_generate, add_chat, add_eval}) {
    verbs.push_back(add(app));
  }
  add_model(app, verbs);
  add_adapter(app, verbs);
  for (auto* add : {add_tokenize, add_detokenize, add_template, add_build, add_new, add_doctor}) {
    verbs.push_back(add(app));
  }
  add_config(app, verbs);
  add_keys(app, verbs);
  verbs.push_back(add_usage(app));
  add_kv(app, verbs);
  add_bench(app, verbs);
  verbs.push_back(add_completion(app));
  verbs.push_back(add_help(app));
  return verbs;
}

Parsed parse(const std::vector<std::string>& typed, CommandLine program, std::uint32_t columns) {
  const std::vector<std::string> arguments = with_help_as_flag(typed);
  CLI::App app;
  const std::vector<Verb> verbs = add_verbs(app, program);
  const CommandWords command = split(arguments, program);
  CheckedWords checked;
  const Result<void> known = check_words(app, command, checked);
  if (arguments.empty()) return {{}, help_of(app, HelpScope::Verb, columns), ExitCode::Usage, {}};
  if (!known.ok()) return usage_error(std::string(known.error().message()), *checked.verb);
  Parsed parsed;
  ConfigLayer layer;
  try {
    prefer_flags(verbs, checked);
    if (takes_config(*checked.verb) && !asks_for_help(checked)) {
      Result<ConfigLayer> read = read_config_layer(*checked.verb, checked, command);
      if (!read.ok()) return config_error(read.error(), *checked.verb);
      layer = std::move(read).take();
    }
    std::vector<std::string> words = command.words;
    // Words after "--" are values, whatever they look like.
    words.insert(std::find(words.begin(), words.end(), "--"), layer.words.begin(),
                 layer.words.end());
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    parsed = finished(verbs, checked, app, layer);
  } catch (const CLI::CallForHelp&) {
    if (std::optional<RunOptions> run = asks_for_program(*checked.verb)) {
      parsed.request = std::move(*run);
    } else {
      parsed = {{}, help_of(*checked.verb, HelpScope::Verb, columns), ExitCode::Ok, {}};
    }
  } catch (const CLI::CallForAllHelp&) {
    parsed = {{}, help_of(*checked.verb, HelpScope::All, columns), ExitCode::Ok, {}};
  } catch (const CLI::CallForVersion&) {
    parsed = {{}, app.version() + "\n", ExitCode::Ok, {}};
  } catch (const CLI::ParseError& error) {
    parsed = usage_error(error_text(error, checked, command, layer), *checked.verb);
  }
  if (parsed.request && !command.hands_rest_to.empty())
    hand_on(*parsed.request, command.after_dashes);
  CLI::App quire;  // Its variables are right in the environment of quire-bench, too.
  const std::vector<Verb> quire_verbs = add_verbs(quire);
  parsed.warnings = misspelt_variables(quire, environ);
  return parsed;
}

}  // namespace quire::cli
