#pragma once
// The adapters of a context as a snapshot keeps them, and back.
//
// Thread   engine thread only.
#include "base/result.h"
#include "control/contexts/context.h"
#include "control/objects/adapter_set.h"
#include "control/store/records.h"

namespace quire::control {

// Of all tokens that `context` has, those queued too, and of those to come.
store::SnapshotAdapters adapters_of(const Context& context, const ModelResources& resources);

struct OpenedAdapters {
  SlotAdapters<AdapterSetRef> runs;
  AdapterSetRef in_force;
};
// NotSupported, with name and digest, where one of them is not loaded for `tenant`. `context` is
// the one that they are for.
Result<OpenedAdapters> open_adapters(const store::SnapshotRecord& record, const Context& context);

}  // namespace quire::control
