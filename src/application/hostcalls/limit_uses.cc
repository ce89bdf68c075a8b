// The limits that an instance's own tables keep, and how much of each is used.
#include "application/hostcalls/guest_state.h"

namespace quire::hostcalls {

std::vector<LimitUse> own_limits(const GuestState& guest) {
  const GuestLimits& limits = guest.identity.limits;
  const control::InstanceLimits& control = guest.identity.control_limits;
  const auto handles = [&](const char* name, HandleKind kind, std::uint32_t maximum) {
    return LimitUse{name, maximum, guest.handles.count(kind)};
  };
  const control::PendingCommands pending = guest.host.control.pending(guest.identity.instance);
  return {
      handles("future_count_max", HandleKind::Future, limits.future_count_max),
      handles("queue_count_max", HandleKind::Queue, control.queue_count_max),
      handles("embed_count_max", HandleKind::Embed, control.embed_count_max),
      handles("context_count_max", HandleKind::Context, control.context_count_max),
      handles("subscription_count_max", HandleKind::Subscription, limits.subscription_count_max),
      {"pending_command_count_max", control.pending_command_count_max, pending.count},
      // What is lent to children counts as used.
      {"pending_bytes_max", limits.pending_bytes_max,
       pending.bytes + guest.pending_bytes_max().childrens},
      {"queued_token_count_max", limits.queued_token_count_max, guest.queued_tokens()},
      {"held_result_bytes_max", limits.held_result_bytes_max,
       guest.futures.held_bytes() + guest.futures.held_bytes_max().childrens},
      {"outbox_message_count_max", limits.outbox_message_count_max,
       guest.session.outbox_message_count()},
      {"outbox_bytes_max", limits.outbox_bytes_max, guest.session.outbox_bytes()},
      {"inbox_message_count_max", limits.inbox_message_count_max,
       guest.session.inbox_message_count()},
      {"inbox_bytes_max", limits.inbox_bytes_max, guest.session.inbox_bytes()},
      {"output_bytes_max", limits.output_bytes_max, guest.output.bytes()},
      {"log_bytes_max", limits.log_bytes_max, guest.session.log_bytes()},
      {"mailbox_message_count_max", limits.mailbox_message_count_max,
       guest.mailbox.message_count()},
      {"mailbox_bytes_max", limits.mailbox_bytes_max, guest.mailbox.bytes()},
      handles("file_count_max", HandleKind::File, limits.file_count_max),
      {"file_bytes_max", limits.file_bytes_max, 0},
      {"file_outbox_bytes_max", limits.file_outbox_bytes_max, guest.files.outbox_bytes()},
      {"file_inbox_bytes_max", limits.file_inbox_bytes_max, guest.files.inbox_bytes()},
      {"text_bytes_max", limits.text_bytes_max, 0},
  };
}

}  // namespace quire::hostcalls
