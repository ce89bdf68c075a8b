#pragma once
// An adapter that a server has loaded, as its clients know it.
#include <cstdint>
#include <string>

#include "base/sha256.h"

namespace quire::service {

struct AdapterStatus {
  std::string name;
  std::string model;
  Digest digest{};
  std::uint64_t rank_max = 0;
  std::uint64_t parameter_count = 0;
  std::uint64_t bytes = 0;  // Of memory.
  std::string source;       // A path, or "upload"; empty: the caller may not know it.
  bool is_own = false;      // The tenant's, and not the server's.
  // By contexts, or by what waits. False also of the server's adapters, unless the caller may
  // operate: other tenants use them.
  bool is_in_use = false;
  bool operator==(const AdapterStatus&) const = default;
};

}  // namespace quire::service
