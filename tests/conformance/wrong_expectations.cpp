// A program that is wrong in seven ways, so that the harness is known to notice: each is one line
// that begins with FAIL.
#include "steps.h"

namespace quire::conformance {
namespace {

void program(Harness& t) {
  t.check(false, "what does not hold");
  t.ok("queue.create-queue", t.model, 7);                                  // It is refused.
  t.refused("queue.synchronize", ErrorCode::NotFound, t.queue);            // It is well.
  t.refused("models.get-model", ErrorCode::InvalidArgument, "nobody");     // Not with this error.
  t.result("output.get-entropy", t.queue, t.embed);                        // The future fails.
  t.fails("runtime.sleep", ErrorCode::Cancelled, abi::runtime::sleep(0));  // The future is well.
  abi::queue::create_queue(t.model, 1);                                    // Not given back.
  t.finish_wait_ms = 1000;                                                 // For the latter.
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
