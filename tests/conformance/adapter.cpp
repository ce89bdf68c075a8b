// adapter: what a model computes under, by name. programs.py loads the adapter "first".
#include <limits>

#include "steps.h"

namespace quire::conformance {
namespace {

using Scales = std::vector<double>;

void sets(Harness& t) {
  char text[64] = {};
  void* const buffer = text;
  t.ok("adapter.available-adapters", t.model, buffer, 64);
  const std::int32_t context = t.ok("context.create", t.queue);
  t.ok("adapter.use-adapters", context, "first", Scales{0.5});
  t.ok("adapter.use-adapters", context, "first", Scales{0.0});
  t.ok("adapter.use-adapters", context, "", Scales{});
  t.refused("adapter.use-adapters", ErrorCode::NotFound, context, "second", Scales{1.0});
  t.refused("adapter.use-adapters", ErrorCode::InvalidArgument, context, "first", Scales{});
  t.refused("adapter.use-adapters", ErrorCode::InvalidArgument, context, "first\nfirst",
            Scales{1.0, 1.0});
  t.refused("adapter.use-adapters", ErrorCode::InvalidArgument, context, "first",
            Scales{std::numeric_limits<double>::infinity()});
  t.refused("adapter.use-adapters", ErrorCode::NotFound, t.queue, "first", Scales{1.0});
  give_back(t, Handles{context});
}

void passes(Harness& t) {
  const Handles none;
  const Bytes no_mask;
  const Handles pages = written_pages(t, 20);
  const Handles next = embedded(t, 3, 20);
  const Handles output = embeds_of(t, 2);
  t.result("adapter.forward-with-adapter", t.queue, "first", pages, next, pages, output, no_mask,
           0);
  t.refused("adapter.forward-with-adapter", ErrorCode::NotFound, t.queue, "second", pages, next,
            none, none, no_mask, 0);
  for (const Handles& each : {pages, next, output}) give_back(t, each);
}

void program(Harness& t) {
  sets(t);
  passes(t);
  for (const std::int32_t handle : {0, -1, 12'345'678}) {
    t.refused("adapter.available-adapters", ErrorCode::NotFound, handle,
              static_cast<void*>(nullptr), 0);
  }
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
