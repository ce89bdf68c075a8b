// Operations of programs on pages and embeds by hand. They do not run on a device that loses
// passes: forward_program_test.cc tests the effect of a lost one.
#include <algorithm>
#include <numeric>

#include "control/page_program.h"

namespace quire::control {

using test::Row;
using test::Slot;

namespace {

constexpr std::uint32_t kHole = ~0u;
constexpr std::size_t kPagesMax = 3;  // By hand, of one guest.

}  // namespace

// A forward pass over pages, by indices into the guest's pages and embeds.
struct PageProgram::Pass {
  Guest* guest = nullptr;
  std::vector<std::uint32_t> input_pages;
  std::vector<std::uint32_t> output_pages;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;
  std::vector<std::uint8_t> mask;
  ChosenAdaptersRef set;
  std::size_t listed_count() const { return input_pages.size() + output_pages.size(); }
  // [inputs][page_size * table()]: of two columns either shows the slot.
  std::vector<std::uint8_t> folded_mask(std::uint32_t page_size) const {
    const std::vector<std::uint32_t> pages = table();
    std::vector<std::uint8_t> folded(mask.empty() ? 0 : inputs.size() * pages.size() * page_size);
    std::size_t next = 0;
    for (std::size_t row = 0; row < inputs.size() && !mask.empty(); ++row) {
      for (std::size_t listed = 0; listed < listed_count(); ++listed) {
        std::size_t place = listed;
        if (listed >= input_pages.size()) {
          const std::uint32_t page = output_pages[listed - input_pages.size()];
          place =
              static_cast<std::size_t>(std::find(pages.begin(), pages.end(), page) - pages.begin());
        }
        for (std::size_t slot = 0; slot < page_size; ++slot) {
          folded[(row * pages.size() + place) * page_size + slot] |= mask[next++];
        }
      }
    }
    return folded;
  }

  std::vector<std::uint32_t> table() const {
    std::vector<std::uint32_t> pages = input_pages;
    for (const std::uint32_t page : output_pages) {
      if (std::find(input_pages.begin(), input_pages.end(), page) == input_pages.end()) {
        pages.push_back(page);
      }
    }
    return pages;
  }
  std::vector<ObjectId> page_ids(const std::vector<std::uint32_t>& pages) const {
    std::vector<ObjectId> ids;
    for (const std::uint32_t page : pages) {
      ids.push_back(page == kHole ? kNoObject : guest->pages[page].id);
    }
    return ids;
  }
  std::vector<ObjectId> embed_ids(const std::vector<std::uint32_t>& embeds) const {
    std::vector<ObjectId> ids;
    for (const std::uint32_t embed : embeds) ids.push_back(guest->embeds[embed].id);
    return ids;
  }
};

namespace {

// The first slot after all written ones.
std::uint32_t fill_of(const std::vector<Slot>& slots) {
  std::uint32_t fill = 0;
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].is_written) fill = slot + 1;
  }
  return fill;
}

std::vector<std::uint32_t> some_of(std::size_t bound, std::size_t count, std::mt19937_64& random) {
  std::vector<std::uint32_t> all(bound);
  std::iota(all.begin(), all.end(), 0u);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(bound, count));
  return all;
}

}  // namespace

PageProgram::Page PageProgram::new_page(ObjectId id) const {
  return {.id = id,
          .slots = std::vector<Slot>(knobs_.page_size),
          .view = std::vector<std::uint8_t>(knobs_.page_size, 1)};
}

// A handle that in most cases stands for a page. Requires: the guest has a handle.
PageProgram::Page& PageProgram::some_page(Guest& guest) {
  Page& page = some(guest.pages);
  return page.is_there() || below(4) == 0 ? page : some(guest.pages);
}

void PageProgram::alloc_pages(Guest& guest) {
  if (knobs_.failure_percent > 0 || guest.pages.size() >= kPagesMax) return;
  const ObjectId id = machine_->new_object();
  const std::optional<ErrorCode> error = outcome(guest.id, AllocPages{guest.queue, {id}});
  if (!error) return guest.pages.push_back(new_page(id));
  ASSERT_TRUE(is_fallible() && error == ErrorCode::NoFreePage);
  machine_->send(guest.id, DeallocPages{guest.queue, {id}}, false);  // The name is still there.
}

