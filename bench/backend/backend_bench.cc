// Speed of the CPU backend without the layers above: prefill, decoding, and streams together.
//
//   backend_bench MODEL [--kernels NAME] [--threads N] [--runs N] [--context TOKENS]
//       [--only prefill|decode|streams|forks|transfer|adapters]
//
// Prefill computes 512 tokens in one batch. Decode takes 64 steps of one sequence after --context
// tokens. Streams take 32 steps of 16 sequences after --context tokens each. Transfer saves 128
// pages in one batch, then loads them in one. Each step asks for the top 256, as a guest would. The
// output has the median over the runs, the slowest and the fastest, in tokens or GB (10^9 bytes) a
// second.
//
// Two measurements run only if --only names them. Forks are 16 sequences that share the pages of a
// prefix of --context tokens (give it 4,096). Steps with partials take turns with steps without
// them (attention_plan.h). Steps with a prefix of 64 tokens follow: their time stands for all that
// is not attention. Adapters are of rank 16, with random numbers, on all seven projections. Each
// step under them runs between two steps of the base, and the output has the median of the
// quotients of their times.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "backend/random_adapter.h"
#include "base/check.h"
#include "base/clock.h"
#include "inference/devices/open_device.h"

namespace quire::inference {
namespace {

class WaitingSink final : public CompletionSink {
 public:
  void complete(Completion completion) override {
    {
      std::lock_guard lock(mutex_);
      completions_.push_back(std::move(completion));
    }
    filled_.notify_one();
  }
  Completion wait() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !completions_.empty(); });
    Completion completion = std::move(completions_.front());
    completions_.pop_front();
    return completion;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Completion> completions_;
};

constexpr std::uint32_t kTransferPageCount = 128;
constexpr std::uint32_t kForkPages = 4;  // Pages of each fork after the prefix.

struct Arguments {
  std::string model;
  DeviceOptions options{.threads = 2};
  std::uint32_t run_count = 10;
  std::uint32_t context = 64;
  std::string only;  // Empty: all.
};

class Bench {
 public:
  Bench(Backend& backend, WaitingSink& sink) : backend_(backend), sink_(sink) {}

