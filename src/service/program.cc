#include "service/program.h"

namespace quire::service {

std::string program_text(const ProgramName& program) {
  return program.digest ? "sha256:" + hex(*program.digest) : program.name;
}

}  // namespace quire::service
