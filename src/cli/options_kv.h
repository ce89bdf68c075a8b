#pragma once
// What `quire kv` was asked for.
#include <cstdint>
#include <string>

#include "cli/options.h"

namespace quire::cli {

enum class KvAction : std::uint8_t { List, Show, Export, Import, Delete, Verify, Gc };
struct KvOptions {
  KvAction action = KvAction::List;
  std::string store_folder;  // Empty: that of the user's data.
  std::uint32_t tenant = 0;
  std::string name;  // Of a snapshot; Import: what to call it, empty: as in the file.
  std::string file;  // Export and Import.
  bool overwrites = false;
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
