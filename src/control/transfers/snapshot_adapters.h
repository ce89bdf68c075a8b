#pragma once
// The adapters of a context as a snapshot keeps them, and back.
//
// Thread   engine thread only.
#include "base/result.h"
#include "control/contexts/chosen_adapters.h"
#include "control/contexts/context.h"
#include "control/store/records.h"

namespace quire::control {

// The adapters of all tokens of `context`, the queued ones included, and of tokens to come.
store::SnapshotAdapters adapters_of(const Context& context);

// NotSupported, with name and digest, where one of them is not loaded for the tenant of `context`,
// which they are for.
Result<ContextAdapters> open_adapters(const store::SnapshotRecord& record, const Context& context);

}  // namespace quire::control
