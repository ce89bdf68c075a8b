#include "cli/parse.h"

#include <algorithm>
#include <utility>

#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr const char* kDescription =
    "Quire: a serving system for language models in which the unit of service is a program.";

constexpr const char* kFooter = R"(Examples:
  quire run build/release/inferlets/text_completion.wasm -- --prompt "The capital of France is"
  quire generate --prompt "The capital of France is" --max-tokens 32
  quire chat
  quire serve build/release/inferlets

Exit codes:
  0    done
  1    the work failed; the message says what, which and how much
  2    a flag, a value or a verb that does not exist
  3    a model or a file that is not there
  4    the program (the guest) is no module, trapped, or ran into a limit
  130  interrupted

Flags of the engine may also be set as environment variables: --kv-format as QUIRE_KV_FORMAT.)";

// CLI11 sees arguments from last to first.
std::vector<std::string> reversed(const std::vector<std::string>& arguments, std::size_t end) {
  std::vector<std::string> out(arguments.begin(),
                               arguments.begin() + static_cast<std::ptrdiff_t>(end));
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string> tail(const std::vector<std::string>& arguments, std::size_t begin) {
  return {arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end()};
}

void hand_on(Request& request, std::vector<std::string> rest) {
  if (auto* run = std::get_if<RunOptions>(&request)) run->arguments = std::move(rest);
  if (auto* bench = std::get_if<BenchLaunchOptions>(&request)) bench->arguments = std::move(rest);
  if (auto* build = std::get_if<BuildOptions>(&request)) build->flags = std::move(rest);
}

const CLI::App* deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::string full_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* at = app.get_parent(); at != nullptr; at = at->get_parent()) {
    name = at->get_name() + " " + name;
  }
  return name;
}

// CLI11 puts the verb's own name behind what it is given.
std::string help_of(const CLI::App& app) {
  return app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent()));
}

Parsed usage_error(const std::string& what, const CLI::App& app) {
  Parsed parsed;
  parsed.text = what + "\nSee: " + full_name(app) + " --help\n";
  parsed.exit_code = ExitCode::Usage;
  return parsed;
}

}  // namespace

Parsed parse(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "quire");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("quire ") + QUIRE_VERSION);
  app.set_help_all_flag("--help-all", "The help of every verb");

  std::vector<Verb> verbs;
  for (auto* add : {add_run, add_serve, add_status, add_generate, add_chat, add_eval})
    verbs.push_back(add(app));
  add_model(app, verbs);
  for (auto* add : {add_tokenize, add_detokenize, add_template, add_build, add_new, add_doctor}) {
    verbs.push_back(add(app));
  }
  add_kv(app, verbs);
  add_bench(app, verbs);

  // What follows "--" belongs to the program of `run` and `bench launch`, and to the compiler of
  // `build`, flags included.
  std::size_t end = arguments.size();
  const auto begins_with = [&](const std::vector<std::string>& verb) {
    return arguments.size() >= verb.size() &&
           std::equal(verb.begin(), verb.end(), arguments.begin());
  };
  if (begins_with({"run"}) || begins_with({"build"}) || begins_with({"bench", "launch"})) {
    end = static_cast<std::size_t>(std::find(arguments.begin(), arguments.end(), "--") -
                                   arguments.begin());
  }
  try {
    app.parse(reversed(arguments, end));
  } catch (const CLI::CallForHelp&) {
    return {{}, help_of(*deepest(app)), ExitCode::Ok};
  } catch (const CLI::CallForAllHelp&) {
    return {{}, app.help("", CLI::AppFormatMode::All), ExitCode::Ok};
  } catch (const CLI::CallForVersion&) {
    return {{}, app.version() + "\n", ExitCode::Ok};
  } catch (const CLI::ParseError& error) {
    if (arguments.empty()) return {{}, app.help(), ExitCode::Usage};
    return usage_error(error.what(), *deepest(app));
  }

  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    Result<Request> request = verb.finish();
    if (!request.ok()) return usage_error(std::string(request.error().message()), *verb.app);
    Parsed parsed;
    parsed.request = std::move(request).take();
    if (end < arguments.size()) hand_on(*parsed.request, tail(arguments, end + 1));
    return parsed;
  }
  return usage_error("no verb was given", app);
}

}  // namespace quire::cli
