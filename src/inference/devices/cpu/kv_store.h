#pragma once
// KvStore: what a sequence's table means in memory, kept up to date change by change, so that a
// batch costs nothing for the pages that did not change.
//
// Owns     the pool (KvMode::Paged) or one buffer for each sequence (KvMode::Basic, where page ids
//          only say that an entry is no hole), the page tables, and a PageView for each entry.
// Thread   device thread; its workers read views and write disjoint slots inside a batch.
// Errors   Unavailable when memory cannot be had. A sequence whose buffer cannot grow keeps the
//          error until a later change succeeds; its passes fail, others do not.
//
// Invariants, checked by verify():
//   KV1  There is one view for each entry, null exactly for holes and for what could not grow.
//   KV2  A view's visible bits are its entry's.
//   KV3  A sequence's spans are those of its views that have a visible slot.
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "inference/kernels/kernels.h"
#include "inference/memory/basic_buffer.h"
#include "inference/memory/kv_pool.h"
#include "inference/memory/occupied_spans.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {

struct KvStoreOptions {
  KvLayout layout;
  KvMode mode = KvMode::Paged;
  std::uint32_t page_count = 0;
  std::uint32_t sequence_count = 0;
};

// The addresses to which one slot's keys, values and position are written.
struct SlotAddress {
  std::byte* page = nullptr;
  std::uint32_t* position = nullptr;
  std::uint32_t page_slot = 0;
};

class KvStore {
 public:
  static Result<KvStore> create(const KvStoreOptions& options);

  const PageTables& tables() const { return tables_; }
  void apply(const TableChange& change);
  void copy(const PageCopy& copy);  // Requires: paged.

  // The size of a PageLoad or PageSave; 0 in Basic mode, where no page has a place of its own.
  std::uint64_t page_bytes() const { return pool_ ? pool_->layout().transfer_bytes() : 0; }
  // Loads into different pages may run at once, and so may saves.
  // Requires for both: paged, and page_bytes() bytes.
  void load(PageId page, std::span<const std::byte> bytes);
  void save(PageId page, std::uint32_t slots, std::span<std::byte> bytes);

  // Requires for all: the sequence exists.
  const Error* failure(SequenceId sequence) const;                  // Null: none.
  std::span<const PageView> views(SequenceId sequence) const;       // Valid until its next change.
  std::span<const std::uint32_t> spans(SequenceId sequence) const;  // Likewise; of AttentionTask.
  // Requires: no failure, and the slot's entry is not a hole.
  SlotAddress slot(SequenceId sequence, std::uint32_t slot);

  void verify() const;

 private:
  struct Sequence {
    explicit Sequence(std::uint32_t page_size) : spans(page_size) {}
    void set_view(std::uint32_t index, const PageView& view);

    std::vector<PageView> views;
    OccupiedSpans spans;
    std::unique_ptr<BasicBuffer> buffer;  // Basic only.
    std::optional<Error> failure;
  };
  KvStore(const KvStoreOptions& options, std::optional<KvPool> pool);
  PageView view_of(const Sequence& sequence, const TableEntry& entry, std::uint32_t index);
  Sequence& at(SequenceId sequence);
  const Sequence& at(SequenceId sequence) const;

  KvStoreOptions options_;
  std::optional<KvPool> pool_;
  PageTables tables_;
  std::unordered_map<SequenceId, Sequence> sequences_;
};

}  // namespace quire::inference
