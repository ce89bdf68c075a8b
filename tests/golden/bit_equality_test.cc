// The contract of batch invariance, per kernel table: random programs give the same bits however
// they are cut into batches, whatever else is in the batches. The number of threads and the page
// size do not matter, nor paged or basic mode, nor whether slots are masked or left out.
#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "base/seeds.h"
#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"
#include "support/golden.h"
#include "support/tiny_gguf.h"

namespace quire::test::bit_equality_test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;
using inference::KvMode;
using inference::NumberFormat;

constexpr std::uint64_t kSeedCount = 48;
constexpr std::uint32_t kNeighbourCount = 32;
constexpr std::uint32_t kNeighbourTokensMax = 48;

class Random {
 public:
  explicit Random(std::uint64_t seed) : source_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(source_.next() % bound);
  }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }

 private:
  SeededRandom source_;
};

// The computed tokens, in segments; at the cut, whole stretches of 32 slots go out of sight.
// Positions may jump back, as modules do. The jump ends a segment, because a row sees every key of
// a smaller position that its own batch writes.
struct Program {
  std::string model;
  KvFormat kv_format{};
  NumberFormat weights{};
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> positions;
  std::uint32_t cut = 0;
  std::uint32_t jump = 0;  // 0: none.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> masked;
  std::vector<std::uint32_t> watched;  // Rows whose logits are compared.
};

// How it is computed.
struct Way {
  std::uint32_t threads = 1;
  std::uint32_t page_size = 16;
  KvMode mode = KvMode::Paged;
  std::uint32_t chunk_max = 512;  // Chunks of 1 to so many tokens.
  bool neighbours = false;
  bool leave_out = false;

  std::string text() const {
    return std::to_string(threads) + " threads, pages of " + std::to_string(page_size) +
           (mode == KvMode::Basic ? ", basic" : ", paged") + ", chunks up to " +
           std::to_string(chunk_max) + (neighbours ? ", 32 neighbours" : ", alone") +
           (leave_out ? ", left out" : ", masked");
  }
};

Program random_program(Random& random) {
  constexpr const char* kModels[] = {"tiny_llama", "tiny_qwen3", "tiny_qwen2"};
  constexpr KvFormat kKvFormats[] = {KvFormat::F32, KvFormat::F16, KvFormat::BF16, KvFormat::Q8};
  constexpr NumberFormat kWeights[] = {NumberFormat::F32, NumberFormat::Q8_0, NumberFormat::F16};
  Program program;
  program.model = kModels[random.below(3)];
  program.kv_format = kKvFormats[random.below(4)];
  program.weights = kWeights[random.below(3)];
  const std::uint32_t count = random.between(530, 700);  // At least three spans.
  program.cut = random.between(64, count - 1);
  if (random.below(2) == 0) program.jump = random.between(1, count - 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    program.ids.push_back(static_cast<std::int32_t>(random.between(3, 699)));
    program.positions.push_back(
        static_cast<std::int32_t>(i >= program.jump ? i - program.jump / 2 : i));
  }
  for (std::uint32_t holes = random.below(4); holes > 0; --holes) {
    const std::uint32_t first = random.below(program.cut / 32) * 32;
    const std::uint32_t second =
        std::min(first + random.between(1, 10) * 32, program.cut / 32 * 32);
    program.masked.push_back({first, second});
  }
  for (std::uint32_t row : {0u, 1u, program.cut - 1, program.cut, count - 1}) {
    program.watched.push_back(row);
  }
  for (int i = 0; i < 8; ++i) program.watched.push_back(random.below(count));
  std::sort(program.watched.begin(), program.watched.end());
  program.watched.erase(std::unique(program.watched.begin(), program.watched.end()),
                        program.watched.end());
  return program;
}

Way random_way(Random& random) {
  constexpr std::uint32_t kPageSizes[] = {8, 16, 32};
  constexpr std::uint32_t kChunks[] = {1, 7, 40, 300, 512};
  Way way;
  way.threads = random.between(1, 2);
  way.page_size = kPageSizes[random.below(3)];
  way.mode = random.below(3) == 0 ? KvMode::Basic : KvMode::Paged;
  way.chunk_max = kChunks[random.below(5)];
  way.neighbours = random.below(2) == 0;
  way.leave_out = random.below(2) == 0;
  return way;
}

