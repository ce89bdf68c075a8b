// Sharing of single pages: copies, exports under a name, pages of a context and the way back. It
// does not run on a device that loses passes, like all work with pages by hand.
#include <algorithm>
#include <bit>

#include "control/page_program.h"

namespace quire::control {

using test::Content;
using test::Slot;

namespace {

std::uint32_t bits_of(const std::vector<Slot>& slots) {
  std::uint32_t bits = 0;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    bits |= static_cast<std::uint32_t>(slots[slot].is_written) << slot;
  }
  return bits;
}

std::uint32_t written_count(const std::vector<Slot>& slots) {
  return static_cast<std::uint32_t>(std::popcount(bits_of(slots)));
}

bool is_full(const std::vector<Slot>& slots) {
  return written_count(slots) == slots.size();
}

}  // namespace

void PageProgram::note_outcome(const std::string& what, std::optional<ErrorCode> wanted) {
  note(what + " " + (wanted ? std::string(error_code_name(*wanted)) : "done"));
}

void PageProgram::foretell(const Guest& guest, FutureId future, const char* what,
                           std::optional<ErrorCode> wanted) {
  note_outcome(what, wanted);
  if (wanted) return expect_refusal(guest, future, *wanted);
  expect_done(guest, future);
}

// --- Copies ---

std::optional<ErrorCode> PageProgram::refusal_of(const CopyPage& copy, const Page& from,
                                                 const Page& to) const {
  if (!from.is_there() || !to.is_there()) return ErrorCode::NoFreePage;
  if (std::max(copy.from_slot, copy.to_slot) + copy.slot_count > knobs_.page_size) {
    return ErrorCode::OutOfRange;
  }
  if (to.is_shared) return ErrorCode::PageCommitted;
  for (std::uint32_t each = 0; each < copy.slot_count; ++each) {
    if (!from.slots[copy.from_slot + each].is_written) return ErrorCode::PageNotFull;
  }
  return std::nullopt;
}

void PageProgram::copy_page(Guest& guest) {
  if (guest.pages.empty()) return;
  const Page& from = some_page(guest);
  Page& to = some_page(guest);
  const std::uint32_t page_size = knobs_.page_size;
  const CopyPage copy{.queue = guest.queue,
                      .from = from.id,
                      .to = to.id,
                      .from_slot = below(2) * below(page_size),
                      .to_slot = below(page_size),
                      .slot_count = below(std::min(page_size, 4u) + 1)};
  const std::optional<ErrorCode> wanted = refusal_of(copy, from, to);
  foretell(guest, machine_->send(guest.id, copy), "copy_kvpage", wanted);
  if (wanted) return;
  const std::vector<Slot> slots = from.slots;  // They may be one page.
  std::copy_n(slots.begin() + copy.from_slot, copy.slot_count, to.slots.begin() + copy.to_slot);
}

// --- Exports ---

// A name that in most cases has an export.
std::string PageProgram::some_export_name() {
  if (exports_.empty() || below(4) == 0) return new_export_name();
  return std::next(exports_.begin(), below(static_cast<std::uint32_t>(exports_.size())))
      ->first.second;
}

// The name of a public export of another tenant, if there is any.
std::string PageProgram::some_foreign_name(const Guest& guest) {
  std::vector<std::string> names;
  for (const auto& [key, each] : exports_) {
    if (key.first != guest.tenant && each.is_public) names.push_back(key.second);
  }
  return names.empty() ? some_export_name() : some(names);
}

const PageProgram::Export* PageProgram::find_export(TenantId tenant,
                                                    const std::string& name) const {
  const auto own = exports_.find({tenant, name});
  if (own != exports_.end()) return &own->second;
  for (const auto& [key, each] : exports_) {
    if (key.second == name && each.is_public) return &each;
  }
  return nullptr;
}

