#include "control/store/export_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "control/store/byte_codec.h"
#include "control/store/checksum.h"
#include "control/store/page_space.h"
#include "control/store/record_codec.h"
#include "control/store/snapshot_name.h"

namespace quire::store {
namespace {

constexpr std::string_view kExportMagic = "QUIREKVX";
constexpr std::string_view kEndMagic = "QUIREEND";
constexpr std::size_t kFrontBytes = 16;    // Magic, version, bytes of the description.
constexpr std::size_t kTrailerBytes = 32;  // Magic, bytes before it, checksum of those.
constexpr std::uint32_t kDescriptionBytesMax = 32u << 20;

PageRecord as_page(const TailPage& tail) {
  return {.name = {},
          .parent = {},
          .tokens = tail.tokens,
          .positions = tail.positions,
          .view = tail.view,
          .media = tail.media,
          .adapters = tail.adapters,
          .is_opaque = false,
          .kv = tail.kv};
}

// Appends to a new file and sums what it writes.
class Writer {
 public:
  explicit Writer(StoreFile& file) : file_(file) {}
  Result<void> add(std::span<const std::byte> bytes) {
    TRY(file_.write(offset_, bytes));
    offset_ += bytes.size();
    sum_.add(bytes);
    return {};
  }
  Result<void> end() {
    ByteWriter trailer;
    trailer.raw(kEndMagic);
    trailer.u64(offset_);
    trailer.raw(sum_.finish());
    TRY(file_.write(offset_, trailer.bytes()));
    return file_.sync();
  }

 private:
  StoreFile& file_;
  std::uint64_t offset_ = 0;
  Checksummer sum_;
};

class Reader {
 public:
  explicit Reader(const StoreFile& file) : file_(file) {}
  Result<void> fill(std::span<std::byte> into) {
    TRY(file_.read(offset_, into));
    offset_ += into.size();
    sum_.add(into);
    return {};
  }
  Result<void> end() {
    const std::uint64_t body_bytes = offset_;
    const Checksum sum = sum_.finish();
    std::array<std::byte, kTrailerBytes> trailer;
    TRY(fill(trailer));
    ByteReader reader(trailer);
    const auto magic = reader.raw(kEndMagic.size());
    const bool is_end =
        std::equal(magic.begin(), magic.end(), std::as_bytes(std::span(kEndMagic)).begin());
    if (!is_end || reader.u64() != body_bytes || reader.raw_array<16>() != sum ||
        TRY(file_.bytes()) != offset_) {
      return Error(ErrorCode::Corrupted, file_.path() + " does not end as it should");
    }
    return {};
  }

