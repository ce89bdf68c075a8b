#include "application/server/program_names.h"

namespace quire::server {
namespace {

constexpr std::size_t kToldNameCountMax = 16;  // In the error about a name that no program has.

}  // namespace

Result<void> ProgramNames::name_by_operator(const std::string& name, lifecycle::ProgramId program,
                                            const Digest& digest) {
  const auto [at, is_new] = programs_.emplace(name, Named{digest, true});
  if (!is_new && at->second.digest != digest) {
    return Error(ErrorCode::AlreadyExists, "two programs are named \"" + name + "\"");
  }
  manager_.name_program(name, program);
  return {};
}

Result<void> ProgramNames::name_by_client(const std::string& name, lifecycle::ProgramId program,
                                          const Digest& digest) {
  const auto found = programs_.find(name);
  if (found == programs_.end()) {
    if (programs_.size() >= count_max_) {
      return Error(ErrorCode::QuotaExceeded,
                   "program_name_count_max: " + std::to_string(programs_.size()) +
                       " programs have names here; give another program one of them");
    }
    programs_.emplace(name, Named{digest, false});
  } else if (!found->second.is_operators) {
    found->second.digest = digest;
  } else if (found->second.digest != digest) {
    return Error(ErrorCode::AlreadyExists, "the operator of this server named another program \"" +
                                               name + "\"; choose another name");
  }
  manager_.name_program(name, program);
  return {};
}

// One that was forgotten has another id now.
void ProgramNames::arrived(lifecycle::ProgramId program, const Digest& digest) {
  for (const auto& [name, named] : programs_) {
    if (named.digest == digest) manager_.name_program(name, program);
  }
}

Result<Digest> ProgramNames::digest_of(const service::ProgramName& program) const {
  if (program.digest) return *program.digest;
  const auto found = programs_.find(program.name);
  if (found != programs_.end()) return found->second.digest;
  std::string known;
  std::size_t told_count = 0;
  for (const auto& [name, named] : programs_) {
    if (++told_count > kToldNameCountMax) {
      known += ", and " + std::to_string(programs_.size() - kToldNameCountMax) + " more";
      break;
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return Error(ErrorCode::NotFound,
               "no program is named \"" + program.name + "\" here" +
                   (known.empty() ? "; none has a name: upload it" : "; there are: " + known));
}

}  // namespace quire::server
