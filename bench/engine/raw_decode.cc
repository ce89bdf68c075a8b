#include "bench/engine/raw_decode.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bench/machine/bench_streams.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

using inference::Batch;
using inference::BatchId;
using inference::PageId;
using inference::SequenceId;
using inference::TokenId;

// Waits for one completion at a time.
class WaitingSink final : public inference::CompletionSink {
 public:
  void complete(inference::Completion completion) override {
    std::lock_guard lock(mutex_);
    completion_ = std::move(completion);
    filled_.notify_one();
  }
  inference::Completion wait() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return completion_.has_value(); });
    return *std::exchange(completion_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::optional<inference::Completion> completion_;
};

class RawStreams {
 public:
  RawStreams(inference::Backend& backend, WaitingSink& sink, const RawDecode& wanted)
      : backend_(backend), sink_(sink), wanted_(wanted), tokens_(wanted.stream_count) {}

  // All prompts, as many in a batch as it takes.
  Result<void> prefill() {
    SeededRandom random(wanted_.stream_count);
    const std::uint32_t each =
        std::max(backend_.capabilities().row_count_max / std::max(wanted_.prompt_tokens, 1u), 1u);
    for (std::uint32_t first = 0; first < wanted_.stream_count; first += each) {
      Batch batch = next_batch();
      for (std::uint32_t stream = first; stream < std::min(first + each, wanted_.stream_count);
           ++stream) {
        add_table(batch, stream);
        add_pass(batch, stream,
                 random_prompt(random, backend_.model().vocabulary_size, wanted_.prompt_tokens), 0);
      }
      TRY(run(std::move(batch), first));
    }
    return {};
  }
  Result<void> step(std::uint32_t position) {
    Batch batch = next_batch();
    for (std::uint32_t stream = 0; stream < wanted_.stream_count; ++stream) {
      add_pass(batch, stream, {tokens_[stream]}, position);
    }
    return run(std::move(batch), 0);
  }

 private:
  Batch next_batch() {
    Batch batch;
    batch.id = BatchId{++batches_};
    return batch;
  }
  void add_table(Batch& batch, std::uint32_t stream) const {
    const std::uint32_t page_size = backend_.capabilities().page_size;
    const std::uint32_t count =
        (wanted_.prompt_tokens + wanted_.token_count + page_size - 1) / page_size;
    const std::uint32_t all_slots = inference::kAllSlots >> (inference::kPageSizeMax - page_size);
    inference::TableChange change{.sequence = SequenceId{stream}, .entry_count = count};
    for (std::uint32_t page = 0; page < count; ++page) {
      change.entries.push_back({.page = PageId{stream * count + page}, .visible = all_slots});
    }
    batch.table_changes.push_back(std::move(change));
  }
  static void add_pass(Batch& batch, std::uint32_t stream, const std::vector<std::uint32_t>& tokens,
                       std::uint32_t position) {
    const auto count = static_cast<std::uint32_t>(tokens.size());
    batch.passes.push_back({.sequence = SequenceId{stream},
                            .row_first = static_cast<std::uint32_t>(batch.rows.size()),
                            .row_count = count,
                            .visible_slot_end = position + count});
    for (std::uint32_t index = 0; index < count; ++index) {
      batch.rows.push_back({.token = TokenId{tokens[index]},
                            .position = position + index,
                            .slot = position + index});
    }
    batch.distributions.push_back(
        {.row = static_cast<std::uint32_t>(batch.rows.size()) - 1, .top_k = 1});
  }
  Result<void> run(Batch batch, std::uint32_t first) {
    backend_.submit(std::move(batch));
    inference::Completion completion = sink_.wait();
    for (Result<inference::Distribution>& each : completion.distributions) {
      inference::Distribution distribution = TRY(std::move(each));
      tokens_[first++] = static_cast<std::uint32_t>(distribution.tokens.front());
    }
    return {};
  }

  inference::Backend& backend_;
  WaitingSink& sink_;
  const RawDecode wanted_;
  std::vector<std::uint32_t> tokens_;  // The last of each stream.
  std::uint64_t batches_ = 0;
};

}  // namespace

Result<double> raw_decode_rate(const cli::EngineOptions& options, const RawDecode& wanted,
                               const Clock& clock) {
  QUIRE_CHECK(wanted.token_count > 0 && wanted.prompt_tokens > 0, "nothing to measure");
  WaitingSink sink;
  const std::unique_ptr<inference::Backend> backend = TRY(open_device(options, sink));
  RawStreams streams(*backend, sink, wanted);
  TRY(streams.prefill());
  const std::uint64_t begin_ns = clock.now_ns();
  for (std::uint32_t token = 0; token < wanted.token_count; ++token) {
    TRY(streams.step(wanted.prompt_tokens + token));
  }
  const double duration_s = static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;
  return wanted.stream_count * double{1} * wanted.token_count / duration_s;
}

}  // namespace quire
