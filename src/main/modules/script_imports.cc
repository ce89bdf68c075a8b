#include "main/modules/script_imports.h"

namespace quire::modules {
namespace {

bool is_local(std::string_view specifier) {
  return specifier.starts_with("./") || specifier.starts_with("../") || specifier == "." ||
         specifier == "..";
}

}  // namespace

std::vector<script::Import> local_imports(std::string_view source) {
  std::vector<script::Import> imports = script::imports_of(source);
  std::erase_if(imports, [](const script::Import& each) { return !is_local(each.specifier); });
  return imports;
}

}  // namespace quire::modules
