#pragma once
// Common parts of the calls on contexts: finding one, and submitting a command on it.
#include <cstdint>

#include "application/hostcalls/host_call.h"

namespace quire::hostcalls {

struct ContextView {
  GuestState::ContextRecord& record;
  ModelView model;
};

Result<ContextView> find_context(HostCall& call, GuestHandle context);
// For what is a command: the queue of the context must live.
Result<ContextView> find_live_context(HostCall& call, GuestHandle context);
// For what changes it: and no generation of the host runs on it.
Result<ContextView> find_changing_context(HostCall& call, GuestHandle context);

// Room for one more context, those that futures will bring counted.
Result<void> check_context_room(const GuestState& guest);

// A command whose answer brings the counters. What it does to queued tokens is the caller's to say.
Result<FutureRecord*> submit_context(HostCall& call, GuestHandle context, const ContextView& view,
                                     control::CommandBody body, std::uint64_t bytes);

}  // namespace quire::hostcalls
