#include "main/machine/exported_space.h"

#include <array>
#include <string_view>
#include <vector>

#include "control/store/byte_codec.h"
#include "control/store/export_file.h"
#include "control/store/page_space.h"
#include "control/store/store_file.h"

namespace quire {
namespace {

constexpr std::string_view kMagic = "QUIREKVX";
constexpr std::size_t kSpaceOffset = 20;            // Magic, version, two lengths.
constexpr std::uint32_t kSpaceBytesMax = 1u << 13;  // Two texts of 1,024 bytes and small fields.

}  // namespace

Result<store::PageSpace> read_exported_space(store::FileSystem& files, const std::string& path) {
  const store::StoreFile file = TRY(store::StoreFile::open(files, path, store::OpenMode::Read));
  std::array<std::byte, kSpaceOffset> front{};
  const std::size_t front_bytes = TRY(file.read_some(0, front));
  store::ByteReader reader(std::span<const std::byte>(front).first(front_bytes));
  const auto magic = reader.raw(kMagic.size());
  const std::string_view begin(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (begin != kMagic) {
    return Error(ErrorCode::Corrupted,
                 path + " is not an exported snapshot: `quire kv export` writes them");
  }
  if (front_bytes < kSpaceOffset) {
    return Error(ErrorCode::Corrupted, path + " ends at byte " + std::to_string(front_bytes));
  }
  const std::uint32_t version = reader.u32();
  if (version != store::kExportFileVersion) {
    return Error(ErrorCode::NotSupported, path + " has format version " + std::to_string(version) +
                                              "; this build reads " +
                                              std::to_string(store::kExportFileVersion));
  }
  reader.u32();  // Of the description; the import checks it.
  const std::uint32_t space_bytes = reader.u32();
  if (space_bytes > kSpaceBytesMax) {
    return Error(ErrorCode::Corrupted,
                 path + " is damaged: the page section has an impossible length");
  }
  std::vector<std::byte> bytes(space_bytes);
  TRY(file.read(kSpaceOffset, bytes));
  store::ByteReader space_reader(bytes);
  store::PageSpace space = store::decode_space(space_reader);
  if (!space_reader.at_end()) {
    return Error(ErrorCode::Corrupted, path + " is damaged: the page section is not valid");
  }
  TRY(store::check_space(space));
  return space;
}

}  // namespace quire
