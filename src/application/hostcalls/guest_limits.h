#pragma once
// GuestLimits is the most that one instance may hold or send in the application layer. The error of
// a call that would exceed a limit names it. control::InstanceLimits has those of pages, embeds,
// queues and contexts.
#include <cstdint>
#include <vector>

#include "application/net/http_grant.h"
#include "application/net/http_limits.h"

namespace quire::hostcalls {

// The most arguments of one launch.
inline constexpr std::uint32_t kArgumentCountMax = 4096;

struct GuestLimits {
  std::uint32_t future_count_max = 1u << 14;
  std::uint32_t model_handle_count_max = 256;
  std::uint32_t rule_count_max = 256;                 // Of interface draw;
  std::uint32_t grammar_count_max = 64;               // of interface constraint,
  std::uint32_t matcher_count_max = 256;              // and places in its grammars.
  std::uint64_t held_grammar_bytes_max = 256u << 20;  // Of all compiled grammars that it holds.
  std::uint32_t text_bytes_max = 1u << 20;            // Of one text, request or message.
  std::uint64_t pending_bytes_max = 64u << 20;        // Arguments of commands not yet answered.
  std::uint32_t queued_token_count_max = 1u << 22;    // Appended to contexts, not yet computed.
  // Results that the guest has not taken; small ones (FutureTable::kSmallResultBytes) are bounded
  // by their count alone.
  std::uint64_t held_result_bytes_max = 64u << 20;
  std::uint64_t output_bytes_max = std::uint64_t{1} << 30;  // Messages, log and files, in all.
  std::uint32_t outbox_message_count_max = 1024;            // Messages the client has not taken.
  std::uint64_t outbox_bytes_max = 4u << 20;
  std::uint32_t inbox_message_count_max = 1024;  // Messages the guest has not received.
  std::uint64_t inbox_bytes_max = 4u << 20;
  bool has_file_client = true;                     // Files can be sent and received.
  std::uint64_t file_bytes_max = 64u << 20;        // Of one file.
  std::uint32_t file_count_max = 64;               // Handles; and files the guest has not received.
  std::uint64_t file_outbox_bytes_max = 4u << 20;  // Parts the client has not taken.
  std::uint64_t file_inbox_bytes_max = 4u << 20;   // Parts the guest has not read.
  std::uint64_t request_inbox_bytes_max = 256u << 10;    // Of a request's body, not read.
  std::uint64_t response_outbox_bytes_max = 256u << 10;  // Of a response, not taken.
  std::uint32_t subscription_count_max = 256;
  std::uint32_t child_handle_count_max = 1024;     // Of children that run and that ended.
  std::uint32_t mailbox_message_count_max = 1024;  // Of all subscriptions, not received.
  std::uint64_t mailbox_bytes_max = 4u << 20;
  std::uint64_t log_bytes_max = 4u << 20;          // Of log, stdout and stderr, in all.
  std::uint64_t log_pending_bytes_max = 8u << 20;  // Of lines the client has not taken.
  std::uint32_t log_line_bytes_max = 4096;
  std::uint32_t result_bytes_max = 1u << 20;    // Of set_result.
  std::uint32_t argument_bytes_max = 1u << 20;  // Of all launch arguments together.
  net::HttpLimits http;
  std::vector<net::HttpGrant> http_grants;  // None: outbound HTTP is off.
};

}  // namespace quire::hostcalls
