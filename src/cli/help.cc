#include "cli/help.h"

#include <algorithm>
#include <vector>

#include "cli/help_layout.h"
#include "cli/rows.h"
#include "cli/word_wrap.h"

namespace quire::cli {
namespace {

using Options = std::vector<const CLI::Option*>;

bool has_group(const CLI::App& app, const std::string& group) {
  const auto is_in_it = [&](const CLI::Option* each) { return each->get_group() == group; };
  return !app.get_options(is_in_it).empty();
}

// The groups of flags of which the user gives exactly one.
std::vector<const CLI::App*> choices_of_flags(const CLI::App& app) {
  std::vector<const CLI::App*> groups;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name().empty()) groups.push_back(each);
  }
  return groups;
}

class HelpText {
 public:
  HelpText(const CLI::App& app, HelpScope scope, std::uint32_t columns)
      : app_(app), scope_(scope), columns_(columns) {}

  std::string text() {
    out_ = wrapped(app_.get_description(), {.width = columns_}) + "\n\n";
    add_usage();
    add_positions();
    for (const CLI::App* each : choices_of_flags(app_)) add_choice(*each);
    for (const std::string& each : groups()) add_group(each);
    add_verbs();
    const std::string notes = app_.get_footer();
    if (!notes.empty()) out_ += "\n" + help_notes(notes, columns_);
    return std::move(out_);
  }

 private:
  void add_usage() {
    const std::string usage = "Usage: " + full_name(app_) + usage_of(app_);
    const auto indent = static_cast<std::uint32_t>(full_name(app_).size()) + 8;
    out_ +=
        wrapped(usage, {.width = columns_, .indent = indent < columns_ / 2 ? indent : 4}) + "\n";
  }

  void add_heading(const std::string& name) { out_ += "\n" + name + ":\n"; }

  void add_positions() {
    std::vector<HelpRow> rows;
    for (const CLI::Option* each : app_.get_options()) {
      if (!each->get_positional() || each->nonpositional()) continue;
      rows.push_back({head_of(*each), each->get_description()});
    }
    if (rows.empty()) return;
    add_heading("Arguments");
    out_ += help_rows(rows, columns_);
  }

  void add_choice(const CLI::App& group) {
    add_heading(group.get_description() + ", exactly one of these");
    std::vector<HelpRow> rows;
    for (const CLI::Option* each : group.get_options()) {
      rows.push_back({head_of(*each), each->get_description()});
    }
    out_ += help_rows(rows, columns_);
  }

  // In the order of the rows.
  std::vector<std::string> groups() const {
    std::vector<std::string> names;
    for (const CLI::Option* each : app_.get_options()) {
      const std::string& name = each->get_group();
      const bool is_left_out =
          scope_ == HelpScope::Verb && (name == kLimitsGroup || name == kEngineGroup);
      if (name.empty() || is_left_out || !each->nonpositional()) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
  }

  void add_group(const std::string& name) {
    Options options;
    for (const CLI::Option* each : app_.get_options()) {
      if (each->nonpositional() && each->get_group() == name) options.push_back(each);
    }
    const CLI::Option* example = example_of_variables(options);
    std::vector<HelpRow> rows;
    for (const CLI::Option* each : options) {
      const bool shows_variable = example == nullptr && !each->get_envname().empty();
      rows.push_back(
          {head_of(*each), each->get_description() + (shows_variable ? variable_text(*each) : "")});
    }
    add_heading(name);
    out_ += help_rows(rows, columns_);
    if (example == nullptr) return;
    out_ += wrapped("Variables have the names of these flags, as " + example->get_envname() +
                        " for --" + example->get_lnames().front() + ".",
                    {.width = columns_}) +
            "\n";
  }

  static std::string variable_text(const CLI::Option& option) {
    return std::string(option.get_description().ends_with('.') ? " " : ". ") +
           "Variable: " + option.get_envname();
  }

  // If more than half of the flags are variables, too, one sentence says so.
  static const CLI::Option* example_of_variables(const Options& options) {
    const CLI::Option* example = nullptr;
    std::size_t count = 0;
    for (const CLI::Option* each : options) {
      if (each->get_envname().empty()) continue;
      if (example == nullptr) example = each;
      ++count;
    }
    return count * 2 > options.size() && count > 1 ? example : nullptr;
  }

  void add_verbs() {
    std::vector<HelpRow> rows;
    for (const CLI::App* each : verbs_of(app_)) {
      rows.push_back({each->get_name(), each->get_description()});
    }
    if (rows.empty()) return;
    add_heading("Verbs");
    out_ += help_rows(rows, columns_);
  }

  const CLI::App& app_;
  const HelpScope scope_;
  const std::uint32_t columns_;
  std::string out_;
};

}  // namespace

std::string help_of(const CLI::App& app, HelpScope scope, std::uint32_t columns) {
  std::string text = HelpText(app, scope, columns).text();
  if (scope == HelpScope::Verb) return text;
  for (const CLI::App* each : verbs_of(app)) text += "\n" + help_of(*each, scope, columns);
  return text;
}

void describe_help_all(CLI::App& verb) {
  CLI::Option* option = verb.get_option_no_throw("--help-all");
  if (option == nullptr) return;
  const bool has_limits = has_group(verb, kLimitsGroup);
  if (!has_limits && !has_group(verb, kEngineGroup)) {
    option->group("");
    return;
  }
  option->description(std::string("Print this with the flags of the engine") +
                      (has_limits ? " and the limits" : ""));
}

}  // namespace quire::cli
