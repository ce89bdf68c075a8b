#include "cli/manual_pages.h"

#include <algorithm>
#include <string_view>

#include "cli/rows.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// As roff prints it: no word becomes a request or an escape, and a dash stays one that can be searched and copied.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char each : text) {
    if (begins_line && (each == '.' || each == '\'')) out += "\\&";
    if (each == '\\') {
      out += "\\e";
    } else if (each == '-') {
      out += "\\-";
    } else if (each == '\'') {
      out += "\\(aq";
    } else if (each == '`') {
      out += "\\(ga";
    } else if (each == '^') {
      out += "\\(ha";
    } else if (each == '~') {
      out += "\\(ti";
    } else {
      out += each;
    }
    begins_line = each == '\n';
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string section(const char* name) {
  return std::string(".SH ") + name + "\n";
}

// Lines as they are.
std::string verbatim(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return ".nf\n" + escaped(text) + "\n.fi\n";
}

// Paragraphs that the reader's terminal fills, but for those that have columns.
std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    const std::string_view each = text.substr(0, end);
    const bool has_columns = each.starts_with(' ') || each.find("\n ") != std::string_view::npos;
    out += ".PP\n" + (has_columns ? verbatim(each) : escaped(each) + "\n");
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

// "quire model add" as the name of its page.
std::string page_name(const CLI::App& app) {
  std::string name = full_name(app);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

class Page {
 public:
  explicit Page(const CLI::App& app) : app_(app) {}

  std::string text() {
    std::string title = page_name(app_);
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char each) { return static_cast<char>(std::toupper(each)); });
    out_ = ".\\\" Written from the rows of quire --help.\n.TH \"" + title +
           "\" 1 \"\" \"quire " QUIRE_VERSION "\" \"User Commands\"\n";
    std::string about = app_.get_description();
    constexpr std::string_view kSelf = "Quire: ";  // What stands before it says so.
    if (about.starts_with(kSelf)) about.erase(0, kSelf.size());
    out_ += section("NAME") + escaped(page_name(app_)) + " \\- " + escaped(about) + "\n";
    add_synopsis();
    add_verbs();
    add_positions();
    add_flags();
    add_footer();
    add_see_also();
    return out_;
  }

 private:
  void add_synopsis() {
    out_ += section("SYNOPSIS") + bold(full_name(app_));
    out_ += escaped(usage_of(app_)) + "\n";
  }

  void add_verbs() {
    const std::vector<const CLI::App*> verbs = verbs_of(app_);
    if (verbs.empty()) return;
    out_ += section("VERBS");
    for (const CLI::App* each : verbs) {
      out_ += ".TP\n" + bold(page_name(*each)) + "(1)\n" + escaped(each->get_description()) + "\n";
    }
  }

  // The row of an option: its head, with the range and the default of the value, its description
  // and its variable.
  void add_row(const std::string& head, const CLI::Option& option) {
    const std::string facts = facts_of(option);
    out_ += ".TP\n" + head + (facts.empty() ? "" : escaped(" (" + facts + ")")) + "\n" +
            escaped(option.get_description());
    if (!option.get_envname().empty()) out_ += "\n.br\nVariable: " + bold(option.get_envname());
    out_ += "\n";
  }

  void add_positions() {
    bool has_any = false;
    for (const CLI::Option* each : options_of(app_)) {
      if (!each->get_positional()) continue;
      if (!has_any) out_ += section("ARGUMENTS");
      has_any = true;
      add_row(italic(each->get_name(true)), *each);
    }
  }

  void add_flags() {
    bool has_any = false;
    for (const CLI::Option* each : options_of(app_)) {
      if (each->get_positional() || each->get_group().empty()) continue;
      if (!has_any) out_ += section("OPTIONS");
      has_any = true;
      std::string head;
      for (const std::string& name : each->get_snames()) head += bold("-" + name) + ", ";
      for (const std::string& name : each->get_lnames()) head += bold("--" + name) + ", ";
      head.resize(head.size() - 2);
      const std::string type = type_of(*each);
      if (!type.empty())
        head += takes_value(*each) ? " " + italic(type) : "[=" + italic(type) + "]";
      add_row(head, *each);
    }
  }

  void add_footer() {
    const std::string footer = app_.get_footer();
    const std::size_t examples = std::min(footer.find("Examples:"), footer.find("Example:"));
    std::string_view notes = std::string_view(footer).substr(0, examples);
    while (notes.ends_with('\n')) notes.remove_suffix(1);
    if (!notes.empty()) out_ += section("NOTES") + paragraphs(notes).substr(4);
    if (examples >= footer.size()) return;
    const std::size_t begin = footer.find('\n', examples);
    const std::size_t end = std::min(footer.find("\n\n", begin), footer.size());
    if (begin == std::string::npos) return;
    out_ +=
        section("EXAMPLES") + verbatim(std::string_view(footer).substr(begin + 1, end - begin - 1));
    if (end < footer.size()) {
      out_ += section("FURTHER") + verbatim(std::string_view(footer).substr(end + 2));
    }
  }

  void add_see_also() {
    const CLI::App* parent = app_.get_parent();
    if (parent == nullptr) return;
    out_ += section("SEE ALSO") + bold(page_name(*parent)) + "(1)\n";
  }

  const CLI::App& app_;
  std::string out_;
};

void add_pages(const CLI::App& app, std::vector<ManualPage>& pages) {
  pages.push_back({page_name(app) + ".1", Page(app).text()});
  for (const CLI::App* each : verbs_of(app)) add_pages(*each, pages);
}

}  // namespace

std::vector<ManualPage> manual_pages() {
  CLI::App app;
  const std::vector<Verb> verbs = add_verbs(app);
  std::vector<ManualPage> pages;
  add_pages(app, pages);
  return pages;
}

}  // namespace quire::cli
