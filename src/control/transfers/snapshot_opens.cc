#include "control/transfers/snapshot_opens.h"
#include "control/objects/replica.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/batches/batch_draft.h"
#include "control/contexts/context_builder.h"
#include "control/contexts/context_state.h"
#include "control/transfers/snapshot_adapters.h"

namespace quire::control {

using inference::PageBytes;
using store::PageRecord;

namespace {

constexpr std::size_t kPagesPerRead = 16;  // One job of the disk, and one batch.

PageBytes bytes_of(const std::vector<std::byte>& bytes) {
  PageBytes page = PageBytes::uninitialised(bytes.size());
  std::copy(bytes.begin(), bytes.end(), page.span().begin());
  return page;
}

bool is_here(const PageMatch& match) {
  return match.state == MatchState::InFlight || match.state == MatchState::Resident;
}

Error corrupted(const std::string& name, const std::string& what) {
  return Error(ErrorCode::Corrupted, "snapshot \"" + name + "\": " + what);
}

}  // namespace

PageLedger& SnapshotOpens::ledger(Operation& operation) const {
  return operation.replica->ledger(*operation.instance);
}

SnapshotOpens::Open& SnapshotOpens::open_of(Operation& operation) {
  std::unique_ptr<Open>& open = opens_[operation.age];
  if (!open) {
    open = std::make_unique<Open>();
    open->operation = Ref<Operation>(&operation);
    open->key = operation.age;
  }
  return *open;
}

void SnapshotOpens::abandon(Operation& operation) {
  const auto found = opens_.find(operation.age);
  // An open that waits is erased when the answer arrives that it waits for.
  if (found != opens_.end() && !found->second->waits) forget(operation);
}

bool SnapshotOpens::may_free() const {
  return std::any_of(opens_.begin(), opens_.end(), [](const auto& each) {
    const Operation* operation = each.second->operation.get();
    return operation == nullptr || operation->wanted_page_count == 0;
  });
}

void SnapshotOpens::forget(Operation& operation) {
  const auto found = opens_.find(operation.age);
  if (found == opens_.end()) return;
  Open& open = *found->second;
  QUIRE_CHECK(open.loading_count == 0, "forgotten under a batch");
  if (open.opened.ticket != store::kNoTicket) disk_.release(open.opened.ticket);
  opens_.erase(found);
}

Result<void> SnapshotOpens::submit(Open& open, const Operation& operation, store::DiskJob job) {
  const store::DiskJobId id = TRY(disk_.submit(std::move(job)));
  const TenantId tenant = operation.instance->tenant;
  open_of_job_.emplace(static_cast<std::uint64_t>(id), OnDisk{open.key, tenant});
  on_disk_.take(tenant, 1);
  open.waits = true;
  return {};
}

bool SnapshotOpens::deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) {
  const auto job = open_of_job_.find(static_cast<std::uint64_t>(answer.id));
  if (job == open_of_job_.end()) return false;
  on_disk_.give(job->second.tenant, 1);
  const auto found = opens_.find(job->second.open);
  open_of_job_.erase(job);
  if (found == opens_.end()) return true;
  Open& open = *found->second;
  open.waits = false;
  if (!answer.body.ok()) {
    open.error = std::move(answer.body).take_error();
  } else {
    store::DiskAnswerBody body = std::move(answer.body).take();
    if (auto* opened = std::get_if<store::OpenedSnapshot>(&body)) {
      open.opened = std::move(*opened);
      open.has_tail = !open.opened.record.tail.empty();
    } else {
      for (Result<PageRecord>& page : std::get<store::PagesRead>(body).pages) {
        if (page.ok()) {
          open.read.push_back(std::move(page).take());
        } else if (!open.error) {
          open.error = std::move(page).take_error();
        }
      }
    }
  }
  if (open.operation.get() == nullptr) {
    if (open.opened.ticket != store::kNoTicket) disk_.release(open.opened.ticket);
    opens_.erase(found);
    return true;
  }
  woken.push_back(open.operation);
  table_.wakeup.notify();
  return true;
}

bool SnapshotOpens::is_dropped(const Open& open, std::size_t index) const {
  const auto& dropped = open.opened.record.dropped_pages;
  return std::binary_search(dropped.begin(), dropped.end(), static_cast<std::uint32_t>(index));
}

Result<void> SnapshotOpens::begin(Open& open, Operation& operation) {
  const ContextOpen& body = std::get<ContextOpen>(operation.body);
  open.is_started = true;
  return submit(open, operation,
                store::OpenJob{.tenant = tenant_name(operation.instance->tenant),
                               .name = body.name,
                               .wanted = disk_.space(),
                               .takes = body.takes});
}

