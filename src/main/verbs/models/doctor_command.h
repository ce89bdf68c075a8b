#pragma once
// `quire doctor`: what this machine has, what it lacks, and what to do about it.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h: Failed when something that Quire needs is missing.
int doctor_command(const cli::DoctorOptions& options);

}  // namespace quire
