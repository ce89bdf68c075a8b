// Speed of the kernels against the memory roof measured in the same run.
//
//   kernel_bench [--threads N] [--rounds N] [--kernels NAME] [--filter TEXT] [--json]
//
// Weights are streamed: as many copies of a matrix as fill 96 MiB go one after the other when few
// tokens meet them, one copy when many do. Gop/s counts a multiplication and an addition as two.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "inference/api/kv_layout.h"
#include "inference/kernels/kernels.h"
#include "kernels/measure.h"

namespace quire::bench {
namespace {

using namespace quire::inference;  // NOLINT: a program, not a header.

struct Options {
  int thread_count = 2;
  int rounds = 7;
  std::string kernels;
  std::string filter;
  bool json = false;
};

struct Bench {
  const Options& options;
  const KernelTable& table;
  double roof;
  std::vector<Row>& rows;

  bool wanted(const std::string& name) const {
    return name.find(options.filter) != std::string::npos;
  }
  void report(const std::string& name, const Timing& timing, double operations, double bytes) {
    rows.push_back({.kernels = table.name,
                    .name = name,
                    .best_us = timing.best_s * 1e6,
                    .median_us = timing.median_s * 1e6,
                    .gops = operations / timing.best_s / 1e9,
                    .gbytes = bytes / timing.best_s / 1e9,
                    .of_roof = bytes / timing.best_s / roof});
    if (!options.json) std::fprintf(stderr, "%s %s\r", table.name, name.c_str());
  }
};

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 random(5);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return values;
}

// Rows of a file with scales of about 0.01 wherever a format keeps a half.
std::vector<std::byte> random_rows(NumberFormat format, std::uint32_t rows, std::uint32_t columns) {
  const FormatShape shape = format_shape(format);
  std::vector<std::byte> bytes(std::size_t{rows} * columns / shape.block_values *
                               shape.block_bytes);
  std::mt19937 random(3);
  if (!is_quantised(format)) {  // Numbers near one: subnormal ones would be slow, and are not seen.
    const std::uint32_t top = format == NumberFormat::F16 ? 0x3c : 0x3f;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const bool last = at % shape.block_bytes == shape.block_bytes - 1;
      bytes[at] = static_cast<std::byte>(last ? top : random() & 0x7f);
    }
    return bytes;
  }
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const std::uint16_t scale = f16_from_float(0.01f);
  for (std::size_t at = 0; at < bytes.size(); at += shape.block_bytes) {
    std::memcpy(&bytes[at + (format == NumberFormat::Q6_K ? 208 : 0)], &scale, sizeof(scale));
    const bool has_minimum = shape.block_values == 256
                                 ? format != NumberFormat::Q6_K
                                 : format == NumberFormat::Q4_1 || format == NumberFormat::Q5_1;
    if (has_minimum) std::memcpy(&bytes[at + 2], &scale, sizeof(scale));
  }
  return bytes;
}

struct MatmulCase {
  NumberFormat format;
  std::uint32_t rows, columns, tokens;
};

void matmul(Bench& bench, const MatmulCase& c) {
  const std::string name = std::string("matmul ") + format_shape(c.format).name + " " +
                           std::to_string(c.rows) + "x" + std::to_string(c.columns) + ", " +
                           std::to_string(c.tokens) + " tokens";
  if (!bench.wanted(name)) return;
  const KernelTable& table = bench.table;
  const std::size_t packed_bytes = table.matmul.packed_bytes(c.format, c.rows, c.columns);
  const std::size_t stride = (packed_bytes + 63) / 64 * 64;
  const std::size_t copies = c.tokens <= 16 ? std::max<std::size_t>(1, (96u << 20) / stride) : 1;
  const Pool pool(stride * copies + kPackedSlackBytes);
  const std::vector<std::byte> source = random_rows(c.format, c.rows, c.columns);
  table.matmul.pack_rows(c.format, c.columns, 0, c.rows, source.data(), pool.data());
  for (std::size_t i = 1; i < copies; ++i) {
    std::memcpy(pool.data() + i * stride, pool.data(), packed_bytes);
  }
  const std::size_t x_stride = table.matmul.activation_bytes(c.format, c.columns);
  const Pool x_pool(x_stride * c.tokens);
  const std::vector<float> x = random_floats(std::size_t{c.columns} * c.tokens);
  for (std::uint32_t i = 0; i < c.tokens; ++i) {
    table.matmul.prepare(c.format, c.columns, x.data() + std::size_t{i} * c.columns,
                         x_pool.data() + i * x_stride);
  }
  std::vector<float> out(std::size_t{c.rows} * c.tokens);
  const PreparedActivations prepared{x_pool.data(), x_stride, c.tokens};
  const auto threads = static_cast<std::uint32_t>(bench.options.thread_count);
  const std::uint32_t groups = c.rows / kRowGroup;
  const Timing timing = measure(bench.options.thread_count, bench.options.rounds, [&](int thread) {
    const auto index = static_cast<std::uint32_t>(thread);
    const std::uint32_t begin = groups * index / threads * kRowGroup;
    const std::uint32_t end = groups * (index + 1) / threads * kRowGroup;
    for (std::size_t i = copies; i-- > 0;) {
      table.matmul.multiply({c.format, c.rows, c.columns, pool.data() + i * stride}, prepared,
                            begin, end, out.data(), c.rows);
    }
  });
  bench.report(name, timing, 2.0 * c.rows * c.columns * c.tokens * static_cast<double>(copies),
               static_cast<double>(packed_bytes * copies));
}

