#pragma once
// The values that go into the store and come out of it. They are plain; the store does not know
// contexts.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "control/pages/page_name.h"
#include "inference/api/types.h"

namespace quire::store {

using control::AdapterRun;
using control::PageName;
using control::PageNameSpace;
using control::ScaledAdapter;
using inference::TokenId;

inline constexpr std::uint64_t kPageBytesMax = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kViewBytesMax = 3584;  // Of one page.
// Of one page: view, media and adapters share what a page's header has left.
inline constexpr std::uint32_t kPageExtrasBytesMax = 3680;
inline constexpr std::uint32_t kAdapterNameBytesMax = 255;
inline constexpr std::uint32_t kSnapshotAdapterCountMax = 4096;
inline constexpr std::uint32_t kSpaceTextBytesMax = 1024;  // numerics_id, rope.
inline constexpr std::uint32_t kSnapshotNameBytesMax = 255;
inline constexpr std::uint32_t kTenantBytesMax = 255;
inline constexpr std::uint32_t kSnapshotPageCountMax = 1u << 22;  // Tail pages included.
inline constexpr std::uint32_t kTailPageCountMax = 4096;
inline constexpr std::uint32_t kQueuedTokenCountMax = 1u << 20;
inline constexpr std::uint32_t kContextStateBytesMax = 1u << 20;
inline constexpr std::uint32_t kNoteBytesMax = 1u << 20;
inline constexpr std::uint64_t kNever = 0;  // As a time of expiry.

// The common properties of pages that share a page file. `names.sharing_domain` is not one of them:
// it is in the pages' names.
struct PageSpace {
  PageNameSpace names;
  std::uint64_t page_bytes = 0;  // Keys and values of one page, over all layers.
  // States of recurrent layers have a space of their own. A record of this space is that of the
  // page after which the state stands, with the state, of page_bytes bytes, in place of `kv`.
  bool is_of_states = false;
};

struct PageRecord {
  PageName name{};
  PageName parent{};            // The root's name for the first page of a context.
  std::vector<TokenId> tokens;  // At most page_size; as many positions.
  std::vector<std::uint32_t> positions;
  std::vector<std::uint8_t> view;     // The mask where it is not plain causal, as the name has it.
  std::vector<std::uint8_t> media{};  // Digests of slots without a token, as the name has them.
  std::vector<AdapterRun>
      adapters{};          // Under which its tokens were appended, as the name has them.
  bool is_opaque = false;  // Its name says nothing about its content.
  // page_space.page_bytes bytes. Empty: a link, which keeps the name and tokens of a page that was
  // dropped from its context because nothing can see it any more.
  std::vector<std::byte> kv;
};

// The content by which a page is named, valid as long as the record is there.
inline control::PageContent content_of(const PageRecord& page) {
  return {.tokens = page.tokens,
          .positions = page.positions,
          .mask = page.view,
          .media = page.media,
          .adapters = page.adapters};
}

// A working page at the end of a context, at most as full as page_size.
struct TailPage {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> positions;
  std::vector<std::uint8_t> view;
  std::vector<std::uint8_t> media{};
  std::vector<AdapterRun> adapters{};
  std::uint32_t written_count = 0;  // Tokens whose keys and values are in `kv`.
  std::vector<std::byte> kv;        // page_space.page_bytes bytes.
};

// An adapter of a snapshot, and how it was called when the snapshot was saved.
struct NamedAdapter {
  Digest digest{};
  std::string name;
  bool operator==(const NamedAdapter&) const = default;
};

// Under which adapters the tokens of a snapshot were appended. All empty: under none.
struct SnapshotAdapters {
  std::vector<NamedAdapter> named;      // All that `runs` and `in_force` have, by rising digest.
  std::vector<AdapterRun> runs;         // Over its logical slots, those of queued tokens too.
  std::vector<ScaledAdapter> in_force;  // For tokens to come.
  bool is_base() const { return named.empty(); }
  bool operator==(const SnapshotAdapters&) const = default;
};

struct SnapshotRecord {
  std::string tenant;                 // 0 to 255 bytes, opaque.
  std::string name;                   // See snapshot_name.h.
  std::uint64_t created_unix_ms = 0;  // Set by save().
  std::uint64_t expires_unix_ms = kNever;
  PageSpace space;
  PageName root{};               // The name from which the first page descends.
  PageName head{};               // The last committed page; the root where there is none.
  std::uint32_t page_count = 0;  // Committed pages from the root to the head, links included.
  std::vector<std::uint32_t> dropped_pages;  // Indexes from the root, rising: links will do.
  std::uint64_t token_count = 0;             // Logical length; only shown, never interpreted.
  std::vector<TailPage> tail;
  std::vector<TokenId> queued_tokens;           // Appended, not computed yet.
  std::vector<std::uint32_t> queued_positions;  // Empty, or one for each queued token.
  std::vector<std::byte> context_state;         // Opaque: dropped ranges and the like.
  std::string note;                             // Opaque: what the program kept with the context.
  SnapshotAdapters adapters{};
};

// The description of a snapshot that list() gives.
struct SnapshotInfo {
  std::string name;
  std::uint64_t created_unix_ms = 0;
  std::uint64_t expires_unix_ms = kNever;
  std::uint32_t page_count = 0;  // Committed and tail pages.
  std::uint64_t token_count = 0;
  std::uint64_t bytes = 0;  // On disk if nothing else shared its pages; what a quota counts.
};

// Values of a tenant by key.
inline constexpr std::uint32_t kKeyBytesMax = 255;
inline constexpr std::uint32_t kValueBytesMax = 65'536;
inline constexpr std::uint64_t kValueRowBytes = 256;  // What a value counts beside key and bytes.
inline constexpr std::uint32_t kListedKeyCountMax = 1000;

// The version that a value must have for a change to take effect.
struct ExpectedVersion {
  static constexpr std::int64_t kAny = -1;
  static constexpr std::int64_t kNone = 0;
  std::int64_t version = kAny;
};

struct StoredValue {
  std::uint64_t version = 0;
  std::string bytes;
};

struct ListedKey {
  std::string key;
  std::uint64_t version = 0;
  std::uint32_t value_bytes = 0;
};

struct KeyList {
  std::vector<ListedKey> keys;
  bool has_more = false;
};

// Pages that must not go away while they are about to be used: see SnapshotStore.
enum class TicketId : std::uint64_t {};
inline constexpr TicketId kNoTicket{0};

struct OpenedSnapshot {
  SnapshotRecord record;
  std::vector<PageName> chain;              // Committed pages, first to last.
  std::vector<std::uint32_t> stated_pages;  // Indexes of those after which a state is stored.
  TicketId ticket = kNoTicket;              // Keeps the chain readable until release().
};

struct BegunSave {
  TicketId ticket = kNoTicket;
  std::vector<PageName> missing;  // To be given to add_pages() or save().
};

struct Damage {
  std::string where;  // A snapshot or a page, by tenant and name, or a file.
  std::string what;
};

struct GcReport {
  std::uint64_t snapshot_count_expired = 0;
  std::uint64_t page_count_freed = 0;
  std::uint64_t bytes_freed = 0;
  std::uint64_t cached_count_dropped = 0;
  std::uint64_t file_count_removed = 0;
};

}  // namespace quire::store
