#pragma once
// EvalInput is what `quire eval` reads: token ids, and if given an explicit mask and positions.
//
// Errors   InvalidArgument with the file and the place for bytes that say something else.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

struct EvalInput {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint8_t> mask;        // Empty, or [ids][ids]: row = query, 1 = may attend.
  std::vector<std::uint32_t> positions;  // Empty, or [ids].
};

// A JSON array of token ids, or an object with "ids".
Result<std::vector<std::uint32_t>> read_ids(const std::string& path, std::uint32_t vocabulary_size);
Result<std::vector<std::uint8_t>> read_mask(const std::string& path, std::size_t count);
Result<std::vector<std::uint32_t>> read_positions(const std::string& path, std::size_t count);

}  // namespace quire
