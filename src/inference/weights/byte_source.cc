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

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown = "\"";
  for (const char each : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte < 0x7f && each != '"' && each != '\\') {
      shown += each;
    } else {
      shown += "\\x";
      shown += kDigits[byte >> 4];
      shown += kDigits[byte & 15];
    }
  }
  return shown + (text.size() > kShownMax ? "...\"" : "\"");
}

}  // namespace quire::inference
