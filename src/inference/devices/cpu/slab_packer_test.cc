#include "inference/devices/cpu/slab_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "inference/kernels/kernels.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kRows = 1000, kColumns = 96, kSlabRows = 64;

std::vector<std::byte> random_rows(NumberFormat format) {
  const FormatShape shape = format_shape(format);
  std::vector<std::byte> rows(std::size_t{kRows} * kColumns / shape.block_values *
                              shape.block_bytes);
  std::mt19937 random(7);
  for (std::byte& each : rows) each = static_cast<std::byte>(random());
  return rows;
}

std::vector<std::byte> packed_in_slabs(const MatmulKernels& kernels, NumberFormat format,
                                       const std::vector<std::byte>& rows,
                                       std::uint32_t thread_count) {
  std::vector<std::byte> packed(kernels.packed_bytes(format, kRows, kColumns));
  const std::size_t row_bytes = rows.size() / kRows;
  SlabPacker packer(kernels, thread_count);
  for (std::uint32_t first = 0; first < kRows; first += kSlabRows) {
    std::unique_ptr<Slab> slab = packer.take();
    slab->format = format;
    slab->column_count = kColumns;
    slab->row_first = first;
    slab->row_count = std::min(kSlabRows, kRows - first);
    slab->packed = packed.data();
    const std::byte* from = rows.data() + first * row_bytes;
    slab->rows.assign(from, from + slab->row_count * row_bytes);
    packer.hand_in(std::move(slab));
  }
  packer.finish();
  return packed;
}

TEST(SlabPacker, PacksTheSameBytesOnAnyNumberOfThreads) {
  for (const KernelTable* kernels : supported_kernels()) {
    for (const NumberFormat format : {NumberFormat::Q4_0, NumberFormat::Q8_0, NumberFormat::F16}) {
      const std::vector<std::byte> rows = random_rows(format);
      std::vector<std::byte> whole(kernels->matmul.packed_bytes(format, kRows, kColumns));
      kernels->matmul.pack_rows(format, kColumns, 0, kRows, rows.data(), whole.data());
      for (const std::uint32_t threads : {0u, 1u, 3u}) {
        EXPECT_EQ(packed_in_slabs(kernels->matmul, format, rows, threads), whole)
            << kernels->name << " " << threads;
      }
    }
  }
}

TEST(SlabPacker, EndsWithSlabsThatNobodyWaitsFor) {
  const MatmulKernels& kernels = supported_kernels().back()->matmul;
  const std::vector<std::byte> rows = random_rows(NumberFormat::F32);
  std::vector<std::byte> packed(kernels.packed_bytes(NumberFormat::F32, kRows, kColumns));
  SlabPacker packer(kernels, 2);
  for (int i = 0; i < 4; ++i) {
    std::unique_ptr<Slab> slab = packer.take();
    *slab = {NumberFormat::F32, kColumns, 0, kRows, packed.data(), rows};
    packer.hand_in(std::move(slab));
  }
}

}  // namespace
}  // namespace quire::inference
