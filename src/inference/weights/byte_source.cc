#include "inference/weights/byte_source.h"

#include <algorithm>
#include <cstring>

namespace quire::inference {

Result<void> MemorySource::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > content_.size() || into.size() > content_.size() - offset) {
    return Error(ErrorCode::Corrupted, name_ + " ends at byte " + std::to_string(content_.size()) +
                                           "; " + std::to_string(into.size()) + " bytes from " +
                                           std::to_string(offset) + " were wanted");
  }
  if (!into.empty()) std::memcpy(into.data(), content_.data() + offset, into.size());
  return {};
}

}  // namespace quire::inference
