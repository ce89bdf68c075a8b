#include "control/objects/give_back.h"

#include <utility>

#include "control/contexts/context.h"
#include "control/objects/page_handles.h"

namespace quire::control {

void give_back(Instance& instance, PageObject& page) {
  if (page.page == inference::kNoPage) return;
  page.replica->ledger(instance).release(page.page);
  release_handle(page, page.replica->resources);
}

void give_back(EmbedObject& embed) {
  if (embed.state == EmbedState::Output) {
    Replica& replica = *embed.replica;
    replica.resources.embed_slots.release(embed.slot);
    replica.ledger(*embed.instance).release_output();
    --replica.share(*embed.instance).output_count;
  }
  embed.state = EmbedState::Empty;
  embed.slot = inference::kNoEmbedSlot;
  embed.error.reset();
}

void take_slot(EmbedObject& embed) {
  Replica& replica = *embed.replica;
  if (embed.state == EmbedState::Output) {
    replica.resources.embed_slots.release(embed.slot);
  } else {
    give_back(embed);
    embed.state = EmbedState::Output;
    replica.ledger(*embed.instance).acquire_output();
    ++replica.share(*embed.instance).output_count;
  }
  embed.slot = *replica.resources.embed_slots.allocate();
}

bool keep_taken(Context& context) {
  const store::TicketId ticket = context.give_ticket();
  if (ticket == store::kNoTicket) return false;
  context.replica()->store.release(ticket, store::TicketEnd::Take);
  return true;
}

void give_back(Context& context, std::uint64_t now_ns) {
  Replica& replica = *context.replica();
  const store::TicketId ticket = context.give_ticket();
  if (ticket != store::kNoTicket) replica.store.release(ticket);
  if (context.chain().head() == kNoNode) return;  // A fork that never came to its turn.
  replica.resources.cache.set_time(now_ns);
  context.drop();
}

}  // namespace quire::control