void pack(Bench& bench, NumberFormat format) {
  const std::string name = std::string("pack_rows ") + format_shape(format).name + ", 1 thread";
  if (!bench.wanted(name)) return;
  constexpr std::uint32_t kRows = 2048, kColumns = 2048;
  const std::vector<std::byte> source = random_rows(format, kRows, kColumns);
  const Pool pool(bench.table.matmul.packed_bytes(format, kRows, kColumns) + kPackedSlackBytes);
  const Timing timing = measure(1, bench.options.rounds, [&](int) {
    bench.table.matmul.pack_rows(format, kColumns, 0, kRows, source.data(), pool.data());
  });
  bench.report(name, timing, 0.0, static_cast<double>(source.size()));
}

struct AttentionCase {
  const char* name;
  std::uint32_t rows;  // Query rows, the last of the sequence.
  std::uint32_t slots;
  std::uint32_t head_dim, group_count, kv_head_count;
  std::uint32_t layer_count;  // Enough that keys and values leave the private caches.
  KvFormat format;
};

void attention(Bench& bench, const AttentionCase& c) {
  const std::string name = std::string("attend ") + c.name;
  if (!bench.wanted(name)) return;
  constexpr std::uint32_t kPageSize = 16;
  const std::uint32_t page_count = (c.slots + kPageSize - 1) / kPageSize;
  const std::size_t head_bytes =
      KvHeadLayout{.head_dim = c.head_dim, .page_size = kPageSize, .format = c.format}.bytes();
  const std::size_t page_bytes = head_bytes * c.kv_head_count * c.layer_count;
  const Pool pool(page_bytes * page_count);
  std::mt19937 random(9);
  for (std::size_t i = 0; i < page_bytes * page_count; i += 2) {
    const auto half = static_cast<std::uint16_t>((random() & 0x8000) | (0x3000 + random() % 0xc00));
    std::memcpy(pool.data() + i, &half, sizeof(half));
  }
  std::vector<std::uint32_t> order(page_count), positions(std::size_t{page_count} * kPageSize);
  for (std::uint32_t i = 0; i < page_count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (std::uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  std::vector<PageView> pages(page_count);
  for (std::uint32_t i = 0; i < page_count; ++i) {
    pages[i] = {pool.data() + order[i] * page_bytes, &positions[i * kPageSize], 0xffff};
  }
  std::vector<std::uint32_t> spans((c.slots + kSpanSlots - 1) / kSpanSlots);
  std::iota(spans.begin(), spans.end(), 0u);
  std::vector<QueryRow> rows(c.rows);
  for (std::uint32_t i = 0; i < c.rows; ++i) {
    rows[i] = {c.slots - c.rows + i, c.slots - c.rows + i + 1};
  }
  const std::size_t stride = std::size_t{c.kv_head_count} * c.group_count * c.head_dim;
  const std::vector<float> query = random_floats(stride * c.rows);
  std::vector<float> out(query.size());
  const std::uint32_t task_count = c.kv_head_count * c.layer_count;
  const Timing timing = measure(bench.options.thread_count, bench.options.rounds, [&](int thread) {
    const auto step = static_cast<std::uint32_t>(bench.options.thread_count);
    for (auto i = static_cast<std::uint32_t>(thread); i < task_count; i += step) {
      const std::size_t head = i % c.kv_head_count;
      AttentionTask task;
      task.pages = pages;
      task.spans = spans;
      task.page_size = kPageSize;
      task.visible_slot_end = c.slots;
      task.head_offset = i * head_bytes;
      task.kv_format = c.format;
      task.head_dim = c.head_dim;
      task.group_count = c.group_count;
      task.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
      task.rows = rows;
      task.query = query.data() + head * c.group_count * c.head_dim;
      task.query_stride = stride;
      task.out = out.data() + head * c.group_count * c.head_dim;
      task.out_stride = stride;
      bench.table.attention.attend(task);
    }
  });
  const double keys = (c.slots - 0.5 * (c.rows - 1)) * c.rows;
  bench.report(name, timing, 4.0 * keys * c.head_dim * c.group_count * task_count,
               static_cast<double>(page_bytes) * page_count);
}

// The delta rule of layers with 16 value heads of 128. One row changes a state in place. Several
// rows leave it elsewhere. Counts seven operations for each number of a state and row.
void delta_rule(Bench& bench, std::uint32_t row_count, std::uint32_t layer_count) {
  const std::string name = "delta_rule " + std::to_string(row_count) + " rows, " +
                           std::to_string(layer_count) + " states of 1 MiB";
  if (!bench.wanted(name)) return;
  constexpr std::uint32_t kHeads = 16, kDim = 128, kBlocks = kDim / kDeltaColumns;
  constexpr std::size_t kTileBytes = std::size_t{kDim} * kDeltaColumns * sizeof(float);
  constexpr std::size_t kStateBytes = kHeads * kBlocks * kTileBytes;
  const Pool states(2 * layer_count * kStateBytes);
  std::memset(states.data(), 0, states.byte_count());
  // [head][row][kDim]: queries, keys, values.
  std::vector<float> heads = random_floats(std::size_t{3} * kHeads * row_count * kDim);
  for (float& each : heads) each *= 0.1f;
  const std::vector<float> gates(std::size_t{2} * kHeads, 0.5f);
  std::vector<float> out(std::size_t{row_count} * kHeads * kDim);
  const auto run = [&](std::uint32_t layer, std::uint32_t head, std::uint32_t block) {
    std::byte* from = states.data() + layer * kStateBytes;
    const StateTarget target{row_count, row_count == 1 ? from : from + layer_count * kStateBytes};
    const auto at = [&](std::uint32_t part) {
      return heads.data() + (std::size_t{part} * kHeads + head) * row_count * kDim;
    };
    bench.table.recurrent.delta_rule({.from = from,
                                      .targets = &target,
                                      .target_count = 1,
                                      .tile_offset = (head * kBlocks + block) * kTileBytes,
                                      .key_dim = kDim,
                                      .column_count = kDeltaColumns,
                                      .row_count = row_count,
                                      .query = at(0),
                                      .key = at(1),
                                      .key_stride = kDim,
                                      .value = at(2) + block * kDeltaColumns,
                                      .value_stride = kDim,
                                      .decay = gates.data() + head,
                                      .beta = gates.data() + kHeads + head,
                                      .gate_stride = 0,
                                      .out = out.data() + head * kDim + block * kDeltaColumns,
                                      .out_stride = kHeads * kDim});
  };
  const auto step = static_cast<std::uint32_t>(bench.options.thread_count);
  const Timing timing = measure(bench.options.thread_count, bench.options.rounds, [&](int thread) {
    for (std::uint32_t layer = 0; layer < layer_count; ++layer) {
      for (auto i = static_cast<std::uint32_t>(thread); i < kHeads * kBlocks; i += step) {
        run(layer, i / kBlocks, i % kBlocks);
      }
    }
  });
  const auto bytes = static_cast<double>(layer_count * kStateBytes);
  bench.report(name, timing, 7.0 * bytes / sizeof(float) * row_count, bytes);
}

// One call of `work` over `count` floats, 1 thread.
template <typename Work>
void elementwise(Bench& bench, const std::string& name, std::size_t count, const Work& work) {
  if (!bench.wanted(name)) return;
  constexpr int kCalls = 1000;
  Timing timing = measure(1, bench.options.rounds, [&](int) {
    for (int i = 0; i < kCalls; ++i) work();
  });
  timing.best_s /= kCalls;
  timing.median_s /= kCalls;
  bench.report(name + ", " + std::to_string(count) + " floats, 1 thread", timing, 0.0,
               static_cast<double>(count * sizeof(float)));
}

void all_elementwise(Bench& bench) {
  constexpr std::uint32_t kCount = 2048;
  const KernelTable& table = bench.table;
  const std::vector<float> x = random_floats(kCount), weight = random_floats(kCount);
  std::vector<float> out(kCount);
  std::vector<std::byte> bytes(table.matmul.activation_bytes(NumberFormat::Q4_1, kCount) + 64);
  elementwise(bench, "prepare Q4_1", kCount,
              [&] { table.matmul.prepare(NumberFormat::Q4_1, kCount, x.data(), bytes.data()); });
  elementwise(bench, "rms_norm", kCount, [&] {
    table.elementwise.rms_norm(x.data(), weight.data(), 1e-5f, kCount, out.data());
  });
  elementwise(bench, "silu_multiply", kCount, [&] {
    table.elementwise.silu_multiply(x.data(), weight.data(), kCount, out.data());
  });
  elementwise(bench, "add", kCount, [&] { table.elementwise.add(x.data(), kCount, out.data()); });
  elementwise(bench, "softmax_numerators", kCount,
              [&] { table.elementwise.softmax_numerators(out.data(), kCount, 1.0f); });
}

void all(Bench& bench) {
  for (const std::uint32_t tokens : {1u, 2u, 4u, 8u, 16u, 32u, 512u}) {
    matmul(bench, {NumberFormat::Q4_1, 1536, 576, tokens});
  }
  for (const NumberFormat format :
       {NumberFormat::Q4_0, NumberFormat::Q4_1, NumberFormat::Q4_K, NumberFormat::Q5_0,
        NumberFormat::Q5_K, NumberFormat::Q6_K, NumberFormat::Q8_0, NumberFormat::F16,
        NumberFormat::BF16, NumberFormat::F32}) {
    for (const std::uint32_t tokens : {1u, 2u, 4u, 8u, 16u, 512u}) {
      matmul(bench, {format, 8192, 2048, tokens});
    }
  }
  matmul(bench, {NumberFormat::Q4_1, 2048, 8192, 512});
  for (const NumberFormat format :
       {NumberFormat::Q4_0, NumberFormat::Q4_1, NumberFormat::Q4_K, NumberFormat::Q5_K,
        NumberFormat::Q6_K, NumberFormat::Q8_0, NumberFormat::F16, NumberFormat::F32}) {
    pack(bench, format);
  }
  attention(bench, {"F16 1 row of 8192, 4 of 64", 1, 8192, 64, 4, 8, 16, KvFormat::F16});
  attention(bench, {"F16 1 row of 512, 4 of 64, cached", 1, 512, 64, 4, 8, 1, KvFormat::F16});
  attention(bench, {"F16 1 row of 8192, 3 of 64", 1, 8192, 64, 3, 3, 30, KvFormat::F16});
  attention(bench, {"F16 1 row of 8192, 1 of 128", 1, 8192, 128, 1, 8, 8, KvFormat::F16});
  attention(bench, {"F16 1 row of 8192, 6 of 128", 1, 8192, 128, 6, 2, 28, KvFormat::F16});
  attention(bench, {"Q8 1 row of 8192, 6 of 128", 1, 8192, 128, 6, 2, 28, KvFormat::Q8});
  attention(bench, {"Q8 1 row of 8192, 4 of 64", 1, 8192, 64, 4, 8, 16, KvFormat::Q8});
  attention(bench, {"F32 1 row of 4096, 4 of 64", 1, 4096, 64, 4, 8, 16, KvFormat::F32});
  attention(bench, {"BF16 1 row of 8192, 4 of 64", 1, 8192, 64, 4, 8, 16, KvFormat::BF16});
  attention(bench, {"F16 16 rows of 8192, 4 of 64", 16, 8192, 64, 4, 8, 4, KvFormat::F16});
  attention(bench, {"F16 512 rows of 512, 3 of 64", 512, 512, 64, 3, 3, 4, KvFormat::F16});
  attention(bench, {"F16 512 rows of 4096, 3 of 64", 512, 4096, 64, 3, 3, 1, KvFormat::F16});
  attention(bench, {"F16 512 rows of 4096, 4 of 128", 512, 4096, 128, 4, 2, 1, KvFormat::F16});
  delta_rule(bench, 1, 18);
  delta_rule(bench, 1, 1);
  delta_rule(bench, 512, 1);
  all_elementwise(bench);
}

int usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [--threads N] [--rounds N] [--kernels NAME] [--filter TEXT] [--json]\n",
               program);
  return 2;
}

