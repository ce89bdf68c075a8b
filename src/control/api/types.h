#pragma once
// The words that the application and the control layer share. Plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instance_id.h"
#include "base/sha256.h"
#include "base/split_limit.h"

namespace quire::control {

using quire::InstanceId;
using quire::TenantId;
// Names an object of one instance: a page, an embed, a queue, a context. Chosen by the application,
// one number space for all kinds, never reused by that instance, never 0.
enum class ObjectId : std::uint32_t {};
inline constexpr ObjectId kNoObject{0};  // In a list of pages: a hole.
enum class FutureId : std::uint32_t {};  // Likewise.
inline constexpr FutureId kNoFuture{0};
enum class ModelIndex : std::uint32_t {};  // Index into ControlPort::models().

enum class Priority : std::uint8_t { Low, Normal, High };

// The description of a served model for host calls and commands.
struct ModelDescription {
  std::string name;
  std::string architecture;
  std::uint32_t page_size = 0;
  std::uint32_t page_count = 0;  // Of the pool.
  std::uint32_t vocabulary_size = 0;
  std::uint32_t context_length = 0;
  std::uint32_t embedding_width = 0;
  std::int32_t bos_id = -1;  // -1: none.
  std::int32_t eos_id = -1;
  std::vector<std::uint32_t> stop_ids;
  std::vector<std::string> traits;
  bool add_bos = false;
  bool has_chat_template = false;
};

struct ContextCounters {
  std::uint32_t seq_len = 0;  // Logical tokens written, found ones included.
  std::uint32_t committed_page_count = 0;
  std::uint32_t working_page_count = 0;
  std::uint32_t working_page_token_count = 0;
  std::uint32_t found_token_count = 0;   // Tokens ever found instead of computed.
  std::uint32_t queued_token_count = 0;  // Not yet computed.
};

inline constexpr std::uint32_t kSnapshotNameBytesMax = 255;
inline constexpr std::uint32_t kNoteBytesMax = 1u << 20;  // Of a snapshot.
// Of a tenant's values (interface/store.wit); the store has the same.
inline constexpr std::uint32_t kKeyBytesMax = 255;
inline constexpr std::uint32_t kValueBytesMax = 65'536;
inline constexpr std::uint32_t kListedKeyCountMax = 1000;

inline constexpr std::uint64_t kNoDeadline = ~std::uint64_t{0};

// The most that one instance may hold at once; more is QuotaExceeded, which names the limit.
struct InstanceLimits {
  std::uint32_t page_count_max = 1u << 20;
  std::uint32_t embed_count_max = 4096;
  std::uint32_t queue_count_max = 256;
  std::uint32_t context_count_max = 4096;
  std::uint64_t held_matcher_bytes_max = std::uint64_t{256}
                                         << 20;  // Of all its matchers, with their forks.
  std::uint32_t pending_command_count_max = 1u << 16;
  // The limits of exports are of the instance's tenant as a whole, because exports outlive the
  // instances that made them.
  std::uint32_t export_count_max = 256;
  std::uint32_t export_page_count_max = 4096;  // A page counts as often as it is exported.
  bool may_export_publicly = false;            // The grant for what other tenants may import.
  // Ever asked to compute, whether they were found, computed or lost to a suspension.
  std::uint64_t token_count_max = std::uint64_t{1} << 40;
  // The part of the two limits that was given to children: no longer in the maximum, and named by
  // the errors.
  std::uint32_t childrens_page_count = 0;
  std::uint64_t childrens_token_count = 0;
  // On the engine's clock: work of instances of one tenant and equal priority goes in this order.
  // It promises nothing, and nothing ends when it is over.
  std::uint64_t deadline_ns = kNoDeadline;

  SplitLimit page_limit() const { return {page_count_max, childrens_page_count}; }
  SplitLimit token_limit() const { return {token_count_max, childrens_token_count}; }
};

inline constexpr std::uint32_t kNoPageCountMax = ~std::uint32_t{0};

// An operator's options for a tenant.
struct TenantOptions {
  // The tenant's share of each device's time and of each pool, against the other tenants' weights.
  // Above 0.
  std::uint32_t weight = 1;
  // The most pages that all its instances may hold at once, of all models; a page counts for each
  // that holds it.
  std::uint32_t page_count_max = kNoPageCountMax;
  // The bytes of snapshots in the store that it may have, if other tenants leave them. None: its
  // share is half of what they leave.
  std::optional<std::uint64_t> snapshot_bytes_max = {};
};

}  // namespace quire::control
