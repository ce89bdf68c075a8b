#include "cli/flag.h"

#include <algorithm>
#include <cstdlib>

#include "cli/help.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// The heading in --help-all.
const char* group_of(Part part) {
  switch (part) {
    case Part::Limits:
      return kLimitsGroup;
    case Part::Engine:
      return kEngineGroup;
    case Part::Verb:
      break;
  }
  return "Options";
}

bool is_flag_name(const std::string& name) {
  return name.starts_with('-');
}

// "QUIRE_KV_FORMAT" of --kv-format.
std::string variable_of(const CLI::Option& option) {
  std::string name = "QUIRE_";
  for (const char letter : option.get_lnames().front()) {
    name +=
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

// "128MiB": in the largest unit that leaves a whole number.
std::string bytes_text(std::uint64_t count) {
  constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; count > 0 && count % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) count /= 1024;
  return std::to_string(count) + kUnits[unit];
}

// Adds one row to CLI11, by the kind of its target.
class Adder {
 public:
  Adder(CLI::App& app, const Flag& row) : app_(app), row_(row) {}

  CLI::Option* operator()(bool* target) const {
    return app_.add_flag(row_.name, *target, row_.help);
  }
  CLI::Option* operator()(const std::function<void()>& turn) const {
    return app_.add_flag_callback(row_.name, turn, row_.help);
  }
  CLI::Option* operator()(std::vector<std::string>* target) const {
    CLI::Option* option = app_.add_option(row_.name, *target, row_.help);
    return is_flag_name(row_.name) ? option->allow_extra_args(false) : option;
  }
  CLI::Option* operator()(std::vector<std::uint32_t>* target) const {
    CLI::Option* option = app_.add_option(row_.name, *target, row_.help);
    if (is_flag_name(row_.name)) option->delimiter(',');
    if (!target->empty()) option->capture_default_str();
    return option;
  }
  CLI::Option* operator()(const Reader& reader) const {
    // --kv-tree{text} takes its value after "=", and is "text" without one.
    CLI::Option* option = std::string(row_.name).ends_with('}') ? app_.add_flag(row_.name)
                                                                : app_.add_option(row_.name);
    if (reader.may_repeat) {
      option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
    }
    if (reader.check) option->transform(*reader.check);
    return option->description(row_.help)->type_name(reader.type)->default_str(reader.fallback);
  }
  template <typename T>
  CLI::Option* operator()(T* target) const {
    CLI::Option* option = app_.add_option(row_.name, *target, row_.help);
    if (!is_default(*target)) return option;
    return option->capture_default_str();
  }

 private:
  // A value that the check refuses is not a default, as 0 of a count from 1.
  template <typename T>
  bool is_default(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      std::string text = CLI::detail::to_string(value);
      return !row_.check || (*row_.check)(text).empty();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return !value.empty();
    } else {
      return false;
    }
  }

  CLI::App& app_;
  const Flag& row_;
};

}  // namespace

CLI::Option* Rows::add_row(CLI::App& app, const Flag& row, Part part) {
  CLI::Option* option = std::visit(Adder(app, row), row.target);
  if (row.type[0] != '\0') option->type_name(row.type);
  if (row.check) option->transform(*row.check);
  option->group(group_of(part))->required(row.is_required);
  if (row.is_required) option->default_str("");
  if (part == Part::Engine) option->envname(variable_of(*option));
  if (!row.variable.empty()) option->envname(row.variable);
  if (const auto* reader = std::get_if<Reader>(&row.target)) {
    readings_.push_back({option, reader->read});
  }
  if (row.is_here_only || part == Part::Engine) here_only_.push_back(option);
  return option;
}

void Rows::add(const std::vector<Flag>& rows, Part part) {
  std::vector<CLI::Option*> added;
  for (const Flag& each : rows) added.push_back(add_row(*verb_, each, part));
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (const char* other : rows[at].needed) added[at]->needs(verb_->get_option(other));
    for (const char* other : rows[at].excluded) added[at]->excludes(verb_->get_option(other));
  }
}

void Rows::add_choice(const char* name, const char* about, const std::vector<Flag>& rows) {
  CLI::Option_group* group = verb_->add_option_group(name, about);
  group->set_help_flag();  // The verb has these.
  group->set_help_all_flag();
  for (const Flag& each : rows) add_row(*group, each, Part::Verb);
  group->require_option(1);
}

void Rows::name_variables() {
  for (CLI::Option* each : verb_->get_options()) {
    const bool is_of_help = each->check_lname("help") || each->check_lname("help-all");
    const bool is_of_answer = each->check_lname("json");
    if (each->get_positional() || is_of_help || is_of_answer) continue;
    if (each->get_envname().empty()) each->envname(variable_of(*each));
  }
}

Result<void> Rows::check_remote(const char* why) const {
  for (const CLI::Option* each : here_only_) {
    const std::string variable = each->get_envname();
    const bool is_set_outside = !variable.empty() && std::getenv(variable.c_str()) != nullptr;
    if (each->count() == 0 || is_set_outside) continue;
    return Error(ErrorCode::InvalidArgument, each->get_name() + why);
  }
  return {};
}

// An error names the variable that the value came from: the user may not know of it.
Result<void> Rows::read(const Reading& reading) {
  const Words words = reading.option->results();
  if (words.empty()) return {};
  Result<void> done = reading.read(words);
  if (done.ok()) return {};
  const std::string message(done.error().message());
  const std::string& variable = reading.option->get_envname();
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  const bool is_of_variable = value != nullptr && words == Words{value};
  if (!is_of_variable || message.starts_with(reading.option->get_name())) return done;
  return Error(done.error().code(), variable + ": " + message);
}

Reader bytes(std::uint64_t& target) {
  const auto read = [&target](const Words& words) -> Result<void> {
    target = TRY(parse_bytes(words.back()));
    return {};
  };
  return {.read = read, .fallback = bytes_text(target), .check = byte_count()};
}

Reader bytes(std::optional<std::uint64_t>& target) {
  const auto read = [&target](const Words& words) -> Result<void> {
    target = TRY(parse_bytes(words.back()));
    return {};
  };
  return {.read = read, .check = byte_count()};
}

Verb Rows::verb(std::string footer, std::function<Result<Request>()> finish) const {
  verb_->footer(std::move(footer));
  describe_help_all(*verb_);
  return {verb_, [readings = readings_, finish = std::move(finish)]() -> Result<Request> {
            for (const Reading& each : readings) TRY(read(each));
            return finish();
          }};
}

}  // namespace quire::cli
