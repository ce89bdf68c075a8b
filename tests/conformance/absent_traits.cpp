// input-image: a trait that no model here has. Each call says so, whatever else it is given, and
// reports a wrong handle where the handle says whose model is asked.
#include "steps.h"

namespace quire::conformance {
namespace {

void program(Harness& t) {
  constexpr ErrorCode kAbsent = ErrorCode::NotSupported;
  t.refused("input-image.num-embs-needed", kAbsent, t.model, 224, 224);
  t.refused("input-image.embed-img", kAbsent, t.queue, Handles{t.embed}, "PNG", Tokens{0});
  const std::int32_t handles[] = {0, -1, 12'345'678, t.queue};
  for (const std::int32_t handle : handles) {
    t.refused("input-image.num-embs-needed", ErrorCode::NotFound, handle, 1, 1);
    t.refused("input-image.embed-img", ErrorCode::NotFound, handle == t.queue ? t.model : handle,
              Handles{}, "", Tokens{});
  }
  // Nothing of what they are given is looked at.
  t.edges("input-image.embed-img", t.queue, Handles{}, "", Tokens{});
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
