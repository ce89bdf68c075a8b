#pragma once
// The pass by hand that forward and forward-with-adapter submit.
#include <cstdint>

#include "application/hostcalls/host_call.h"
#include "control/api/adapter_runs.h"

namespace quire::hostcalls {

struct PassLists {
  GuestList<std::int32_t> ikv;
  GuestList<std::int32_t> iemb;
  GuestList<std::int32_t> okv;
  GuestList<std::int32_t> oemb;
  GuestList<std::uint8_t> mask;
  std::uint32_t flags = 0;
};

// `adapters`: null for those of the queue's model as it was opened.
Result<std::int32_t> submit_pass(HostCall& call, GuestHandle queue, const PassLists& lists,
                                 control::ChosenAdaptersRef adapters);

}  // namespace quire::hostcalls
