// The limits that an instance's own tables keep, and how much of each is used.
#include "application/hostcalls/guest_state.h"

namespace quire::hostcalls {

namespace {

// The limits of a single call or HTTP exchange, of which no use is counted.
std::vector<LimitUse> single_limits(const GuestLimits& limits) {
  const net::HttpLimits& http = limits.http;
  return {
      {"text_bytes_max", limits.text_bytes_max, {}},
      {"result_bytes_max", limits.result_bytes_max, {}},
      {"argument_bytes_max", limits.argument_bytes_max, {}},
      {"log_line_bytes_max", limits.log_line_bytes_max, {}},
      {"http.url_bytes_max", http.url_bytes_max, {}},
      {"http.request_header_bytes_max", http.request_header_bytes_max, {}},
      {"http.request_body_bytes_max", http.request_body_bytes_max, {}},
      {"http.response_header_bytes_max", http.response_header_bytes_max, {}},
      {"http.response_body_bytes_max", http.response_body_bytes_max, {}},
      {"http.decompressed_bytes_max", http.decompressed_bytes_max, {}},
      {"http.decompression_ratio_max", http.decompression_ratio_max, {}},
      {"http.whole_body_bytes_max", http.whole_body_bytes_max, {}},
      {"http.redirect_count_max", http.redirect_count_max, {}},
      {"http.connect_ns_max", http.connect_ns_max, {}},
      {"http.first_byte_ns_max", http.first_byte_ns_max, {}},
      {"http.idle_ns_max", http.idle_ns_max, {}},
      {"http.total_ns_max", http.total_ns_max, {}},
  };
}

}  // namespace

std::vector<LimitUse> own_limits(const GuestState& guest) {
  const GuestLimits& limits = guest.identity.limits;
  const control::InstanceLimits& control = guest.identity.control_limits;
  const auto handles = [&](const char* name, HandleKind kind, std::uint32_t maximum) {
    return LimitUse{name, maximum, guest.handles.count(kind)};
  };
  const control::PendingCommands pending = guest.host.control.pending(guest.identity.instance);
  const control::InstanceStatistics statistics =
      guest.host.control.statistics(guest.identity.instance);
  std::vector<LimitUse> uses = {
      handles("future_count_max", HandleKind::Future, limits.future_count_max),
      handles("queue_count_max", HandleKind::Queue, control.queue_count_max),
      handles("embed_count_max", HandleKind::Embed, control.embed_count_max),
      handles("context_count_max", HandleKind::Context, control.context_count_max),
      handles("subscription_count_max", HandleKind::Subscription, limits.subscription_count_max),
      {"pending_command_count_max", control.pending_command_count_max, pending.count},
      // Limits lent to children count as used.
      {"pending_bytes_max", limits.pending_bytes_max,
       pending.bytes + guest.pending_bytes_max().childrens},
      {"queued_token_count_max", limits.queued_token_count_max, guest.queued_tokens()},
      {"held_result_bytes_max", limits.held_result_bytes_max,
       guest.futures.held_bytes() + guest.futures.held_bytes_max().childrens},
      {"outbox_message_count_max", limits.outbox_message_count_max, guest.outbox.message_count()},
      {"outbox_bytes_max", limits.outbox_bytes_max, guest.outbox.message_bytes()},
      {"inbox_message_count_max", limits.inbox_message_count_max,
       guest.session.inbox_message_count()},
      {"inbox_bytes_max", limits.inbox_bytes_max, guest.session.inbox_bytes()},
      {"output_bytes_max", limits.output_bytes_max, guest.output.bytes()},
      {"log_bytes_max", limits.log_bytes_max, guest.session.log_bytes()},
      {"mailbox_message_count_max", limits.mailbox_message_count_max,
       guest.mailbox.message_count()},
      {"mailbox_bytes_max", limits.mailbox_bytes_max, guest.mailbox.bytes()},
      handles("file_count_max", HandleKind::File, limits.file_count_max),
      {"file_bytes_max", limits.file_bytes_max, {}},
      {"file_outbox_bytes_max", limits.file_outbox_bytes_max, guest.outbox.part_bytes()},
      {"file_inbox_bytes_max", limits.file_inbox_bytes_max, guest.files.inbox_bytes()},
      {"request_inbox_bytes_max", limits.request_inbox_bytes_max, guest.served.inbox_bytes()},
      {"response_outbox_bytes_max", limits.response_outbox_bytes_max,
       guest.outbox.response_bytes()},
      handles("model_handle_count_max", HandleKind::Model, limits.model_handle_count_max),
      handles("child_handle_count_max", HandleKind::Child, limits.child_handle_count_max),
      handles("rule_count_max", HandleKind::Rule, limits.rule_count_max),
      {"grammar_count_max", limits.grammar_count_max,
       guest.handles.count(HandleKind::Grammar) + guest.handles.count(HandleKind::ReservedGrammar)},
      handles("matcher_count_max", HandleKind::Matcher, limits.matcher_count_max),
      {"held_grammar_bytes_max", limits.held_grammar_bytes_max, guest.draws.grammar_bytes()},
      {"held_matcher_bytes_max", control.held_matcher_bytes_max, statistics.matcher_bytes},
      handles("generation_count_max", HandleKind::Generation, GenerationTable::kGenerationCountMax),
      {"handle_count_max", HandleTable::kSlotCountMax, guest.handles.slot_count()},
      {"log_pending_bytes_max", limits.log_pending_bytes_max, guest.outbox.line_bytes()},
      // The limits are the instance's; the counts are its whole tenant's.
      {"export_count_max", control.export_count_max, statistics.tenant_export_count},
      {"export_page_count_max", control.export_page_count_max, statistics.tenant_export_page_count},
  };
  const std::vector<LimitUse> single = single_limits(limits);
  uses.insert(uses.end(), single.begin(), single.end());
  return uses;
}

}  // namespace quire::hostcalls
