#include "control/contexts/page_ledger.h"

#include "control/contexts/context.h"

namespace quire::control {

void PageLedger::add_away(Context& context) {
  context.set_away_index(static_cast<std::uint32_t>(away_.size()));
  away_.push_back(&context);
}

void PageLedger::remove_away(Context& context) {
  Context* last = away_.back();
  away_[context.away().index] = last;
  last->set_away_index(context.away().index);
  away_.pop_back();
  context.set_away_index(kNotAway);
}

}  // namespace quire::control
