#include "control/store/page_image.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/planted_fault.h"
#include "control/store/adapter_codec.h"
#include "control/store/byte_codec.h"
#include "control/store/checksum.h"

namespace quire::store {
namespace {

constexpr std::string_view kImageMagic = "QUIREPGE";
constexpr std::uint32_t kFlagOpaque = 1;
constexpr std::uint32_t kFlagTail = 2;
constexpr std::uint32_t kFlagExtended = 4;
constexpr std::uint32_t kFlagsKnown = kFlagOpaque | kFlagTail | kFlagExtended;
// Fields of the extension, which follows the view, in this order: a number and a block each.
constexpr std::uint32_t kFieldAdapters = 1;
constexpr std::uint32_t kFieldMedia = 2;
constexpr std::size_t kImageChecksumOffset = 32;
constexpr std::size_t kFixedBytes = 144;  // Before the tokens.
static_assert(kViewBytesMax <= kPageExtrasBytesMax);
static_assert(kFixedBytes + 8 * inference::kPageSizeMax + kPageExtrasBytesMax <= kPageHeaderBytes);

Error damaged(const std::string& what) {
  return Error(ErrorCode::Corrupted, what);
}

Checksum checksum_of(const PageHeaderBytes& header, std::span<const std::byte> kv) {
  static constexpr std::array<std::byte, sizeof(Checksum)> kZeros{};
  const std::span<const std::byte> bytes(header);
  return Checksummer()
      .add(bytes.first(kImageChecksumOffset))
      .add(kZeros)
      .add(bytes.subspan(kImageChecksumOffset + sizeof(Checksum)))
      .add(kv)
      .finish();
}

bool is_extended(std::span<const std::uint8_t> media, std::span<const AdapterRun> adapters) {
  return !media.empty() || !adapters.empty();
}

void write_extension(ByteWriter& writer, std::span<const std::uint8_t> media,
                     std::span<const AdapterRun> adapters) {
  ByteWriter fields;
  if (!adapters.empty()) {
    ByteWriter runs;
    write_adapter_runs(runs, adapters);
    fields.u32(kFieldAdapters);
    fields.block(runs.bytes());
  }
  if (!media.empty()) {
    fields.u32(kFieldMedia);
    fields.block(std::as_bytes(media));
  }
  writer.block(fields.bytes());
}

// Fields by rising number, none of them empty: there is one way to write a page.
Result<void> read_extension(ByteReader& reader, std::uint32_t slot_count, PageRecord& page) {
  const std::vector<std::byte> bytes = reader.block();
  ByteReader fields(bytes);
  std::uint32_t last = 0;
  while (reader.ok() && fields.ok() && !fields.at_end()) {
    const std::uint32_t field = fields.u32();
    const std::vector<std::byte> value = fields.block();
    if (!fields.ok() || value.empty() || field <= last) return damaged("its extension is damaged");
    last = field;
    if (field == kFieldAdapters) {
      ByteReader runs(value);
      page.adapters = TRY(read_adapter_runs(runs, slot_count));
      if (!runs.at_end() || page.adapters.empty()) return damaged("its adapters are damaged");
    } else if (field == kFieldMedia) {
      for (const std::byte each : value) page.media.push_back(static_cast<std::uint8_t>(each));
    } else {
      return Error(ErrorCode::NotSupported,
                   "a page with field " + std::to_string(field) +
                       ", which this build does not know; it reads 1 and 2");
    }
  }
  if (!reader.ok() || last == 0) return damaged("its extension is damaged");
  return {};
}

struct Fixed {
  bool is_page = false;
  std::uint32_t flags = 0;
  std::uint32_t token_count = 0;
  std::uint32_t written_count = 0;
  std::uint32_t view_bytes = 0;
  std::uint64_t kv_bytes = 0;
  Checksum checksum{};
  PageName name{};
  PageName parent{};
  Digest space{};
};

Fixed read_fixed(ByteReader& reader) {
  Fixed fixed;
  const auto magic = reader.raw(kImageMagic.size());
  fixed.is_page =
      std::equal(magic.begin(), magic.end(), std::as_bytes(std::span(kImageMagic)).begin());
  fixed.flags = reader.u32();
  fixed.token_count = reader.u32();
  fixed.written_count = reader.u32();
  fixed.view_bytes = reader.u32();
  fixed.kv_bytes = reader.u64();
  fixed.checksum = reader.raw_array<16>();
  fixed.name = reader.raw_array<32>();
  fixed.parent = reader.raw_array<32>();
  fixed.space = reader.raw_array<32>();
  return fixed;
}

}  // namespace

Result<void> check_page(const StoredPage& stored, const PageSpace& space) {
  return check_page(stored, stored.page.kv, space);
}

Result<void> check_page(const StoredPage& stored, std::span<const std::byte> kv,
                        const PageSpace& space) {
  const PageRecord& page = stored.page;
  if (page.tokens.size() > space.names.page_size || page.positions.size() != page.tokens.size()) {
    return Error(ErrorCode::InvalidArgument,
                 "a page of " + std::to_string(page.tokens.size()) + " tokens and " +
                     std::to_string(page.positions.size()) + " positions; page size " +
                     std::to_string(space.names.page_size));
  }
  if (stored.written_count > page.tokens.size()) {
    return Error(ErrorCode::InvalidArgument, std::to_string(stored.written_count) + " of " +
                                                 std::to_string(page.tokens.size()) +
                                                 " tokens of a tail page are written");
  }
  if (page.view.size() > kViewBytesMax) {
    return Error(ErrorCode::TooLarge, "a view of " + std::to_string(page.view.size()) +
                                          " bytes; at most " + std::to_string(kViewBytesMax));
  }
  const std::size_t extras = page_extras_bytes(page.view.size(), page.media.size(), page.adapters);
  if (extras > kPageExtrasBytesMax) {
    return Error(ErrorCode::TooLarge, "a page with " + std::to_string(extras) +
                                          " bytes of view, media and adapters; at most " +
                                          std::to_string(kPageExtrasBytesMax));
  }
  TRY(control::check_adapter_runs(page.adapters, static_cast<std::uint32_t>(page.tokens.size())));
  if (kv.size() != space.page_bytes && !(kv.empty() && !stored.is_tail)) {
    return Error(ErrorCode::InvalidArgument, "a page of " + std::to_string(kv.size()) +
                                                 " bytes; a page has " +
                                                 std::to_string(space.page_bytes));
  }
  return {};
}

std::size_t page_extras_bytes(std::size_t view_bytes, std::size_t media_bytes,
                              std::span<const AdapterRun> adapters) {
  constexpr std::size_t kFieldBytes = 8;  // Its number, and the length of a block.
  if (media_bytes == 0 && adapters.empty()) return view_bytes;
  std::size_t bytes = view_bytes + sizeof(std::uint32_t);
  if (media_bytes > 0) bytes += kFieldBytes + media_bytes;
  if (!adapters.empty()) bytes += kFieldBytes + adapter_runs_bytes(adapters);
  return bytes;
}

PageHeaderBytes encode_page_header(const StoredPage& stored, const Digest& space_digest) {
  return encode_page_header(stored, stored.page.kv, space_digest);
}

PageHeaderBytes encode_page_header(const StoredPage& stored, std::span<const std::byte> kv,
                                   const Digest& space_digest) {
  const PageRecord& page = stored.page;
  ByteWriter writer;
  writer.raw(kImageMagic);
  const bool extends = is_extended(page.media, page.adapters);
  writer.u32((page.is_opaque ? kFlagOpaque : 0) | (stored.is_tail ? kFlagTail : 0) |
             (extends ? kFlagExtended : 0));
  writer.u32(static_cast<std::uint32_t>(page.tokens.size()));
  writer.u32(stored.is_tail ? stored.written_count
                            : static_cast<std::uint32_t>(page.tokens.size()));
  writer.u32(static_cast<std::uint32_t>(page.view.size()));
  writer.u64(kv.size());
  writer.raw(Checksum{});
  writer.raw(page.name);
  writer.raw(page.parent);
  writer.raw(space_digest);
  for (const TokenId token : page.tokens) writer.u32(static_cast<std::uint32_t>(token));
  for (const std::uint32_t position : page.positions) writer.u32(position);
  writer.raw(std::as_bytes(std::span(page.view)));
  if (extends) write_extension(writer, page.media, page.adapters);
  writer.pad_to(kPageHeaderBytes);
  PageHeaderBytes header;
  std::copy(writer.bytes().begin(), writer.bytes().end(), header.begin());
  const Checksum sum = checksum_of(header, kv);
  const auto sum_bytes = std::as_bytes(std::span(sum));
  std::copy(sum_bytes.begin(), sum_bytes.end(), header.begin() + kImageChecksumOffset);
  return header;
}

Result<std::uint64_t> kv_bytes_of(const PageHeaderBytes& header, const PageSpace& space) {
  ByteReader reader(header);
  const Fixed fixed = read_fixed(reader);
  if (!fixed.is_page) return damaged("no page begins here");
  if (fixed.kv_bytes != 0 && fixed.kv_bytes != space.page_bytes) {
    return damaged("a page of " + std::to_string(fixed.kv_bytes) + " bytes where pages have " +
                   std::to_string(space.page_bytes));
  }
  return fixed.kv_bytes;
}

Result<StoredPage> decode_page(const PageHeaderBytes& header, std::vector<std::byte> kv,
                               const PageSpace& space, const Digest& space_digest,
                               const PageName* wanted) {
  ByteReader reader(header);
  const Fixed fixed = read_fixed(reader);
  if (!fixed.is_page) return damaged("no page begins here");
  const bool is_checked = !is_planted(Fault::ChecksumNotChecked);
  if (is_checked && fixed.checksum != checksum_of(header, kv)) {
    return damaged("the checksum does not match");
  }
  if (wanted != nullptr && fixed.name != *wanted) {
    return damaged("it holds page " + hex(fixed.name) + ", not " + hex(*wanted));
  }
  if (fixed.space != space_digest) return damaged("it holds a page of another model or format");
  if (fixed.kv_bytes != kv.size() || fixed.token_count > space.names.page_size ||
      fixed.view_bytes > kViewBytesMax || fixed.written_count > fixed.token_count ||
      (fixed.flags & ~kFlagsKnown) != 0) {
    return damaged("lengths or flags beyond their limits");
  }
  StoredPage stored;
  stored.is_tail = (fixed.flags & kFlagTail) != 0;
  stored.written_count = fixed.written_count;
  PageRecord& page = stored.page;
  page.is_opaque = (fixed.flags & kFlagOpaque) != 0;
  page.name = fixed.name;
  page.parent = fixed.parent;
  page.tokens = reader.some_words<TokenId>(fixed.token_count);
  page.positions = reader.some_words<std::uint32_t>(fixed.token_count);
  const auto view = reader.raw(fixed.view_bytes);
  for (const std::byte each : view) page.view.push_back(static_cast<std::uint8_t>(each));
  if ((fixed.flags & kFlagExtended) != 0) TRY(read_extension(reader, fixed.token_count, page));
  page.kv = std::move(kv);
  return stored;
}

PageName tail_name(const TailPage& tail, const PageName& parent, const Digest& space_digest) {
  const bool extends = is_extended(tail.media, tail.adapters);
  ByteWriter writer;
  writer.block(extends ? "quire extended tail page" : "quire tail page");
  writer.raw(space_digest);
  writer.raw(parent);
  writer.words(tail.tokens);
  writer.words(tail.positions);
  writer.block(std::as_bytes(std::span(tail.view)));
  if (extends) write_extension(writer, tail.media, tail.adapters);
  writer.u32(tail.written_count);
  writer.u64(tail.kv.size());
  return Sha256().add(writer.bytes()).add(tail.kv).finish();
}

}  // namespace quire::store
