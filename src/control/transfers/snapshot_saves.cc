#include "control/transfers/snapshot_saves.h"
#include "control/objects/replica.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "control/batches/batch_draft.h"
#include "control/contexts/context.h"
#include "control/contexts/context_state.h"
#include "control/contexts/tail_page.h"
#include "control/transfers/page_record.h"
#include "control/transfers/snapshot_adapters.h"

namespace quire::control {

using inference::PageBytes;
using store::PageRecord;

namespace {

constexpr std::uint32_t kPagesPerBatch = 16;  // Of one save: some 10 MB of a small model.

std::vector<std::byte> bytes_of(const PageBytes& page) {
  return {page.span().begin(), page.span().end()};
}

// The tail's written tokens, without the bytes of its pages.
store::TailPage tail_of(const Context& shadow, std::uint32_t page_size, std::size_t page_bytes) {
  const auto written = shadow.tokens().written();
  store::TailPage tail;
  tail.tokens.assign(written.begin(), written.end());
  for (std::uint32_t slot = 0; slot < shadow.tokens().written_count(); ++slot) {
    tail.positions.push_back(shadow.chain().page_count() * page_size + slot);
  }
  tail.view = shadow.view().encode(shadow.chain().page_count() * page_size, page_size);
  const std::uint32_t first = shadow.chain().page_count() * page_size;
  tail.adapters =
      adapter_runs(shadow.adapters().of_slots, first, first + shadow.tokens().written_count());
  tail.written_count = shadow.tokens().written_count();
  // Slots that were dropped before they were written anew may have no page yet.
  if (shadow.working().pages().empty()) tail.kv.assign(page_bytes, std::byte{0});
  return tail;
}

}  // namespace

Result<void> SnapshotSaves::check(const Context& context, const PageCache& cache) {
  for (NodeId node = context.chain().head(); !cache.is_root(node); node = cache.parent(node)) {
    TRY(check_recordable(cache.trie(), node));
  }
  return {};
}

void SnapshotSaves::start(Operation& operation) {
  ContextSave& body = std::get<ContextSave>(operation.body);
  const Context& shadow = *operation.child;
  const PageCache& cache = resources_.cache;
  const std::uint32_t page_size = cache.page_size();
  const std::uint64_t key = ++count_;
  const Iterator made = saves_.emplace(key, std::make_unique<Save>()).first;
  Save& save = *made->second;
  save.operation = Ref<Operation>(&operation);
  save.tenant = operation.instance->tenant;
  shares_.take(save.tenant, 1);
  save.options.overwrite = body.overwrites;
  save.chain = shadow.chain().nodes(cache);
  store::SnapshotRecord& record = save.record;
  record.tenant = tenant_name(operation.instance->tenant);
  record.name = body.name;
  record.expires_unix_ms = body.expires_unix_ms;
  record.space = disk_.space();
  record.root = cache.name(cache.root_of(shadow.chain().head()));
  record.head = cache.name(shadow.chain().head());
  record.page_count = shadow.chain().page_count();
  record.token_count = shadow.seq_len();
  record.context_state = encode_context_state(shadow);
  record.note = std::move(body.note);
  record.adapters = adapters_of(shadow);
  std::vector<PageName> names;
  std::size_t next_kept = 0;
  for (std::uint32_t index = 0; index < shadow.chain().page_count(); ++index) {
    const bool is_kept = index < shadow.chain().anchor_count() ||
                         (next_kept < shadow.chain().window().size() &&
                          shadow.chain().window()[next_kept].index == index);
    if (!is_kept) {
      record.dropped_pages.push_back(index);
      save.links.push_back(record_of(cache, save.chain[index]));
      continue;
    }
    if (index >= shadow.chain().anchor_count()) ++next_kept;
    names.push_back(cache.name(save.chain[index]));
  }
  const auto queued = shadow.tokens().unwritten();
  record.queued_tokens.assign(queued.begin(), queued.end());
  if (shadow.tokens().written_count() > 0) {
    record.tail.push_back(tail_of(shadow, page_size, disk_.space().page_bytes));
    save.has_tail = !shadow.working().pages().empty();
  }
  Result<void> submitted =
      submit(key, store::BeginSaveJob{.space = disk_.space(), .names = std::move(names)});
  if (!submitted.ok()) end(made, std::move(submitted).take_error());
}

void SnapshotSaves::abandon(const Operation& operation) {
  const auto found = std::find_if(saves_.begin(), saves_.end(), [&](const auto& each) {
    return each.second->operation.get() == &operation;
  });
  if (found == saves_.end()) return;
  const Save& save = *found->second;
  // A save that waits for the disk or for the batch under way is erased when that answer arrives.
  // One that only waits to be put into the next batch is erased here, because no answer will come.
  if (save.waits_for_disk || save.is_in_batch()) return;
  if (save.options.ticket != store::kNoTicket) disk_.release(save.options.ticket);
  erase(found);
}

void SnapshotSaves::erase(Iterator found) {
  shares_.give(found->second->tenant, 1);
  saves_.erase(found);
}

Result<void> SnapshotSaves::submit(std::uint64_t key, store::DiskJob job) {
  const store::DiskJobId id = TRY(disk_.submit(std::move(job)));
  save_of_job_.emplace(static_cast<std::uint64_t>(id), key);
  saves_.at(key)->waits_for_disk = true;
  return {};
}

bool SnapshotSaves::wants_batch() const {
  return std::any_of(saves_.begin(), saves_.end(), [](const auto& each) {
    const Save& save = *each.second;
    return !save.waits_for_disk && !save.is_in_batch() &&
           (save.next < save.missing.size() || save.has_tail);
  });
}

bool SnapshotSaves::end_build(BatchDraft& draft) {
  QUIRE_CHECK(in_batch_.empty(), "pages of an earlier batch have not come");
  std::vector<std::uint64_t> without_states;
  for (auto& [key, save] : saves_) {
    if (save->waits_for_disk || save->operation.get() == nullptr) continue;
    if (save->is_of_states) {
      add_states(*save, draft);
      if (save->is_in_batch()) {
        in_batch_.push_back(key);
      } else if (save->next == save->missing.size()) {
        without_states.push_back(key);  // The last ones were evicted.
      }
      continue;
    }
    const Context& shadow = *save->operation.get()->child;
    const auto left = static_cast<std::uint32_t>(save->missing.size() - save->next);
    save->reading_count = std::min(left, kPagesPerBatch);
    for (std::uint32_t each = 0; each < save->reading_count; ++each) {
      const NodeId node = save->chain[save->missing[save->next + each]];
      draft.add_save(*this, {.page = resources_.cache.page_of(node),
                             .slots = resources_.cache.visible_slots(node)});
    }
    save->reads_tail = save->has_tail && save->reading_count == left;
    if (save->reads_tail) {
      draft.add_save(*this, {.page = shadow.working().pages().front(),
                             .slots = visible_tail_slots(shadow.parts(), 0)});
    }
    if (save->reading_count > 0 || save->reads_tail) in_batch_.push_back(key);
  }
  for (const std::uint64_t key : without_states) advance(saves_.find(key));
  return false;
}

void SnapshotSaves::transferred(const Flight& /*flight*/, TransferOutcomes outcomes,
                                std::vector<Ref<Operation>>& /*woken*/) {
  std::vector<Result<PageBytes>>& saves = outcomes.saves;
  std::size_t next = 0;
  for (const std::uint64_t key : std::exchange(in_batch_, {})) {
    const Iterator found = saves_.find(key);
    Save& save = *found->second;
    const std::size_t count =
        save.reading_count + (save.reads_tail ? 1 : 0) + save.reading_states.size();
    std::vector<Result<PageBytes>> pages;
    for (std::size_t each = 0; each < count; ++each) pages.push_back(std::move(saves[next++]));
    Result<void> taken = save.is_of_states ? take_states_read(save, key, std::move(pages))
                                           : take_pages_read(save, key, std::move(pages));
    if (!taken.ok()) {
      end(found, std::move(taken).take_error());
    } else if (!save.waits_for_disk) {
      advance(found);
    }
  }
  QUIRE_CHECK(next == saves.size(), "an outcome for each page that was asked for");
}

Result<void> SnapshotSaves::take_pages_read(Save& save, std::uint64_t key,
                                            std::vector<Result<PageBytes>> pages) {
  const std::uint32_t count = std::exchange(save.reading_count, 0);
  const bool has_tail = std::exchange(save.reads_tail, false);
  for (const Result<PageBytes>& page : pages) {
    if (!page.ok()) return page.error().copy();
  }
  if (save.operation.get() == nullptr) return Error(ErrorCode::Cancelled, "the instance ended");
  if (has_tail) {
    save.record.tail.front().kv = bytes_of(pages.back().value());
    save.has_tail = false;
  }
  std::vector<PageRecord> records;
  for (std::uint32_t each = 0; each < count; ++each) {
    records.push_back(record_of(resources_.cache, save.chain[save.missing[save.next + each]]));
    records.back().kv = bytes_of(pages[each].value());
  }
  save.next += count;
  if (records.empty()) return {};
  return submit(key,
                store::AddPagesJob{.ticket = save.options.ticket, .pages = std::move(records)});
}

bool SnapshotSaves::deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& /*woken*/) {
  const auto job = save_of_job_.find(static_cast<std::uint64_t>(answer.id));
  if (job == save_of_job_.end()) return false;
  const Iterator found = saves_.find(job->second);
  save_of_job_.erase(job);
  if (found == saves_.end()) return true;  // A ticket that was given back.
  Save& save = *found->second;
  save.waits_for_disk = false;
  if (!answer.body.ok()) {
    end(found, std::move(answer.body).take_error());
    return true;
  }
  store::DiskAnswerBody body = std::move(answer.body).take();
  if (std::holds_alternative<store::SnapshotInfo>(body)) {
    save.options.ticket = store::kNoTicket;  // It ended with the save.
    begin_states(found);
    return true;
  }
  if (const auto* kept = std::get_if<store::StatesKept>(&body)) {
    save.options.ticket = store::kNoTicket;
    resources_.states->note_saved(kept->count);
    note_stored(save);
    end(found, AnswerBody(Done{}));
    return true;
  }
  if (auto* begun = std::get_if<store::BegunSave>(&body)) {
    save.options.ticket = begun->ticket;
    std::map<PageName, std::uint32_t> index_of;
    if (save.operation.get() != nullptr) {
      for (std::uint32_t index = 0; index < save.chain.size(); ++index) {
        index_of.emplace(resources_.cache.name(save.chain[index]), index);
      }
      for (const PageName& name : begun->missing) save.missing.push_back(index_of.at(name));
    }
  }
  advance(found);
  return true;
}