std::optional<ErrorCode> PageProgram::refusal_of(const Guest& guest, const ExportPages& wanted,
                                                 const std::vector<Page*>& pages) const {
  if (pages.size() == 2 && pages[0] == pages[1]) return ErrorCode::InvalidArgument;
  if (wanted.is_public && !guest.may_export_publicly) return ErrorCode::PermissionDenied;
  for (const Page* page : pages) {
    if (!page->is_there()) return ErrorCode::NoFreePage;
  }
  if (exports_.contains({guest.tenant, wanted.name})) return ErrorCode::AlreadyExists;
  std::size_t own_count = 0;
  std::size_t own_pages = 0;
  std::size_t other_pages = 0;
  for (const auto& [key, each] : exports_) {
    if (wanted.is_public && each.is_public && key.second == wanted.name) {
      return ErrorCode::AlreadyExists;
    }
    const bool is_own = key.first == guest.tenant;
    (is_own ? own_pages : other_pages) += each.pages.size();
    own_count += is_own;
  }
  if (own_count >= kExportsMax || own_pages + pages.size() > kExportPagesMax) {
    return ErrorCode::QuotaExceeded;
  }
  // Exports of all tenants pin at most half of the pool, and each leaves as much as it takes.
  const std::size_t all_max = std::max(knobs_.page_count / 2, 2u);
  if (own_pages + pages.size() > (all_max - other_pages) / 2) return ErrorCode::QuotaExceeded;
  return std::nullopt;
}

void PageProgram::export_pages(Guest& guest) {
  if (guest.pages.empty()) return;
  std::vector<Page*> pages{&some_page(guest)};
  if (below(3) == 0) pages.push_back(below(4) == 0 ? pages[0] : &some_page(guest));
  ExportPages body{
      .queue = guest.queue, .pages = {}, .name = new_export_name(), .is_public = below(2) == 0};
  for (const Page* page : pages) body.pages.push_back(page->id);
  const std::optional<ErrorCode> wanted = refusal_of(guest, body, pages);
  const std::optional<ErrorCode> error = outcome(guest.id, body);
  // A page that is not full is copied, and there may be no page for the copy.
  if (!wanted && error && is_loss(*error)) return;
  ASSERT_EQ(error, wanted);
  note_outcome("export_kvpage", wanted);
  if (wanted) return;
  Export made{.pages = {}, .is_public = body.is_public, .exporter = guest.id};
  for (Page* page : pages) {
    page->is_shared |= is_full(page->slots);
    made.pages.push_back(*page);
    made.pages.back().is_shared = true;
    made.pages.back().view.assign(knobs_.page_size, 1);
  }
  exports_[{guest.tenant, body.name}] = std::move(made);
}

void PageProgram::import_pages(Guest& guest) {
  if (exports_.empty() && below(8) != 0) return;
  const std::string name = below(4) != 0 ? some_foreign_name(guest) : some_export_name();
  const std::uint32_t count = 1 + below(4) / 2;
  if (guest.pages.size() + count > kHandlesMax) return;
  const Export* found = find_export(guest.tenant, name);
  std::optional<ErrorCode> wanted;
  if (found == nullptr) {
    wanted = ErrorCode::NotFound;
  } else if (found->pages.size() < count) {
    wanted = ErrorCode::OutOfRange;
  }
  const std::vector<ObjectId> ids = machine_->new_objects(count);
  const FutureId future = settled(guest.id, ImportPages{guest.queue, name, ids});
  ASSERT_EQ(machine_->error(guest.id, future), wanted);
  note_outcome("import_kvpage", wanted);
  std::vector<Page> pages(count);  // With an error the handles stay, and stand for nothing.
  if (!wanted) {
    pages.assign(found->pages.begin(), found->pages.begin() + count);
    if (exports_.find({guest.tenant, name}) == exports_.end()) note("import from another tenant");
    if (std::none_of(guests_.begin(), guests_.end(),
                     [&](const Guest& each) { return each.id == found->exporter; })) {
      note("import of what a guest left behind");
    }
  } else if (exports_.contains({TenantId{3 - static_cast<std::uint32_t>(guest.tenant)}, name})) {
    note("a private export of another tenant refused");
  }
  take_handles(guest, ids, std::move(pages));
  if (!wanted) check_shared(guest, future, {});
}

void PageProgram::unexport_pages(Guest& guest) {
  if (exports_.empty() && below(8) != 0) return;
  const std::string name = some_export_name();
  const bool exists = exports_.erase({guest.tenant, name}) > 0;
  const auto wanted = exists ? std::nullopt : std::optional(ErrorCode::NotFound);
  ASSERT_EQ(outcome(guest.id, UnexportPages{name}), wanted);
  note_outcome("unexport_kvpage", wanted);
}

