#include "cli/completion.h"

#include <algorithm>
#include <utility>

#include "cli/rows.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// The first sentence or so: a line beside a word.
std::string short_help(const std::string& text) {
  return text.substr(0, text.find_first_of(";:\n("));
}

class Completer {
 public:
  Completer(const CLI::App& program, const std::vector<std::string>& words)
      : verb_(&program), words_(words) {}

  Completion run() {
    if (words_.empty()) return out_;
    for (std::size_t at = 0; at + 1 < words_.size(); ++at) pass(words_[at]);
    const std::string& last = words_.back();
    out_.begin = last;
    if (is_after_dashes_) {
      out_.takes_files = true;
    } else if (flag_ != nullptr || (last == "=" && divided_ != nullptr)) {
      if (last == "=") out_.begin.clear();  // bash takes "=" for a word of its own.
      add_values(flag_ != nullptr ? *flag_ : *divided_);
    } else if (last.starts_with("--") && last.find('=') != std::string::npos) {
      add_value_of_word(last);
    } else if (last.starts_with('-')) {
      add_flags();
    } else {
      add_position();
    }
    return out_;
  }

 private:
  // A word before the one that is completed.
  void pass(const std::string& word) {
    if (is_after_dashes_) return;
    if (word == "=" && flag_ != nullptr) return;
    // bash hands on NAME=PATH as three words, of which this is the second.
    const CLI::Option* const divided = std::exchange(divided_, nullptr);
    if (word == "=" && divided != nullptr) {
      flag_ = divided;
      return;
    }
    if (flag_ != nullptr) {
      note(*flag_, word);
      if (type_of(*flag_).find('=') != std::string::npos) divided_ = flag_;
      flag_ = nullptr;
      return;
    }
    if (word == "--") {
      is_after_dashes_ = true;
    } else if (word.size() > 1 && word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      const CLI::Option* flag = find_flag(*verb_, word.substr(0, equals));
      if (equals != std::string::npos) {
        if (flag != nullptr) note(*flag, word.substr(equals + 1));
        return;
      }
      if (flag != nullptr && takes_value(*flag)) flag_ = flag;
    } else {
      for (const CLI::App* each : verbs_of(*verb_)) {
        if (each->get_name() != word) continue;
        verb_ = each;
        return;
      }
      ++position_;
    }
  }

  // The server whose instances are completed.
  void note(const CLI::Option& flag, const std::string& value) {
    if (flag.check_lname("server")) out_.server = value;
    if (flag.check_lname("key-file")) out_.key_file = value;
  }

  void add(const std::string& word, const std::string& help) {
    if (word.starts_with(out_.begin)) out_.words.push_back({out_.before + word, short_help(help)});
  }

  void add_value_of_word(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CLI::Option* flag = find_flag(*verb_, word.substr(0, equals));
    if (flag == nullptr) return;
    out_.before = word.substr(0, equals + 1);
    out_.begin = word.substr(equals + 1);
    add_values(*flag);
  }

  void add_values(const CLI::Option& option) {
    for (const std::string& each : choices_of(option)) add(each, "");
    const std::string type = type_of(option);
    const auto is_of = [&](const char* ending) { return type.ends_with(ending); };
    out_.takes_files = type.starts_with("FILE") || is_of("PATH") || is_of(".npy") || is_of(".json");
    out_.takes_folders = type == "FOLDER";
    out_.takes_models = type == "NAME|PATH";
  }

  void add_flags() {
    for (const CLI::Option* each : options_of(*verb_)) {
      for (const std::string& name : each->get_lnames()) add("--" + name, each->get_description());
    }
  }

  // A verb, or the value that stands there.
  void add_position() {
    const std::vector<const CLI::App*> verbs = verbs_of(*verb_);
    for (const CLI::App* each : verbs) add(each->get_name(), each->get_description());
    if (!verbs.empty()) return;
    std::vector<const CLI::Option*> positions;
    for (const CLI::Option* each : options_of(*verb_)) {
      if (each->get_positional()) positions.push_back(each);
    }
    if (positions.empty()) return;
    const CLI::Option& here = *positions[std::min(position_, positions.size() - 1)];
    const bool has_room = position_ < positions.size() || here.get_items_expected_max() > 1;
    if (!has_room) return;
    for (const std::string& each : choices_of(here)) add(each, "");
    const std::string name = here.get_name(true);
    if (verb_->get_name() == kHelpVerb && position_ == 0) {
      for (const CLI::App* each : verbs_of(*verb_->get_parent())) {
        add(each->get_name(), each->get_description());
      }
    }
    out_.takes_files = name == "PROGRAM" || name == "FILE" || name == "SOURCE" || name == "MODEL";
    out_.takes_models = name == "MODEL";
    out_.takes_programs = full_name(*verb_) == "quire run";
    out_.takes_instances = name == "ID";
  }

  const CLI::App* verb_;
  const std::vector<std::string>& words_;
  const CLI::Option* flag_ = nullptr;     // Whose value comes next.
  const CLI::Option* divided_ = nullptr;  // Its value came just before, and may go on with "=".
  std::size_t position_ = 0;
  bool is_after_dashes_ = false;
  Completion out_;
};

}  // namespace

Completion complete(const std::vector<std::string>& words) {
  CLI::App app;
  const std::vector<Verb> verbs = add_verbs(app);
  return Completer(app, words).run();
}

}  // namespace quire::cli
