#include "control/contexts/tail_page.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/planted_fault.h"

namespace quire::control {

TailPage::TailPage(const Context& context, std::uint32_t page_size, std::uint32_t index) {
  const std::uint32_t slot_first = (context.chain().page_count() + index) * page_size;
  content_.tokens = context.tokens().all().subspan(std::size_t{index} * page_size, page_size);
  std::iota(positions_.begin(), positions_.begin() + page_size, slot_first);
  content_.positions = std::span(positions_).first(page_size);
  if (!context.adapters().of_slots.is_base()) {
    adapters_ = context.adapters().of_slots.of(slot_first, slot_first + page_size);
    if (is_planted(Fault::AdapterRunOffByOne)) {
      for (AdapterRun& run : adapters_) {
        run.first_slot = std::min(run.first_slot + 1, page_size - 1);
      }
    }
    content_.adapters = adapters_;
  }
  if (context.view().is_plain()) return;
  mask_ = context.view().encode(slot_first, page_size);
  content_.mask = mask_;
}

}  // namespace quire::control
