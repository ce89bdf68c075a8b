#pragma once
// The link .quire/rust of a project in Rust to the crate of the SDK on this machine.
//
// Cargo.toml names the crate by this link, so a project in git builds on each machine that has
// quire: git ignores the link, and `quire new`, `build` and `run` make it. A folder in its place is
// the project's own copy of the crate, and stays.
//
// Thread   any. Two processes may make the same link.
#include <string>

#include "base/result.h"

namespace quire {

// Makes the link, or leads it to the crate of the quire that runs. NotFound: there is no crate, and
// the link leads to none.
Result<void> link_rust_sdk(const std::string& project);

// The same for a project whose Cargo.toml names the link; nothing for another project.
Result<void> link_rust_sdk_if_named(const std::string& project);

}  // namespace quire
