#pragma once
// The options of `quire kv`.
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.h"

namespace quire::cli {

enum class KvAction : std::uint8_t { List, Show, Export, Import, Delete, Verify, Gc, Tree, Why };
struct KvOptions {
  KvAction action = KvAction::List;
  std::string store_folder;  // Empty: that of the user's data.
  std::uint32_t tenant = 0;
  std::string name;  // Of a snapshot; Import: what to call it, empty: as in the file.
  std::string file;  // Export and Import; Tree and Why: a report of --kv-report.
  bool overwrites = false;
  bool draws_dot = false;                 // Tree: as Graphviz source.
  std::optional<std::uint32_t> instance;  // Why: of this one only.
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
