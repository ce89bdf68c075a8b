#include "bench/engine/page_timings.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <utility>

#include "base/check.h"
#include "control/contexts/context.h"
#include "control/contexts/context_edits.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"

namespace quire {
namespace {

using control::Context;
using control::PageLedger;

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kRoundCount = 41;
constexpr std::uint32_t kLookupTokens = 50'000;
constexpr std::uint32_t kForkTokens = 128'000;
constexpr std::uint32_t kRewoundPages = 100;
constexpr std::uint32_t kForksOfRound = 64;
constexpr std::uint32_t kRepetitions = 1'000;
constexpr std::uint32_t kLargest = 10;  // Times the sizes above.
constexpr std::uint32_t kPageCount = kLargest * kForkTokens / kPageSize + 1'024;
constexpr std::uint32_t kNoLimit = 0xffffffffu;

// The description of a device that computes nothing.
class Described final : public inference::Backend {
 public:
  Described() {
    capabilities_.page_size = kPageSize;
    capabilities_.page_count = kPageCount;
    capabilities_.sequence_count = 4;
    capabilities_.embed_slot_count = 4;
    capabilities_.row_count_max = 512;
    model_.vocabulary_size = 50'000;
    model_.context_length = kLargest * kForkTokens + kPageSize;
  }
  const inference::BackendCapabilities& capabilities() const override { return capabilities_; }
  const inference::ModelInfo& model() const override { return model_; }
  void submit(inference::Batch) override { QUIRE_CHECK(false, "nothing is computed here"); }

 private:
  inference::BackendCapabilities capabilities_;
  inference::ModelInfo model_;
};

control::PageCacheOptions cache_options() {
  control::PageCacheOptions options;
  options.page_count = kPageCount;
  options.space.page_size = kPageSize;
  options.space.numerics_id = "none";
  options.hash_key = 0x5eed;
  return options;
}

class Bench {
 public:
  explicit Bench(const Clock& clock)
      : clock_(clock), resources_(device_, cache_options()), root_(resources_.cache.root({})) {}

  std::vector<PageTiming> run() {
    lookup(1);
    lookup(kLargest);
    fork(1);
    fork(kLargest);
    rewind(1);
    rewind(kLargest);
    take_and_release();
    name();
    return std::move(timings_);
  }

 private:
  void open(Context& context, PageLedger& ledger) {
    bind(context, ledger);
    context.open(root_);
  }
  void bind(Context& context, PageLedger& ledger) {
    context.bind({.resources = &resources_, .ledger = &ledger});
  }
  static void drop(Context& context) {
    context.drop();
    context.recycle();
  }
  // As batches would, so many tokens at a time.
  void compute(Context& context, std::uint32_t token_count) {
    constexpr std::uint32_t kChunk = 4'096;
    for (std::uint32_t done = 0; done < token_count;) {
      const std::uint32_t count = std::min(kChunk, token_count - done);
      context.append(some_tokens(done, count));
      QUIRE_CHECK(context.take_pages(context.tokens().queued_count(), copies_),
                  "the pool is too small");
      context.begin_flight(count);
      context.end_flight(true);
      done += count;
    }
  }
  static std::vector<std::uint32_t> some_tokens(std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> tokens(count);
    for (std::uint32_t index = 0; index < count; ++index) {
      tokens[index] = (first + index) * 2'654'435'761u % 50'000u;
    }
    return tokens;
  }

  // `round` returns the time of one thing, in the key's unit.
  void add(PageTiming timing, std::uint32_t times, const std::function<double()>& round) {
    std::vector<double> all;
    for (std::uint32_t index = 0; index < kRoundCount; ++index) all.push_back(round());
    std::sort(all.begin(), all.end());
    timing.median = all[all.size() / 2];
    timing.least = all.front();
    timing.is_ratio = times > 1;
    if (times > 1) timing.key += "_" + std::to_string(times) + "x";
    timings_.push_back(std::move(timing));
  }
  double microseconds(const std::function<void()>& work) const {
    const std::uint64_t start_ns = clock_.now_ns();
    work();
    return static_cast<double>(clock_.now_ns() - start_ns) / 1'000.0;
  }