  // One step of `sequence_count` sequences: `count` tokens each, after `begin`. Sequence i has the
  // set i modulo the number of sets. Seconds.
  double step(std::uint32_t sequence_count, std::uint32_t begin, std::uint32_t count,
              const std::vector<AdapterSet>& sets = {}) {
    Batch batch;
    batch.adapter_sets = sets;
    const std::uint32_t page_size = backend_.capabilities().page_size;
    const std::uint32_t pages_each = backend_.capabilities().page_count / sequence_count;
    for (std::uint32_t s = 0; s < sequence_count; ++s) {
      const std::uint32_t end = begin + count;
      TableChange change{.sequence = SequenceId{s},
                         .entry_first = begin / page_size,
                         .entry_count = (end + page_size - 1) / page_size};
      for (std::uint32_t i = change.entry_first; i < change.entry_count; ++i) {
        const std::uint32_t used = std::min(page_size, end - i * page_size);
        change.entries.push_back({.page = PageId{s * pages_each + i},
                                  .visible = static_cast<std::uint32_t>((1ull << used) - 1)});
      }
      batch.table_changes.push_back(std::move(change));
      const auto first = static_cast<std::uint32_t>(batch.rows.size());
      for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t token = (i * 7919 + s * 104729) % backend_.model().vocabulary_size;
        batch.rows.push_back({.token = TokenId{token}, .position = i, .slot = i});
        if (!sets.empty()) {
          batch.rows.back().adapters = static_cast<std::uint32_t>(s % sets.size());
        }
      }
      batch.passes.push_back({.sequence = SequenceId{s},
                              .row_first = first,
                              .row_count = count,
                              .visible_slot_end = end});
      batch.distributions.push_back({.row = first + count - 1});
    }
    const std::uint64_t start_ns = clock_.now_ns();
    backend_.submit(std::move(batch));
    const Completion completion = sink_.wait();
    for (const auto& distribution : completion.distributions) {
      if (!distribution.ok()) {
        std::fprintf(stderr, "%s\n", std::string(distribution.error().message()).c_str());
        std::exit(1);
      }
    }
    return static_cast<double>(clock_.now_ns() - start_ns) * 1e-9;
  }

  // Gigabytes a second, by the device's own clock. What is saved is kept for load(); its memory is
  // used again where asked.
  double save(std::uint32_t page_count, bool use_memory) {
    if (!use_memory) saved_.clear();
    saved_.resize(page_count);
    Batch batch;
    for (std::uint32_t i = 0; i < page_count; ++i) {
      batch.saves.push_back({.page = PageId{i}, .memory = std::move(saved_[i])});
    }
    Completion completion = run(std::move(batch));
    for (std::uint32_t i = 0; i < page_count; ++i)
      saved_[i] = std::move(completion.saves[i]).take();
    return rate(page_count, completion.device_ns);
  }
  double load() {
    Batch batch;
    for (std::uint32_t i = 0; i < saved_.size(); ++i) {
      batch.loads.push_back({PageId{i}, std::move(saved_[i])});
    }
    Completion completion = run(std::move(batch));
    for (const Result<void>& loaded : completion.loads) QUIRE_CHECK(loaded.ok(), "a page loads");
    saved_ = std::move(completion.load_bytes);
    return rate(saved_.size(), completion.device_ns);
  }

  // Writes the prefix into the pages of sequence 0.
  void write_prefix(std::uint32_t tokens) {
    const std::uint32_t chunk = backend_.capabilities().row_count_max;
    for (std::uint32_t begin = 0; begin < tokens; begin += chunk) {
      step(1, begin, std::min(chunk, tokens - begin));
    }
  }
  // Computes a token of each of `count` sequences, `index` tokens after the prefix that all share.
  // Returns seconds by the device's own clock.
  double fork_step(std::uint32_t count, std::uint32_t prefix, std::uint32_t index) {
    Batch batch;
    const std::uint32_t page_size = backend_.capabilities().page_size;
    const std::uint32_t shared = prefix / page_size;
    const std::uint32_t slot = prefix + index;
    for (std::uint32_t s = 0; s < count; ++s) {
      TableChange change{.sequence = SequenceId{s + 1}};
      change.entry_count = slot / page_size + 1;
      change.entry_first = index == 0 ? 0 : change.entry_count - 1;
      for (std::uint32_t i = change.entry_first; i < change.entry_count; ++i) {
        const std::uint32_t used = std::min(page_size, slot + 1 - i * page_size);
        const std::uint32_t own = shared + s * kForkPages + i - shared;
        change.entries.push_back({.page = PageId{i < shared ? i : own},
                                  .visible = static_cast<std::uint32_t>((1ull << used) - 1)});
      }
      batch.table_changes.push_back(std::move(change));
      batch.rows.push_back({.token = TokenId{100 + s}, .position = slot, .slot = slot});
      batch.passes.push_back({.sequence = SequenceId{s + 1},
                              .row_first = s,
                              .row_count = 1,
                              .visible_slot_end = slot + 1});
      batch.distributions.push_back({.row = s});
    }
    return static_cast<double>(run(std::move(batch)).device_ns) * 1e-9;
  }

  double prefill() { return 512 / step(1, 0, 512); }
  double decode(std::uint32_t sequence_count, std::uint32_t context, std::uint32_t steps) {
    const std::uint32_t chunk = backend_.capabilities().row_count_max / sequence_count;
    for (std::uint32_t begin = 0; begin < context; begin += chunk) {
      step(sequence_count, begin, std::min(chunk, context - begin));
    }
    double seconds = 0.0;
    for (std::uint32_t i = 0; i < steps; ++i) seconds += step(sequence_count, context + i, 1);
    return sequence_count * steps / seconds;
  }

 private:
  Completion run(Batch batch) {
    backend_.submit(std::move(batch));
    return sink_.wait();
  }
  double rate(std::size_t page_count, std::uint64_t ns) const {
    return static_cast<double>(page_count * backend_.capabilities().page_bytes) /
           static_cast<double>(ns);
  }

  Backend& backend_;
  WaitingSink& sink_;
  SteadyClock clock_;
  std::vector<PageBytes> saved_;
};