namespace {

// Checks that the adapters of a page are those of the snapshot for these slots.
Result<void> check_adapters(const store::SnapshotRecord& record, const ContextAdapters& adapters,
                            std::uint64_t slot_first, std::uint32_t slot_count,
                            std::span<const AdapterRun> found) {
  const auto first = static_cast<std::uint32_t>(slot_first);
  if (std::ranges::equal(adapter_runs(adapters.of_slots, first, first + slot_count), found))
    return {};
  return corrupted(record.name, "the page from slot " + std::to_string(first) +
                                    " on has other adapters than the snapshot says");
}

}  // namespace

// The answer of the store, before anything of it is used.
Result<void> SnapshotOpens::accept(Open& open, Operation& operation) {
  const store::SnapshotRecord& record = open.opened.record;
  Context& context = *operation.context;
  const std::uint32_t page_size = resources_.cache.page_size();
  if (record.root != resources_.cache.name(context.chain().head())) {
    return Error(ErrorCode::NotSupported,
                 "snapshot \"" + record.name +
                     "\" was saved under another sharing secret or by another tenant");
  }
  if (record.tail.size() > 1 ||
      (open.has_tail && (record.tail.front().written_count >= page_size ||
                         record.tail.front().tokens.size() != record.tail.front().written_count))) {
    return corrupted(record.name, "its tail is not one page that is partly full");
  }
  const std::uint32_t written = open.has_tail ? record.tail.front().written_count : 0;
  const std::uint64_t length = std::uint64_t{record.page_count} * page_size + written;
  if (length > (std::uint64_t{1} << 31) || open.opened.chain.size() != record.page_count) {
    return corrupted(record.name, "its length and its pages disagree");
  }
  const std::uint32_t vocabulary = resources_.model.vocabulary_size;
  const auto is_unknown = [&](TokenId token) {
    return static_cast<std::uint32_t>(token) >= vocabulary;
  };
  const bool has_unknown =
      std::any_of(record.queued_tokens.begin(), record.queued_tokens.end(), is_unknown) ||
      (open.has_tail && std::any_of(record.tail.front().tokens.begin(),
                                    record.tail.front().tokens.end(), is_unknown));
  if (has_unknown) return corrupted(record.name, "it has a token outside of the vocabulary");
  open.adapters = TRY(open_adapters(record, context));
  const auto& runs = record.adapters.runs;
  if (!runs.empty() && runs.back().first_slot >= length + record.queued_tokens.size()) {
    return corrupted(record.name, "it has adapters for tokens that it does not have");
  }
  if (open.has_tail) {
    TRY(check_adapters(record, open.adapters, length - written, written,
                       record.tail.front().adapters));
  }
  SavedContextState state =
      TRY(decode_context_state(record.context_state, static_cast<std::uint32_t>(length)));
  for (const std::uint32_t index : record.dropped_pages) {
    if (!state.view.dropped().covers({index * page_size, (index + 1) * page_size})) {
      return corrupted(record.name, "a page is missing whose slots were not dropped");
    }
  }
  ContextBuilder(context).set_adapters(open.adapters);
  ContextBuilder(context).begin_opening(std::move(state.view), state.wishes,
                                        state.has_unnamed_start);
  return {};
}

// The number of records from `next` on, in a row, that were read and must be loaded. 0 if another
// operation brings the first, which is checked already.
Result<std::size_t> SnapshotOpens::count_loads(const Open& open, const Context& context) const {
  const PageCache& cache = resources_.cache;
  std::size_t count = 0;
  while (count < open.read.size() && count < cache.page_count()) {
    const std::size_t index = open.next + count;
    const NodeId known = cache.find_name(open.opened.chain[index]);
    if (is_dropped(open, index)) break;
    if (known != kNoNode && cache.trie().residency(known) != Residency::None) break;
    if (count > 0) TRY(check(open, context, count));
    ++count;
  }
  return count;
}

