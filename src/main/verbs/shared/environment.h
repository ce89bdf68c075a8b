#pragma once
// Reads the variables of --env, which programs get, from the environment of this process.
#include <string>
#include <vector>

#include "application/hostcalls/environment.h"
#include "base/result.h"

namespace quire {

// Null if there are no names. `flag` is for errors. InvalidArgument: a name is not that of a
// variable, or comes with a value, which `ps` would show. NotFound: the variable is not set.
// TooLarge.
Result<hostcalls::EnvironmentHandle> read_environment(const std::vector<std::string>& names,
                                                      const std::string& flag = "--env");

}  // namespace quire