  // Every page is cold: the request that computed them has ended.
  void lookup(std::uint32_t times) {
    const std::uint32_t count = kLookupTokens * times;
    Context first;
    PageLedger first_ledger;
    open(first, first_ledger);
    compute(first, count);
    drop(first);
    const std::vector<std::uint32_t> tokens = some_tokens(0, count);
    add({.key = "lookup_50k_us",
         .limit = times == 1 ? 500.0 : 12.0,
         .meaning = "a prefix of 50,000 tokens is found and held"},
        times, [&] {
          Context context;
          PageLedger ledger;
          open(context, ledger);
          context.append(tokens);
          control::FindResult found;
          const double time =
              microseconds([&] { found = context.find_queued(kNoLimit, kNoLimit); });
          QUIRE_CHECK(found.token_count == count / kPageSize * kPageSize, "not all was found");
          drop(context);
          return time;
        });
    resources_.cache.evict_all();
  }

  void fork(std::uint32_t times) {
    Context context;
    PageLedger ledger;
    open(context, ledger);
    compute(context, kForkTokens * times + kPageSize / 2);  // With a page half full.
    std::array<Context, kForksOfRound> children;
    add({.key = "fork_128k_us",
         .limit = times == 1 ? 5.0 : 1.5,
         .meaning = "a context of 128,000 tokens is forked"},
        times, [&] {
          for (Context& child : children) bind(child, ledger);
          const double time = microseconds([&] {
            for (Context& child : children) {
              context.fork_to(child);
            }
          });
          for (Context& child : children) drop(child);
          return time / kForksOfRound;
        });
    drop(context);
    resources_.cache.evict_all();
  }

  void rewind(std::uint32_t times) {
    const std::uint32_t count = kForkTokens * times;
    const std::vector<std::uint32_t> tokens = some_tokens(0, count);
    const std::uint32_t length = count - kRewoundPages * kPageSize;
    Context context;
    PageLedger ledger;
    open(context, ledger);
    compute(context, count);
    add({.key = "rewind_us",
         .limit = times == 1 ? 5.0 + 0.05 * kRewoundPages : 1.5,
         .meaning = "a context of 128,000 tokens goes back by 100 pages"},
        times, [&] {
          Result<void> done;
          const double time = microseconds([&] { done = control::rewind(context, length); });
          QUIRE_CHECK(done.ok(), "rewound");
          context.append(std::span(tokens).subspan(length));
          const control::FindResult found = context.find_queued(kNoLimit, kNoLimit);
          QUIRE_CHECK(found.token_count == count - length, "what was let go is still there");
          return time;
        });
    drop(context);
    resources_.cache.evict_all();
  }

  void take_and_release() {
    std::vector<control::PageId> pages;
    pages.reserve(1);
    add({.key = "alloc_free_ns", .limit = 50.0, .meaning = "a page is taken and given back"}, 1,
        [&] {
          const double time = microseconds([&] {
            for (std::uint32_t index = 0; index < kRepetitions; ++index) {
              QUIRE_CHECK(resources_.cache.take(1, pages), "a free page");
              resources_.cache.release(pages.back());
              pages.pop_back();
            }
          });
          return time * 1'000.0 / kRepetitions;
        });
  }

  void name() {
    const std::vector<std::uint32_t> ids = some_tokens(0, kPageSize);
    std::vector<control::TokenId> tokens;
    std::vector<std::uint32_t> positions;
    for (std::uint32_t slot = 0; slot < kPageSize; ++slot) {
      tokens.push_back(control::TokenId{ids[slot]});
      positions.push_back(slot);
    }
    control::PageName parent = resources_.cache.name(root_);
    add({.key = "page_name_ns", .limit = 400.0, .meaning = "the name of a page of 16 tokens"}, 1,
        [&] {
          const double time = microseconds([&] {
            for (std::uint32_t index = 0; index < kRepetitions; ++index) {
              parent = resources_.cache.name_below(root_, parent,
                                                   {.tokens = tokens, .positions = positions});
            }
          });
          return time * 1'000.0 / kRepetitions;
        });
  }

  const Clock& clock_;
  Described device_;
  control::ModelResources resources_;
  const control::NodeId root_;
  std::vector<inference::PageCopy> copies_;
  std::vector<PageTiming> timings_;
};

}  // namespace

std::vector<PageTiming> time_pages(const Clock& clock) {
  return Bench(clock).run();
}

}  // namespace quire
