#include "control/contexts/tail_page.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/planted_fault.h"

namespace quire::control {

TailPage::TailPage(const ContextParts& parts, std::uint32_t page_size, std::uint32_t index) {
  const std::uint32_t slot_first = (parts.chain().page_count() + index) * page_size;
  content_.tokens = parts.tokens().all().subspan(std::size_t{index} * page_size, page_size);
  std::iota(positions_.begin(), positions_.begin() + page_size, slot_first);
  content_.positions = std::span(positions_).first(page_size);
  const SlotAdapters& sets = parts.adapters().of_slots;
  if (!sets.is_empty()) {
    adapters_ = adapter_runs(sets, slot_first, slot_first + page_size);
    if (is_planted(Fault::AdapterRunOffByOne)) {
      for (AdapterRun& run : adapters_) {
        run.first_slot = std::min(run.first_slot + 1, page_size - 1);
      }
    }
    content_.adapters = adapters_;
  }
  if (parts.view().is_plain()) return;
  mask_ = parts.view().encode(slot_first, page_size);
  content_.mask = mask_;
}

std::uint32_t written_tail_count(const ContextParts& parts) {
  const std::uint32_t written = parts.tokens().written_count();
  return std::min(page_count_for(written, parts.page_size()), parts.working().count());
}

std::uint32_t visible_tail_slots(const ContextParts& parts, std::uint32_t index) {
  const std::uint32_t page_size = parts.page_size();
  const std::uint32_t written = parts.tokens().written_count() - index * page_size;
  const std::uint32_t first = (parts.chain().page_count() + index) * page_size;
  return slot_bits(0, std::min(written, page_size)) &
         parts.view().dropped().visible_bits(first, page_size);
}

}  // namespace quire::control