Result<void> SnapshotOpens::check(const Open& open, const Context& context,
                                  std::size_t offset) const {
  const PageCache& cache = resources_.cache;
  const PageRecord& record = open.read[offset];
  const std::size_t index = open.next + offset;
  const PageName& parent =
      offset == 0 ? cache.name(context.chain().head()) : open.opened.chain[index - 1];
  const std::string& name = open.opened.record.name;
  const bool is_whole = record.tokens.size() == cache.page_size() &&
                        record.positions.size() == cache.page_size() &&
                        (is_dropped(open, index) || record.kv.size() == disk_.space().page_bytes);
  if (record.name != open.opened.chain[index] || record.parent != parent || !is_whole) {
    return corrupted(name,
                     "page " + std::to_string(index) + " is not the one that its chain names");
  }
  const std::size_t first = index * cache.page_size();
  for (std::size_t slot = 0; slot < record.positions.size(); ++slot) {
    if (record.positions[slot] == first + slot) continue;
    return corrupted(name, "page " + std::to_string(index) + " has position " +
                               std::to_string(record.positions[slot]) + " in slot " +
                               std::to_string(slot));
  }
  if (!SlotView::is_encoding(record.view, static_cast<std::uint32_t>(first), cache.page_size())) {
    return corrupted(name, "what page " + std::to_string(index) + " saw contradicts itself");
  }
  TRY(check_adapters(open.opened.record, open.adapters, first, cache.page_size(), record.adapters));
  if (record.is_opaque) return {};
  if (cache.name_below(context.chain().head(), parent, content_of(record)) != record.name) {
    return corrupted(name,
                     "the content of page " + std::to_string(index) + " does not give its name");
  }
  return {};
}

void SnapshotOpens::attach(Open& open, Operation& operation, NodeId node) {
  ContextBuilder builder(*operation.context);
  if (is_dropped(open, open.next)) {
    builder.push_dropped(node);
  } else {
    builder.attach(node);
    builder.count_found(resources_.cache.page_size());
  }
  pass(open);
}

// The page at `next` is in the context.
void SnapshotOpens::pass(Open& open) {
  ++open.next;
  if (!open.read.empty()) open.read.erase(open.read.begin());
}

Result<void> SnapshotOpens::read_more(Open& open, const Operation& operation) {
  std::vector<PageName> names;
  for (std::size_t index = open.next;
       index < open.opened.chain.size() && names.size() < kPagesPerRead; ++index) {
    names.push_back(open.opened.chain[index]);
  }
  return submit(open, operation,
                store::ReadPagesJob{.space = disk_.space(), .names = std::move(names)});
}

Result<SnapshotOpens::Step> SnapshotOpens::look(Operation& operation, const MayHold& may_hold) {
  Open& open = open_of(operation);
  if (open.error) return std::move(*std::exchange(open.error, {}));
  if (open.waits) return Step{};
  if (!open.is_started) {
    if (!has_disk_room(operation)) return Step{.end = StepEnd::Again};
    TRY(begin(open, operation));
    return Step{};
  }
  Context& context = *operation.context;
  PageCache& cache = resources_.cache;
  if (!context.is_opening()) TRY(accept(open, operation));
  while (open.next < open.opened.chain.size()) {
    const NodeId known = cache.find_name(open.opened.chain[open.next]);
    const bool is_child = known != kNoNode && cache.parent(known) == context.chain().head();
    if (is_child) {
      TRY(check_adapters(open.opened.record, open.adapters, open.next * cache.page_size(),
                         cache.page_size(), cache.trie().adapters(known)));
    }
    if (is_child && (is_dropped(open, open.next) || cache.is_resident(known))) {
      if (!is_dropped(open, open.next)) TRY(may_hold(known));
      attach(open, operation, known);
      continue;
    }
    if (is_child && cache.trie().residency(known) == Residency::InFlight) {
      return Step{.end = StepEnd::Again};
    }
    if (open.read.empty()) {
      if (!has_disk_room(operation)) return Step{.end = StepEnd::Again};
      TRY(read_more(open, operation));
      return Step{};
    }
    TRY(check(open, context, 0));
    if (!open.read.front().is_opaque && !is_dropped(open, open.next)) {
      // Computed meanwhile, or being computed: such a page has its name only when it is written.
      const PageMatch match = cache.find(context.chain().head(), content_of(open.read.front()));
      if (match.state == MatchState::InFlight) return Step{.end = StepEnd::Again};
      if (match.state == MatchState::Resident) {
        TRY(may_hold(match.node));
        attach(open, operation, match.node);
        continue;
      }
    }
    if (is_dropped(open, open.next)) {
      attach(open, operation,
             cache.insert_name(context.chain().head(), content_of(open.read.front()),
                               open.read.front().is_opaque, open.read.front().name));
      continue;
    }
    const std::size_t count = TRY(count_loads(open, context));
    QUIRE_CHECK(count > 0, "the first is neither there nor on its way");
    return Step{.end = StepEnd::WantsPages, .wanted_page_count = static_cast<std::uint32_t>(count)};
  }
  if (open.has_tail) return Step{.end = StepEnd::WantsPages, .wanted_page_count = 1};
  return Step{.end = StepEnd::Done, .note = finish_tail(open, operation)};
}