int run(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string flag = arguments[i];
    const bool has_value = i + 1 < argument_count;
    if (flag == "--json") {
      options.json = true;
    } else if (flag == "--threads" && has_value) {
      options.thread_count = std::atoi(arguments[++i]);
    } else if (flag == "--rounds" && has_value) {
      options.rounds = std::atoi(arguments[++i]);
    } else if (flag == "--kernels" && has_value) {
      options.kernels = arguments[++i];
    } else if (flag == "--filter" && has_value) {
      options.filter = arguments[++i];
    } else {
      return usage(arguments[0]);
    }
  }
  if (options.thread_count < 1 || options.rounds < 1) return usage(arguments[0]);
  std::vector<Row> rows;
  const double roof = read_bandwidth(options.thread_count, std::min(options.rounds, 10));
  for (const KernelTable* table : supported_kernels()) {
    if (options.kernels.empty() ? std::string(table->name) == "scalar"
                                : options.kernels != table->name) {
      continue;
    }
    Bench bench{options, *table, roof, rows};
    all(bench);
  }
  (options.json ? print_json : print_table)(roof, options.thread_count, rows);
  return 0;
}

}  // namespace
}  // namespace quire::bench

int main(int argument_count, char** arguments) {
  return quire::bench::run(argument_count, arguments);
}
