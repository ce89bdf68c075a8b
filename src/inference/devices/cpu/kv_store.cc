#include "inference/devices/cpu/kv_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace quire::inference {

Result<KvStore> KvStore::create(const KvStoreOptions& options) {
  std::optional<KvPool> pool;
  if (options.mode == KvMode::Paged) {
    pool = TRY(KvPool::create(options.layout, options.page_count));
  }
  return KvStore(options, std::move(pool));
}

KvStore::KvStore(const KvStoreOptions& options, std::optional<KvPool> pool)
    : options_(options),
      pool_(std::move(pool)),
      tables_({.sequence_count = options.sequence_count,
               .page_count = options.mode == KvMode::Paged
                                 ? options.page_count
                                 : std::numeric_limits<std::uint32_t>::max(),
               .page_size = options.layout.page_size()}) {}

KvStore::Sequence& KvStore::at(SequenceId sequence) {
  return const_cast<Sequence&>(std::as_const(*this).at(sequence));
}

const KvStore::Sequence& KvStore::at(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  QUIRE_CHECK(found != sequences_.end(), "the sequence exists");
  return found->second;
}

PageView KvStore::view_of(const Sequence& sequence, const TableEntry& entry, std::uint32_t index) {
  if (entry.page == kNoPage) return {};
  if (pool_) return {pool_->page(entry.page), pool_->positions(entry.page), entry.visible};
  if (index >= sequence.buffer->block_count()) return {};  // Could not grow: see failure().
  return {sequence.buffer->block(index), sequence.buffer->positions(index), entry.visible};
}

namespace {

bool is_seen(const PageView& view) {
  return view.base != nullptr && view.visible != 0;
}

}  // namespace

void KvStore::Sequence::set_view(std::uint32_t index, const PageView& view) {
  const bool was_seen = is_seen(views[index]);
  views[index] = view;
  if (is_seen(view) == was_seen) return;
  if (was_seen) {
    spans.remove(index);
  } else {
    spans.add(index);
  }
}

void KvStore::apply(const TableChange& change) {
  tables_.apply(change);
  if (change.release) {
    sequences_.erase(change.sequence);
    return;
  }
  Sequence& sequence =
      sequences_.try_emplace(change.sequence, options_.layout.page_size()).first->second;
  const std::span<const TableEntry> entries = tables_.entries(change.sequence);
  const auto entry_count = static_cast<std::uint32_t>(entries.size());
  for (auto i = static_cast<std::uint32_t>(sequence.views.size()); i > entry_count; --i) {
    sequence.set_view(i - 1, {});
  }
  sequence.views.resize(entry_count);
  std::uint32_t first = change.entry_first;
  std::uint32_t end = first + static_cast<std::uint32_t>(change.entries.size());
  if (!pool_) {
    if (!sequence.buffer) sequence.buffer = std::make_unique<BasicBuffer>(options_.layout);
    const std::uint32_t before = sequence.buffer->block_count();
    Result<void> grown = sequence.buffer->grow(change.entry_count);
    sequence.failure.reset();
    if (!grown.ok()) sequence.failure = std::move(grown).take_error();
    if (sequence.buffer->block_count() != before) {  // Blocks moved.
      first = 0;
      end = change.entry_count;
    }
  }
  for (std::uint32_t i = first; i < end; ++i) {
    sequence.set_view(i, view_of(sequence, entries[i], i));
  }
}

void KvStore::copy(const PageCopy& copy) {
  QUIRE_CHECK(pool_.has_value(), "page copies need paged memory");
  pool_->copy(copy);
}

void KvStore::load(PageId page, std::span<const std::byte> bytes) {
  QUIRE_CHECK(pool_.has_value(), "a load needs paged memory");
  pool_->load(page, bytes);
}

void KvStore::save(PageId page, std::uint32_t slots, std::span<std::byte> bytes) {
  QUIRE_CHECK(pool_.has_value(), "a save needs paged memory");
  pool_->save(page, slots, bytes);
}

const Error* KvStore::failure(SequenceId sequence) const {
  const std::optional<Error>& failure = at(sequence).failure;
  return failure ? &*failure : nullptr;
}

std::span<const PageView> KvStore::views(SequenceId sequence) const {
  return at(sequence).views;
}

std::span<const std::uint32_t> KvStore::spans(SequenceId sequence) const {
  return at(sequence).spans.spans();
}

SlotAddress KvStore::slot(SequenceId sequence, std::uint32_t slot) {
  Sequence& of = at(sequence);
  const std::uint32_t index = slot / options_.layout.page_size();
  const std::uint32_t page_slot = slot % options_.layout.page_size();
  if (!pool_) {
    return {of.buffer->block(index), of.buffer->positions(index) + page_slot, page_slot};
  }
  const PageId page = tables_.entries(sequence)[index].page;
  return {pool_->page(page), pool_->positions(page) + page_slot, page_slot};
}

void KvStore::verify() const {
  tables_.verify();
  QUIRE_CHECK(sequences_.size() == tables_.sequence_count(), "KV1");
  for (const auto& [id, sequence] : sequences_) {
    const std::span<const TableEntry> entries = tables_.entries(id);
    QUIRE_CHECK(entries.size() == sequence.views.size(), "KV1");
    std::vector<std::uint32_t> seen;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const PageView& view = sequence.views[i];
      if (view.base == nullptr) {
        QUIRE_CHECK(entries[i].page == kNoPage || sequence.failure.has_value(), "KV1");
      } else {
        QUIRE_CHECK(entries[i].page != kNoPage, "KV1");
        QUIRE_CHECK(view.visible == entries[i].visible, "KV2");
      }
      if (!is_seen(view)) continue;
      const auto span = static_cast<std::uint32_t>(i * options_.layout.page_size() / kSpanSlots);
      if (seen.empty() || seen.back() != span) seen.push_back(span);
    }
    const std::span<const std::uint32_t> spans = sequence.spans.spans();
    QUIRE_CHECK(std::equal(seen.begin(), seen.end(), spans.begin(), spans.end()), "KV3");
  }
}

}  // namespace quire::inference
