#include "control/store/page_space.h"

#include <bit>

#include "base/utf8.h"

namespace quire::store {
namespace {

constexpr std::uint8_t kStatesBit = 0x80;  // Of the byte of the KV format.

Error invalid(const std::string& what) {
  return Error(ErrorCode::InvalidArgument, what);
}

std::string kv_format_name(inference::KvFormat format) {
  switch (format) {
    case inference::KvFormat::F32:
      return "F32";
    case inference::KvFormat::F16:
      return "F16";
    case inference::KvFormat::BF16:
      return "BF16";
    case inference::KvFormat::Q8:
      return "Q8";
  }
  return "number " + std::to_string(static_cast<unsigned>(format));
}

std::string differ(const char* field, const std::string& stored, const std::string& wanted) {
  return std::string(field) + " " + printable(stored) + ", not " + printable(wanted);
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

}  // namespace

Result<void> check_space(const PageSpace& space) {
  const PageNameSpace& names = space.names;
  if (names.page_size == 0 || names.page_size > inference::kPageSizeMax) {
    return invalid("page size " + std::to_string(names.page_size) + " is not 1 to " +
                   std::to_string(inference::kPageSizeMax));
  }
  if (space.page_bytes == 0 || space.page_bytes > kPageBytesMax) {
    return invalid("a page of " + std::to_string(space.page_bytes) + " bytes is not 1 to " +
                   std::to_string(kPageBytesMax));
  }
  if (names.numerics_id.size() > kSpaceTextBytesMax || names.rope.size() > kSpaceTextBytesMax) {
    return invalid("numerics id or RoPE parameters of more than " +
                   std::to_string(kSpaceTextBytesMax) + " bytes");
  }
  return {};
}

std::vector<std::byte> encode_space(const PageSpace& space) {
  const PageNameSpace& names = space.names;
  ByteWriter writer;
  writer.u32(names.format_version);
  writer.raw(names.model);
  writer.block(names.numerics_id);
  writer.u8(static_cast<std::uint8_t>(names.kv_format) | (space.is_of_states ? kStatesBit : 0));
  writer.block(names.rope);
  writer.u32(names.page_size);
  writer.raw(names.adapter);
  writer.u32(std::bit_cast<std::uint32_t>(names.adapter_scale));
  writer.u64(space.page_bytes);
  return std::move(writer).take();
}

PageSpace decode_space(ByteReader& reader) {
  PageSpace space;
  PageNameSpace& names = space.names;
  names.format_version = reader.u32();
  names.model = reader.raw_array<32>();
  names.numerics_id = reader.text();
  const std::uint8_t format = reader.u8();
  names.kv_format = static_cast<inference::KvFormat>(format & ~kStatesBit);
  space.is_of_states = (format & kStatesBit) != 0;
  names.rope = reader.text();
  names.page_size = reader.u32();
  names.adapter = reader.raw_array<32>();
  names.adapter_scale = std::bit_cast<float>(reader.u32());
  space.page_bytes = reader.u64();
  return space;
}

Digest space_digest(const PageSpace& space) {
  return sha256(encode_space(space));
}

PageSpace states_of(const PageSpace& pages, std::uint64_t state_bytes) {
  PageSpace states = pages;
  states.page_bytes = state_bytes;
  states.is_of_states = true;
  return states;
}

std::optional<std::string> space_difference(const PageSpace& stored, const PageSpace& wanted) {
  const PageNameSpace& is = stored.names;
  const PageNameSpace& want = wanted.names;
  if (is.format_version != want.format_version) {
    return differ("page name format", std::to_string(is.format_version),
                  std::to_string(want.format_version));
  }
  if (is.model != want.model) return differ("model", hex(is.model), hex(want.model));
  if (is.numerics_id != want.numerics_id) {
    return differ("numerics", quoted(is.numerics_id), quoted(want.numerics_id));
  }
  if (is.kv_format != want.kv_format) {
    return differ("KV format", kv_format_name(is.kv_format), kv_format_name(want.kv_format));
  }
  if (is.page_size != want.page_size) {
    return differ("page size", std::to_string(is.page_size), std::to_string(want.page_size));
  }
  if (is.rope != want.rope) return differ("RoPE", quoted(is.rope), quoted(want.rope));
  if (is.adapter != want.adapter) return differ("adapter", hex(is.adapter), hex(want.adapter));
  if (std::bit_cast<std::uint32_t>(is.adapter_scale) !=
      std::bit_cast<std::uint32_t>(want.adapter_scale)) {
    return differ("adapter scale", std::to_string(is.adapter_scale),
                  std::to_string(want.adapter_scale));
  }
  if (stored.page_bytes != wanted.page_bytes) {
    return differ("bytes of a page", std::to_string(stored.page_bytes),
                  std::to_string(wanted.page_bytes));
  }
  return std::nullopt;
}

}  // namespace quire::store
