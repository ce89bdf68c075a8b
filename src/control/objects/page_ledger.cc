#include "control/objects/page_ledger.h"

#include "control/objects/instance.h"

namespace quire::control {

void PageLedger::add_away(Context& context) {
  context.away_index = static_cast<std::uint32_t>(away_.size());
  away_.push_back(&context);
}

void PageLedger::remove_away(Context& context) {
  Context* last = away_.back();
  away_[context.away_index] = last;
  last->away_index = context.away_index;
  away_.pop_back();
  context.away_index = kNotAway;
}

}  // namespace quire::control