void PageProgram::dealloc_pages(Guest& guest) {
  if (guest.pages.empty()) return;
  const auto empty = std::find_if(guest.pages.begin(), guest.pages.end(),
                                  [](const Page& each) { return !each.is_there(); });
  Page& page = empty == guest.pages.end() ? some(guest.pages) : *empty;
  expect_done(guest, machine_->send(guest.id, DeallocPages{guest.queue, {page.id}}));
  guest.pages.erase(guest.pages.begin() + (&page - guest.pages.data()));
}

void PageProgram::mask_page(Guest& guest) {
  if (guest.pages.empty()) return;
  Page& page = some(guest.pages);
  for (std::uint8_t& slot : page.view) slot = below(4) != 0;
  expect_done(guest, machine_->send(guest.id, MaskPage{guest.queue, page.id, page.view}));
}

// The first tokens of a page, as a context would have them.
void PageProgram::write_page(Guest& guest) {
  const std::size_t count_before = guest.pages.size();
  alloc_pages(guest);
  if (guest.pages.size() == count_before) return;
  Pass pass;
  pass.guest = &guest;
  pass.output_pages = {static_cast<std::uint32_t>(count_before)};
  const std::uint32_t first = below(2) * knobs_.page_size;
  if (below(3) == 0) pass.set = some(sets_);
  const auto count = static_cast<std::uint32_t>(guest.embeds.size());
  for (std::uint32_t index = 0; index < std::min(count, knobs_.page_size); ++index) {
    embed_text(guest, guest.embeds[index], first + index);
    pass.inputs.push_back(index);
  }
  issue_pass(std::move(pass));
}

void PageProgram::embed_text(Guest& guest) {
  embed_text(guest, some(guest.embeds), below(12));
}

void PageProgram::embed_text(Guest& guest, Embed& embed, std::uint32_t position) {
  const std::uint32_t token = below(512);
  embed.kind = EmbedKind::Token;
  embed.position = position;
  embed.value = test::input_of_token(token);
  expect_done(guest, machine_->send(guest.id,
                                    EmbedText{guest.queue, {embed.id}, {token}, {embed.position}}));
}

void PageProgram::renew_embed(Guest& guest) {
  Embed& embed = some(guest.embeds);
  expect_done(guest, machine_->send(guest.id, DeallocEmbeds{guest.queue, {embed.id}}));
  embed = {.id = machine_->embeds(guest.id, guest.queue, 1)[0]};
}

void PageProgram::get_next_dist(Guest& guest) {
  const Embed& embed = some(guest.embeds);
  const FutureId future = machine_->send(guest.id, GetNextDist{guest.queue, embed.id, 8});
  if (embed.kind == EmbedKind::Output) return expect_output(guest, future, embed.value);
  expect_refusal(guest, future,
                 embed.kind == EmbedKind::Failed ? embed.error : ErrorCode::InvalidArgument);
}

PageProgram::Pass PageProgram::some_pass(Guest& guest) {
  Pass pass;
  pass.guest = &guest;
  pass.input_pages = some_of(guest.pages.size(), below(3), random_);
  if (below(8) == 0) pass.input_pages.push_back(kHole);
  pass.output_pages = some_of(guest.pages.size(), below(3), random_);
  const std::uint32_t count = 1 + below(3);
  for (std::uint32_t index = 0; index < count; ++index) pass.inputs.push_back(below(5));
  pass.outputs = some_of(guest.embeds.size(), below(count + 1), random_);
  if (below(3) == 0) pass.set = some(sets_);
  if (below(4) != 0) return pass;
  std::size_t entries = count * pass.listed_count() * knobs_.page_size;
  if (below(8) == 0) ++entries;  // Too long.
  for (std::size_t index = 0; index < entries; ++index) {
    pass.mask.push_back(static_cast<std::uint8_t>(below(2)));
  }
  return pass;
}

