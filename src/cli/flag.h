#pragma once
// A flag of a verb as one row: its name, what a value is, where it goes, what --help says, what a
// value must be. The default is what stands in the row's place when the row is added. The parser,
// the checks, --help, completion, the configuration file, the manual pages and
// docs/reference/cli.md come of the rows.
//
// Thread   any; a Rows lives as long as its verb.
// Errors   InvalidArgument, from the checks and from what reads the values.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/parse.h"

namespace quire::cli {

struct Verb {
  CLI::App* app = nullptr;
  // Turns the parsed flags into options; an Error is the user's mistake.
  std::function<Result<Request>()> finish;
};

using Words = std::vector<std::string>;

// A value that is more than a text or a number. `read` gets what the user gave, after the check.
struct Reader {
  std::function<Result<void>(const Words&)> read;
  std::string fallback = {};  // The default as a user writes it; empty: there is none to show.
  std::string type = {};      // Empty: that of the row.
  std::optional<CLI::Validator> check = {};
  bool may_repeat = false;
};

using Place = std::variant<bool*, std::function<void()>, std::string*, std::optional<std::string>*,
                           std::uint32_t*, std::optional<std::uint32_t>*, std::uint64_t*,
                           std::optional<std::uint64_t>*, double*, std::vector<std::string>*,
                           std::vector<std::uint32_t>*, Reader>;

struct Flag {
  const char* name;  // "-n,--max-tokens"; a word without a dash stands by its position.
  const char* type;  // What a value is; empty for a flag that takes none.
  Place target;
  std::string help;
  std::optional<CLI::Validator> check = {};
  // An environment variable; empty: none.
  std::string variable = {};
  bool is_required = false;
  bool is_here_only = false;  // Of an engine in this process: a run on a server refuses it.
  std::vector<const char*> needed =
      {};  // Flags of the same call of Rows::add(), or an earlier one.
  std::vector<const char*> excluded = {};

  Flag from(std::string name_of_variable) && {
    variable = std::move(name_of_variable);
    return std::move(*this);
  }
  Flag required() && {
    is_required = true;
    return std::move(*this);
  }
  Flag here() && {
    is_here_only = true;
    return std::move(*this);
  }
  Flag needs(const char* other) && {
    needed.push_back(other);
    return std::move(*this);
  }
  Flag excludes(const char* other) && {
    excluded.push_back(other);
    return std::move(*this);
  }
};

// Verb: of the verb itself, which --help prints. --help-all prints the others, too. Flags of the
// engine are the same for each verb that starts one. They have variables named after them, and a
// run on a server refuses them.
enum class Part : std::uint8_t { Verb, Limits, Engine };

// The rows of one verb.
class Rows {
 public:
  Rows(CLI::App& parent, const char* name, const char* about)
      : Rows(parent.add_subcommand(name, about)) {}
  explicit Rows(CLI::App* verb) : verb_(verb) {}

  void add(const std::vector<Flag>& rows, Part part = Part::Verb);
  // The user gives exactly one of these.
  void add_choice(const char* name, const char* about, const std::vector<Flag>& rows);
  // Variables for the flags that have none: --kv-format is QUIRE_KV_FORMAT.
  void name_variables();

  bool has(const char* name) const { return verb_->count(name) > 0; }
  // An error for a flag of an engine here, if a run on a server got it. A variable that the user
  // has set is not meant for this run.
  Result<void> check_remote(const char* why) const;

  // `finish` follows when every value was read.
  Verb verb(std::string footer, std::function<Result<Request>()> finish) const;
  // The rows say it all.
  template <typename Options>
  Verb verb(std::string footer, std::shared_ptr<Options> options) const {
    return verb(std::move(footer), [options]() -> Result<Request> { return Request(*options); });
  }

 private:
  struct Reading {
    const CLI::Option* option;
    std::function<Result<void>(const Words&)> read;
  };

  CLI::Option* add_row(CLI::App& app, const Flag& row, Part part);
  static Result<void> read(const Reading& reading);

  CLI::App* verb_;
  std::vector<Reading> readings_;
  std::vector<const CLI::Option*> here_only_;
};

// One of `choices`, by its name. `what` is the subject of the error: "unknown WHAT ...".
template <typename T>
struct Choice {
  const char* name;
  T value;
};
template <typename Target, typename T, std::size_t kCount>
Reader one_of(Target& target, std::string what, const Choice<T> (&choices)[kCount]) {
  Reader reader;
  std::string supported;
  for (const Choice<T>& each : choices) {
    reader.type += (reader.type.empty() ? "" : "|") + std::string(each.name);
    supported += (supported.empty() ? "" : ", ") + std::string(each.name);
    if (reader.fallback.empty() && target == each.value) reader.fallback = each.name;
  }
  const Choice<T>* const begin = choices;
  reader.read = [&target, what = std::move(what), supported = std::move(supported),
                 begin](const Words& words) -> Result<void> {
    for (const Choice<T>* each = begin; each != begin + kCount; ++each) {
      if (words.back() != each->name) continue;
      target = each->value;
      return {};
    }
    return Error(ErrorCode::InvalidArgument,
                 "unknown " + what + " \"" + words.back() + "\" (supported: " + supported + ")");
  };
  return reader;
}

// A count of bytes, as parse_bytes() reads it.
Reader bytes(std::uint64_t& target);
Reader bytes(std::optional<std::uint64_t>& target);

}  // namespace quire::cli