 private:
  const StoreFile& file_;
  std::uint64_t offset_ = 0;
  Checksummer sum_;
};

struct Description {
  PageSpace space;
  std::string name;
  DecodedRecord decoded;
};

std::vector<std::byte> encode_front(const SnapshotRecord& record) {
  ByteWriter description;
  description.block(encode_space(record.space));
  description.block(record.name);
  description.block(encode_record(record));
  description.raw(checksum(description.bytes()));
  ByteWriter front;
  front.raw(kExportMagic);
  front.u32(kExportFileVersion);
  front.block(description.bytes());
  return std::move(front).take();
}

Result<Description> read_front(Reader& reader, const std::string& path) {
  const auto damaged = [&path](const char* what) {
    return Error(ErrorCode::Corrupted, path + ": " + what);
  };
  std::array<std::byte, kFrontBytes> front;
  TRY(reader.fill(front));
  ByteReader front_reader(front);
  const auto magic = front_reader.raw(kExportMagic.size());
  if (!std::equal(magic.begin(), magic.end(), std::as_bytes(std::span(kExportMagic)).begin())) {
    return damaged("it does not begin as an exported snapshot does");
  }
  const std::uint32_t version = front_reader.u32();
  if (version != kExportFileVersion) {
    return Error(ErrorCode::NotSupported, path + " has format version " + std::to_string(version) +
                                              "; this build reads " +
                                              std::to_string(kExportFileVersion));
  }
  const std::uint32_t description_bytes = front_reader.u32();
  if (description_bytes > kDescriptionBytesMax || description_bytes < sizeof(Checksum)) {
    return damaged("its description has an impossible length");
  }
  std::vector<std::byte> bytes(description_bytes);
  TRY(reader.fill(bytes));
  const auto summed = std::span<const std::byte>(bytes).first(bytes.size() - sizeof(Checksum));
  ByteReader sum_reader(std::span<const std::byte>(bytes).subspan(summed.size()));
  if (sum_reader.raw_array<16>() != checksum(summed)) {
    return damaged("the checksum of its description does not match");
  }
  ByteReader description_reader(summed);
  const std::vector<std::byte> space_bytes = description_reader.block();
  Description description;
  description.name = description_reader.text();
  const std::vector<std::byte> record = description_reader.block();
  ByteReader space_reader(space_bytes);
  description.space = decode_space(space_reader);
  if (!description_reader.at_end() || !space_reader.at_end()) {
    return damaged("the lengths in its description do not agree");
  }
  TRY(check_space(description.space));
  description.decoded = TRY(decode_record(record));
  return description;
}

Result<StoredPage> read_page(Reader& reader, const PageSpace& space, const Digest& digest,
                             const std::string& path) {
  const auto read = [&]() -> Result<StoredPage> {
    PageHeaderBytes header;
    TRY(reader.fill(header));
    std::vector<std::byte> kv(TRY(kv_bytes_of(header, space)));
    TRY(reader.fill(kv));
    return decode_page(header, std::move(kv), space, digest, nullptr);
  };
  Result<StoredPage> page = read();
  if (page.ok()) return page;
  return std::move(page).take_error().while_("a page of " + path);
}

Result<void> write_all(SnapshotStore& store, Writer& writer, const OpenedSnapshot& opened) {
  const SnapshotRecord& record = opened.record;
  const Digest digest = space_digest(record.space);
  TRY(writer.add(encode_front(record)));
  for (const PageName& name : opened.chain) {
    const PageRecord page = TRY(store.read_page(record.space, name));
    TRY(writer.add(
        encode_page_header({.page = page, .is_tail = false, .written_count = 0}, digest)));
    TRY(writer.add(page.kv));
  }
  PageName parent = record.head;
  for (const TailPage& tail : record.tail) {
    StoredPage stored{.page = as_page(tail), .is_tail = true, .written_count = tail.written_count};
    stored.page.parent = parent;
    stored.page.name = parent = tail_name(tail, parent, digest);
    TRY(writer.add(encode_page_header(stored, digest)));
    TRY(writer.add(tail.kv));
  }
  return writer.end();
}

Result<void> write_and_rename(SnapshotStore& store, FileSystem& files, const OpenedSnapshot& opened,
                              const std::string& path) {
  const std::string partial = path + ".partial";
  const auto write = [&]() -> Result<void> {
    StoreFile file = TRY(StoreFile::open(files, partial, OpenMode::CreateOrOpen));
    TRY(file.truncate(0));
    Writer writer(file);
    TRY(write_all(store, writer, opened));
    TRY(rename_file(files, partial, path));
    return sync_folder(files, folder_of(path));
  };
  Result<void> written = write();
  // The reason is what the caller should hear, also where even removing fails.
  if (!written.ok()) (void)remove_file(files, partial);
  return written;
}

// Reads pages into the ticket, under new names where there is a namer, and completes the record.
Result<void> read_pages(SnapshotStore& store, Reader& reader, const Description& description,
                        const ImportOptions& options, const std::string& path, TicketId ticket,
                        SnapshotRecord& record) {
  const auto damaged = [&path](const char* what) {
    return Error(ErrorCode::Corrupted, path + ": " + what);
  };
  const Digest digest = space_digest(description.space);
  const PageNameSpace& names = record.space.names;
  PageName parent_in_file = record.root;
  if (options.name_root) record.root = options.name_root(names);
  PageName parent = record.root;
  for (std::uint32_t index = 0; index < record.page_count; ++index) {
    StoredPage stored = TRY(read_page(reader, description.space, digest, path));
    if (stored.is_tail || stored.page.parent != parent_in_file) {
      return damaged("its pages are not a chain");
    }
    parent_in_file = stored.page.name;
    stored.page.parent = parent;
    if (options.name_page) stored.page.name = options.name_page(names, parent, stored.page);
    parent = stored.page.name;
    const bool is_missing = !TRY(store.missing(record.space, {&stored.page.name, 1})).empty();
    if (is_missing) TRY(store.add_pages(ticket, {&stored.page, 1}));
  }
  if (record.head != parent_in_file) return damaged("its head is not its last page");
  record.head = parent;
  for (std::uint32_t index = 0; index < description.decoded.tail_count; ++index) {
    StoredPage stored = TRY(read_page(reader, description.space, digest, path));
    if (!stored.is_tail || stored.page.parent != parent_in_file) {
      return damaged("its tail pages are not a chain");
    }
    parent_in_file = stored.page.name;
    record.tail.push_back({.tokens = std::move(stored.page.tokens),
                           .positions = std::move(stored.page.positions),
                           .view = std::move(stored.page.view),
                           .media = std::move(stored.page.media),
                           .adapters = std::move(stored.page.adapters),
                           .written_count = stored.written_count,
                           .kv = std::move(stored.page.kv)});
  }
  return reader.end();
}

}  // namespace

Result<void> export_file(SnapshotStore& store, FileSystem& files, const std::string& tenant,
                         const std::string& name, const std::string& path) {
  const OpenedSnapshot opened = TRY(store.open_snapshot(tenant, name, nullptr));
  Result<void> written = write_and_rename(store, files, opened, path);
  store.release(opened.ticket);
  return written;
}

Result<SnapshotInfo> import_file(SnapshotStore& store, FileSystem& files, const std::string& path,
                                 const ImportOptions& options) {
  const StoreFile file = TRY(StoreFile::open(files, path, OpenMode::Read));
  Reader reader(file);
  Description description = TRY(read_front(reader, path));
  if (const auto difference = space_difference(description.space, options.space)) {
    return Error(ErrorCode::NotSupported, path + " was saved with " + *difference);
  }
  SnapshotRecord record = std::move(description.decoded.record);
  const bool is_other_domain =
      record.space.names.sharing_domain != options.space.names.sharing_domain;
  if (is_other_domain && (!options.name_page || !options.name_root)) {
    return Error(ErrorCode::NotSupported, path + " is of another sharing domain");
  }
  record.space = options.space;
  record.tenant = options.tenant;
  record.name = options.name.empty() ? description.name : options.name;
  record.expires_unix_ms = options.expires_unix_ms;
  TRY(check_snapshot_name(record.name));
  const BegunSave begun = TRY(store.begin_save(record.space, {}));
  Result<SnapshotInfo> saved = [&]() -> Result<SnapshotInfo> {
    TRY(read_pages(store, reader, description, options, path, begun.ticket, record));
    SaveOptions save = options.save;
    save.ticket = begun.ticket;
    return store.save(std::move(record), {}, save);
  }();
  store.release(begun.ticket);
  if (saved.ok()) return saved;
  return std::move(saved).take_error();
}

}  // namespace quire::store
