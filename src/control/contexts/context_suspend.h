#pragma once
// Suspension: a context gives its pages up and goes on existing.
//
// What it knows stays: its tokens, in nodes held by name and in the context itself. Its pages go
// cold, so the eviction order decides which of them really go; the others are there when it
// resumes. Tokens whose pages went are lost: written once, to be written again before anything that
// depends on them. They stand first among the queued ones, and seq_len() goes on counting them.
// Pages that the program reserved go too; their count stays, and what computes next takes them
// again.
//
// The bits of a context that dropped slots or has an opaque page could not be computed from its
// tokens: it is swapped instead (context_swap.h).
//
// Thread   engine thread only.
#include "control/contexts/context.h"

namespace quire::control {

// Whether it can be suspended now, and holds a page that this would let go.
bool can_suspend(const Context& context, const ModelResources& resources);
// Requires: can_suspend().
void suspend_context(Context& context, ModelResources& resources, PageLedger& ledger);
// Holds what is still there of the chain again, as far as the instance may have it: no more than
// `quota` pages. The rest is lost. O(its pages). Requires: suspended.
void resume_context(Context& context, ModelResources& resources, PageLedger& ledger,
                    std::uint32_t quota);

}  // namespace quire::control
