#pragma once
// Drives a Backend from a test: one sequence at a time or many, pages numbered by the test.
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inference/devices/open_device.h"

namespace quire::test {

// Waits for completions. Any thread.
class WaitingSink final : public inference::CompletionSink {
 public:
  void complete(inference::Completion completion) override {
    {
      std::lock_guard lock(mutex_);
      completions_.push_back(std::move(completion));
    }
    filled_.notify_one();
  }
  inference::Completion wait() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !completions_.empty(); });
    inference::Completion completion = std::move(completions_.front());
    completions_.pop_front();
    return completion;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<inference::Completion> completions_;
};

// A CPU backend of a model, ready to run; fails the test when it cannot be made.
struct Device {
  WaitingSink sink;
  std::unique_ptr<inference::Backend> backend;

  static std::unique_ptr<Device> open(const std::string& path,
                                      const inference::DeviceOptions& options) {
    auto files = inference::open_model(path);
    if (!files.ok()) {
      ADD_FAILURE() << files.error().message();
      return nullptr;
    }
    return open(*files.value(), options);
  }
  static std::unique_ptr<Device> open(const inference::ModelFiles& files,
                                      const inference::DeviceOptions& options) {
    auto device = std::make_unique<Device>();
    auto made = inference::open_device(files, options, device->sink);
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message();
      return nullptr;
    }
    device->backend = std::move(made).take();
    return device;
  }
  inference::Completion run(inference::Batch batch) {
    backend->submit(std::move(batch));
    return sink.wait();
  }
  ~Device() { backend.reset(); }  // Before the sink.
};

// A sequence's table as a test keeps it: entry i has page first_page + i, all slots below
// slot_count are visible but those in holes.
struct Sequence {
  inference::SequenceId id{};
  std::uint32_t first_page = 0;
  std::uint32_t page_size = 16;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> masked{};  // Slots [first, second).
  bool leave_out = false;  // Entries that are masked whole become holes.

  bool is_masked(std::uint32_t slot) const {
    for (const auto& [first, second] : masked) {
      if (slot >= first && slot < second) return true;
    }
    return false;
  }
  inference::TableChange table(std::uint32_t slot_count) const {
    inference::TableChange change{.sequence = id};
    change.entry_count = (slot_count + page_size - 1) / page_size;
    for (std::uint32_t i = 0; i < change.entry_count; ++i) {
      inference::TableEntry entry{.page = inference::PageId{first_page + i}};
      bool all_masked = true;
      for (std::uint32_t s = 0; s < page_size && i * page_size + s < slot_count; ++s) {
        if (is_masked(i * page_size + s)) continue;
        entry.visible |= 1u << s;
        all_masked = false;
      }
      if (leave_out && all_masked) entry = {};
      change.entries.push_back(entry);
    }
    return change;
  }
};

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Adds a pass over ids [span) at slots and positions of the same number (positions[i] where given),
// and a request for the logits of each row in [logits).
inline void add_pass(inference::Batch& batch, const Sequence& sequence,
                     const std::vector<std::int32_t>& ids, Span span, Span logits,
                     const std::vector<std::int32_t>* positions = nullptr) {
  batch.table_changes.push_back(sequence.table(span.end));
  const auto first = static_cast<std::uint32_t>(batch.rows.size());
  for (std::uint32_t i = span.begin; i < span.end; ++i) {
    inference::Row row{
        .token = inference::TokenId{static_cast<std::uint32_t>(ids[i])}, .position = i, .slot = i};
    if (positions != nullptr) row.position = static_cast<std::uint32_t>((*positions)[i]);
    if (i >= logits.begin && i < logits.end) {
      batch.distributions.push_back(
          {.row = first + i - span.begin, .kind = inference::DistributionKind::Logits});
    }
    batch.rows.push_back(row);
  }
  batch.passes.push_back({.sequence = sequence.id,
                          .row_first = first,
                          .row_count = span.end - span.begin,
                          .visible_slot_end = span.end});
}

inline std::vector<float> logits_of(inference::Completion& completion, std::size_t index) {
  auto& distribution = completion.distributions.at(index);
  if (!distribution.ok()) {
    ADD_FAILURE() << distribution.error().message();
    return {};
  }
  return std::move(distribution.value().values);
}

inline std::uint32_t argmax(const std::vector<float>& values) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

}  // namespace quire::test
