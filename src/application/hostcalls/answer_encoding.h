#pragma once
// The bytes that `future.take` gives, as interface/*.wit describes them for each call.
#include <cstdint>
#include <string>

#include "application/hostcalls/handle_table.h"
#include "application/net/http_message.h"
#include "control/api/command.h"

namespace quire::hostcalls {

std::string encode(const control::ContextCounters& counters);
std::string encode(GuestHandle handle);                                    // fork
std::string encode(GuestHandle handle, std::uint32_t queued_token_count);  // open, take
std::string encode(const net::HttpHead& head);                             // response-head
// Answers that say nothing of a context; Done is empty.
std::string encode(control::AnswerBody body);

}  // namespace quire::hostcalls