void SnapshotSaves::advance(Iterator found) {
  Save& save = *found->second;
  if (save.operation.get() == nullptr) {
    return end(found, Error(ErrorCode::Cancelled, "the instance ended"));
  }
  if (save.next < save.missing.size() || save.has_tail) {
    table_.wakeup.notify();  // For the next batch.
    return;
  }
  Result<void> submitted =
      save.is_of_states
          ? submit(found->first, store::KeepStatesJob{.ticket = save.options.ticket,
                                                      .pages = disk_.space(),
                                                      .tenant = tenant_name(save.tenant)})
          : submit(found->first, store::SaveJob{.record = std::move(save.record),
                                                .pages = std::move(save.links),
                                                .options = save.options});
  if (!submitted.ok()) end(found, std::move(submitted).take_error());
}

// ---- states ----

// The snapshot is stored. The states after its pages follow, as far as they are there.
void SnapshotSaves::begin_states(Iterator found) {
  Save& save = *found->second;
  std::vector<PageName> names;
  if (resources_.states != nullptr && save.operation.get() != nullptr) {
    for (const NodeId node : save.chain) {
      const bool is_new =
          resources_.states->find(node).has_value() && !resources_.states->is_stored(node);
      if (is_new) names.push_back(resources_.cache.name(node));
    }
  }
  save.is_of_states = true;
  save.missing.clear();
  save.next = 0;
  if (names.empty()) return end(found, AnswerBody(Done{}));
  Result<void> submitted =
      submit(found->first, store::BeginSaveJob{.space = disk_.states(), .names = std::move(names)});
  if (!submitted.ok()) end(found, std::move(submitted).take_error());
}

