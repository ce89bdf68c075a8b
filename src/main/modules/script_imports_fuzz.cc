// Arbitrary bytes where a script is expected: tokens that lie in the source one after the other,
// and imports that are parts of it; never a crash, and never without an end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "main/modules/script_imports.h"

namespace {

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace quire::script;
  const std::string_view source(reinterpret_cast<const char*>(data), bytes);
  ScriptScanner scanner(source);
  std::size_t offset = 0;
  std::uint32_t line = 1;
  bool is_first = true;
  for (Token token = scanner.next(); token.kind != TokenKind::None; token = scanner.next()) {
    const bool goes_on = is_first ? token.offset >= offset : token.offset > offset;
    if (!goes_on || token.line < line || token.offset >= bytes) std::abort();
    if (!lies_in(token.text, source)) std::abort();
    offset = token.offset;
    line = token.line;
    is_first = false;
  }
  for (const Import& each : quire::modules::local_imports(source)) {
    if (!lies_in(each.specifier, source) || each.line == 0) std::abort();
    for (const ImportedName& name : each.names) {
      if (name.line > each.line) std::abort();
    }
  }
  return 0;
}
