#pragma once
// The grammar flags of the command line, given to a generator.
//
// Thread   the main thread; reads files.
// Errors   of the file, by its name, and of the grammar, with the place in it.
#include "base/result.h"
#include "cli/options.h"
#include "main/machine/host_generator.h"

namespace quire {

// Without a grammar: nothing.
Result<void> constrain(HostGenerator& generator, const cli::GrammarOptions& options);

}  // namespace quire
