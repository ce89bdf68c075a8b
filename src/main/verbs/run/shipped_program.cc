#include "main/verbs/run/shipped_program.h"

#include <filesystem>
#include <system_error>

#include "main/verbs/shared/shipped_endpoints.h"

namespace quire {

std::optional<std::string> shipped_program_named(const std::string& program) {
  std::error_code ignored;
  const bool is_file =
      program.find('/') != std::string::npos || std::filesystem::exists(program, ignored);
  if (is_file) return std::nullopt;
  return find_shipped_program(program);
}

}  // namespace quire
