// Attention and the elementwise operations of the vector tables against double arithmetic, and the
// bit-equalities that batch invariance promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/half.h"
#include "inference/api/kv_layout.h"
#include "inference/kernels/scalar/kv_quantised.h"
#include "inference/kernels/scalar/scalar.h"
#include "inference/kernels/vector_test_tables.h"

namespace quire::inference {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A sequence of slots with keys and values, laid out in pages of any size. Slots that are not
// visible hold not-a-number in every page.
struct Sequence {
  Sequence(std::uint32_t slots, std::uint32_t dim, std::mt19937& random)
      : slot_count(slots),
        head_dim(dim),
        keys(slots * dim),
        values(slots * dim),
        positions(slots),
        visible(slots, true) {
    std::normal_distribution<float> normal;
    for (float& key : keys) key = normal(random);
    for (float& value : values) value = normal(random);
    for (std::uint32_t i = 0; i < slots; ++i) positions[i] = i;
  }
  std::uint32_t slot_count, head_dim;
  std::vector<float> keys, values;  // [slot][head_dim]
  std::vector<std::uint32_t> positions;
  std::vector<bool> visible;
};

struct Pages {
  Pages(const KernelTable& table, const Sequence& sequence, std::uint32_t page_size,
        KvFormat format)
      : size(page_size), kv_format(format) {
    const std::uint32_t dim = sequence.head_dim;
    const std::uint32_t count = (sequence.slot_count + size - 1) / size;
    page_bytes =
        kHeadOffset + KvHeadLayout{.head_dim = dim, .page_size = size, .format = format}.bytes();
    memory.assign(count * page_bytes, std::byte{0xff});  // Not-a-number in every format.
    positions.assign(std::size_t{count} * size, 0xdeadbeef);
    for (std::uint32_t page = 0; page < count; ++page) {
      PageView view{memory.data() + page * page_bytes, positions.data() + page * size, 0};
      for (std::uint32_t i = 0; i < size; ++i) {
        const std::uint32_t slot = page * size + i;
        if (slot >= sequence.slot_count || !sequence.visible[slot]) continue;
        view.visible |= 1u << i;
        positions[slot] = sequence.positions[slot];
        table.attention.store_kv(format, dim, size, i, &sequence.keys[std::size_t{slot} * dim],
                                 &sequence.values[std::size_t{slot} * dim],
                                 memory.data() + page * page_bytes + kHeadOffset);
      }
      if (view.visible == 0) view = {};  // A hole.
      views.push_back(view);
      const std::uint32_t span = page * size / kSpanSlots;
      if (view.visible != 0 && (spans.empty() || spans.back() != span)) spans.push_back(span);
    }
  }
  static constexpr std::size_t kHeadOffset = 192;
  std::uint32_t size;
  KvFormat kv_format;
  std::size_t page_bytes = 0;
  std::vector<std::byte> memory;
  std::vector<std::uint32_t> positions;
  std::vector<PageView> views;
  std::vector<std::uint32_t> spans;
};

struct Queries {
  Queries(std::uint32_t row_count, std::uint32_t groups, const Sequence& sequence,
          std::mt19937& random)
      : group_count(groups),
        stride(std::size_t{groups} * sequence.head_dim + 8),
        numbers(row_count * stride),
        rows(row_count) {
    std::normal_distribution<float> normal;
    for (float& number : numbers) number = normal(random);
    for (std::uint32_t row = 0; row < row_count; ++row) {
      const std::uint32_t slot = sequence.slot_count - row_count + row;
      rows[row] = {sequence.positions[slot], slot + 1};
    }
  }
  std::uint32_t group_count;
  std::size_t stride;
  std::vector<float> numbers;
  std::vector<QueryRow> rows;
  std::uint32_t mask_slot_count = 0;
  std::uint32_t visible_slot_end = 0xffffffff;
};

// Rows [first, first + count) in one task.
AttentionTask task_of(const Sequence& sequence, const Pages& pages, const Queries& queries,
                      std::size_t first, std::size_t count, std::vector<float>& out) {
  AttentionTask task;
  task.pages = pages.views;
  task.spans = pages.spans;
  task.page_size = pages.size;
  task.visible_slot_end = std::min(queries.visible_slot_end, sequence.slot_count);
  task.head_offset = Pages::kHeadOffset;
  task.kv_format = pages.kv_format;
  task.head_dim = sequence.head_dim;
  task.group_count = queries.group_count;
  task.scale = 1.0f / std::sqrt(static_cast<float>(sequence.head_dim));
  task.rows = std::span(queries.rows).subspan(first, count);
  task.mask_slot_count = queries.mask_slot_count;
  task.query = queries.numbers.data() + first * queries.stride;
  task.query_stride = queries.stride;
  task.out = out.data() + first * queries.stride;
  task.out_stride = queries.stride;
  return task;
}

void attend(const KernelTable& table, const Sequence& sequence, const Pages& pages,
            const Queries& queries, std::size_t first, std::size_t count, std::vector<float>& out) {
  table.attention.attend(task_of(sequence, pages, queries, first, count, out));
}

std::vector<float> attend_all(const KernelTable& table, const Sequence& sequence,
                              const Pages& pages, const Queries& queries) {
  std::vector<float> out(queries.numbers.size(), -7.0f);
  attend(table, sequence, pages, queries, 0, queries.rows.size(), out);
  return out;
}

bool sees(const Sequence& sequence, const Queries& queries, const QueryRow& row,
          std::uint32_t slot) {
  if (!sequence.visible[slot] || slot >= queries.visible_slot_end) return false;
  if (sequence.positions[slot] < row.position_first) return false;
  if (row.mask != nullptr) {
    return slot < queries.mask_slot_count && ((row.mask[slot / 64] >> (slot % 64)) & 1) != 0;
  }
  const std::uint32_t position = sequence.positions[slot];
  return position < row.position || (position == row.position && slot < row.own_slot_end);
}

float stored(KvFormat format, float value) {
  if (format == KvFormat::F16) return float_from_f16(f16_from_float(value));
  if (format == KvFormat::BF16) return float_from_bf16(bf16_from_float(value));
  return value;
}

// Plain arithmetic in double; [head_dim], zeros when nothing is seen.
std::vector<double> reference(const Sequence& sequence, const Queries& queries, KvFormat format,
                              std::size_t row, std::uint32_t group) {
  const std::uint32_t dim = sequence.head_dim;
  const float* query = queries.numbers.data() + row * queries.stride + std::size_t{group} * dim;
  std::vector<double> scores, out(dim);
  std::vector<std::uint32_t> slots;
  double top = -1e300, sum = 0.0;
  for (std::uint32_t slot = 0; slot < sequence.slot_count; ++slot) {
    if (!sees(sequence, queries, queries.rows[row], slot)) continue;
    double score = 0.0;
    for (std::uint32_t d = 0; d < dim; ++d) {
      score += double{query[d]} * stored(format, sequence.keys[std::size_t{slot} * dim + d]);
    }
    scores.push_back(score / std::sqrt(static_cast<double>(dim)));
    slots.push_back(slot);
    top = std::max(top, scores.back());
  }
  for (double score : scores) sum += std::exp(score - top);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (std::uint32_t d = 0; d < dim; ++d) {
      out[d] += std::exp(scores[i] - top) / sum *
                stored(format, sequence.values[std::size_t{slots[i]} * dim + d]);
    }
  }
  return out;
}

