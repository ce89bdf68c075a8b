#include "control/store/page_file.h"

#include <algorithm>
#include <string_view>

#include "control/store/byte_codec.h"
#include "control/store/checksum.h"
#include "control/store/page_space.h"

namespace quire::store {
namespace {

constexpr std::string_view kFileMagic = "QUIREKVP";
constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::size_t kFileChecksumOffset = 32;
constexpr std::string_view kNamePrefix = "pages-";
constexpr std::string_view kNameSuffix = ".quire";

Error damaged(const std::string& path, const std::string& what) {
  return Error(ErrorCode::Corrupted, "page file " + path + ": " + what);
}

Checksum header_checksum(std::span<const std::byte> header) {
  static constexpr std::array<std::byte, sizeof(Checksum)> kZeros{};
  return Checksummer()
      .add(header.first(kFileChecksumOffset))
      .add(kZeros)
      .add(header.subspan(kFileChecksumOffset + sizeof(Checksum)))
      .finish();
}

}  // namespace

std::uint64_t slot_bytes_of(std::uint64_t page_bytes) {
  return (kPageHeaderBytes + page_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

std::string page_file_name(const Digest& space_digest) {
  return std::string(kNamePrefix) + hex(space_digest).substr(0, 32) + std::string(kNameSuffix);
}

bool is_page_file_name(const std::string& name) {
  return name.starts_with(kNamePrefix) && name.ends_with(kNameSuffix);
}

std::vector<std::byte> encode_page_file_header(const PageSpace& space) {
  ByteWriter writer;
  writer.raw(kFileMagic);
  writer.u32(kPageFileVersion);
  writer.u32(kPageHeaderBytes);
  writer.u64(slot_bytes_of(space));
  writer.u64(0);
  writer.raw(Checksum{});
  writer.raw(encode_space(space));
  writer.pad_to(kPageFileHeaderBytes);
  std::vector<std::byte> header = std::move(writer).take();
  const Checksum sum = header_checksum(header);
  const auto bytes = std::as_bytes(std::span(sum));
  std::copy(bytes.begin(), bytes.end(), header.begin() + kFileChecksumOffset);
  return header;
}

Result<PageSpace> decode_page_file_header(std::span<const std::byte> header,
                                          const std::string& path) {
  if (header.size() != kPageFileHeaderBytes) return damaged(path, "the header is cut short");
  ByteReader reader(header);
  const auto magic = reader.raw(kFileMagic.size());
  if (!std::equal(magic.begin(), magic.end(), std::as_bytes(std::span(kFileMagic)).begin())) {
    return damaged(path, "it does not begin as a page file does");
  }
  const std::uint32_t version = reader.u32();
  const std::uint32_t page_header_bytes = reader.u32();
  const std::uint64_t slot_bytes = reader.u64();
  (void)reader.u64();
  const Checksum sum = reader.raw_array<16>();
  // A header of another version may be summed in another way: its version is all that is believed.
  if (version != kPageFileVersion) {
    return Error(ErrorCode::NotSupported, "page file " + path + " has format version " +
                                              std::to_string(version) + "; this build reads " +
                                              std::to_string(kPageFileVersion));
  }
  if (sum != header_checksum(header)) return damaged(path, "the header's checksum does not match");
  const PageSpace space = decode_space(reader);
  if (!reader.ok()) return damaged(path, "the header's lengths are beyond it");
  Result<void> checked = check_space(space);
  if (!checked.ok()) return damaged(path, std::string(checked.error().message()));
  if (page_header_bytes != kPageHeaderBytes || slot_bytes != slot_bytes_of(space)) {
    return damaged(path, "slots of " + std::to_string(slot_bytes) + " bytes; " +
                             std::to_string(slot_bytes_of(space)) + " were expected");
  }
  return space;
}

PageFile::PageFile(StoreFile file, const PageSpace& space)
    : file_(std::move(file)),
      space_(space),
      space_digest_(space_digest(space)),
      slot_bytes_(slot_bytes_of(space)) {}

Result<PageFile> PageFile::open(FileSystem& files, const std::string& path,
                                const PageSpace& space) {
  Result<StoreFile> opened = StoreFile::open(files, path, OpenMode::ReadWrite);
  if (!opened.ok()) {
    Error error = std::move(opened).take_error();
    if (error.code() != ErrorCode::NotFound) return error;
    return damaged(path, "it is gone, and the index says that it holds pages");
  }
  StoreFile file = std::move(opened).take();
  std::vector<std::byte> header(kPageFileHeaderBytes);
  TRY(file.read(0, header));
  const PageSpace found = TRY(decode_page_file_header(header, path));
  if (const auto difference = space_difference(found, space)) {
    return Error(ErrorCode::NotSupported, "page file " + path + " is of " + *difference);
  }
  return PageFile(std::move(file), space);
}

Result<PageFile> PageFile::create(FileSystem& files, const std::string& path,
                                  const PageSpace& space) {
  StoreFile file = TRY(StoreFile::open(files, path, OpenMode::CreateOrOpen));
  TRY(file.truncate(0));
  TRY(file.write(0, encode_page_file_header(space)));
  TRY(file.sync());
  TRY(sync_folder(files, folder_of(path)));
  return PageFile(std::move(file), space);
}

std::uint64_t PageFile::offset_of(std::uint64_t slot) const {
  return kPageFileHeaderBytes + slot * slot_bytes_;
}

Result<StoredPage> PageFile::read(std::uint64_t slot, const PageName* wanted) const {
  const auto read_slot = [&]() -> Result<StoredPage> {
    PageHeaderBytes header;
    TRY(file_.read(offset_of(slot), header));
    const std::uint64_t kv_bytes = TRY(kv_bytes_of(header, space_));
    std::vector<std::byte> kv(kv_bytes);
    TRY(file_.read(offset_of(slot) + kPageHeaderBytes, kv));
    return decode_page(header, std::move(kv), space_, space_digest_, wanted);
  };
  Result<StoredPage> page = read_slot();
  if (page.ok()) return page;
  return std::move(page).take_error().while_("slot " + std::to_string(slot) + " of " + path());
}

Result<void> PageFile::write(std::uint64_t slot, const StoredPage& page,
                             std::span<const std::byte> kv) {
  const PageHeaderBytes header = encode_page_header(page, kv, space_digest_);
  TRY(file_.write(offset_of(slot), header));
  return file_.write(offset_of(slot) + kPageHeaderBytes, kv);
}

Result<bool> PageFile::is_blank(std::uint64_t slot) const {
  std::array<std::byte, kFileMagic.size()> begin{};
  TRY(file_.read_some(offset_of(slot), begin));
  return std::all_of(begin.begin(), begin.end(),
                     [](std::byte each) { return each == std::byte{}; });
}

Result<void> PageFile::blank(std::uint64_t slot) {
  static constexpr PageHeaderBytes kZeros{};
  return file_.write(offset_of(slot), kZeros);
}

Result<void> PageFile::cut(std::uint64_t slot_count) {
  const std::uint64_t bytes = TRY(file_.bytes());
  if (bytes <= offset_of(slot_count)) return {};
  return file_.truncate(offset_of(slot_count));
}

Result<std::uint64_t> PageFile::slot_count() const {
  const std::uint64_t bytes = TRY(file_.bytes());
  if (bytes <= kPageFileHeaderBytes) return std::uint64_t{0};
  return (bytes - kPageFileHeaderBytes + slot_bytes_ - 1) / slot_bytes_;
}

}  // namespace quire::store