void PageProgram::list_exports(Guest& guest) {
  using Line = std::tuple<std::string, std::uint32_t, std::uint32_t, bool, bool>;
  const FutureId future = settled(guest.id, ListExports{});
  std::vector<Line> listed;
  for (const ExportDescription& each : machine_->get<Exports>(guest.id, future).all) {
    listed.emplace_back(each.name, each.page_count, each.token_count, each.is_public, each.is_own);
  }
  std::vector<Line> wanted;
  for (const bool is_own : {true, false}) {
    for (const auto& [key, each] : exports_) {
      if ((key.first == guest.tenant) != is_own || (!is_own && !each.is_public)) continue;
      std::uint32_t token_count = 0;
      for (const Page& page : each.pages) token_count += written_count(page.slots);
      wanted.emplace_back(key.second, static_cast<std::uint32_t>(each.pages.size()), token_count,
                          each.is_public, is_own);
    }
  }
  ASSERT_EQ(listed, wanted);
}

// Exports stay when all guests are gone.
void PageProgram::unexport_all() {
  for (const auto& [key, each] : exports_) {
    const InstanceId last = machine_->start(key.first);
    ASSERT_EQ(outcome(last, UnexportPages{key.second}), std::nullopt);
    machine_->controller->end_instance(last);
  }
  exports_.clear();
}

// --- Pages of a context, and back ---

// The pages that hold tokens: all but committed ones of which no slot can be seen.
std::vector<PageProgram::Held> PageProgram::held_pages(const Chain& chain) const {
  Content content = chain.content;
  content.cut(chain.written());
  const std::vector<Slot> slots = test::slots_of(content);
  const std::uint32_t length = content.length();
  std::vector<Held> held;
  for (std::uint32_t first = 0; first < length; first += knobs_.page_size) {
    const std::uint32_t end = std::min(first + knobs_.page_size, length);
    Page page = new_page({});
    page.is_shared = true;
    for (std::uint32_t slot = first; slot < end; ++slot) {
      page.slots[slot - first] = slots[slot];
      page.slots[slot - first].is_written = content.sees(length, slot);
      page.tokens.push_back(content.tokens[slot]);
    }
    if (end - first == knobs_.page_size && bits_of(page.slots) == 0) continue;
    held.push_back({.index = first / knobs_.page_size, .page = std::move(page)});
  }
  return held;
}

void PageProgram::share_context(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (!chain.is_known || knobs_.failure_percent > 0) return;
  std::vector<Held> held = held_pages(chain);
  // A last page of which nothing can be seen is there if it was dropped, not if it was cut so.
  if (!held.empty() && bits_of(held.back().page.slots) == 0) return;
  const auto held_count = static_cast<std::uint32_t>(held.size());
  const std::uint32_t first = below(2) * below(held_count + 1);
  const std::uint32_t wished = below(2) == 0 ? held_count - first : below(held_count - first + 2);
  const auto room = static_cast<std::uint32_t>(kHandlesMax - guest.pages.size());
  const std::uint32_t count = std::min(wished, room);
  const auto wanted =
      first + count > held_count ? std::optional(ErrorCode::OutOfRange) : std::nullopt;
  const std::vector<ObjectId> ids = machine_->new_objects(count);
  const FutureId future = settled(guest.id, ContextPages{chain.id, first, ids});
  const std::optional<ErrorCode> error = machine_->error(guest.id, future);
  if (error && is_loss(*error)) return take_handles(guest, ids, std::vector<Page>(count));
  ASSERT_EQ(error, wanted);
  note_outcome("context.pages", wanted);
  if (wanted) return take_handles(guest, ids, std::vector<Page>(count));
  std::vector<std::uint32_t> indices;
  std::vector<Page> pages;
  for (std::uint32_t each = first; each < first + count; ++each) {
    indices.push_back(held[each].index);
    pages.push_back(std::move(held[each].page));
  }
  take_handles(guest, ids, std::move(pages));
  check_shared(guest, future, indices);
}

void PageProgram::take_handles(Guest& guest, const std::vector<ObjectId>& ids,
                               std::vector<Page> pages) {
  for (std::size_t each = 0; each < ids.size(); ++each) {
    Page page = std::move(pages[each]);
    page.id = ids[each];
    page.view.assign(knobs_.page_size, 1);
    guest.pages.push_back(std::move(page));
  }
}

// The answer says of the guest's last handles what the model says. `indices`: from 0 on if empty.
void PageProgram::check_shared(const Guest& guest, FutureId future,
                               const std::vector<std::uint32_t>& indices) {
  const SharedPages shared = machine_->get<SharedPages>(guest.id, future);
  const std::size_t begin = guest.pages.size() - shared.all.size();
  for (std::uint32_t each = 0; each < shared.all.size(); ++each) {
    EXPECT_EQ(shared.all[each].index, indices.empty() ? each : indices[each]);
    EXPECT_EQ(shared.all[each].written, bits_of(guest.pages[begin + each].slots));
  }
}

