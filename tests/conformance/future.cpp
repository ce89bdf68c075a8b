// future: the one wait, and what ends futures and handles.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::int64_t kLongNs = 3'600'000'000'000;
constexpr std::uint32_t kFutureCountMax = 1u << 14;

void waits(Harness& t) {
  const std::int32_t late = abi::runtime::sleep(kLongNs);
  const std::int32_t early = abi::runtime::sleep(0);
  t.check(t.ok("future.wait", Handles{late, early}, kLongNs) == 1, "the second is ready");
  t.check(t.ok("future.wait", Handles{early, late}, -1) == 0, "the first is ready");
  t.check(t.ok("future.wait", Handles{early, early}, 0) == 0, "one may be named twice");
  t.refused("future.wait", ErrorCode::Timeout, Handles{late}, 0);
  t.refused("future.wait", ErrorCode::Timeout, Handles{late}, 1'000'000);
  t.refused("future.wait", ErrorCode::Timeout, Handles{}, 1'000'000);
  t.refused("future.wait", ErrorCode::InvalidArgument, Handles{}, -1);
  t.refused("future.wait", ErrorCode::QuotaExceeded, Handles(kFutureCountMax + 1, early), 0);

  Bytes ready(2);
  t.check(t.ok("future.poll", Handles{late, early}, static_cast<void*>(ready.data())) == 1,
          "one is ready");
  t.check(ready == Bytes{0, 1}, "it is the second");
  t.check(t.ok("future.poll", Handles{}, static_cast<void*>(ready.data())) == 0, "of none, none");

  t.mistakes("future.wait", Handles{late, early}, 0);
  t.mistakes("future.poll", Handles{late, early}, static_cast<void*>(ready.data()));
  t.edges("future.wait", Handles{late, early}, 0);
  t.edges("future.poll", Handles{late, early}, static_cast<void*>(ready.data()));
  t.refused("future.take", ErrorCode::Unavailable, late, kNull, 0);
  t.check(t.ok("future.take", early, kNull, 0) == 0, "a sleep gives nothing");
  t.refused("future.take", ErrorCode::NotFound, early, kNull, 0);
  t.refused("future.wait", ErrorCode::NotFound, Handles{early}, 0);
  t.drop(late);
}

// A result stays until the buffer is large enough, and one that is an error ends its future.
void takes(Harness& t) {
  Bytes text(300, 'a');
  const std::int32_t future =
      abi::tokenize::tokenize(t.model, text.data(), static_cast<std::uint32_t>(text.size()), 0);
  t.refused("future.take", ErrorCode::NotFound, t.queue, kNull, 0);
  t.wait(future);
  Bytes buffer(4096, 0xAB);
  const std::int32_t bytes = t.ok("future.take", future, static_cast<void*>(buffer.data()), 3);
  t.check(bytes > 3 && buffer == Bytes(4096, 0xAB), "nothing is written of what does not fit");
  t.mistakes("future.take", future, static_cast<void*>(buffer.data()), 4096);
  t.check(t.ok("future.take", future, static_cast<void*>(buffer.data()), 4096) == bytes,
          "the whole comes in one piece");
  const std::int32_t bad = abi::output::get_entropy(t.queue, t.embed);
  t.wait(bad);
  t.refused("future.take", ErrorCode::InvalidArgument, bad, kNull, 0);
  t.refused("future.take", ErrorCode::NotFound, bad, kNull, 0);
}

void drops(Harness& t) {
  const std::int32_t all[] = {abi::runtime::sleep(kLongNs),
                              abi::models::get_model(nullptr, 0),
                              abi::queue::create_queue(t.model, 0),
                              pages_of(t, 1)[0],
                              embeds_of(t, 1)[0],
                              abi::context::create(t.queue),
                              abi::session::receive()};
  for (const std::int32_t each : all) {
    t.ok("future.drop", each);
    t.refused("future.drop", ErrorCode::NotFound, each);
  }
  // The future's work is under way, is never taken, and leaves nothing: `finish` looks.
  for (int i = 0; i < 20; ++i) {
    const std::int32_t context = abi::context::create(t.queue);
    const Tokens tokens = some_tokens(100, static_cast<std::uint32_t>(i));
    abi::context::append(context, tokens.data(), 100);
    t.ok("future.drop", abi::context::flush(context));
    t.ok("future.drop", abi::context::fork(context));
    t.ok("future.drop", context);
  }
  t.mistakes("future.drop", t.embed);
}

void program(Harness& t) {
  waits(t);
  takes(t);
  drops(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
