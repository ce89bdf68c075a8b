#pragma once
// The arguments of the programs of one `quire run`: those after "--", or those of each line of the
// file that --each names.
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace quire {

using Arguments = std::vector<std::string>;

// One element for each instance. InvalidArgument names the line that is wrong.
Result<std::vector<Arguments>> run_arguments(const cli::RunOptions& options);

}  // namespace quire