void SnapshotOpens::load(Operation& operation, BatchDraft& draft, std::uint32_t count) {
  Open& open = open_of(operation);
  Context& context = *operation.context;
  PageCache& cache = resources_.cache;
  const bool is_tail = open.next == open.opened.chain.size();
  ContextBuilder builder(context);
  builder.begin_load();
  open.waits = true;
  in_batch_.push_back(open.key);
  NodeId parent = context.chain().head();
  for (std::uint32_t each = 0; each < count; ++each) {
    const bool is_other = !is_tail && each > 0 && !open.read[each].is_opaque &&
                          is_here(cache.find(parent, content_of(open.read[each])));
    if (is_other) break;
    const PageId page = builder.take_loading();
    std::vector<std::byte>& bytes =
        is_tail ? open.opened.record.tail.front().kv : open.read[each].kv;
    draft.add_load(*this, {.page = page, .bytes = bytes_of(bytes)});
    bytes = {};
    ++open.loading_count;
    if (is_tail) break;
    const PageRecord& record = open.read[each];
    cache.claim_named(page, parent, content_of(record), record.is_opaque, record.name);
    parent = cache.trie().node_of(page);
    builder.note_claim();
  }
  builder.keep_loading();
}

void SnapshotOpens::transferred(const Flight& /*flight*/, TransferOutcomes outcomes,
                                std::vector<Ref<Operation>>& woken) {
  const std::vector<LoadOutcome>& loads = outcomes.loads;
  std::size_t next = 0;
  for (const std::uint64_t key : std::exchange(in_batch_, {})) {
    const auto found = opens_.find(key);
    Open& open = *found->second;
    const std::size_t first = std::exchange(next, next + open.loading_count);
    open.loading_count = 0;
    open.waits = false;
    Operation* operation = open.operation.get();
    if (operation == nullptr) {  // Its context, with the pages, went with the instance.
      if (open.opened.ticket != store::kNoTicket) disk_.release(open.opened.ticket);
      opens_.erase(found);
      continue;
    }
    ContextBuilder builder(*operation->context);
    builder.end_load();
    for (std::size_t each = first; each < next && !open.error; ++each) {
      const Result<void>& outcome = loads[each].outcome;
      if (!outcome.ok()) open.error = outcome.error().copy();
    }
    if (open.error) {
      builder.lapse_claims();
    } else if (open.next < open.opened.chain.size()) {
      commit_loaded(open, *operation, next - first);
    } else {
      open.has_tail = false;
    }
    woken.push_back(open.operation);
  }
  QUIRE_CHECK(next == loads.size(), "an outcome for each page that was loaded");
}

void SnapshotOpens::commit_loaded(Open& open, Operation& operation, std::size_t count) {
  Context& context = *operation.context;
  for (std::size_t each = 0; each < count; ++each) {
    const PageRecord& record = open.read.front();
    ContextBuilder(context).commit_loaded(content_of(record), record.is_opaque);
    pass(open);
  }
}

// The states that the store has after pages of the context can come back when they are wanted.
void SnapshotOpens::note_states(const Open& open, const Context& context) {
  if (resources_.states == nullptr || open.opened.stated_pages.empty()) return;
  const std::vector<NodeId> nodes = context.chain().nodes(resources_.cache);
  for (const std::uint32_t index : open.opened.stated_pages) {
    if (resources_.cache.is_resident(nodes[index])) resources_.states->note_stored(nodes[index]);
  }
}

std::string SnapshotOpens::finish_tail(Open& open, Operation& operation) {
  Context& context = *operation.context;
  note_states(open, context);
  store::SnapshotRecord& record = open.opened.record;
  const bool takes = std::get<ContextOpen>(operation.body).takes;
  // The pages count as found by the context, which held none before.
  const std::uint32_t found_count = context.use().found_token_count;
  ContextBuilder(context).finish_opening(record, takes ? open.opened.ticket : store::kNoTicket);
  operation.instance->statistics.opened_token_count +=
      found_count + context.tokens().written_count();
  disk_.release(open.opened.ticket, takes ? store::TicketEnd::Reading : store::TicketEnd::Release);
  std::string note = std::move(record.note);
  opens_.erase(open.key);
  return note;
}

}  // namespace quire::control
