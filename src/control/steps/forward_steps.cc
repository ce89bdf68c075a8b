// The low-level forward: an explicit list of pages becomes a page table for one pass.
//
// The table is `ikv` in order, then the pages of `okv` that are not in `ikv`. A mask has columns
// for both as they are listed: a page that is in both has two. A slot is visible if either column
// says so: the mask can have old slots where the page is read, and new ones where it is written.
// Keys and values go to the free slots of `okv` in order: those after the last written slot of a
// page. If `okv` is empty, tokens still attend to one another: pages of the pass's own take their
// keys and values and end with it. If there is a mask as well, it has no column for them, so none
// are kept.
#include "control/steps/forward_steps.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/objects/page_handles.h"

namespace quire::control {

using inference::Row;
using inference::SlotMask;
using inference::TableEntry;

namespace {

// The first slot after all written ones.
std::uint32_t fill_of(const PageObject& page) {
  return 32 - static_cast<std::uint32_t>(std::countl_zero(page.written));
}

bool needs_scratch(const Operation& operation) {
  return operation.output_pages.empty() && body_of<Forward>(operation).mask.empty();
}

// The outputs are those of the last rows of the pass.
OutputRange outputs_of(const Operation& operation, std::uint32_t row_count) {
  const auto output_first =
      static_cast<std::uint32_t>(operation.input_embeds.size() - operation.output_embeds.size());
  const std::uint32_t begin = std::max(operation.done_count, output_first);
  const std::uint32_t end = operation.done_count + row_count;
  if (end <= begin) return {};
  return {.first = begin - output_first, .count = end - begin};
}

}  // namespace

Attempt ForwardSteps::attempt(Operation& operation, BatchDraft* building) {
  BatchDraft& draft = *building;
  for (const EmbedObject* embed : operation.input_embeds) {
    const bool is_of_this_batch =
        embed->state == EmbedState::Output && draft.is_of_this(embed->batch);
    // S2: its vector exists when the batch is done.
    if (is_of_this_batch && !is_planted(Fault::ConflictMerged)) return Attempt::Later;
  }
  if (!operation.is_started) {
    operation.is_whole = !is_chunkable(operation);
    if (Result<void> checked = check_forward(operation); !checked.ok()) {
      return fail(operation, std::move(checked).take_error());
    }
    operation.total_count = static_cast<std::uint32_t>(operation.input_embeds.size());
    if (Result<void> metered = Quota::may_compute(*operation.instance, operation.total_count);
        !metered.ok()) {
      return fail(operation, std::move(metered).take_error());
    }
    operation.instance->statistics.asked_token_count += operation.total_count;
    if (operation.total_count > 1) {  // One is a step, as of count_asked().
      operation.instance->statistics.prompt_token_count += operation.total_count;
      replica().counts.prompt_token_count += operation.total_count;
    }
    operation.is_started = true;
  }
  report(tools_.table.walk, WalkStop::Pages);
  if (operation.total_count == 0) return done(operation);
  const std::uint32_t left = operation.total_count - operation.done_count;
  std::uint32_t count = std::min(left, draft.rows_left());
  if (count < left && operation.is_whole) {
    const auto placed = draft.row_count();
    if (left > resources().device.row_count_max - placed) {
      if (tools_.turn.first_next.get() == nullptr)
        tools_.turn.first_next = Ref<Operation>(&operation);
      return Attempt::Later;
    }
    count = left;  // Its rows cannot be parted: the budget gives way.
  }
  if (count == 0) return Attempt::Later;
  return place(operation, count, draft);
}

Result<void> ForwardSteps::check_forward(Operation& operation) {
  const Forward& body = body_of<Forward>(operation);
  const std::uint32_t page_size = this->page_size();
  for (std::size_t index = 0; index < operation.input_pages.size(); ++index) {
    const PageObject* page = operation.input_pages[index];
    if (page != nullptr) TRY(check_readable(*page, "ikv", index));
  }
  for (std::size_t index = 0; index < operation.output_pages.size(); ++index) {
    TRY(check_readable(*operation.output_pages[index], "okv", index));
  }
  for (std::size_t index = 0; index < operation.output_pages.size(); ++index) {
    if (!operation.output_pages[index]->is_shared) continue;
    return Error(ErrorCode::PageCommitted,
                 "okv[" + std::to_string(index) +
                     "] is a page that is committed or shared: it can only be read");
  }
  for (const EmbedObject* embed : operation.input_embeds) {
    if (embed->state == EmbedState::Failed) return embed->error->copy();
    if (embed->state == EmbedState::Empty) {
      return Error(ErrorCode::InvalidArgument, "an input embed holds nothing");
    }
  }
  const std::size_t count = operation.input_embeds.size();
  std::size_t room = 0;
  for (const PageObject* page : operation.output_pages) room += page_size - fill_of(*page);
  if (!operation.output_pages.empty() && room < count) {
    return Error(ErrorCode::OutOfRange, "okv has " + std::to_string(room) + " free slots for " +
                                            std::to_string(count) + " tokens");
  }
  const std::size_t columns =
      (operation.input_pages.size() + operation.output_pages.size()) * page_size;
  if (!body.mask.empty() && body.mask.size() != count * columns) {
    return Error(ErrorCode::InvalidArgument, "the mask has " + std::to_string(body.mask.size()) +
                                                 " entries, not " + std::to_string(count) +
                                                 " tokens x " + std::to_string(columns) + " slots");
  }
  if (operation.is_whole && count > resources().device.row_count_max) {
    return Error(ErrorCode::TooLarge, "a forward pass of " + std::to_string(count) +
                                          " tokens that cannot be parted; the device takes " +
                                          std::to_string(resources().device.row_count_max) +
                                          " rows at once");
  }
  return check_distance(operation);
}

// The context length limits the distance from a query to its oldest visible key.
Result<void> ForwardSteps::check_distance(const Operation& operation) const {
  const Forward& body = body_of<Forward>(operation);
  if (body.beyond_context || operation.input_embeds.empty()) return {};
  const std::uint32_t limit = resources().model.context_length;
  std::uint32_t newest = 0;
  std::uint32_t oldest = 0xffffffffu;
  for (const EmbedObject* embed : operation.input_embeds) {
    newest = std::max(newest, embed->position);
    oldest = std::min(oldest, embed->position);
  }
  const auto visit = [&](bool is_exact) {
    for (const auto* pages : {&operation.input_pages, &operation.output_pages}) {
      for (const PageObject* page : *pages) {
        if (page == nullptr) continue;
        if (!is_exact) oldest = std::min(oldest, page->position_min);
        for (std::uint32_t bits = is_exact ? page->written & page->view : 0; bits != 0;
             bits &= bits - 1) {
          oldest =
              std::min(oldest, page->positions[static_cast<std::size_t>(std::countr_zero(bits))]);
        }
      }
    }
  };
  const std::uint32_t own_oldest = oldest;
  visit(false);
  if (oldest > newest || newest - oldest < limit) return {};
  oldest = own_oldest;
  visit(true);
  if (newest - oldest < limit) return {};
  return Error(ErrorCode::OutOfRange,
               "position " + std::to_string(newest) + " would see position " +
                   std::to_string(oldest) + ", " + std::to_string(newest - oldest) +
                   " before it; the model's context length is " + std::to_string(limit) +
                   " (set beyond_context to lift this)");
}

// Rows can be parted between batches where none sees the key of a later row, and no output takes
// the place of an input.
bool ForwardSteps::is_chunkable(const Operation& operation) const {
  if (!body_of<Forward>(operation).mask.empty() || operation.output_pages.empty()) return false;
  const std::uint64_t stamp = tools_.table.next_stamp();
  for (EmbedObject* embed : operation.output_embeds) embed->stamp = stamp;
  for (const EmbedObject* embed : operation.input_embeds) {
    if (embed->stamp == stamp) return false;
  }
  return std::is_sorted(operation.input_embeds.begin(), operation.input_embeds.end(),
                        [](const EmbedObject* left, const EmbedObject* right) {
                          return left->position < right->position;
                        });
}

Attempt ForwardSteps::place(Operation& operation, std::uint32_t row_count, BatchDraft& draft) {
  const std::uint32_t page_size = this->page_size();
  ForwardRecord record;
  const std::uint32_t scratch_count =
      needs_scratch(operation) ? (row_count + page_size - 1) / page_size : 0;
  if (scratch_count > resources().cache.page_count()) {
    return fail(operation, tools_.room.no_free_page(*operation.instance, scratch_count));
  }
  if (scratch_count > 0) {
    if (Result<void> quota = tools_.quota.may_hold(*operation.instance, scratch_count);
        !quota.ok()) {
      return fail(operation, std::move(quota).take_error());
    }
    if (!tools_.room.can_take(operation, scratch_count, true))
      return tools_.room.want(operation, scratch_count);
  }
  const auto output_limit =
      std::min(row_count, static_cast<std::uint32_t>(operation.output_embeds.size()));
  if (!tools_.slots.has_ample(output_limit)) {
    const Result<bool> may = tools_.slots.may_take(operation, outputs_of(operation, row_count));
    if (!may.ok()) return fail(operation, may.error().copy());
    if (!may.value()) return Attempt::Later;
  }
  if (!resources().sequences.acquire_ephemeral(record.sequence, draft.id())) {
    return draft.has_passes() ? Attempt::Later : fail(operation, no_page_table(resources().device));
  }
  operation.wanted_page_count = 0;
  QUIRE_CHECK(resources().cache.take(scratch_count, record.scratch), "make_room() made too little");
  std::vector<TableEntry> entries = table_of(operation, record, draft);
  add_rows(operation, row_count, record, entries, draft);
  const auto entry_count = static_cast<std::uint32_t>(entries.size());
  draft.batch().table_changes.push_back({.sequence = record.sequence,
                                         .entry_first = 0,
                                         .entries = std::move(entries),
                                         .entry_count = entry_count});
  operation.done_count += row_count;
  const bool is_last = operation.done_count == operation.total_count;
  draft.last_pass().is_last = is_last;
  draft.add_forward(std::move(record));
  if (!is_last) return Attempt::Later;
  tools_.table.place(operation);
  return Attempt::Placed;
}

std::vector<TableEntry> ForwardSteps::table_of(const Operation& operation, ForwardRecord& record,
                                               const BatchDraft& draft) {
  const std::uint64_t stamp = tools_.table.next_stamp();
  std::vector<TableEntry> entries;
  entries.reserve(operation.input_pages.size() + operation.output_pages.size() +
                  record.scratch.size());
  const auto add = [&](PageObject* page) {
    if (page == nullptr) {
      entries.push_back({});
      return;
    }
    if (page->stamp == stamp) return;
    page->stamp = stamp;
    page->table_index = static_cast<std::uint32_t>(entries.size());
    page->reader_batch = static_cast<std::uint64_t>(draft.id());
    entries.push_back({.page = page->page, .visible = page->written & page->view});
    if (draft.is_being_written(*page)) {
      record.reads_passes.push_back(page->writer_pass);
    }
  };
  for (PageObject* page : operation.input_pages) add(page);
  for (PageObject* page : operation.output_pages) add(page);
  for (const PageId page : record.scratch) entries.push_back({.page = page, .visible = 0});
  return entries;
}

void ForwardSteps::add_rows(Operation& operation, std::uint32_t row_count, ForwardRecord& record,
                            std::vector<TableEntry>& entries, BatchDraft& draft) {
  const std::uint32_t page_size = this->page_size();
  const auto row_first = draft.row_count();
  const std::uint32_t pass_index = draft.pass_count();
  const std::size_t output_first = operation.input_embeds.size() - operation.output_embeds.size();
  const auto scratch_first = static_cast<std::uint32_t>(entries.size() - record.scratch.size());
  const ChosenAdaptersRef& set = body_of<Forward>(operation).adapters;
  const std::uint32_t adapters = draft.adapters_of(set);
  std::size_t page_index = 0;
  for (std::uint32_t index = 0; index < row_count; ++index) {
    EmbedObject& embed = *operation.input_embeds[operation.done_count + index];
    Row row{.position = embed.position, .adapters = adapters};
    if (embed.state == EmbedState::Token)
      row.token = embed.token;
    else
      row.embed = embed.slot;
    if (!record.scratch.empty()) {
      row.slot = scratch_first * page_size + index;
      entries[scratch_first + index / page_size].visible |= 1u << (index % page_size);
    } else if (!operation.output_pages.empty()) {
      while (fill_of(*operation.output_pages[page_index]) == page_size) ++page_index;
      PageObject& page = *operation.output_pages[page_index];
      const std::uint32_t offset = fill_of(page);
      const std::uint32_t bit = 1u << offset;
      row.slot = page.table_index * page_size + offset;
      page.written |= bit;
      page.positions[offset] = embed.position;
      page.set_adapters(offset, set);
      page.position_min = std::min(page.position_min, embed.position);
      page.writer_batch = static_cast<std::uint64_t>(draft.id());
      page.writer_pass = pass_index;
      entries[page.table_index].visible |= bit & page.view;
      if (record.writes.empty() || record.writes.back().page.get() != &page) {
        record.writes.push_back({.page = Ref<PageObject>(&page)});
      }
      record.writes.back().bits |= bit;
    }
    draft.add_row(row);
  }
  const auto entry_count = static_cast<std::uint32_t>(entries.size());
  PassRecord& record_of_pass = draft.begin_pass(*this, operation);
  record_of_pass.forward = draft.forward_count();
  for (std::uint32_t index = 0; index < row_count; ++index) {
    const std::size_t input = operation.done_count + index;
    if (input < output_first) continue;
    draft.want_output(*operation.output_embeds[input - output_first], row_first + index);
  }
  inference::ForwardPass pass{.sequence = record.sequence,
                              .row_first = row_first,
                              .row_count = row_count,
                              .visible_slot_end = entry_count * page_size,
                              .mask = std::nullopt};
  if (!body_of<Forward>(operation).mask.empty()) {
    pass.mask = mask_of(operation, operation.done_count, row_count, entry_count * page_size);
  }
  draft.end_pass(operation, std::move(pass));
}

// Requires table_of(), which decides where each page lies.
SlotMask ForwardSteps::mask_of(const Operation& operation, std::uint32_t row_first,
                               std::uint32_t row_count, std::uint32_t slot_count) const {
  const std::uint32_t page_size = this->page_size();
  const std::size_t input_count = operation.input_pages.size();
  const std::size_t listed_count = input_count + operation.output_pages.size();
  const std::uint8_t* bytes =
      body_of<Forward>(operation).mask.data() + row_first * listed_count * page_size;
  SlotMask mask{.slot_count = slot_count, .words = {}};
  mask.words.assign(std::size_t{row_count} * mask.words_per_row(), 0);
  for (std::uint32_t row = 0; row < row_count; ++row) {
    std::uint64_t* words = mask.words.data() + std::size_t{row} * mask.words_per_row();
    for (std::size_t listed = 0; listed < listed_count; ++listed) {
      const std::size_t entry =
          listed < input_count ? listed : operation.output_pages[listed - input_count]->table_index;
      for (std::size_t slot = entry * page_size; slot < (entry + 1) * page_size; ++slot) {
        if (*bytes++ != 0) words[slot / 64] |= std::uint64_t{1} << (slot % 64);
      }
    }
  }
  return mask;
}

void ForwardSteps::passed(const Flight& flight, PassRecord& pass, Result<void> outcome) {
  const ForwardRecord& record = flight.forwards[pass.forward];
  resources().sequences.release_ephemeral(record.sequence);
  for (const PageId page : record.scratch) resources().cache.release(page);
  if (!outcome.ok()) {
    for (const PageWrite& write : record.writes) {
      if (PageObject* page = write.page.get()) page->written &= ~write.bits;
    }
  }
  Operation* operation = pass.operation.get();
  if (operation == nullptr) return;
  if (!outcome.ok()) {
    fail(*operation, std::move(outcome).take_error());
  } else if (pass.is_last) {
    done(*operation);
  }
}

}  // namespace quire::control
