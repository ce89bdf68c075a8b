// context: an ordered list of pages kept by the host. With a store ("store") and without one.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kQueuedTokenCountMax = 1u << 22;
constexpr std::uint32_t kAppendCountMax = 1u << 18;

struct Counters {
  std::uint32_t seq_len, committed, working_pages, working_tokens, found;
};

Counters counters(const std::string& record) {
  return number_at<Counters>(record, 0);
}

void computes(Harness& t) {
  const std::int32_t context = t.ok("context.create", t.queue);
  t.ok("context.append", context, some_tokens(20));
  t.ok("context.append", context, Tokens{});
  const Counters first = counters(t.result("context.flush", context));
  t.check(first.seq_len == 20 && first.committed == 1 && first.working_tokens == 4, "20 tokens");
  t.check(t.ok("context.seq-len", context) == 20, "as its counter says");
  t.check(t.ok("context.page-size", context) == kPageSlots, "of 16 slots a page");
  t.check(t.ok("context.committed-page-count", context) == 1, "one is full");
  t.check(t.ok("context.working-page-count", context) == 1, "one is not");
  t.check(t.ok("context.working-page-token-count", context) == 4, "and holds four");
  t.check(t.ok("context.found-token-count", context) == static_cast<std::int32_t>(first.found),
          "and so many were found");
  const Handles outputs = embeds_of(t, 2);
  t.result("context.forward", context, Handles{outputs[0]});
  t.ok("context.append", context, some_tokens(3, 20));
  t.result("context.forward", context, outputs);
  t.result("output.get-next-dist", t.queue, outputs[1], 4);
  t.ok("context.append", context, Tokens{1});
  t.refused("context.forward", ErrorCode::OutOfRange, context, outputs);
  t.result("context.flush", context);
  const std::int32_t empty = t.ok("context.create", t.queue);
  t.refused("context.forward", ErrorCode::OutOfRange, empty, Handles{outputs[0]});

  t.refused("context.append", ErrorCode::OutOfRange, context, Tokens{1, kVocabulary});
  t.refused("context.append", ErrorCode::OutOfRange, context, Tokens{0xFFFF'FFFF});
  t.refused("context.append", ErrorCode::TooLarge, context, Tokens(kAppendCountMax + 1, 1));
  const std::int32_t full = t.ok("context.create", t.queue);
  const Tokens many(kAppendCountMax, 1);
  for (std::uint32_t queued = 0; queued < kQueuedTokenCountMax; queued += kAppendCountMax) {
    t.ok("context.append", full, many);
  }
  t.refused("context.append", ErrorCode::QuotaExceeded, full, Tokens{1});
  t.ok("future.drop", full);
  t.mistakes("context.create", t.queue);
  t.mistakes("context.append", context, Tokens{1, 2});
  t.edges("context.append", empty, Tokens{1, 2});
  for (const char* call : {"context.flush", "context.fork", "context.seq-len", "context.page-size",
                           "context.committed-page-count", "context.working-page-count",
                           "context.working-page-token-count", "context.found-token-count"}) {
    t.mistakes(call, context);
  }
  t.mistakes("context.forward", context, Handles{outputs[0]});
  t.edges("context.forward", context, Handles{outputs[0]});
  give_back(t, {context, empty});
  give_back(t, outputs);
}

void edits(Harness& t) {
  const std::int32_t context = computed_context(t, 20);
  const auto child = number_at<std::int32_t>(t.result("context.fork", context), 0);
  t.check(t.ok("context.seq-len", child) == 20, "a fork has what was there");
  t.check(counters(t.result("context.truncate", context, 2)).seq_len == 18, "two less");
  t.refused("context.truncate", ErrorCode::OutOfRange, context, 3);
  t.check(counters(t.result("context.rewind", context, 10)).seq_len == 10, "ten are left");
  t.refused("context.rewind", ErrorCode::OutOfRange, context, 11);
  t.check(counters(t.result("context.drop-range", context, 2, 5)).seq_len == 10,
          "they are counted");
  t.result("context.drop-range", context, 10, 10);
  t.refused("context.drop-range", ErrorCode::OutOfRange, context, 5, 2);
  t.refused("context.drop-range", ErrorCode::OutOfRange, context, 5, 11);
  t.result("context.splice", context, child, 3, 9);
  t.result("context.splice", context, context, 0, 1);
  t.check(counters(t.result("context.flush", context)).seq_len == 17, "seven more");
  t.refused("context.splice", ErrorCode::OutOfRange, context, child, 9, 3);
  t.refused("context.splice", ErrorCode::OutOfRange, context, child, 0, 21);
  t.mistakes("context.splice", context, child, 0, 1);
  t.mistakes("context.drop-range", context, 0, 1);

  t.result("context.reserve-working-pages", child, 3);
  t.refused("context.reserve-working-pages", ErrorCode::NoFreePage, child, 65);
  t.ok("context.append", child, some_tokens(10));
  t.result("context.flush", child);
  t.result("context.commit-working-pages", child, 0);
  t.refused("context.commit-working-pages", ErrorCode::PageNotFull, child, 1);
  t.result("context.truncate-working-page-tokens", child, 1);
  t.refused("context.truncate-working-page-tokens", ErrorCode::OutOfRange, child, 17);
  t.result("context.release-working-pages", child, 1);
  t.refused("context.release-working-pages", ErrorCode::OutOfRange, child, 60);
  const std::pair<const char*, ErrorCode> counted[] = {
      {"context.truncate", ErrorCode::OutOfRange},
      {"context.rewind", ErrorCode::OutOfRange},
      {"context.release-working-pages", ErrorCode::OutOfRange},
      {"context.truncate-working-page-tokens", ErrorCode::OutOfRange},
      {"context.commit-working-pages", ErrorCode::PageNotFull},
      {"context.reserve-working-pages", ErrorCode::NoFreePage}};
  for (const auto& [call, code] : counted) {
    t.mistakes(call, context, 1);
    for (const std::uint32_t count : {0x8000'0000u, 0xFFFF'FFFFu}) {
      t.refused(call, code, context, count);
    }
  }
  for (const std::uint32_t kind : {0u, 1u, 2u, 4u}) t.ok("context.hint", context, kind, 0);
  t.ok("context.hint", context, 3, 0xFFFF'FFFF);
  t.refused("context.hint", ErrorCode::InvalidArgument, context, 5, 0);
  t.refused("context.hint", ErrorCode::InvalidArgument, context, 0xFFFF'FFFF, 0);
  t.refused("context.hint", ErrorCode::InvalidArgument, context, 1, 1);
  t.mistakes("context.hint", context, 0, 0);
  t.ok("context.allow-beyond-context", context, 1);
  t.ok("context.allow-beyond-context", context, 0);
  t.refused("context.allow-beyond-context", ErrorCode::InvalidArgument, context, 2);
  t.mistakes("context.allow-beyond-context", context, 1);
  give_back(t, {context, child});

  // While the host generates, the context may be read, not changed.
  const std::int32_t busy = computed_context(t, 4);
  const std::int32_t rule = t.ok("draw.create-rule", t.model, Bytes{});
  const std::int32_t generation =
      t.ok("draw.generate", busy, rule, Handles{}, 0, 100'000, Tokens{}, 0, 0);
  t.refused("context.append", ErrorCode::Unavailable, busy, Tokens{1});
  t.refused("context.flush", ErrorCode::Unavailable, busy);
  t.refused("context.rewind", ErrorCode::Unavailable, busy, 1);
  t.refused("context.splice", ErrorCode::Unavailable, busy, busy, 0, 1);
  give_back(t, {generation, busy, rule});
}

void marks(Harness& t) {
  const std::int32_t context = computed_context(t, 20);
  for (int count = 0; count < 9; ++count) {  // One more than wait.
    t.ok("context.append", context, Tokens(16, 1));
    t.ok("context.mark", context);
  }
  t.check(counters(t.result("context.flush", context)).seq_len == 164, "marks add no token");
  t.mistakes("context.mark", context);
  give_back(t, {context});
}

void becomes_pages(Harness& t) {
  const std::int32_t context = computed_context(t, 20);
  Handles pages(2);
  const std::int32_t told = t.ok("context.pages", context, 0, 2, static_cast<void*>(pages.data()));
  t.check(t.take("context.pages", told).size() == 16, "two pages");
  const Tokens tokens = some_tokens(20);
  const auto back =
      number_at<std::int32_t>(t.result("context.from-pages", t.queue, pages, tokens), 0);
  t.check(t.ok("context.seq-len", back) == 20, "and a context again");
  Handles more(3);
  void* const room = more.data();
  t.refused("context.pages", ErrorCode::OutOfRange, context, 0, 3, room);
  give_back(t, more);
  t.refused("context.pages", ErrorCode::OutOfRange, context, 0xFFFF'FFFF, 1, room);
  t.drop(more[0]);
  for (const std::uint32_t count : {0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused("context.pages", ErrorCode::QuotaExceeded, context, 0, count, room);
  }
  Handles many((1u << 20) + 1);
  t.refused("context.pages", ErrorCode::QuotaExceeded, context, 0, many.size(),
            static_cast<void*>(many.data()));
  t.mistakes("context.pages", context, 0, 2, room);
  t.refused("context.from-pages", ErrorCode::InvalidArgument, t.queue, pages, some_tokens(19));
  t.refused("context.from-pages", ErrorCode::InvalidArgument, t.queue, pages, some_tokens(20, 1));
  t.refused("context.from-pages", ErrorCode::PageNotFull, t.queue, Handles{pages[1], pages[0]},
            tokens);
  t.refused("context.from-pages", ErrorCode::OutOfRange, t.queue, pages, Tokens(20, kVocabulary));
  const Handles empty = pages_of(t, 1);
  t.refused("context.from-pages", ErrorCode::PageNotFull, t.queue, empty, Tokens{});
  const Handles never = pages_of(t, 65);
  t.refused("context.from-pages", ErrorCode::NoFreePage, t.queue, Handles{never[0]}, Tokens{1});
  t.mistakes("context.from-pages", t.queue, pages, tokens);
  t.edges("context.from-pages", t.queue, pages, tokens);
  give_back(t, {context, back, empty[0]});
  give_back(t, pages);
  give_back(t, never);
}

void note_is_kept(Harness& t, std::int32_t context) {
  t.result("context.save-with-note", context, "noted", 0, 0, "turns");
  t.refused("context.save-with-note", ErrorCode::AlreadyExists, context, "noted", 0, 0, "turns");
  t.refused("context.save-with-note", ErrorCode::TooLarge, context, "noted", 1, 0,
            std::string((1u << 20) + 1, 'n'));
  const auto opened = number_at<std::int32_t>(t.result("context.open", t.queue, "noted"), 0);
  char note[6] = {};
  t.check(t.ok("context.note-of", opened, static_cast<void*>(note), 0) == 5, "it has five bytes");
  t.check(t.ok("context.note-of", opened, static_cast<void*>(note), 6) == 5, "it has as many");
  t.check(std::string(note) == "turns", "it is the note");
  t.check(t.ok("context.note-of", opened, static_cast<void*>(note), 6) == 0, "it is given once");
  t.check(t.ok("context.note-of", context, static_cast<void*>(note), 6) == 0, "it has none");
  t.result("context.save-with-note", context, "noted", 1, 0, "");
  const auto bare = number_at<std::int32_t>(t.result("context.take", t.queue, "noted"), 0);
  t.check(t.ok("context.note-of", bare, static_cast<void*>(note), 6) == 0, "an empty note is none");
  t.mistakes("context.save-with-note", context, "noted", 0, 0, "turns");
  t.edges("context.save-with-note", context, "noted", 1, 0, "turns");
  t.mistakes("context.note-of", context, static_cast<void*>(note), 6);
  t.result("context.delete", "noted");
  give_back(t, {opened, bare});
}

void is_kept(Harness& t) {
  const std::int32_t context = computed_context(t, 20);
  if (Harness::argument() != "store") {
    for (const char* call : {"context.open", "context.take"}) {
      t.refused(call, ErrorCode::NotSupported, t.queue, "book");
    }
    t.refused("context.save", ErrorCode::NotSupported, context, "book", 0, 0);
    t.refused("context.save-with-note", ErrorCode::NotSupported, context, "book", 0, 0, "turns");
    t.refused("context.delete", ErrorCode::NotSupported, "book");
    t.refused("context.list", ErrorCode::NotSupported);
    return t.drop(context);
  }
  t.result("context.save", context, "book", 0, 0);
  t.refused("context.save", ErrorCode::AlreadyExists, context, "book", 0, 0);
  t.result("context.save", context, "book", 1, 0xFFFF'FFFF);
  t.check(number_at<std::uint32_t>(t.result("context.list"), 0) == 1, "one is listed");
  const auto opened = number_at<std::int32_t>(t.result("context.open", t.queue, "book"), 0);
  t.check(t.ok("context.seq-len", opened) == 20, "it is all there");
  note_is_kept(t, context);
  // Until it is taken or dropped, no other take can begin.
  const std::int32_t taken = t.ok("context.take", t.queue, "book");
  t.wait(taken);
  t.refused("context.take", ErrorCode::Unavailable, t.queue, "book");
  t.drop(taken);
  const auto mine = number_at<std::int32_t>(t.result("context.take", t.queue, "book"), 0);
  for (const char* call : {"context.open", "context.take"}) {
    t.refused(call, ErrorCode::NotFound, t.queue, "book");
    t.mistakes(call, t.queue, "book");
  }
  t.refused("context.delete", ErrorCode::NotFound, "book");
  t.result("context.save", context, "again", 0, 0);
  t.result("context.delete", "again");
  t.mistakes("context.save", context, "book", 0, 0);
  t.mistakes("context.delete", "book");
  for (const std::string& name : names_that_are_none()) {
    t.refused("context.save", ErrorCode::InvalidArgument, context, name, 0, 0);
    t.refused("context.save-with-note", ErrorCode::InvalidArgument, context, name, 0, 0, "turns");
    t.refused("context.open", ErrorCode::InvalidArgument, t.queue, name);
    t.refused("context.take", ErrorCode::InvalidArgument, t.queue, name);
    t.refused("context.delete", ErrorCode::InvalidArgument, name);
  }
  give_back(t, {context, opened, mine});
}

void is_bounded(Harness& t) {
  Handles all;
  for (int i = 0; i < 5000; ++i) {
    const std::int32_t each = abi::context::create(t.queue);
    if (each < 0) break;
    all.push_back(each);
  }
  t.check(all.size() < 5000, "contexts have no bound");
  t.refused("context.create", ErrorCode::QuotaExceeded, t.queue);
  t.refused("context.fork", ErrorCode::QuotaExceeded, t.context);
  t.refused("context.from-pages", ErrorCode::QuotaExceeded, t.queue, Handles{}, Tokens{});
  t.refused("context.open", ErrorCode::QuotaExceeded, t.queue, "book");
  for (const std::int32_t each : all) abi::future::drop(each);
}

void program(Harness& t) {
  computes(t);
  edits(t);
  marks(t);
  becomes_pages(t);
  is_kept(t);
  is_bounded(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
