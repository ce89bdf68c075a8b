// forward: one pass of the model by hand.
#include "steps.h"

namespace quire::conformance {
namespace {

const Handles kNone;
const Bytes kNoMask;
constexpr std::size_t kMaskBytesMax = 4u << 20;

void passes(Harness& t) {
  const Handles pages = written_pages(t, 20);
  const Handles next = embedded(t, 3, 20);
  const Handles output = embeds_of(t, 2);
  t.result("forward.forward", t.queue, pages, next, pages, output, kNoMask, 0);
  t.result("output.get-next-dist", t.queue, output[0], 4);
  // Nothing is kept, a hole keeps the numbering, and a mask says who sees what.
  t.result("forward.forward", t.queue, Handles{0, pages[1]}, next, kNone, kNone, kNoMask, 1);
  t.result("forward.forward", t.queue, pages, next, kNone, output, Bytes(3 * 2 * kPageSlots, 1), 0);
  t.ok("forward.mask-kvpage", t.queue, pages[0], Bytes(kPageSlots, 0));
  t.ok("forward.mask-kvpage", t.queue, pages[0], Bytes(kPageSlots, 1));
  t.result("forward.forward", t.queue, pages, next, kNone, output, kNoMask, 0);

  t.mistakes("forward.forward", t.queue, pages, next, pages, output, Bytes(3 * 4 * kPageSlots, 1),
             0);
  t.edges("forward.forward", t.queue, pages, next, kNone, output, kNoMask, 0);
  t.mistakes("forward.mask-kvpage", t.queue, pages[0], Bytes(kPageSlots, 1));
  t.edges("forward.mask-kvpage", t.queue, pages[0], Bytes(kPageSlots, 1));
  for (const std::size_t bytes : {1u, 15u, 17u, 32u}) {
    t.refused("forward.mask-kvpage", ErrorCode::InvalidArgument, t.queue, pages[0],
              Bytes(bytes, 1));
  }
  t.refused("forward.mask-kvpage", ErrorCode::InvalidArgument, t.queue, pages[0], Bytes(16, 2));
  for (const std::size_t bytes : {1u, 32u, 3 * 32u - 1, 3 * 32u + 1, 6 * 32u}) {
    t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, pages, next, kNone, output,
              Bytes(bytes, 1), 0);
  }
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, pages, next, kNone, output,
            Bytes(3 * 32, 0xFF), 0);
  t.refused("forward.forward", ErrorCode::TooLarge, t.queue, pages, next, kNone, output,
            Bytes(kMaskBytesMax + 1, 1), 0);
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, pages, kNone, kNone, kNone,
            kNoMask, 0);
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, pages, Handles{next[0]}, kNone,
            output, kNoMask, 0);
  give_back(t, pages);
  give_back(t, next);
  give_back(t, output);
}

void what_cannot_be_written(Harness& t) {
  const Handles full = written_pages(t, kPageSlots);
  const Handles some = embedded(t, 3, kPageSlots);
  t.refused("forward.forward", ErrorCode::OutOfRange, t.queue, kNone, some, full, kNone, kNoMask,
            0);
  // One slot would be written twice in the pass.
  const Handles empty = pages_of(t, 1);
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, kNone, some,
            Handles{empty[0], empty[0]}, kNone, kNoMask, 0);
  const Handles output = embeds_of(t, 1);
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, kNone, some, kNone,
            Handles{output[0], output[0]}, kNoMask, 0);
  // Embeds that were never written, and pages that never came.
  t.refused("forward.forward", ErrorCode::InvalidArgument, t.queue, kNone, output, kNone, kNone,
            kNoMask, 0);
  const Handles never = pages_of(t, 65);
  t.refused("forward.forward", ErrorCode::NoFreePage, t.queue, kNone, some, Handles{never[0]},
            kNone, kNoMask, 0);
  t.refused("forward.forward", ErrorCode::NoFreePage, t.queue, Handles{never[0]}, some, kNone,
            kNone, kNoMask, 0);
  t.refused("forward.mask-kvpage", ErrorCode::NotFound, t.queue, some[0], Bytes(kPageSlots, 1));
  // Shared pages are read-only.
  t.result("allocate.export-kvpage", t.queue, full, "shared", 0);
  Handles imported(1);
  const std::int32_t import =
      t.ok("allocate.import-kvpage", t.queue, "shared", 1, static_cast<void*>(imported.data()));
  t.take("allocate.import-kvpage", import);
  t.refused("forward.forward", ErrorCode::PageCommitted, t.queue, kNone, some, imported, kNone,
            kNoMask, 0);
  t.result("allocate.unexport-kvpage", "shared");
  for (const Handles& each : {full, some, empty, output, never, imported}) give_back(t, each);
}

// Further from the oldest visible token than the model's context length, unless the flag allows.
void positions(Harness& t) {
  const Handles pages = written_pages(t, 4);
  for (const std::uint32_t position : {2048u, 5000u, (1u << 31) - 1, 1u << 31, 0xffffffffu}) {
    const Handles far = embedded(t, 1, position);
    t.refused("forward.forward", ErrorCode::OutOfRange, t.queue, pages, far, kNone, kNone, kNoMask,
              0);
    t.result("forward.forward", t.queue, pages, far, kNone, kNone, kNoMask, 1);
    // Alone it is as far from the oldest as any: from itself. What it writes is seen from there.
    const Handles own = pages_of(t, 1);
    t.result("forward.forward", t.queue, kNone, far, own, kNone, kNoMask, 0);
    t.result("forward.forward", t.queue, own, far, kNone, kNone, kNoMask, 0);
    for (const Handles& each : {far, own}) give_back(t, each);
  }
  // The same position twice: the earlier slot is seen by the later one.
  const Handles twice = embeds_of(t, 2);
  t.ok("input.embed-txt", t.queue, twice, Tokens{4, 5}, Tokens{4, 4});
  t.result("forward.forward", t.queue, pages, twice, pages, kNone, kNoMask, 0);
  for (const Handles& each : {pages, twice}) give_back(t, each);
}

void program(Harness& t) {
  passes(t);
  what_cannot_be_written(t);
  positions(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
