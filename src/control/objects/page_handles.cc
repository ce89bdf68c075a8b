#include "control/objects/page_handles.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"

namespace quire::control {

using inference::PageCopy;

namespace {

std::string range_of(std::uint32_t first, std::uint32_t count) {
  return "[" + std::to_string(first) + ", " + std::to_string(std::uint64_t{first} + count) + ")";
}

// Gives a second holder of the same bytes their description.
void describe_as(const PageObject& from, PageObject& to) {
  to.written = from.written;
  to.positions = from.positions;
  to.position_min = from.position_min;
  to.adapters = from.adapters;
  to.view = 0xffffffffu;
  to.is_shared = true;
}

Error never_allocated(const std::string& name) {
  return Error(ErrorCode::NoFreePage, name + " was never allocated");
}

}  // namespace

Result<void> check_readable(const PageObject& page, const char* name, std::size_t index) {
  if (page.page != inference::kNoPage) return {};
  return never_allocated(std::string(name) + "[" + std::to_string(index) + "]");
}

Result<void> check_copy(const PageObject& from, const PageObject& to, const CopyPage& copy,
                        std::uint32_t page_size) {
  if (from.page == inference::kNoPage) return never_allocated("the source page");
  if (to.page == inference::kNoPage) return never_allocated("the target page");
  const auto fits = [&](std::uint32_t first) {
    return std::uint64_t{first} + copy.slot_count <= page_size;
  };
  if (!fits(copy.from_slot) || !fits(copy.to_slot)) {
    return Error(ErrorCode::OutOfRange, "copy of slots " +
                                            range_of(copy.from_slot, copy.slot_count) + " to " +
                                            range_of(copy.to_slot, copy.slot_count) +
                                            ": a page has " + std::to_string(page_size));
  }
  if (to.is_shared) {
    return Error(ErrorCode::PageCommitted,
                 "the target page is committed or shared: it can only be read");
  }
  const std::uint32_t missing = slot_bits(copy.from_slot, copy.slot_count) & ~from.written;
  if (missing != 0) {
    return Error(ErrorCode::PageNotFull, "copy of slot " +
                                             std::to_string(std::countr_zero(missing)) +
                                             " of the source page, which was never written");
  }
  return {};
}

PageCopy copy_slots(const PageObject& from, PageObject& to, const CopyPage& copy) {
  const auto first = from.positions.begin() + copy.from_slot;
  const std::vector<std::uint32_t> positions(first, first + copy.slot_count);
  std::copy(positions.begin(), positions.end(), to.positions.begin() + copy.to_slot);
  for (const std::uint32_t position : positions) {
    to.position_min = std::min(to.position_min, position);
  }
  std::vector<ChosenAdaptersRef> sets;
  for (std::uint32_t slot = 0; slot < copy.slot_count; ++slot) {
    sets.push_back(from.adapters_of(copy.from_slot + slot));
  }
  for (std::uint32_t slot = 0; slot < copy.slot_count; ++slot) {
    to.set_adapters(copy.to_slot + slot, std::move(sets[slot]));
  }
  to.written |= slot_bits(copy.to_slot, copy.slot_count);
  return {.from = from.page,
          .to = to.page,
          .from_slot = copy.from_slot,
          .to_slot = copy.to_slot,
          .slot_count = copy.slot_count};
}

void seal_handle(PageObject& page, ModelResources& resources) {
  QUIRE_CHECK(!page.is_shared && page.page != inference::kNoPage, "sealed what is shared");
  resources.cache.seal(page.page);
  page.is_shared = true;
}

void share_handle(const PageObject& from, PageObject& to, ModelResources& resources) {
  QUIRE_CHECK(from.is_shared && to.page == inference::kNoPage, "shared a page that is written");
  describe_as(from, to);
  to.page = from.page;
  to.node = from.node;
  to.above = from.above;
  to.tokens = from.tokens;
  if (to.node != kNoNode) {
    resources.cache.hold_page(to.node);
  } else {
    resources.cache.retain(to.page);
  }
  if (to.above != kNoNode) resources.cache.hold_name(to.above);
}

void copy_sealed(const PageObject& from, PageObject& to, PageId page, ModelResources& resources,
                 std::vector<PageCopy>& copies) {
  describe_as(from, to);
  to.page = page;
  resources.cache.seal(page);
  append_copies(from.page, page, from.written, copies);
}

void append_copies(PageId from, PageId to, std::uint32_t written, std::vector<PageCopy>& copies) {
  while (written != 0) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(written));
    const auto count = static_cast<std::uint32_t>(std::countr_one(written >> first));
    copies.push_back(
        {.from = from, .to = to, .from_slot = first, .to_slot = first, .slot_count = count});
    written &= ~slot_bits(first, count);
  }
}

void release_handle(PageObject& page, ModelResources& resources) {
  const PageId held = std::exchange(page.page, inference::kNoPage);
  if (held == inference::kNoPage) return;
  if (page.node != kNoNode) {
    resources.cache.drop_page(std::exchange(page.node, kNoNode));
  } else {
    resources.cache.release(held);
  }
  if (page.above != kNoNode) resources.cache.drop_name(std::exchange(page.above, kNoNode));
}

}  // namespace quire::control
