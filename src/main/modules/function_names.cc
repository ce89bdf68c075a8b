#include "main/modules/function_names.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "application/sandbox/module_reader.h"
#include "base/utf8.h"
#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

using sandbox::ModuleReader;

constexpr std::uint8_t kFunctionNames = 1;  // The subsection of a section "name".
// A longer symbol is not demangled: the demangler's time grows faster than the name does.
constexpr std::size_t kSymbolBytesMax = 16'384;

// Empty where the symbol is not the name of a C++ function. wasm-ld writes names that are
// demangled.
std::string demangled(const std::string& symbol) {
  if (symbol.size() > kSymbolBytesMax) return "";
  if (!symbol.starts_with("_Z")) {
    return symbol.find_first_of("(<") == std::string::npos ? "" : symbol;
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : "";
}

// Takes apart what a demangler writes, as in
//   void std::__2::sort[abi:x]<T, (E)0>(T, T)::{lambda(int)#1}::operator()(int) const
// and keeps "std::sort::lambda::operator()". clang's writes 'lambda'(int) for {lambda(int)#1}.
class NameShortener {
 public:
  explicit NameShortener(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void step() {
    if (out_ends_a_scope() && take("operator")) return take_operator();
    if (take("(anonymous namespace)::") || take("__2::") || take("__1::")) return;
    switch (text_[at_]) {
      case '<':
      case '(':
      case '[':
        return skip_group();
      case '{':
        return take_local();
      case '\'':
        ++at_;
        return;
      case ' ':
        return take_blank();
      default:
        out_ += text_[at_++];
    }
  }

  bool out_ends_a_scope() const { return out_.empty() || out_.ends_with("::"); }

  // operator<, operator(), operator new[]: the name goes on to its parameters. A conversion's type
  // may hold brackets and blanks of its own.
  void take_operator() {
    out_ += "operator";
    constexpr std::string_view kSymbols = "<>=!+-*/%^&|~,[]";
    if (take("()")) {
      out_ += "()";
      return;
    }
    if (at_ < text_.size() && kSymbols.find(text_[at_]) != std::string_view::npos) {
      take_operator_symbol();
      return;
    }
    while (at_ < text_.size() && text_[at_] != '(') {
      if (text_[at_] == '<') {
        skip_group();
      } else {
        out_ += text_[at_++];
      }
    }
  }

  // The longest that exists, because operator<< may be followed by the arguments of a template.
  void take_operator_symbol() {
    for (const std::string_view each :
         {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
          "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "->", "[]"}) {
      if (take(each)) {
        out_ += each;
        return;
      }
    }
    out_ += text_[at_++];
  }

  // Past the bracket that closes the one here. A '>' of "->" closes nothing.
  void skip_group() {
    std::size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char each = text_[at_];
      if (each == '(' || each == '[' || each == '{' || each == '<') ++depth;
      const bool is_arrow = each == '>' && at_ > 0 && text_[at_ - 1] == '-';
      if (each == ')' || each == ']' || each == '}' || (each == '>' && !is_arrow)) {
        if (--depth == 0) {
          ++at_;
          return;
        }
      }
    }
  }

  // {lambda(int)#1}, {unnamed type#1}, {default arg#1}.
  void take_local() {
    const std::size_t begin = at_ + 1;
    skip_group();
    const std::string_view inside = text_.substr(begin, at_ - begin);
    out_ += inside.substr(0, inside.find_first_of("(#} "));
  }

  // A name before a blank is a type that the function returns; a name after its parameters is a
  // qualifier.
  void take_blank() {
    ++at_;
    for (const std::string_view each : {"const", "volatile", "&&", "&"}) {
      const std::string_view rest = text_.substr(at_);
      const bool is_qualifier =
          rest.starts_with(each) && (rest.size() == each.size() || rest[each.size()] == ' ' ||
                                     rest.substr(each.size()).starts_with("::"));
      if (!is_qualifier) continue;
      at_ += each.size();
      return;
    }
    out_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

// "std::__dispatch" for "std::__variant_detail::__visitation::__base::__dispatch": the scopes that
// a library reserves for itself say nothing to its users. The last name stays.
std::string without_reserved_scopes(std::string_view name) {
  std::string out;
  for (std::size_t end; (end = name.find("::")) != std::string_view::npos;) {
    if (!name.starts_with("__")) out += name.substr(0, end + 2);
    name.remove_prefix(end + 2);
  }
  return out + std::string(name);
}

std::string at_most(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr std::string_view kCut = "...";
  text.resize(bytes_max - kCut.size());
  text.resize(utf8_valid_bytes(text));  // Not in the middle of a character.
  return text + std::string(kCut);
}

// The map of function names: index and name, as often as its count says.
Result<void> append_names(ModuleReader& reader, std::string_view content, std::string& out) {
  const std::uint32_t count = TRY(reader.count());
  append_count(out, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    append_count(out, TRY(reader.count()));
    const std::uint32_t bytes = TRY(reader.count());
    const std::size_t begin = reader.at();
    TRY(reader.skip(bytes));
    append_name(out, readable_name(content.substr(begin, bytes)));
  }
  return {};
}

}  // namespace

std::string readable_name(std::string_view symbol) {
  // clang splits a coroutine: its body is NAME.resume, which wasm-ld writes as "NAME (.resume)".
  const bool is_mangled = symbol.starts_with("_Z");
  const std::size_t split = is_mangled ? symbol.find('.') : symbol.rfind(" (.");
  const std::string name = demangled(std::string(symbol.substr(0, split)));
  if (name.empty()) return at_most(std::string(symbol), kReadableNameBytesMax);
  std::string out = without_reserved_scopes(NameShortener(name).run());
  if (out.empty()) out = name;  // A form that this does not know.
  const std::string_view part = split == std::string_view::npos ? "" : symbol.substr(split);
  const bool destroys = part.find(".destroy") != std::string_view::npos ||
                        part.find(".cleanup") != std::string_view::npos;
  if (destroys) out += " (destroy)";
  return at_most(std::move(out), kReadableNameBytesMax);
}

Result<std::string> readable_names(std::string_view content) {
  ModuleReader reader(std::as_bytes(std::span(content)), 0, content.size());
  std::string out;
  while (!reader.done()) {
    const std::uint8_t kind = TRY(reader.byte());
    const std::uint32_t bytes = TRY(reader.count());
    ModuleReader part = TRY(reader.part(bytes));
    if (kind != kFunctionNames) continue;
    std::string names;
    TRY(append_names(part, content, names));
    out += static_cast<char>(kFunctionNames);
    append_count(out, static_cast<std::uint32_t>(names.size()));
    out += names;
  }
  return out;
}

}  // namespace quire::modules
