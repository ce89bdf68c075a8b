#include "control/pages/page_name.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/planted_fault.h"

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
  PositionFirst,
  Mask,
  Media,
  Nonce,
  Padding,
  Adapters,
};

constexpr std::size_t kFieldHeader = 9;
constexpr std::size_t kBlock = 64;  // Of SHA-256.

class Encoder {
 public:
  explicit Encoder(std::vector<std::byte>& bytes) : bytes_(bytes) { bytes_.clear(); }

  Encoder& add(Tag tag, std::span<const std::byte> value) {
    std::byte* field = begin(tag, value.size());
    std::copy(value.begin(), value.end(), field);
    return *this;
  }
  Encoder& add(Tag tag, std::string_view value) {
    return add(tag, std::as_bytes(std::span(value.data(), value.size())));
  }
  Encoder& add(Tag tag, const Digest& value) { return add(tag, std::as_bytes(std::span(value))); }
  Encoder& add(Tag tag, std::uint32_t value) {
    put(begin(tag, 4), value, 4);
    return *this;
  }
  template <typename Word>
  Encoder& add_words(Tag tag, std::span<const Word> words) {
    static_assert(sizeof(Word) == 4);
    std::byte* field = begin(tag, words.size() * 4);
    if constexpr (std::endian::native == std::endian::little) {
      const auto raw = std::as_bytes(words);
      std::copy(raw.begin(), raw.end(), field);
    } else {
      for (const Word word : words)
        put(std::exchange(field, field + 4), static_cast<std::uint32_t>(word), 4);
    }
    return *this;
  }
  // Up to the end of a block, so that what follows begins with one.
  Encoder& pad() {
    const std::size_t rest = (bytes_.size() + kFieldHeader) % kBlock;
    static constexpr std::array<std::byte, kBlock> kZeros{};
    return add(Tag::Padding, std::span(kZeros).first((kBlock - rest) % kBlock));
  }

 private:
  // Begins a new field, and returns where its value goes.
  std::byte* begin(Tag tag, std::size_t size) {
    const std::size_t first = bytes_.size();
    bytes_.resize(first + kFieldHeader + size);
    std::byte* header = &bytes_[first];
    header[0] = static_cast<std::byte>(tag);
    put(header + 1, size, 8);
    return header + kFieldHeader;
  }
  static void put(std::byte* to, std::uint64_t value, int byte_count) {
    for (int index = 0; index < byte_count; ++index) {
      to[index] = static_cast<std::byte>(value >> (8 * index));
    }
  }
  std::vector<std::byte>& bytes_;
};

// Each run: its first slot, how many adapters, and of each the digest and the bits of the scale.
void add_adapters(Encoder& encoder, std::span<const AdapterRun> runs) {
  std::vector<std::uint32_t> words;
  for (const AdapterRun& run : runs) {
    words.push_back(run.first_slot);
    words.push_back(static_cast<std::uint32_t>(run.set.size()));
    for (const ScaledAdapter& each : run.set) {
      for (std::size_t at = 0; at < each.digest.size(); at += 4) {
        std::uint32_t word = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) {
          word |= std::uint32_t{each.digest[at + byte]} << (8 * byte);
        }
        words.push_back(word);
      }
      words.push_back(std::bit_cast<std::uint32_t>(each.scale));
    }
  }
  encoder.add_words(Tag::Adapters, std::span<const std::uint32_t>(words));
}

std::vector<std::byte> encoded_space(std::string_view domain, const PageNameSpace& space) {
  std::vector<std::byte> bytes;
  Encoder(bytes)
      .add(Tag::Domain, domain)
      .add(Tag::FormatVersion, space.format_version)
      .add(Tag::Model, space.model)
      .add(Tag::Numerics, space.numerics_id)
      .add(Tag::KvFormat, static_cast<std::uint32_t>(space.kv_format))
      .add(Tag::Rope, space.rope)
      .add(Tag::PageSize, space.page_size)
      .add(Tag::Adapter, space.adapter)
      .add(Tag::AdapterScale, std::bit_cast<std::uint32_t>(space.adapter_scale))
      .add(Tag::SharingDomain,
           is_planted(Fault::NameWithoutDomain) ? Digest{} : space.sharing_domain)
      .pad();
  return bytes;
}

}  // namespace

bool is_consecutive(std::span<const std::uint32_t> positions) {
  for (std::size_t index = 1; index < positions.size(); ++index) {
    if (positions[index] != positions[0] + index) return false;
  }
  return true;
}

PageNamer::PageNamer(const PageNameSpace& space)
    : root_(sha256(encoded_space("quire page root", space))) {
  page_prefix_.add(encoded_space("quire page", space));
  opaque_prefix_.add(encoded_space("quire opaque page", space));
}

PageName PageNamer::page(const PageName& parent, const PageContent& content) const {
  thread_local std::vector<std::byte> bytes;
  Encoder encoder(bytes);
  encoder.add(Tag::Parent, is_planted(Fault::NameWithoutParent) ? PageName{} : parent)
      .add_words(Tag::Tokens, content.tokens);
  if (is_planted(Fault::NameWithoutPosition)) {
    encoder.add(Tag::PositionFirst, 0u);
  } else if (!content.positions.empty() && is_consecutive(content.positions)) {
    encoder.add(Tag::PositionFirst, content.positions.front());
  } else {
    encoder.add_words(Tag::Positions, content.positions);
  }
  if (!content.mask.empty()) encoder.add(Tag::Mask, std::as_bytes(content.mask));
  if (!content.media.empty()) encoder.add(Tag::Media, std::as_bytes(content.media));
  if (!content.adapters.empty() && !is_planted(Fault::NameWithoutAdapter)) {
    add_adapters(encoder, content.adapters);
  }
  return Sha256(page_prefix_).add(bytes).finish();
}

PageName PageNamer::opaque(std::span<const std::byte> nonce) const {
  std::vector<std::byte> bytes;
  Encoder(bytes).add(Tag::Nonce, nonce);
  return Sha256(opaque_prefix_).add(bytes).finish();
}

}  // namespace quire::control
