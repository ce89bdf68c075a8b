#pragma once
// Computes a sequence whose pages never stay where they are, on any Backend: between and within
// steps they are saved, what lies in their place is overwritten, and they are loaded elsewhere.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "support/backend_driver.h"

namespace quire::test {

using RunBatch = std::function<inference::Completion(inference::Batch)>;

// The bytes of a page that must not be read: not-a-number in every number format.
inline inference::PageBytes poison(std::uint64_t page_bytes) {
  inference::PageBytes bytes = inference::PageBytes::uninitialised(page_bytes);
  std::memset(bytes.span().data(), 0xff, page_bytes);
  return bytes;
}

class PageMover {
 public:
  // `run` submits to a backend with these capabilities and waits.
  PageMover(RunBatch run, const inference::BackendCapabilities& device, std::uint64_t seed)
      : run_(std::move(run)), device_(device), source_(seed) {
    for (std::uint32_t page = 0; page < device.page_count; ++page) free_.push_back(page);
  }

  // Computes ids in random chunks; expects of the last row of each chunk the logits `expected`
  // of that row. Stops at the first that differ.
  void compute(const std::vector<std::int32_t>& ids,
               const std::vector<std::vector<float>>& expected) {
    const auto count = static_cast<std::uint32_t>(ids.size());
    for (std::uint32_t begin = 0; begin < count;) {
      const std::uint32_t end = std::min(count, begin + 1 + below(40));
      inference::Completion completion = step(ids, {begin, end});
      ASSERT_EQ(logits_of(completion, 0), expected[end - 1])
          << "row " << end - 1 << ", " << moved_count_ << " pages moved before";
      begin = end;
    }
    EXPECT_GT(moved_count_, 0u);
  }

 private:
  struct Away {
    std::size_t entry = 0;
    inference::PageBytes bytes;
  };

  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(source_.next() % bound);
  }

  std::uint32_t take_page() {
    std::swap(free_[below(static_cast<std::uint32_t>(free_.size()))], free_.back());
    const std::uint32_t page = free_.back();
    free_.pop_back();
    return page;
  }

  // Pages that are away come back, and the pages that they left are poisoned.
  void bring_back(inference::Batch& batch) {
    for (const std::uint32_t page : left_) {
      batch.loads.push_back({inference::PageId{page}, poison(device_.page_bytes)});
    }
    for (Away& each : away_) {
      pages_[each.entry] = take_page();  // Not one of those left: they are not free yet.
      batch.loads.push_back({inference::PageId{pages_[each.entry]}, std::move(each.bytes)});
    }
    free_.insert(free_.end(), left_.begin(), left_.end());
    left_.clear();
    away_.clear();
  }

  // Asks for one page and a third of the rest, as they are after `slot_count` written slots.
  void send_away(inference::Batch& batch, std::uint32_t slot_count) {
    const std::uint32_t chosen = below(static_cast<std::uint32_t>(pages_.size()));
    for (std::size_t entry = 0; entry < pages_.size(); ++entry) {
      if (below(3) != 0 && entry != chosen) continue;
      const auto first = static_cast<std::uint32_t>(entry) * device_.page_size;
      const std::uint32_t used = std::min(device_.page_size, slot_count - first);
      const auto written = static_cast<std::uint32_t>((std::uint64_t{1} << used) - 1);
      inference::PageSave save{.page = inference::PageId{pages_[entry]}};
      if (below(2) == 0) save.slots = written;
      if (below(2) == 0) save.memory = poison(device_.page_bytes);
      batch.saves.push_back(std::move(save));
      away_.push_back({.entry = entry, .bytes = {}});
    }
  }

  inference::Completion run(inference::Batch batch) {
    inference::Completion completion = run_(std::move(batch));
    for (const Result<void>& loaded : completion.loads) EXPECT_TRUE(loaded.ok());
    for (std::size_t i = 0; i < completion.saves.size(); ++i) {
      away_[i].bytes = std::move(completion.saves[i]).take();
      left_.push_back(pages_[away_[i].entry]);
      ++moved_count_;
    }
    return completion;
  }

  inference::Completion step(const std::vector<std::int32_t>& ids, Span span) {
    inference::Batch batch;
    bring_back(batch);
    if (below(2) == 0) {
      run(std::move(batch));
      batch = {};
    }
    while (pages_.size() * device_.page_size < span.end) pages_.push_back(take_page());
    add_pass(batch, {.page_size = device_.page_size}, ids, span, {span.end - 1, span.end});
    std::vector<inference::TableEntry>& entries = batch.table_changes.back().entries;
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].page = inference::PageId{pages_[i]};
    const bool in_one_step = below(2) == 0;
    if (in_one_step) send_away(batch, span.end);
    inference::Completion completion = run(std::move(batch));
    if (!in_one_step) {
      inference::Batch saves;
      send_away(saves, span.end);
      run(std::move(saves));
    }
    return completion;
  }

  const RunBatch run_;
  const inference::BackendCapabilities device_;
  SeededRandom source_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> pages_;  // Of the table's entries.
  std::vector<std::uint32_t> left_;   // Saved, and not yet poisoned.
  std::vector<Away> away_;
  std::size_t moved_count_ = 0;
};

// The logits of every row, of a plain computation in pages 0, 1, ...
inline std::vector<std::vector<float>> plain_logits(const RunBatch& run, std::uint32_t page_size,
                                                    const std::vector<std::int32_t>& ids) {
  const auto count = static_cast<std::uint32_t>(ids.size());
  inference::Batch batch;
  add_pass(batch, {.page_size = page_size}, ids, {0, count}, {0, count});
  inference::Completion completion = run(std::move(batch));
  std::vector<std::vector<float>> logits;
  for (std::uint32_t i = 0; i < count; ++i) logits.push_back(logits_of(completion, i));
  return logits;
}

}  // namespace quire::test