template <typename Measure>
void report(const char* name, std::uint32_t run_count, const Measure& measure,
            const char* unit = "tokens/s") {
  std::vector<double> rates;
  for (std::uint32_t i = 0; i < run_count; ++i) rates.push_back(measure());
  std::sort(rates.begin(), rates.end());
  std::printf("%-24s %9.1f %s (%.1f to %.1f)\n", name, rates[rates.size() / 2], unit, rates.front(),
              rates.back());
}

// Attention to a shared prefix, with and without partials.
int run_forks(const Arguments& arguments, const ModelFiles& files) {
  constexpr std::uint32_t kForks = 16, kSteps = 48, kShort = 64;
  WaitingSink sinks[2];
  std::unique_ptr<Backend> backends[2];
  std::vector<double> seconds[3];  // With partials, without, and a short prefix.
  for (int i = 0; i < 2; ++i) {
    DeviceOptions options = arguments.options;
    options.uses_partials = i == 0;
    auto made = open_device(files, options, sinks[i]);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", std::string(made.error().message()).c_str());
      return 1;
    }
    backends[i] = std::move(made).take();
    Bench(*backends[i], sinks[i]).write_prefix(arguments.context);
  }
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (int i = 0; i < 2; ++i) {
      Bench bench(*backends[i], sinks[i]);
      seconds[i].push_back(bench.fork_step(kForks, arguments.context, step));
    }
  }
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    seconds[2].push_back(Bench(*backends[0], sinks[0]).fork_step(kForks, kShort, step));
  }
  double medians[3];
  for (int i = 0; i < 3; ++i) {
    std::sort(seconds[i].begin(), seconds[i].end());
    medians[i] = seconds[i][kSteps / 2] * 1e3;
  }
  std::printf(
      "%u forks of %u tokens: %.2f ms a step, %.2f without partials, %.2f of a short prefix;"
      " attention %.2f times as fast\n",
      kForks, arguments.context, medians[0], medians[1], medians[2],
      (medians[1] - medians[2]) / (medians[0] - medians[2]));
  return 0;
}

struct AdapterStep {
  const char* name;
  std::uint32_t adapter_count;
  NumberFormat format;
  std::uint32_t sequence_count;
  std::uint32_t token_count;  // Of each sequence.
};
constexpr AdapterStep kAdapterSteps[] = {
    {"decode, BF16", 1, NumberFormat::BF16, 1, 1},
    {"decode, F32", 1, NumberFormat::F32, 1, 1},
    {"16 streams, 1 BF16", 1, NumberFormat::BF16, 16, 1},
    {"16 streams, 4 BF16", 4, NumberFormat::BF16, 16, 1},
    {"16 streams, 16 BF16", 16, NumberFormat::BF16, 16, 1},
    {"prefill 512, BF16", 1, NumberFormat::BF16, 1, 512},
};