// In most cases, handles in a row as they would stand in a context, whichever guest made them.
std::vector<const PageProgram::Page*> PageProgram::some_run(Guest& guest) {
  std::vector<const Page*> run;
  if (below(4) == 0) {
    for (std::uint32_t count = below(3); count > 0 && !guest.pages.empty(); --count) {
      run.push_back(&some_page(guest));
    }
    return run;
  }
  while (below(8) != 0) {
    std::vector<const Page*> fitting;
    for (const Page& page : guest.pages) {
      const bool fits = page.is_there() && page.slots[0].is_written &&
                        page.slots[0].position == run.size() * knobs_.page_size;
      if (fits) fitting.push_back(&page);
    }
    if (fitting.empty()) return run;
    run.push_back(some(fitting));
  }
  return run;
}

std::optional<ErrorCode> PageProgram::refusal_of(const std::vector<const Page*>& run,
                                                 std::uint32_t token_count) const {
  for (std::size_t index = 0; index < run.size(); ++index) {
    if (std::count(run.begin(), run.end(), run[index]) > 1) return ErrorCode::InvalidArgument;
  }
  std::uint32_t count = 0;
  for (std::size_t index = 0; index < run.size(); ++index) {
    if (!run[index]->is_there()) return ErrorCode::NoFreePage;
    const std::vector<Slot>& slots = run[index]->slots;
    const auto end =
        std::find_if(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.is_written; });
    const auto written = static_cast<std::uint32_t>(end - slots.begin());
    const bool is_last = index + 1 == run.size();
    if (written == 0 || (written < slots.size() && !is_last) || written != written_count(slots)) {
      return ErrorCode::PageNotFull;
    }
    for (std::uint32_t slot = 0; slot < written; ++slot) {
      if (slots[slot].position != count + slot) return ErrorCode::InvalidArgument;
    }
    count += written;
  }
  return count == token_count ? std::nullopt : std::optional(ErrorCode::InvalidArgument);
}

void PageProgram::make_from_pages(Guest& guest) {
  if (guest.chains.size() >= kContextsMax || knobs_.failure_percent > 0) return;
  if (below(2) == 0) share_context(guest);
  const std::vector<const Page*> run = some_run(guest);
  if (run.empty() && below(8) != 0) return;
  Chain made{.id = machine_->new_object()};
  ContextFromPages body{.context = made.id, .queue = guest.queue, .pages = {}, .tokens = {}};
  for (const Page* page : run) {
    body.pages.push_back(page->id);
    for (std::uint32_t slot = 0; slot < page->slots.size(); ++slot) {
      if (!page->slots[slot].is_written) continue;
      const auto at = static_cast<std::uint32_t>(body.tokens.size());
      // The tokens of a page that was made by hand are not known: any token will be believed.
      body.tokens.push_back(slot < page->tokens.size() ? page->tokens[slot] : below(4));
      made.content.given.push_back(page->slots[slot]);
      if (page->view[slot] != 0) continue;
      made.content.drops.push_back({.written = 0, .begin = at, .end = at + 1});
    }
  }
  if (below(10) == 0) body.tokens.push_back(0);
  std::optional<ErrorCode> wanted = refusal_of(run, static_cast<std::uint32_t>(body.tokens.size()));
  const bool is_known =
      !wanted && !run.empty() && is_full(run[0]->slots) && !run[0]->tokens.empty();
  if (is_known && below(2) == 0) {
    note("from_pages with a token that is not the page's");
    body.tokens[below(knobs_.page_size)] += 4;
    wanted = ErrorCode::InvalidArgument;
  }
  const FutureId future = settled(guest.id, body);
  const std::optional<ErrorCode> error = machine_->error(guest.id, future);
  if (error) machine_->send(guest.id, ContextDrop{made.id}, false);
  if (!wanted && error && is_loss(*error)) return;
  ASSERT_EQ(error, wanted);
  note_outcome("from_pages", wanted);
  if (wanted) return;
  const Forked answer = machine_->get<Forked>(guest.id, future);
  ASSERT_EQ(answer.child, made.id);
  ASSERT_EQ(answer.counters.seq_len, body.tokens.size());
  for (std::uint32_t slot = 0; slot < made.content.given.size(); ++slot) {
    made.content.switches.push_back({slot, made.content.given[slot].set});
  }
  made.content.tokens = body.tokens;
  made.content.use(0);
  for (test::Drop& drop : made.content.drops) drop.written = answer.counters.seq_len;
  guest.chains.push_back(std::move(made));
}

}  // namespace quire::control
