// queue: streams of commands to a model.
#include "steps.h"

namespace quire::conformance {
namespace {

void program(Harness& t) {
  for (const std::uint32_t priority : {0u, 1u, 2u}) {
    const std::int32_t queue = t.ok("queue.create-queue", t.model, priority);
    t.ok("queue.set-queue-priority", queue, (priority + 1) % 3);
    t.result("queue.synchronize", queue);
    t.ok("queue.destroy-queue", queue);
    t.refused("queue.synchronize", ErrorCode::NotFound, queue);
    t.refused("queue.destroy-queue", ErrorCode::NotFound, queue);
  }
  for (const std::uint32_t priority : {3u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused("queue.create-queue", ErrorCode::InvalidArgument, t.model, priority);
    t.refused("queue.set-queue-priority", ErrorCode::InvalidArgument, t.queue, priority);
  }
  t.mistakes("queue.create-queue", t.model, 1);
  t.mistakes("queue.set-queue-priority", t.queue, 1);
  t.mistakes("queue.synchronize", t.queue);
  t.mistakes("queue.destroy-queue", t.queue);

  // The limit is reported, and queues that are given back can be had again.
  Handles all;
  for (int i = 0; i < 300; ++i) {
    const std::int32_t queue = abi::queue::create_queue(t.model, 1);
    if (queue < 0) break;
    all.push_back(queue);
  }
  t.check(all.size() < 300, "queues have no bound");
  t.refused("queue.create-queue", ErrorCode::QuotaExceeded, t.model, 1);
  t.drop(all.back());
  all.back() = t.ok("queue.create-queue", t.model, 1);
  give_back(t, all);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