std::optional<ErrorCode> PageProgram::refusal_of(const Pass& pass) const {
  const Guest& guest = *pass.guest;
  for (const std::uint32_t page : pass.table()) {
    if (page != kHole && !guest.pages[page].is_there()) return ErrorCode::NoFreePage;
  }
  for (const std::uint32_t page : pass.output_pages) {
    if (guest.pages[page].is_shared) return ErrorCode::PageCommitted;
  }
  for (const std::uint32_t input : pass.inputs) {
    if (guest.embeds[input].kind == EmbedKind::Failed) return guest.embeds[input].error;
    if (guest.embeds[input].kind == EmbedKind::Empty) return ErrorCode::InvalidArgument;
  }
  std::size_t room = 0;
  for (const std::uint32_t page : pass.output_pages) {
    room += knobs_.page_size - fill_of(guest.pages[page].slots);
  }
  if (!pass.output_pages.empty() && room < pass.inputs.size()) return ErrorCode::OutOfRange;
  const std::size_t columns = pass.listed_count() * knobs_.page_size;
  if (!pass.mask.empty() && pass.mask.size() != pass.inputs.size() * columns) {
    return ErrorCode::InvalidArgument;
  }
  // Rows that see one another's keys, or take one another's place, cannot be parted.
  std::vector<std::uint32_t> positions;
  bool is_whole = !pass.mask.empty() || pass.output_pages.empty();
  for (const std::uint32_t input : pass.inputs) {
    positions.push_back(guest.embeds[input].position);
    is_whole |= std::count(pass.outputs.begin(), pass.outputs.end(), input) > 0;
  }
  is_whole |= !std::is_sorted(positions.begin(), positions.end());
  if (is_whole && pass.inputs.size() > knobs_.row_count_max) return ErrorCode::TooLarge;
  return std::nullopt;
}

// The model does what the pass does.
void PageProgram::take_pass(Pass& pass) {
  Guest& guest = *pass.guest;
  const std::vector<std::uint32_t> pages = pass.table();
  std::vector<test::Place> table;
  std::vector<Slot> scratch(pass.inputs.size());
  for (const std::uint32_t page : pages) {
    for (std::uint32_t slot = 0; slot < knobs_.page_size; ++slot) {
      if (page == kHole) {
        table.push_back({});
        continue;
      }
      Page& handle = guest.pages[page];
      table.push_back({.slot = &handle.slots[slot], .is_visible = handle.view[slot] != 0});
    }
  }
  std::vector<std::size_t> free;  // Of the output pages, in their order.
  for (const std::uint32_t page : pass.output_pages) {
    const auto index =
        static_cast<std::size_t>(std::find(pages.begin(), pages.end(), page) - pages.begin());
    for (std::uint32_t slot = fill_of(guest.pages[page].slots); slot < knobs_.page_size; ++slot) {
      free.push_back(index * knobs_.page_size + slot);
    }
  }
  std::vector<Row> rows;
  for (std::size_t index = 0; index < pass.inputs.size(); ++index) {
    const Embed& input = guest.embeds[pass.inputs[index]];
    const std::uint64_t set = digest_of(pass.set);
    const std::uint64_t value =
        input.kind == EmbedKind::Token ? input.value : test::input_of_output(input.value);
    Row row{.input = test::under(value, set), .position = input.position, .set = set};
    if (!pass.output_pages.empty()) {
      row.own = free[index];
    } else if (pass.mask.empty()) {  // They see one another, and leave nothing.
      row.own = table.size();
      table.push_back({.slot = &scratch[index]});
    }
    rows.push_back(row);
  }
  const std::vector<std::uint64_t> results =
      test::forward_pass(rows, table, pass.folded_mask(knobs_.page_size));
  const std::size_t first = pass.inputs.size() - pass.outputs.size();
  for (std::size_t index = 0; index < pass.outputs.size(); ++index) {
    Embed& output = guest.embeds[pass.outputs[index]];
    output.kind = EmbedKind::Output;
    output.position = rows[first + index].position + 1;
    output.value = results[first + index];
  }
}

void PageProgram::forward_pages(Guest& guest) {
  if (knobs_.failure_percent == 0) issue_pass(some_pass(guest));
}

void PageProgram::issue_pass(Pass pass) {
  Guest& guest = *pass.guest;
  const FutureId future = machine_->send(
      guest.id, Forward{guest.queue, pass.page_ids(pass.input_pages), pass.embed_ids(pass.inputs),
                        pass.page_ids(pass.output_pages), pass.embed_ids(pass.outputs), pass.mask,
                        false, pass.set});
  std::optional<ErrorCode> refusal = refusal_of(pass);
  if (!refusal && is_fallible()) {  // Pages of the pass's own may not be there.
    settle_with(guest.id, future);
    refusal = machine_->error(guest.id, future);
    ASSERT_TRUE(!refusal || refusal == ErrorCode::NoFreePage);
  }
  foretell(guest, future, "forward over pages", refusal);
  if (!refusal) return take_pass(pass);
  for (const std::uint32_t output : pass.outputs) {
    guest.embeds[output] = {
        .id = guest.embeds[output].id, .kind = EmbedKind::Failed, .error = *refusal};
  }
}

}  // namespace quire::control