// Runs a program one way and collects the logits of the watched rows.
class Runner {
 public:
  Runner(const Program& program, const Way& way, const std::string& kernels,
         const std::string& path, std::uint64_t seed)
      : program_(program), way_(way), random_(seed) {
    DeviceOptions options;
    options.name = kernels;
    options.threads = way.threads;
    options.page_size = way.page_size;
    options.page_count = 512;
    options.kv_format = program.kv_format;
    options.kv_mode = way.mode;
    options.row_count_max = 1024;
    device_ = Device::open(path, options);
    sequence_ = {.id = inference::SequenceId{0}, .first_page = 400, .page_size = way.page_size};
    sequence_.leave_out = way.leave_out;
  }

  std::vector<std::vector<float>> run() {
    const auto count = static_cast<std::uint32_t>(program_.ids.size());
    for (std::uint32_t begin = 0; begin < count;) {
      if (begin == program_.cut) sequence_.masked = program_.masked;
      std::uint32_t limit = count;
      for (const std::uint32_t stop : {program_.cut, program_.jump}) {
        if (begin < stop) limit = std::min(limit, stop);
      }
      const std::uint32_t end = std::min(limit, begin + random_.between(1, way_.chunk_max));
      step({begin, end});
      begin = end;
    }
    return std::move(logits_);
  }

 private:
  void step(Span span) {
    Batch batch;
    const std::uint32_t before = way_.neighbours ? random_.below(kNeighbourCount) : 0;
    add_neighbours(batch, 0, before);
    const auto first = static_cast<std::uint32_t>(batch.rows.size());
    add_pass(batch, sequence_, program_.ids, span, {}, &program_.positions);
    const std::size_t asked = batch.distributions.size();
    for (const std::uint32_t row : program_.watched) {
      if (row < span.begin || row >= span.end) continue;
      batch.distributions.push_back(
          {.row = first + row - span.begin, .kind = inference::DistributionKind::Logits});
    }
    const std::size_t asked_end = batch.distributions.size();
    if (way_.neighbours) add_neighbours(batch, before, kNeighbourCount);
    Completion completion = device_->run(std::move(batch));
    for (std::size_t i = asked; i < asked_end; ++i) logits_.push_back(logits_of(completion, i));
  }

  // Each goes on by one to four tokens of its own and starts over when it is long; one in four asks
  // for a distribution.
  void add_neighbours(Batch& batch, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t n = begin; n < end; ++n) {
      std::uint32_t& done = neighbour_tokens_[n];
      if (done > kNeighbourTokensMax) done = 0;
      const std::uint32_t count = random_.between(1, 4);
      const std::uint32_t pages = (kNeighbourTokensMax + 8) / way_.page_size + 1;
      const Sequence sequence{
          .id = inference::SequenceId{n + 1}, .first_page = n * pages, .page_size = way_.page_size};
      add_pass(batch, sequence, program_.ids, {done, done + count}, {});
      if (random_.below(4) == 0) {
        batch.distributions.push_back(
            {.row = static_cast<std::uint32_t>(batch.rows.size()) - 1, .temperature = 0.7f});
      }
      done += count;
    }
  }

  const Program& program_;
  const Way way_;
  Random random_;
  std::unique_ptr<Device> device_;
  Sequence sequence_;
  std::uint32_t neighbour_tokens_[kNeighbourCount] = {};
  std::vector<std::vector<float>> logits_;
};

class BitEquality : public testing::TestWithParam<std::string> {};

TEST_P(BitEquality, RandomProgramsGiveTheSameBitsWhicheverWayTheyAreComputed) {
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) {
    Random random(seed);
    const Program program = random_program(random);
    const bool is_folder = program.weights == NumberFormat::F32;
    const std::string path =
        is_folder ? golden_path(program.model) : write_tiny_gguf(program.model, program.weights);
    const auto expected = Runner(program, {}, GetParam(), path, 0).run();
    ASSERT_EQ(expected.size(), program.watched.size());
    for (int i = 0; i < 4; ++i) {
      const Way way = random_way(random);
      const auto seen = Runner(program, way, GetParam(), path, seed * 16 + 1).run();
      ASSERT_EQ(seen.size(), expected.size());
      for (std::size_t row = 0; row < seen.size(); ++row) {
        ASSERT_EQ(seen[row], expected[row])
            << "seed " << seed << ", " << program.model << ", row " << program.watched[row]
            << " of " << program.ids.size() << ", cut " << program.cut << ": " << way.text();
      }
    }
    if (!is_folder) std::filesystem::remove(path);
  }
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, BitEquality, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::bit_equality_test