void report_adapters(Bench& bench, const Arguments& arguments, const ModelSpec& spec) {
  constexpr std::uint32_t kRank = 16;
  for (const AdapterStep& step : kAdapterSteps) {
    std::vector<AdapterSet> sets;
    for (std::uint32_t i = 0; i < step.adapter_count; ++i) {
      std::vector<AdapterUse> uses;
      uses.push_back({random_adapter(spec, i, kRank, step.format), 1.0f});
      sets.push_back(std::make_shared<const std::vector<AdapterUse>>(std::move(uses)));
    }
    const bool is_prefill = step.token_count > 1;
    const std::uint32_t begin = is_prefill ? 0 : arguments.context;
    if (!is_prefill) bench.decode(step.sequence_count, begin, 1);
    std::vector<double> quotients, base_ms;
    for (std::uint32_t i = 0; i < arguments.run_count * (is_prefill ? 1 : 16); ++i) {
      const auto time = [&](const std::vector<AdapterSet>& with) {
        return bench.step(step.sequence_count, begin, step.token_count, with);
      };
      const double before = time({}), adapted = time(sets), after = time({});
      quotients.push_back(2.0 * adapted / (before + after));
      base_ms.push_back((before + after) * 500.0);
    }
    std::ranges::sort(quotients);
    std::ranges::sort(base_ms);
    const std::size_t count = quotients.size();
    std::printf("%-24s %9.3f x the base's %.1f ms (quartiles %.3f to %.3f)\n", step.name,
                quotients[count / 2], base_ms[count / 2], quotients[count / 4],
                quotients[count * 3 / 4]);
  }
}

int run(const Arguments& arguments) {
  WaitingSink sink;
  auto files = open_model(arguments.model);
  if (!files.ok()) {
    std::fprintf(stderr, "%s\n", std::string(files.error().message()).c_str());
    return 1;
  }
  if (arguments.only == "forks") return run_forks(arguments, *files.value());
  auto made = open_device(*files.value(), arguments.options, sink);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", std::string(made.error().message()).c_str());
    return 1;
  }
  const std::unique_ptr<Backend> backend = std::move(made).take();
  std::printf("%s, %u threads\n", backend->capabilities().numerics_id.c_str(),
              arguments.options.threads);
  Bench bench(*backend, sink);
  const std::uint32_t runs = arguments.run_count;
  const auto wanted = [&](const char* name) {
    return arguments.only.empty() || arguments.only == name;
  };
  if (wanted("prefill")) report("prefill 512", runs, [&] { return bench.prefill(); });
  if (wanted("decode")) {
    report("decode", runs, [&] { return bench.decode(1, arguments.context, 64); });
  }
  if (wanted("streams")) {
    report("decode, 16 streams", runs, [&] { return bench.decode(16, arguments.context, 32); });
  }
  if (arguments.only == "adapters") report_adapters(bench, arguments, files.value()->spec());
  if (wanted("transfer")) {
    if (backend->capabilities().page_count < kTransferPageCount) {
      std::fprintf(stderr, "transfer needs a pool of %u pages\n", kTransferPageCount);
      return 1;
    }
    bench.step(1, 0, std::min(512u, backend->capabilities().row_count_max));
    bench.save(kTransferPageCount, false);
    bench.load();  // Touches all pages once: later runs find them in memory.
    const auto save = [&](bool use_memory) { return bench.save(kTransferPageCount, use_memory); };
    report("save 128 pages", runs, [&] { return save(true); }, "GB/s");
    report("  into new memory", runs, [&] { return save(false); }, "GB/s");
    report("load 128 pages", runs, [&] { return bench.load(); }, "GB/s");
  }
  return 0;
}

}  // namespace
}  // namespace quire::inference

int main(int count, char** values) {
  quire::inference::Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    const char* value = i + 1 < count ? values[i + 1] : "";
    if (name.rfind("--", 0) != 0) {
      arguments.model = name;
      continue;
    }
    ++i;
    if (name == "--kernels") arguments.options.name = value;
    if (name == "--threads") arguments.options.threads = static_cast<unsigned>(std::atoi(value));
    if (name == "--runs")
      arguments.run_count = static_cast<unsigned>(std::max(1, std::atoi(value)));
    if (name == "--only") arguments.only = value;
    if (name == "--context") arguments.context = static_cast<unsigned>(std::atoi(value));
  }
  if (arguments.model.empty()) {
    std::fprintf(stderr,
                 "usage: backend_bench MODEL [--kernels NAME] [--threads N] [--runs N]"
                 " [--context TOKENS]\n");
    return 2;
  }
  return quire::inference::run(arguments);
}
