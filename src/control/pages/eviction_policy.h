#pragma once
// EvictionPolicy chooses the cold page that goes first. It orders; ColdPages (cold_pages.h) keeps
// the rules.
//
// ColdPages holds, for each tenant and each tier of hints, up to kQueueCountMax queues of cold
// entries. A policy says to which queue an entry goes when it turns cold, and, when a victim is
// wanted, which of the queues' heads it is. So a policy never searches: it compares heads.
//
// An entry is a page by its number; numbers are reused, so what a policy remembers of entries that
// are gone (ghosts) goes by the 64-bit hash of their content. Two contents of one hash cost a wrong
// guess about worth, never a wrong page.
//
// Order of calls for one entry, all from ColdPages:
//
//   inserted -> (hit)* -> gone_cold -> [ hit -> (hit)* -> gone_cold ]* -> evicted | removed
//
// choose() may ask for an entry to be queued again; only evicted() leaves a ghost.
//
// Thread   engine thread only.
// Errors   none; misuse is a bug and stops the process.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace quire::control {

enum class EntryId : std::uint32_t {};
inline constexpr EntryId kNoEntry{0xffffffffu};
inline constexpr std::uint32_t index_of(EntryId entry) {
  return static_cast<std::uint32_t>(entry);
}

inline constexpr std::uint32_t kQueueCountMax = 64;  // A set of queues is one word.

enum class EvictionPolicyKind : std::uint8_t { Default, Lru, S3Fifo };

// The facts that ColdPages gives of an entry that turns cold.
struct ColdFacts {
  std::uint32_t chain_page_count = 1;  // Of the chain through it that turned cold last.
  bool is_tail = true;                 // It was the last page of that chain.
};

// The oldest entry of a queue that may be evicted now.
struct QueueHead {
  std::uint32_t queue = 0;
  EntryId entry = kNoEntry;
  std::uint32_t entry_count = 0;  // In this queue.
};

struct Choice {
  enum class Action : std::uint8_t { Evict, Requeue };
  std::uint32_t head_index = 0;
  Action action = Action::Evict;
  std::uint32_t queue = 0;  // Requeue: to the end of this one.
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  virtual std::uint32_t queue_count() const = 0;
  // True: an entry that is hit keeps its place in the queue, as a FIFO's entries do.
  virtual bool keeps_place() const = 0;

  virtual void inserted(EntryId entry, std::uint64_t content_hash) = 0;
  virtual void hit(EntryId entry) = 0;
  virtual std::uint32_t gone_cold(EntryId entry, const ColdFacts& facts) = 0;  // Returns a queue.
  // `heads` is not empty, and sorted by queue. Requeue may be answered only so often that the
  // number of all answers stays in proportion to the number of calls above.
  virtual Choice choose(std::span<const QueueHead> heads) = 0;
  // `entry` came to the head of `queue`, and may not be evicted yet: it has children, is held or
  // fenced. The queue to put it at the end of, or nothing: it waits aside and returns to the head.
  virtual std::optional<std::uint32_t> passed_over(EntryId entry, std::uint32_t queue) = 0;
  virtual void evicted(EntryId entry) = 0;
  virtual void removed(EntryId entry) = 0;

  // Entries and ghosts that were looked at so far: what the claim of O(1) is tested with.
  virtual std::uint64_t step_count() const = 0;
  virtual void verify() const = 0;
};

struct EvictionPolicyOptions {
  EvictionPolicyKind kind = EvictionPolicyKind::Default;
  std::uint32_t entry_count = 0;  // Of the pool; limits the ghosts, too.
};
std::unique_ptr<EvictionPolicy> make_eviction_policy(const EvictionPolicyOptions& options);

// "default", "lru" or "s3-fifo"; InvalidArgument names the ones that there are.
Result<EvictionPolicyKind> parse_eviction_policy(std::string_view name);
std::string_view name_of(EvictionPolicyKind kind);

}  // namespace quire::control
