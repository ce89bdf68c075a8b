#include "control/pages/page_name.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace quire::control {
namespace {

// Every field of the encoding has a tag of its own, so that fields can be added later.
enum class Tag : std::uint8_t {
  Domain = 1,
  FormatVersion,
  Model,
  Numerics,
  KvFormat,
  Rope,
  PageSize,
  Adapter,
  AdapterScale,
  SharingDomain,
  Parent,
  Tokens,
  Positions,
  Mask,
};

class Encoder {
 public:
  Encoder() { bytes_.reserve(768); }

  Encoder& add(Tag tag, std::span<const std::byte> value) {
    bytes_.push_back(static_cast<std::byte>(tag));
    append_number(value.size(), 8);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  Encoder& add(Tag tag, std::string_view value) {
    return add(tag, std::as_bytes(std::span(value.data(), value.size())));
  }
  Encoder& add(Tag tag, const Digest& value) { return add(tag, std::as_bytes(std::span(value))); }
  Encoder& add(Tag tag, std::uint32_t value) {
    bytes_.push_back(static_cast<std::byte>(tag));
    append_number(4, 8);
    append_number(value, 4);
    return *this;
  }
  template <typename Word>
  Encoder& add_words(Tag tag, std::span<const Word> words) {
    bytes_.push_back(static_cast<std::byte>(tag));
    append_number(words.size() * 4, 8);
    for (const Word word : words) append_number(static_cast<std::uint32_t>(word), 4);
    return *this;
  }

  Digest digest() const { return sha256(bytes_); }

 private:
  void append_number(std::uint64_t value, int byte_count) {
    for (int index = 0; index < byte_count; ++index) {
      bytes_.push_back(static_cast<std::byte>(value >> (8 * index)));
    }
  }
  std::vector<std::byte> bytes_;
};

void add_space(Encoder& encoder, std::string_view domain, const PageNameSpace& space) {
  encoder.add(Tag::Domain, domain)
      .add(Tag::FormatVersion, space.format_version)
      .add(Tag::Model, space.model)
      .add(Tag::Numerics, space.numerics_id)
      .add(Tag::KvFormat, static_cast<std::uint32_t>(space.kv_format))
      .add(Tag::Rope, space.rope)
      .add(Tag::PageSize, space.page_size)
      .add(Tag::Adapter, space.adapter)
      .add(Tag::AdapterScale, std::bit_cast<std::uint32_t>(space.adapter_scale))
      .add(Tag::SharingDomain, space.sharing_domain);
}

}  // namespace

PageName root_name(const PageNameSpace& space) {
  Encoder encoder;
  add_space(encoder, "quire page root", space);
  return encoder.digest();
}

PageName page_name(const PageNameSpace& space, const PageName& parent, const PageContent& content) {
  Encoder encoder;
  add_space(encoder, "quire page", space);
  encoder.add(Tag::Parent, parent)
      .add_words(Tag::Tokens, content.tokens)
      .add_words(Tag::Positions, content.positions)
      .add(Tag::Mask, std::as_bytes(content.mask));
  return encoder.digest();
}

}  // namespace quire::control
