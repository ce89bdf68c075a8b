// The disk's part of PageTiers: what is to be written there, and what is read from it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/tiers/page_tiers.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kRetryNsMin = 10'000'000;
constexpr std::uint64_t kRetryNsMax = 10'000'000'000;

// Twice as long each time.
std::uint64_t retry_ns_after(std::uint32_t failed_count) {
  const std::uint32_t doublings = std::min(failed_count - 1, 10u);
  return std::min(kRetryNsMin << doublings, kRetryNsMax);
}

}  // namespace

std::vector<PageTiers::Unwritten> PageTiers::unwritten(std::uint32_t count) const {
  std::vector<Unwritten> pages;
  for (const NodeId node : unwritten_) {
    if (pages.size() == count) break;
    const Entry* entry = find(node);
    if (entry->retry_ns > cache_.now_ns()) continue;
    pages.push_back({.node = node, .transfer = entry->transfer, .checksum = entry->checksum});
  }
  return pages;
}

PageBytes PageTiers::hand_over(NodeId node, TransferId transfer) {
  Entry* entry = find(node, transfer);
  QUIRE_CHECK(entry != nullptr && entry->use == Use::Unwritten,
              "handed over a page that is not to be written");
  unwritten_.remove(node);
  entry->use = Use::Writing;
  return std::exchange(entry->bytes, {});
}

void PageTiers::take_back(NodeId node, TransferId transfer, PageBytes bytes) {
  Entry* entry = find(node, transfer);
  QUIRE_CHECK(entry != nullptr && entry->use == Use::Writing,
              "took back a page that was not handed over");
  entry->bytes = std::move(bytes);
  entry->use = Use::Unwritten;
  unwritten_.push_front(node);
}

void PageTiers::written(NodeId node, TransferId transfer, Result<void> outcome, PageBytes bytes) {
  Entry* entry = find(node, transfer);
  if (entry == nullptr) return recycle(std::move(bytes));
  entry->bytes = std::move(bytes);
  if (outcome.ok()) {
    entry->error.reset();
    entry->failed_count = 0;
    entry->retry_ns = 0;
    unstage(*entry);
    return settle(node, *entry);
  }
  if (!entry->is_pinned()) return lose(node, std::move(outcome).take_error());
  if (!entry->error) entry->error = std::move(outcome).take_error();
  entry->retry_ns = cache_.now_ns() + retry_ns_after(++entry->failed_count);
  entry->use = Use::Unwritten;
  unwritten_.push_back(node);
}

void PageTiers::found_damaged(NodeId node, TransferId transfer, Error error, PageBytes bytes) {
  recycle(std::move(bytes));
  if (find(node, transfer) != nullptr) lose(node, std::move(error));
}

const Error* PageTiers::staging_blocked_by() const {
  if (staged_count_ < staged_max_) return nullptr;
  const Error* error = nullptr;
  for (const auto& [node, entry] : entries_) {
    if (!entry.is_staged) continue;
    const bool waits = entry.use == Use::Unwritten && entry.retry_ns > cache_.now_ns();
    if (!waits) return nullptr;
    error = &*entry.error;
  }
  return error;
}

std::optional<Error> PageTiers::take_read_error(NodeId node) {
  Entry* entry = find(node);
  if (entry == nullptr || !is_to_be_read(node)) return std::nullopt;
  return std::exchange(entry->error, std::nullopt);
}

std::optional<TransferId> PageTiers::begin_read(NodeId node) {
  QUIRE_CHECK(is_to_be_read(node), "read what is here");
  if (!has_staging_room()) return std::nullopt;
  Entry& entry = at(node);
  stage(entry);
  return begin(entry, Use::Reading);
}

bool PageTiers::is_reading(NodeId node, TransferId transfer) const {
  const Entry* entry = find(node);
  return entry != nullptr && entry->use == Use::Reading && entry->transfer == transfer;
}

void PageTiers::cancel_read(NodeId node, TransferId transfer) {
  QUIRE_CHECK(is_reading(node, transfer), "canceled a read that is not under way");
  Entry& entry = at(node);
  unstage(entry);
  settle(node, entry);
}

void PageTiers::end_read(NodeId node, TransferId transfer, Result<ReadBytes> read) {
  Entry* entry = find(node, transfer);
  if (entry == nullptr) {
    if (read.ok()) recycle(std::move(read.value().bytes));
    return;
  }
  if (!read.ok()) {
    // Only what the store reports of the page itself is final.
    const bool may_pass =
        read.error().code() == ErrorCode::Io || read.error().code() == ErrorCode::Unavailable;
    if (!entry->is_pinned() || !may_pass) return lose(node, std::move(read).take_error());
    entry->error = std::move(read).take_error();
    unstage(*entry);
    return settle(node, *entry);
  }
  entry->error.reset();
  entry->bytes = std::move(read.value().bytes);
  entry->checksum = read.value().checksum;
  while (read_.size() >= 2 * std::size_t{staged_max_}) unstage_oldest();
  read_.push_back({node, entry->id});
  settle(node, *entry);
}

}  // namespace quire::control
