#include "inference/weights/weight_source.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>

#include "base/check.h"
#include "inference/weights/half_split.h"

namespace quire::inference {

namespace {

auto place_of(const TensorInfo& tensor) {
  return std::tie(tensor.layer, tensor.role, tensor.expert);
}

}  // namespace

WeightSource::WeightSource(std::vector<Entry> entries, std::vector<LeftOut> left_out)
    : entries_(std::move(entries)), left_out_(std::move(left_out)) {
  std::ranges::sort(
      entries_, [](const Entry& a, const Entry& b) { return place_of(a.info) < place_of(b.info); });
}

const TensorInfo* WeightSource::find(TensorRole role, std::uint32_t layer,
                                     std::uint32_t expert) const {
  const auto wanted = std::tie(layer, role, expert);
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), wanted,
      [](const Entry& each, const auto& key) { return place_of(each.info) < key; });
  return found != entries_.end() && place_of(found->info) == wanted ? &found->info : nullptr;
}

std::uint64_t WeightSource::bytes() const {
  std::uint64_t sum = 0;
  for (const Entry& each : entries_) sum += each.info.bytes();
  return sum;
}

std::vector<WeightSource::FormatShare> WeightSource::format_shares() const {
  std::map<NumberFormat, FormatShare> by_format;
  for (const Entry& each : entries_) {
    FormatShare& share = by_format[each.info.format];
    share.format = each.info.format;
    share.tensor_count += 1;
    share.bytes += each.info.bytes();
  }
  std::vector<FormatShare> shares;
  for (const auto& [format, share] : by_format) shares.push_back(share);
  std::ranges::sort(shares, std::ranges::greater{}, &FormatShare::bytes);
  return shares;
}

Result<void> WeightSource::read(std::size_t index, std::uint32_t row_first, std::uint32_t row_count,
                                std::span<std::byte> into) const {
  QUIRE_CHECK(index < entries_.size(), "the model has no such tensor");
  const Entry& entry = entries_[index];
  const TensorInfo& info = entry.info;
  QUIRE_CHECK(row_first <= info.row_count && row_count <= info.row_count - row_first,
              "rows beyond the tensor");
  QUIRE_CHECK(into.size() == row_count * info.row_bytes(), "the buffer has another size");
  if (info.interleaved_head_dim != 0) {
    return read_interleaved(entry, row_first, row_count, into);
  }
  return entry.source->read(entry.offset + row_first * info.row_bytes(), into);
}

// A vector (a bias) is turned number by number.
Result<void> WeightSource::read_interleaved(const Entry& entry, std::uint32_t row_first,
                                            std::uint32_t row_count,
                                            std::span<std::byte> into) const {
  const TensorInfo& info = entry.info;
  const bool is_vector = info.row_count == 1;
  const std::uint32_t head_dim = info.interleaved_head_dim;
  const std::uint64_t row_bytes =
      is_vector ? format_shape(info.format).block_bytes : info.row_bytes();
  const std::uint32_t first = is_vector ? 0 : row_first;
  const std::uint32_t end = is_vector ? info.column_count * row_count : row_first + row_count;
  std::vector<std::byte> head(head_dim * row_bytes);
  for (std::uint32_t row = first; row < end;) {
    const std::uint32_t head_first = row / head_dim * head_dim;
    TRY(entry.source->read(entry.offset + head_first * row_bytes, head));
    for (; row < end && row < head_first + head_dim; ++row) {
      const std::uint32_t stored = interleaved_row(row - head_first, head_dim);
      std::memcpy(into.data() + (row - first) * row_bytes, head.data() + stored * row_bytes,
                  row_bytes);
    }
  }
  return {};
}

}  // namespace quire::inference