// Asks for a few of the states that are there still.
void SnapshotSaves::add_states(Save& save, BatchDraft& draft) {
  constexpr std::uint64_t kBytesPerBatch = 64u << 20;
  StateCache& states = *resources_.states;
  const std::uint64_t bytes = resources_.device.state_bytes;
  while (save.next + save.reading_states.size() < save.missing.size()) {
    const std::size_t count = save.reading_states.size();
    if (count > 0 && (count + 1) * bytes > kBytesPerBatch) break;
    const auto place = save.missing.begin() + static_cast<std::ptrdiff_t>(save.next + count);
    const std::optional<StateRef> found = states.find(save.chain[*place]);
    if (!found.has_value()) {
      save.missing.erase(place);  // Evicted since.
      continue;
    }
    states.hold(*found);
    save.reading_states.push_back(*found);
    draft.add_save(*this, {.state = found->slot});
  }
}

Result<void> SnapshotSaves::take_states_read(Save& save, std::uint64_t key,
                                             std::vector<Result<PageBytes>> bytes) {
  const std::vector<StateRef> read = std::exchange(save.reading_states, {});
  for (const StateRef& each : read) resources_.states->release(each.slot);
  if (save.operation.get() == nullptr) return Error(ErrorCode::Cancelled, "the instance ended");
  store::AddStatesJob job{.ticket = save.options.ticket, .states = {}};
  for (Result<PageBytes>& each : bytes) {
    const NodeId node = save.chain[save.missing[save.next++]];
    if (!each.ok()) return std::move(each).take_error();
    job.states.push_back(
        {.page = record_of(resources_.cache, node), .bytes = std::move(each).take()});
  }
  return submit(key, std::move(job));
}

std::vector<inference::StateSlot> SnapshotSaves::held_states() const {
  std::vector<inference::StateSlot> held;
  for (const auto& [key, save] : saves_) {
    for (const StateRef& each : save->reading_states) held.push_back(each.slot);
  }
  return held;
}

void SnapshotSaves::note_stored(const Save& save) {
  if (save.operation.get() == nullptr) return;  // Its pages may be gone.
  for (const std::uint32_t index : save.missing) {
    resources_.states->note_stored(save.chain[index]);
  }
}

void SnapshotSaves::end(Iterator found, Result<AnswerBody> answer) {
  Save& save = *found->second;
  if (save.options.ticket != store::kNoTicket) disk_.release(save.options.ticket);
  // A snapshot without its states is whole: what opens it computes them.
  if (save.is_of_states) answer = AnswerBody(Done{});
  if (Operation* operation = save.operation.get()) {
    Context* shadow = std::exchange(operation->child, nullptr);
    shadow->drop();
    table_.contexts.destroy(shadow);
    table_.finish(*operation, std::move(answer));
  }
  erase(found);
}

}  // namespace quire::control
