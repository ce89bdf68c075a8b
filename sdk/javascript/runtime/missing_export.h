#pragma once
// MissingExport: an import of a name that its module does not export. QuickJS says the name and the
// module; where the script imports it, its text says, and what the module exports, the module.
//
//   agent.ts:1: SyntaxError: "quire" exports no Contxt; did you mean Context?
//
// Thread   a program has one.
// Errors   nothing is evaluated but the SDK's modules, which are evaluated already.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine.h"
#include "script.h"

namespace quire::javascript {

// The imports of a file, in its text; `export ... from` imports too. Comments and strings hold
// none.
class ImportReader {
 public:
  struct Import {
    std::string_view name;       // In the module: "default" for `import name from`.
    std::string_view specifier;  // As it is written.
    std::size_t offset;          // Of the name.
  };

  explicit ImportReader(std::string_view text) : text_(text) {}

  std::vector<Import> read() {
    while (at_ < text_.size()) {
      const std::string_view token = next();
      if (token == "import" || token == "export") read_clause();
    }
    return std::move(found_);
  }

 private:
  static bool is_word(char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '$' ||
           static_cast<unsigned char>(each) >= 0x80;
  }

  void skip_comment() {
    const bool is_line = text_.substr(at_, 2) == "//";
    const std::size_t end = text_.find(is_line ? "\n" : "*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + (is_line ? 1 : 2);
  }

  // A word, a string with its quotes, or one other character; empty at the end.
  std::string_view next() {
    while (at_ < text_.size()) {
      const std::string_view two = text_.substr(at_, 2);
      if (two == "//" || two == "/*") {
        skip_comment();
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        break;
      }
    }
    const std::size_t begin = at_;
    if (begin == text_.size()) return {};
    const char first = text_[at_++];
    if (is_word(first)) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    } else if (first == '"' || first == '\'') {
      // A string ends with its line, so a quote in a regular expression hides no more than that.
      while (at_ < text_.size() && text_[at_] != first && text_[at_] != '\n') {
        at_ += text_[at_] == '\\' ? 2 : 1;
      }
      at_ = std::min(at_ + 1, text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

  // Reads what follows `import` or `export`: `name, { a, b as c } from "specifier"`. Any other text
  // has no imports.
  void read_clause() {
    std::vector<Import> names;
    std::string_view before;
    bool is_in_braces = false;
    for (;;) {
      const std::size_t start = at_;
      const std::string_view token = next();
      if (token.empty()) return;
      if (before == "from" && (token[0] == '"' || token[0] == '\'') && token.size() > 1) {
        for (Import& each : names) {
          each.specifier = token.substr(1, token.size() - 2);
          found_.push_back(each);
        }
        return;
      }
      if (is_word(token[0])) {
        const bool is_name = is_in_braces ? before != "as" && token != "as" : token != "from";
        const std::size_t offset = at_ - token.size();
        if (is_name) names.push_back({is_in_braces ? token : "default", {}, offset});
      } else if (token == "{" || token == "}") {
        is_in_braces = token == "{";
      } else if (token != "," && token != "*") {
        at_ = start;
        return;
      }
      before = token;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Import> found_;
};

class MissingExport {
 public:
  // `described` is the text of an exception. Nothing: it is not of a missing export, or no file of
  // the script has that import.
  static std::optional<MissingExport> of(std::string_view described, const ScriptModules& modules) {
    const std::string_view before = "SyntaxError: Could not find export '";
    const std::string_view between = "' in module '";
    if (!described.starts_with(before) || !described.ends_with("'")) return std::nullopt;
    described.remove_prefix(before.size());
    const std::size_t middle = described.find(between);
    if (middle == std::string_view::npos) return std::nullopt;
    MissingExport missing;
    missing.name_ = described.substr(0, middle);
    described.remove_prefix(middle + between.size());
    missing.module_ = described.substr(0, described.size() - 1);
    for (const auto& [path, text] : modules.script().files) {
      for (const ImportReader::Import& each : ImportReader(text).read()) {
        if (each.name != missing.name_) continue;
        const Result<std::string> full = modules.resolve(path, each.specifier);
        if (!full.ok() || full.value() != missing.module_) continue;
        const auto lines =
            std::count(text.begin(), text.begin() + static_cast<long>(each.offset), '\n');
        missing.place_ = path + ":" + std::to_string(lines + 1);
        missing.specifier_ = each.specifier;
        return missing;
      }
    }
    return std::nullopt;
  }

  // With the place. What a module of the SDK exports is said where no name of it is near.
  std::string text(Engine& engine) const {
    std::string out = place_ + ": SyntaxError: \"" + specifier_ + "\" exports no " + name_;
    const std::vector<std::string> names = exports_of(engine);
    if (names.empty()) return out;
    const auto best = std::ranges::min_element(
        names, {}, [this](const std::string& each) { return distance(name_, each); });
    if (distance(name_, *best) <= std::max<std::size_t>(1, name_.size() / 3)) {
      return out + "; did you mean " + *best + "?";
    }
    out += "; it exports";
    for (const std::string& each : names) out += (&each == &names.front() ? " " : ", ") + each;
    return out;
  }

 private:
  // The exports of a module of the SDK. Of another module none, because it would be evaluated.
  std::vector<std::string> exports_of(Engine& engine) const {
    std::vector<std::string> names;
    if (!module_.starts_with("quire:")) return names;
    JSContext* js = engine.js();
    const Value promise(js, JS_LoadModule(js, "", module_.c_str()));
    if (promise.is_exception()) return names;
    const Result<Value> loaded = engine.wait_for(promise);
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (!loaded.ok() || JS_GetOwnPropertyNames(js, &properties, &count, loaded.value().get(),
                                               JS_GPN_STRING_MASK) < 0) {
      return names;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value name(js, JS_AtomToString(js, properties[i].atom));
      names.push_back(text_of(js, name.get()));
    }
    JS_FreePropertyEnum(js, properties, count);
    return names;
  }

  // How many letters differ; large and small ones do not.
  static std::size_t distance(std::string_view one, std::string_view other) {
    const auto small = [](char each) { return std::tolower(static_cast<unsigned char>(each)); };
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= one.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= other.size(); ++j) {
        const std::size_t replaced = diagonal + (small(one[i - 1]) == small(other[j - 1]) ? 0 : 1);
        diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
      }
    }
    return row[other.size()];
  }

  std::string name_, module_, specifier_, place_;
};

}  // namespace quire::javascript
