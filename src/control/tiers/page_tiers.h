#pragma once
// PageTiers knows which pages have bytes outside of the device: in host memory, or on disk.
//
// A page on a tier is its node of the trie, held by name. So tenants share the same pages on tiers
// as in the pool, and a look-up that ends at a node without bytes asks here. The bytes in host
// memory lie here. Those on disk are the store's, under the node's name; PageTiers only knows that
// they are there.
//
// A page comes in two steps: leave() while a batch is built that will read its bytes off the
// device, arrive() with the bytes. It goes to host memory, else to disk. When host memory is full,
// the page that was wanted longest ago goes on to disk; when the disk is, one is forgotten. Pages
// that a suspended context cannot do without are pinned and stay.
//
// Of all places here, in memory and on disk, a tenant may pin as many as it leaves for the others
// (tenant_shares.h): else one could keep every other from being swapped. A page counts once for
// each tenant that pins it, however often it does. An unpinned page has no owner: it is a cache.
//
// On its way to the disk, and from it to the device, a page is staged in memory, within a limit of
// its own. Each transfer has a number. Bytes that arrive for a page which was forgotten meanwhile,
// whose place another node may have by now, are therefore dropped.
//
// An error of the disk may pass, so no pinned page is lost by it. The bytes of a page that was not
// written stay in memory, and are offered again, later each time. A page that was not read is on
// disk still. An unpinned page is forgotten.
//
// Owns     the bytes in host memory and those staged; a hold on the name of each node that has an
//          entry.
// Thread   engine thread only.
// Errors   Corrupted from take_bytes() for bytes that are not those that arrived; the page is lost
//          then. Why a pinned page was lost is known until it is unpinned. Misuse stops the
//          process.
//
// Invariants, all checked by verify():
//   D1  Each entry's node exists and has a name; one that cannot be found (opaque) is pinned.
//   D2  The order of a place lists every entry there that is not pinned and that no transfer uses,
//       once, and no other.
//   D3  Counts of pages in host memory, on disk, staged and pinned, and pinned by each tenant,
//       equal a recount; host memory and disk hold at most what they may.
//   D4  Bytes have the checksum that they arrived with.
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "control/pages/page_cache.h"
#include "control/pages/tier_place.h"
#include "control/store/checksum.h"
#include "inference/api/page_bytes.h"

namespace quire::control {

using inference::PageBytes;

struct PageTierOptions {
  std::uint64_t page_bytes = 0;           // Of the device; 0: it moves no pages: no tiers.
  std::uint64_t host_bytes_max = 0;       // 0: no host memory.
  std::uint32_t disk_page_count_max = 0;  // 0: no disk.
  std::uint32_t disk_view_bytes_max = 0;  // What a page sees must fit its header there.
  std::uint64_t staged_bytes_max = std::uint64_t{64} << 20;  // But always one page.
};

enum class TransferId : std::uint64_t {};
inline constexpr TransferId kNoTransfer{0};

enum class PinId : std::uint64_t {};

struct PageTierCounts {
  std::uint64_t kept_count = 0;       // Pages that came, ever.
  std::uint64_t spilled_count = 0;    // That went on from host memory to disk.
  std::uint64_t restored_count = 0;   // That went back to the device.
  std::uint64_t forgotten_count = 0;  // To make room for newer ones.
  std::uint64_t refused_count = 0;    // For which there was no room.
  std::uint64_t damaged_count = 0;    // Whose bytes were wrong, or whose device or disk failed.
};

class PageTiers {
 public:
  PageTiers(PageCache& cache, const PageTierOptions& options);
  PageTiers(const PageTiers&) = delete;
  PageTiers& operator=(const PageTiers&) = delete;

  bool is_on() const { return host_max_ > 0 || options_.disk_page_count_max > 0; }
  bool has_host() const { return host_max_ > 0; }
  TierPlace place(NodeId node) const;
  bool has(NodeId node) const { return entries_.contains(node); }
  // The page's bytes are in memory, and no transfer has them: it can be loaded at once.
  bool is_ready(NodeId node) const;
  bool is_to_be_read(NodeId node) const;  // On disk alone, and not being read yet.
  // The store has room for what it must keep beside the bytes. False of a page that sees more
  // ranges of slots than its header there can say: it goes to host memory or nowhere.
  bool fits_disk(NodeId node) const;

  void touch(NodeId node);  // The page is wanted. Requires: has().

  // Whether the tenant can keep all of these until it unpins them. Then leave() takes those that
  // have no entry, if what fits no disk comes first.
  bool can_pin(TenantId tenant, const std::vector<NodeId>& nodes) const;

  // The batch being built reads the bytes of `node`, which has no entry. Nothing if there is no
  // room.
  std::optional<TransferId> leave(NodeId node);
  void arrive(NodeId node, TransferId transfer, Result<PageBytes> bytes);

  // Requires: has(), can_pin(). The id says which page it was, for unpin(): one that was lost
  // meanwhile, and came again, is another. An opaque page that is no longer pinned is forgotten.
  PinId pin(TenantId tenant, NodeId node);
  // The same page, for another of the tenant that pins it; one that was lost is lost to both.
  PinId pin_again(TenantId tenant, NodeId node, PinId pin);
  void unpin(TenantId tenant, NodeId node, PinId pin);
  // Why the page that was pinned so is not here any more; null if nothing is known of that.
  const Error* loss(PinId pin) const;
  // Requires: it is not pinned.
  void forget(NodeId node);

  struct Taken {
    PageBytes bytes;
    TransferId transfer = kNoTransfer;
  };
  // The bytes for a load; give_bytes() when it is done. Requires: is_ready().
  Result<Taken> take_bytes(NodeId node);
  void give_bytes(NodeId node, TransferId transfer, PageBytes bytes, bool is_loaded);
  // Memory that a save can write into; empty if there is none to spare.
  PageBytes take_memory();