// Scores lose about dim * 2^-24 of a sum of magnitude |q||k| / sqrt(dim), the weights as much
// relatively; values are of size one. 2e-5 leaves a factor of about three.
void expect_close(const Sequence& sequence, const Queries& queries, KvFormat format,
                  const std::vector<float>& out, double tolerance = 2e-5) {
  for (std::size_t row = 0; row < queries.rows.size(); ++row) {
    for (std::uint32_t group = 0; group < queries.group_count; ++group) {
      const std::vector<double> expected = reference(sequence, queries, format, row, group);
      for (std::uint32_t d = 0; d < sequence.head_dim; ++d) {
        const float actual = out[row * queries.stride + group * sequence.head_dim + d];
        ASSERT_NEAR(actual, expected[d], tolerance)
            << "row " << row << " group " << group << " " << d;
      }
    }
  }
}

bool same_outputs(const Queries& queries, std::uint32_t head_dim, const std::vector<float>& a,
                  const std::vector<float>& b) {
  for (std::size_t row = 0; row < queries.rows.size(); ++row) {
    const std::size_t at = row * queries.stride;
    if (std::memcmp(&a[at], &b[at], queries.group_count * head_dim * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

class VectorAttention : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& table() const { return *GetParam(); }
  std::mt19937 random_{11};

  // Some slots hidden, some positions equal, sometimes masks.
  void disturb(Sequence& sequence, Queries& queries,
               std::vector<std::vector<std::uint64_t>>& masks) {
    for (std::uint32_t slot = 0; slot + 1 < sequence.slot_count; ++slot) {
      if (random_() % 7 == 0) sequence.visible[slot] = false;
    }
    const std::uint32_t hole = random_() % sequence.slot_count;
    for (std::uint32_t slot = hole; slot < std::min(hole + 300, sequence.slot_count); ++slot) {
      sequence.visible[slot] = false;
    }
    queries.mask_slot_count = sequence.slot_count - std::min(sequence.slot_count, 3u);
    masks.resize(queries.rows.size());
    for (std::size_t row = 0; row < queries.rows.size(); ++row) {
      if (random_() % 3 != 0) continue;
      masks[row].resize(sequence.slot_count / 64 + 1);
      for (auto& word : masks[row]) {
        word = (std::uint64_t{random_()} << 32 | random_()) & (random_() % 4 ? ~0ull : 0ull);
      }
      queries.rows[row].mask = masks[row].data();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Tables, VectorAttention, testing::ValuesIn(vector_tables_to_test()),
                         table_name);
INSTANTIATE_TEST_SUITE_P(Scalar, VectorAttention, testing::Values(&kScalarKernels), table_name);

TEST_P(VectorAttention, EqualsDoubleArithmeticInEveryFormatAndPageSize) {
  const std::uint32_t dims[] = {16, 32, 64, 80, 96, 128, 256};
  int round = 0;
  for (KvFormat format : {KvFormat::F32, KvFormat::F16, KvFormat::BF16}) {
    for (std::uint32_t page_size : {8u, 16u, 32u}) {
      for (int repeat = 0; repeat < 4; ++repeat, ++round) {
        const std::uint32_t slots = 1 + random_() % (repeat == 3 ? 900 : 60);
        Sequence sequence(slots, dims[round % 7], random_);
        Queries queries(1 + random_() % std::min(slots, 37u), 1 + random_() % 5, sequence, random_);
        std::vector<std::vector<std::uint64_t>> masks;
        if (repeat % 2 == 1) disturb(sequence, queries, masks);
        const Pages pages(table(), sequence, page_size, format);
        expect_close(sequence, queries, format, attend_all(table(), sequence, pages, queries));
      }
    }
  }
}

// A row as its codes and its scale say; turned like keys and queries if asked for.
std::vector<float> in_codes(const float* from, std::uint32_t dim, bool is_turned) {
  std::vector<float> x(from, from + dim);
  if (is_turned) scalar::turn(dim, x.data());
  std::vector<std::int8_t> codes(dim);
  const float scale = scalar::quantise_row(dim, x.data(), codes.data());
  for (std::uint32_t d = 0; d < dim; ++d) x[d] = static_cast<float>(codes[d]) * scale;
  return x;
}

// `scalar` has codes of keys and values alone, the vector tables of queries too. With keys, values
// and queries as their codes say, Q8 is what F32 is; a turned product is `size` times as large.
TEST_P(VectorAttention, OfQ8EqualsDoubleArithmeticOnTheValuesOfItsCodes) {
  const std::uint32_t dims[] = {16, 32, 64, 80, 96, 128, 256};
  for (int round = 0; round < 21; ++round) {
    const std::uint32_t dim = dims[round % 7];
    const std::uint32_t slots = 1 + random_() % (round % 3 == 2 ? 900 : 60);
    Sequence sequence(slots, dim, random_);
    for (std::uint32_t slot = 0; slot < slots; ++slot) sequence.keys[slot * dim + 3] *= 40.0f;
    Queries queries(1 + random_() % std::min(slots, 37u), 1 + random_() % 5, sequence, random_);
    std::vector<std::vector<std::uint64_t>> masks;
    if (round % 2 == 1) disturb(sequence, queries, masks);
    const std::uint32_t page_sizes[] = {8, 16, 32};
    const Pages pages(table(), sequence, page_sizes[round % 3], KvFormat::Q8);
    const std::vector<float> out = attend_all(table(), sequence, pages, queries);

    const auto size = static_cast<float>(scalar::hadamard_size(dim));
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      const std::size_t at = std::size_t{slot} * dim;
      const std::vector<float> key = in_codes(&sequence.keys[at], dim, true);
      const std::vector<float> value = in_codes(&sequence.values[at], dim, false);
      std::copy(key.begin(), key.end(), sequence.keys.begin() + static_cast<std::ptrdiff_t>(at));
      std::copy(value.begin(), value.end(),
                sequence.values.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (std::size_t row = 0; row < queries.rows.size(); ++row) {
      for (std::uint32_t group = 0; group < queries.group_count; ++group) {
        float* query = &queries.numbers[row * queries.stride + std::size_t{group} * dim];
        const float root = std::sqrt(static_cast<float>(dim));
        std::vector<float> scaled(query, query + dim);
        for (float& number : scaled) number *= 1.0f / root / size;
        if (&table() == &kScalarKernels) {
          scalar::turn(dim, scaled.data());
        } else {
          scaled = in_codes(scaled.data(), dim, true);
        }
        for (std::uint32_t d = 0; d < dim; ++d) query[d] = scaled[d] * root;
      }
    }
    expect_close(sequence, queries, KvFormat::F32, out, 1e-4);
  }
}

TEST_P(VectorAttention, BitsAreEqualAcrossPageSizesAndSplitsOfRows) {
  for (int round = 0; round < 24; ++round) {
    const std::uint32_t slots = 1 + random_() % 1000;
    Sequence sequence(slots, 16 * (1 + random_() % 8), random_);
    Queries queries(1 + random_() % std::min(slots, 80u), 1 + random_() % 16, sequence, random_);
    std::vector<std::vector<std::uint64_t>> masks;
    if (round % 2 == 1) disturb(sequence, queries, masks);
    constexpr KvFormat kHalves[] = {KvFormat::BF16, KvFormat::F16, KvFormat::Q8};
    const KvFormat format = kHalves[round % 3];
    const Pages pages(table(), sequence, 16, format);
    const std::vector<float> whole = attend_all(table(), sequence, pages, queries);
    for (std::uint32_t page_size : {8u, 32u}) {
      const Pages other(table(), sequence, page_size, format);
      const std::vector<float> out = attend_all(table(), sequence, other, queries);
      EXPECT_TRUE(same_outputs(queries, sequence.head_dim, out, whole)) << page_size;
    }
    std::vector<float> split(whole.size(), -7.0f);
    for (std::size_t first = 0; first < queries.rows.size();) {
      const std::size_t count =
          std::min<std::size_t>(1 + random_() % 9, queries.rows.size() - first);
      attend(table(), sequence, pages, queries, first, count, split);
      first += count;
    }
    EXPECT_TRUE(same_outputs(queries, sequence.head_dim, split, whole));
  }
}

// The first spans as one partial, the next ones each as their own, the last ones after all of them;
// rows in any order.
std::vector<float> attend_in_partials(const KernelTable& table, const Sequence& sequence,
                                      const Pages& pages, Queries queries, std::size_t one,
                                      std::size_t each, std::mt19937& random) {
  const std::size_t row_count = queries.rows.size();
  std::vector<std::uint32_t> order(row_count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<QueryRow> rows;
  const auto partial_count = static_cast<std::uint32_t>(1 + each);
  for (const std::uint32_t row : order) {
    rows.push_back(queries.rows[row]);
    rows.back().partial_first = row * partial_count;
    rows.back().partial_count = partial_count;
  }
  const std::size_t stride = queries.group_count * (sequence.head_dim + kPartialTail);
  std::vector<float> partials(row_count * partial_count * stride, kNan);
  std::vector<float> out(queries.numbers.size(), -7.0f);
  AttentionTask task = task_of(sequence, pages, queries, 0, row_count, out);
  const std::span<const std::uint32_t> spans = task.spans;
  task.rows = rows;
  task.row_of = order.data();
  task.partials.at = partials.data();
  task.partials.stride = stride;
  task.partials.use = PartialUse::WriteOne;
  task.spans = spans.first(one);
  table.attention.attend(task);
  task.partials.use = PartialUse::WriteEach;
  task.partials.offset = 1;
  task.spans = spans.subspan(one, each);
  table.attention.attend(task);
  task.partials.use = PartialUse::Read;
  task.spans = spans.subspan(one + each);
  table.attention.attend(task);
  return out;
}

TEST_P(VectorAttention, PartialsInMemoryGiveTheBitsOfOneTask) {
  for (int round = 0; round < 12; ++round) {
    const std::uint32_t slots = 1 + random_() % 2500;
    Sequence sequence(slots, 16 * (1 + random_() % 8), random_);
    Queries queries(1 + random_() % std::min(slots, 40u), 1 + random_() % 7, sequence, random_);
    std::vector<std::vector<std::uint64_t>> masks;
    if (round % 2 == 1) disturb(sequence, queries, masks);
    const Pages pages(table(), sequence, 16, round % 3 == 2 ? KvFormat::Q8 : KvFormat::F16);
    const std::vector<float> whole = attend_all(table(), sequence, pages, queries);
    const std::size_t one = random_() % (pages.spans.size() + 1);
    const std::size_t each = random_() % (pages.spans.size() - one + 1);
    const std::vector<float> out =
        attend_in_partials(table(), sequence, pages, queries, one, each, random_);
    EXPECT_TRUE(same_outputs(queries, sequence.head_dim, out, whole)) << one << " " << each;
  }
}

// A query's bits depend on what it sees alone: later slots, of which it sees none, change nothing.
TEST_P(VectorAttention, SlotsThatARowDoesNotSeeLeaveNoTrace) {
  Sequence sequence(700, 64, random_);
  Queries queries(300, 3, sequence, random_);
  const Pages pages(table(), sequence, 16, KvFormat::F16);
  const std::vector<float> whole = attend_all(table(), sequence, pages, queries);
  for (std::size_t row : {0u, 5u, 111u, 112u, 113u, 298u}) {
    Sequence shorter = sequence;
    for (std::uint32_t slot = queries.rows[row].own_slot_end; slot < 700; ++slot) {
      shorter.visible[slot] = false;
    }
    const Pages fewer(table(), shorter, 16, KvFormat::F16);
    std::vector<float> out(whole.size());
    attend(table(), shorter, fewer, queries, row, 1, out);
    EXPECT_EQ(std::memcmp(&out[row * queries.stride], &whole[row * queries.stride],
                          3 * 64 * sizeof(float)),
              0)
        << row;
  }
}

TEST_P(VectorAttention, MaskedEqualsLeftOutBitForBit) {
  Sequence sequence(800, 64, random_);
  Queries queries(9, 2, sequence, random_);
  std::vector<std::uint64_t> mask(13, ~0ull);
  for (std::uint32_t slot = 96; slot < 400; ++slot) mask[slot / 64] &= ~(1ull << (slot % 64));
  queries.mask_slot_count = 0;
  Sequence dropped = sequence;
  for (std::uint32_t slot = 96; slot < 400; ++slot) dropped.visible[slot] = false;
  for (std::size_t row = 0; row < 9; ++row) queries.rows[row].own_slot_end = 800;
  for (std::size_t row = 0; row < 9; ++row) queries.rows[row].position = 10000;
  const std::vector<float> left_out =
      attend_all(table(), dropped, Pages(table(), dropped, 16, KvFormat::F16), queries);
  queries.mask_slot_count = 800;
  for (QueryRow& row : queries.rows) row.mask = mask.data();
  const std::vector<float> masked =
      attend_all(table(), sequence, Pages(table(), sequence, 16, KvFormat::F16), queries);
  EXPECT_TRUE(same_outputs(queries, 64, masked, left_out));
}

// A window and a mask that leaves the same slots give the same bits, also for slots that the
// program masks itself, and for positions that do not rise with the slots.
TEST_P(VectorAttention, AWindowEqualsItsMaskBitForBit) {
  Sequence sequence(800, 64, random_);
  std::shuffle(sequence.positions.begin(), sequence.positions.begin() + 300, random_);
  for (const std::uint32_t window : {1u, 7u, 300u, 799u, 2000u}) {
    for (const std::uint32_t page_size : {8u, 16u, 32u}) {
      const Pages pages(table(), sequence, page_size, KvFormat::F16);
      Queries windowed(9, 2, sequence, random_);
      std::vector<std::uint64_t> given(13, ~0ull);
      for (std::uint32_t slot = 500; slot < 760; slot += 3) given[slot / 64] ^= 1ull << (slot % 64);
      Queries masked = windowed;
      std::vector<std::vector<std::uint64_t>> masks(9, std::vector<std::uint64_t>(13, 0));
      windowed.mask_slot_count = masked.mask_slot_count = 800;
      for (std::size_t row = 0; row < 9; ++row) {
        QueryRow& query = windowed.rows[row];
        if (query.position >= window) query.position_first = query.position - window + 1;
        if (row % 2 == 1) query.mask = given.data();
        for (std::uint32_t slot = 0; slot < 800; ++slot) {
          if (sees(sequence, windowed, query, slot)) masks[row][slot / 64] |= 1ull << (slot % 64);
        }
        masked.rows[row].mask = masks[row].data();
      }
      EXPECT_TRUE(same_outputs(windowed, 64, attend_all(table(), sequence, pages, windowed),
                               attend_all(table(), sequence, pages, masked)))
          << "window " << window << ", pages of " << page_size;
    }
  }
}

TEST_P(VectorAttention, RowsThatSeeNothingAreZeros) {
  Sequence sequence(40, 32, random_);
  sequence.visible.assign(40, false);
  Queries queries(3, 2, sequence, random_);
  const Pages pages(table(), sequence, 16, KvFormat::F16);
  const std::vector<float> out = attend_all(table(), sequence, pages, queries);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(out[row * queries.stride + i], 0.0f);
  }
}

TEST_P(VectorAttention, StoredKeysAndValuesAreTheNearestHalves) {
  std::vector<float> key(32), value(32);
  for (int i = 0; i < 32; ++i) {
    key[i] = std::ldexp(1.0f + 0.0007f * static_cast<float>(i), i - 20);
    value[i] = -key[i] * 1.0001f;
  }
  key[3] = kNan;
  for (KvFormat format : {KvFormat::F32, KvFormat::F16, KvFormat::BF16}) {
    const std::size_t bytes = KvHeadLayout{.format = format}.number_bytes();
    std::vector<std::byte> head(2 * 32 * 8 * bytes);
    table().attention.store_kv(format, 32, 8, 5, key.data(), value.data(), head.data());
    for (int d = 0; d < 32; ++d) {
      std::uint32_t k = 0, v = 0;
      std::memcpy(&k, &head[(d * 8 + 5) * bytes], bytes);
      std::memcpy(&v, &head[(32 * 8 + 5 * 32 + d) * bytes], bytes);
      const auto number = [&](std::uint32_t bits) {
        if (format == KvFormat::F16) return float_from_f16(static_cast<std::uint16_t>(bits));
        if (format == KvFormat::BF16) return float_from_bf16(static_cast<std::uint16_t>(bits));
        return std::bit_cast<float>(bits);
      };
      if (d == 3) {
        EXPECT_TRUE(std::isnan(number(k)));
      } else {
        EXPECT_EQ(number(k), stored(format, key[d])) << d;
      }
      EXPECT_EQ(number(v), stored(format, value[d])) << d;
    }
  }
}

TEST(VectorTables, AgreeWithOneAnotherBitForBit) {
  const std::vector<const KernelTable*> tables = vector_tables_to_test();
  if (tables.size() < 2) GTEST_SKIP() << "this machine runs fewer than two vector tables";
  std::mt19937 random{17};
  Sequence sequence(700, 96, random);
  Queries queries(40, 3, sequence, random);
  std::vector<float> x(1003), up(1003);
  for (float& value : x) value = static_cast<float>(random() % 4001) / 50.0f - 40.0f;
  for (float& value : up) value = static_cast<float>(random() % 4001) / 500.0f - 4.0f;
  std::vector<std::vector<float>> attended, in_codes, elementwise;
  std::vector<std::vector<std::byte>> memories;
  for (const KernelTable* table : tables) {
    const Pages pages(*table, sequence, 16, KvFormat::BF16);
    attended.push_back(attend_all(*table, sequence, pages, queries));
    const Pages codes(*table, sequence, 16, KvFormat::Q8);
    in_codes.push_back(attend_all(*table, sequence, codes, queries));
    memories.push_back(codes.memory);
    std::vector<float> out(3 * 1003 + 1);
    table->elementwise.rms_norm(x.data(), up.data(), 1e-5f, 1003, out.data());
    table->elementwise.silu_multiply(x.data(), up.data(), 1003, out.data() + 1003);
    std::copy(x.begin(), x.end(), out.begin() + 2006);
    out[3009] = table->elementwise.softmax_numerators(out.data() + 2006, 1003, 0.9f);
    elementwise.push_back(out);
  }
  EXPECT_TRUE(same_outputs(queries, 96, attended[0], attended[1]));
  EXPECT_TRUE(same_outputs(queries, 96, in_codes[0], in_codes[1]));
  EXPECT_EQ(memories[0], memories[1]);
  EXPECT_EQ(std::memcmp(elementwise[0].data(), elementwise[1].data(), 3010 * sizeof(float)), 0);
}

class VectorElementwise : public VectorAttention {};
INSTANTIATE_TEST_SUITE_P(Tables, VectorElementwise, testing::ValuesIn(vector_tables_to_test()),
                         table_name);
INSTANTIATE_TEST_SUITE_P(Scalar, VectorElementwise, testing::Values(&kScalarKernels), table_name);

TEST_P(VectorElementwise, NormsAndSumsAndActivationsAreWithinRoundingOfDoubleArithmetic) {
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (std::uint32_t count : {1u, 8u, 15u, 16u, 17u, 40u, 576u, 1001u}) {
    std::vector<float> x(count), weight(count), out(count);
    double squares = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
      x[i] = normal(random_);
      weight[i] = normal(random_);
      squares += double{x[i]} * x[i];
    }
    table().elementwise.rms_norm(x.data(), weight.data(), 1e-5f, count, out.data());
    const double factor = 1.0 / std::sqrt(squares / count + 1e-5);
    for (std::uint32_t i = 0; i < count; ++i) {
      const double expected = x[i] * factor * weight[i];
      EXPECT_NEAR(out[i], expected, std::abs(expected) * 4e-6);
    }
    table().elementwise.silu_multiply(x.data(), weight.data(), count, out.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      const double expected = x[i] / (1.0 + std::exp(-double{x[i]})) * weight[i];
      EXPECT_NEAR(out[i], expected, std::abs(expected) * 1e-6);
    }
    table().elementwise.silu_multiply(x.data(), weight.data(), count, x.data());
    EXPECT_EQ(x, out) << "in place";
    out = x;
    table().elementwise.add(weight.data(), count, out.data());
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(out[i], x[i] + weight[i]);
  }
}

TEST_P(VectorElementwise, RopeRotatesPairs) {
  for (std::uint32_t half : {4u, 8u, 16u, 24u, 32u, 64u}) {
    std::vector<float> cosine(half), sine(half), x(2 * half + 1, 1.5f), original;
    for (std::uint32_t i = 0; i < half; ++i) {
      cosine[i] = std::cos(0.3f * static_cast<float>(i));
      sine[i] = std::sin(0.3f * static_cast<float>(i));
      x[i] = static_cast<float>(i) - 3.0f;
      x[half + i] = 2.0f - static_cast<float>(i) * 0.25f;
    }
    original = x;
    table().elementwise.rope(cosine.data(), sine.data(), half, x.data());
    for (std::uint32_t i = 0; i < half; ++i) {
      const double low = original[i], high = original[half + i];
      EXPECT_NEAR(x[i], low * cosine[i] - high * sine[i], 1e-5);
      EXPECT_NEAR(x[half + i], low * sine[i] + high * cosine[i], 1e-5);
    }
    EXPECT_EQ(x[2 * half], 1.5f) << "touched a number beyond the pairs";
  }
}

TEST_P(VectorElementwise, SiluHoldsAtItsEnds) {
  std::vector<float> gate{-200.0f, -88.0f, 0.0f, 88.0f, 200.0f, kNan}, up(6, 1.0f), out(6);
  table().elementwise.silu_multiply(gate.data(), up.data(), 6, out.data());
  EXPECT_NEAR(out[0], 0.0f, 1e-35);
  EXPECT_NEAR(out[1], 0.0f, 1e-35);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[3], 88.0f);
  EXPECT_EQ(out[4], 200.0f);
  EXPECT_TRUE(std::isnan(out[5]));
}

TEST_P(VectorElementwise, SoftmaxNumeratorsAreWithinRoundingOfDoubleArithmetic) {
  std::normal_distribution<float> normal(0.0f, 6.0f);
  for (std::uint32_t count : {1u, 15u, 16u, 50u, 1003u}) {
    std::vector<float> x(count), original;
    for (float& value : x) value = normal(random_);
    original = x;
    const float sum = table().elementwise.softmax_numerators(x.data(), count, 0.7f);
    float top = -1e30f;
    for (float value : original) top = std::max(top, value * 0.7f);
    double total = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const double expected = std::exp(double{original[i] * 0.7f} - top);
      // The difference from the largest is rounded once, the polynomial is off by 2e-7.
      const double shift = std::abs(double{original[i] * 0.7f} - top);
      EXPECT_NEAR(x[i], expected, expected * (4e-7 + shift * 0x1p-24));
      total += x[i];
    }
    EXPECT_NEAR(sum, total, total * 1e-6);
    EXPECT_EQ(*std::max_element(x.begin(), x.end()), 1.0f);
    for (std::uint32_t bad : {0u, count / 2, count - 1}) {
      std::vector<float> broken = original;
      broken[bad] = kNan;
      EXPECT_TRUE(std::isnan(table().elementwise.softmax_numerators(broken.data(), count, 0.7f)));
    }
  }
}

}  // namespace
}  // namespace quire::inference
