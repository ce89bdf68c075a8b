#pragma once
// imports_of() finds the imports of a JavaScript or TypeScript source, in all their forms:
//
//   import a, { b as c, type D } from "./x.js" with { type: "json" };
//   import type { F } from "./z.js";   import "./effect.js";   await import("./later.js");
//   export * as e from "./y.js";
//
// Thread   any; a plain function. Views point into the source, which outlives them.
// Errors   none: any other text has no imports.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/script_tokens.h"

namespace quire::script {

enum class ImportKind : std::uint8_t {
  Static,   // import ... from "x", import "x", export ... from "x".
  Types,    // Only types: nothing of it is there when the script runs.
  Dynamic,  // import("x").
};

struct ImportedName {
  std::string_view name;  // In the other module: "default" for `import name from`.
  std::uint32_t line = 0;
};

struct Import {
  std::string_view specifier;  // As it is written between the quotes.
  std::uint32_t line = 0;      // Of the specifier, from 1.
  ImportKind kind = ImportKind::Static;
  std::vector<ImportedName> names;  // Without types, and without `*`.
};

class ImportReader {
 public:
  explicit ImportReader(std::string_view source) : scanner_(source) {
    token_ = scanner_.next();
    ahead_ = scanner_.next();
  }

  std::vector<Import> read() {
    Token before;
    while (token_.kind != TokenKind::None) {
      const bool is_member = before.is_mark(".") || before.is_mark("?.");
      before = token_;
      if (is_member) {
        take();
      } else if (token_.is_word("import")) {
        take();
        read_import();
      } else if (token_.is_word("export")) {
        take();
        read_export();
      } else {
        take();
      }
    }
    return std::move(found_);
  }

 private:
  Token take() {
    const Token taken = token_;
    token_ = ahead_;
    ahead_ = scanner_.next();
    return taken;
  }
  bool take_mark(std::string_view mark) {
    const bool is_there = token_.is_mark(mark);
    if (is_there) take();
    return is_there;
  }

  void read_import() {
    Import import;
    if (token_.kind == TokenKind::Text) {
      add(std::move(import));
    } else if (take_mark("(")) {
      // A text to which another is added is known when the script runs.
      const bool is_whole = ahead_.is_mark(")") || ahead_.is_mark(",");
      import.kind = ImportKind::Dynamic;
      if (token_.kind == TokenKind::Text && is_whole) add(std::move(import));
    } else {
      read_type(import);
      read_clause(std::move(import));
    }
  }
  void read_export() {
    Import import;
    read_type(import);
    if (token_.is_mark("{") || token_.is_mark("*")) read_clause(std::move(import));
  }

  // `type` before a clause, and not a name: `import type from "x"`, `import type, { a } from "x"`.
  void read_type(Import& import) {
    if (!token_.is_word("type")) return;
    const bool is_name = ahead_.is_mark(",") || ahead_.is_mark("=") || ahead_.is_word("from");
    if (is_name) {
      const Token name = token_;
      take();
      // `import type from from "x"` has a type with the name `from`.
      if (!token_.is_word("from") || !ahead_.is_word("from")) {
        import.names.push_back({"default", name.line});
        return;
      }
    } else {
      take();
    }
    import.kind = ImportKind::Types;
  }

  // name, * as name, { names } from "specifier"
  void read_clause(Import import) {
    bool has_values = !import.names.empty() || token_.is_word("from");
    bool has_types = false;
    for (;;) {
      if (token_.is_word("from") && ahead_.kind == TokenKind::Text) break;
      if (take_mark("*")) {
        has_values = true;
        if (token_.is_word("as")) {
          take();
          take();
        }
      } else if (take_mark("{")) {
        if (!read_names(import, has_values, has_types)) return;
      } else if (token_.kind == TokenKind::Word) {
        import.names.push_back({"default", take().line});
        has_values = true;
      } else if (!take_mark(",")) {
        return;
      }
    }
    take();
    if (has_types && !has_values) import.kind = ImportKind::Types;
    if (import.kind == ImportKind::Types) import.names.clear();
    add(std::move(import));
  }

  // To the closing brace; false if it is none of names.
  bool read_names(Import& import, bool& has_values, bool& has_types) {
    while (!take_mark("}")) {
      if (take_mark(",")) continue;
      Token name = take();
      bool is_type = false;
      if (name.is_word("type") && is_name(token_)) {
        // `type as x` renames a value, `type as` and `type as as x` are types.
        is_type = !token_.is_word("as") || !is_name(ahead_) || ahead_.is_word("as");
        if (is_type) name = take();
      }
      if (!is_name(name)) return false;
      if (token_.is_word("as")) {
        take();
        if (!is_name(take())) return false;
      }
      (is_type ? has_types : has_values) = true;
      if (!is_type) import.names.push_back({name.text, name.line});
    }
    return true;
  }
  static bool is_name(const Token& token) {
    return token.kind == TokenKind::Word || token.kind == TokenKind::Text;
  }

  // The token at hand is the specifier.
  void add(Import import) {
    import.specifier = token_.text;
    import.line = token_.line;
    take();
    found_.push_back(std::move(import));
  }

  ScriptScanner scanner_;
  Token token_, ahead_;
  std::vector<Import> found_;
};

inline std::vector<Import> imports_of(std::string_view source) {
  return ImportReader(source).read();
}

}  // namespace quire::script