  // --- The disk's part ---
  // Pages that are to be written now, oldest first, at most `count`.
  struct Unwritten {
    NodeId node = kNoNode;
    TransferId transfer = kNoTransfer;
    store::Checksum checksum{};  // That its bytes came with.
  };
  std::vector<Unwritten> unwritten(std::uint32_t count) const;
  // Takes their bytes, for a job of the disk; take_back() returns them if there is no such job.
  PageBytes hand_over(NodeId node, TransferId transfer);
  void take_back(NodeId node, TransferId transfer, PageBytes bytes);
  // The job is answered, and gives the bytes back.
  void written(NodeId node, TransferId transfer, Result<void> outcome, PageBytes bytes);
  // The same where the bytes were found not to be what they came as: the page is lost, pinned or
  // not.
  void found_damaged(NodeId node, TransferId transfer, Error error, PageBytes bytes);
  std::optional<TransferId> begin_read(NodeId node);  // Nothing while too much is staged.
  bool is_reading(NodeId node, TransferId transfer) const;
  void cancel_read(NodeId node, TransferId transfer);  // No job was made of it.
  struct ReadBytes {
    PageBytes bytes;
    store::Checksum checksum{};
  };
  void end_read(NodeId node, TransferId transfer, Result<ReadBytes> read);
  // Why the disk did not give the page when it was asked last; nothing if it did, or was not asked
  // since this was taken.
  std::optional<Error> take_read_error(NodeId node);
  // The reason why the disk does not take the staged pages, if no page can be staged and no
  // transfer under way will change that.
  const Error* staging_blocked_by() const;
  // Names that the disk need not keep any more.
  std::vector<PageName> take_forgotten() { return std::exchange(forgotten_, {}); }
  void keep_forgotten(std::vector<PageName> names) { forgotten_ = std::move(names); }

  const PageTierCounts& counts() const { return counts_; }
  std::uint32_t host_page_count() const { return host_count_; }
  std::uint32_t disk_page_count() const { return disk_count_; }
  std::uint32_t pinned_page_count() const { return pinned_count_; }
  std::uint32_t staged_page_count() const { return staged_count_; }
  // Calls visit(node) for each page that has an entry.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [node, entry] : entries_) visit(node);
  }
  void verify() const;

 private:
  using Order = std::list<NodeId>;  // Wanted longest ago first.
  enum class Use : std::uint8_t {
    None,
    Leaving,    // A batch reads it off the device.
    Loading,    // A batch has its bytes.
    Unwritten,  // For the disk to write.
    Writing,    // A job of the disk has its bytes.
    Reading,    // The disk reads it.
  };
  struct TenantPins {
    TenantId tenant{};
    std::uint32_t count = 0;
  };
  struct Entry {
    PinId id{};
    bool is_host = false;  // Else disk: where it lies, or goes to.
    Use use = Use::None;
    bool is_staged = false;        // Of the disk, and in memory, or about to be.
    std::vector<TenantPins> pins;  // Mostly of one.
    TransferId transfer = kNoTransfer;
    PageBytes bytes;
    store::Checksum checksum{};
    std::optional<Order::iterator> listed;
    std::optional<Error> error;  // The first of the disk since it last did what it was asked.
    std::uint32_t failed_count = 0;
    std::uint64_t retry_ns = 0;  // Of the cache's time: not to be written before.

    bool is_pinned() const { return !pins.empty(); }
    bool is_pinned_by(TenantId tenant) const;
  };
  struct Loss {
    Error error;
    std::uint32_t pin_count = 0;
  };

  const Entry* find(NodeId node) const;
  Entry* find(NodeId node) { return const_cast<Entry*>(std::as_const(*this).find(node)); }
  Entry* find(NodeId node, TransferId transfer);
  Entry& at(NodeId node);
  static std::vector<TenantPins>::iterator pins_of(Entry& entry, TenantId tenant);
  Order& order_of(const Entry& entry) { return entry.is_host ? host_order_ : disk_order_; }
  TransferId begin(Entry& entry, Use use);
  void settle(NodeId node, Entry& entry);  // No transfer uses it any more.
  void update_order(NodeId node, Entry& entry);
  void stage(Entry& entry);
  void unstage(Entry& entry);
  bool has_staging_room();
  void unstage_oldest();
  void lose(NodeId node, Error error);
  void erase(NodeId node);
  bool make_host_room();
  bool make_disk_room();  // For one more page, staged.
  void to_disk(NodeId node, Entry& entry);
  void recycle(PageBytes bytes);

  PageCache& cache_;
  const PageTierOptions options_;
  const std::uint32_t host_max_;    // Pages.
  const std::uint32_t staged_max_;  // Pages.
  std::unordered_map<NodeId, Entry> entries_;
  std::unordered_map<PinId, Loss> losses_;  // While a page that is not here any more is pinned.
  Order host_order_;
  Order disk_order_;
  std::list<NodeId> unwritten_;  // Oldest first.
  struct Staged {
    NodeId node = kNoNode;
    PinId id{};
  };
  std::deque<Staged> read_;          // And not loaded since, some of them; oldest first.
  std::vector<PageBytes> memory_;    // To be used again.
  std::vector<PageName> forgotten_;  // That the disk may still keep.
  std::uint32_t host_count_ = 0;
  std::uint32_t disk_count_ = 0;
  std::uint32_t staged_count_ = 0;
  std::uint32_t pinned_count_ = 0;
  TenantShares pins_;  // Pages that each tenant pins, of all places.
  std::uint64_t next_transfer_ = 0;
  std::uint64_t next_id_ = 0;
  PageTierCounts counts_;
};

}  // namespace quire::control
