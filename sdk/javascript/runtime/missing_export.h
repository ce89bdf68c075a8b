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
#include "quire/script_imports.h"
#include "script.h"

namespace quire::javascript {

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
      for (const script::Import& each : script::imports_of(text)) {
        const auto name = std::ranges::find(each.names, missing.name_, &script::ImportedName::name);
        if (name == each.names.end()) continue;
        const Result<std::string> full = modules.resolve(path, each.specifier);
        if (!full.ok() || full.value() != missing.module_) continue;
        missing.place_ = path + ":" + std::to_string(name->line);
        missing.specifier_ = each.specifier;
        missing.is_type_ = declares_type(*modules.source(missing.module_), missing.name_);
        return missing;
      }
    }
    return std::nullopt;
  }

  // With the place. What a module of the SDK exports is said where no name of it is near.
  std::string text(Engine& engine) const {
    std::string out = place_ + ": SyntaxError: \"" + specifier_ + "\" exports no " + name_;
    const std::vector<std::string> names = exports_of(engine);
    if (names.empty()) {
      return is_type_ ? out + ", which is a type: write import type or export type" : out;
    }
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

  static bool declares_type(std::string_view source, std::string_view name) {
    script::ScriptScanner scanner(source);
    bool is_declaration = false;
    for (script::Token token = scanner.next(); token.kind != script::TokenKind::None;
         token = scanner.next()) {
      if (is_declaration && token.is_word(name)) return true;
      is_declaration = token.is_word("interface") || token.is_word("type");
    }
    return false;
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
  bool is_type_ = false;  // Of TypeScript, whose types are gone.
};

}  // namespace quire::javascript
