// A program for inferlets_test.cc: every edit of a context against the real control layer.
// Distributions after a detour are compared bit for bit with those without. It sends one line for
// each thing seen.
#include "quire/quire.h"

namespace {

using namespace quire;

std::vector<std::uint32_t> some_tokens(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(3 + (first + i) * 7 % 50);
  return out;
}

bool same(const Distribution& one, const Distribution& other) {
  return one.tokens == other.tokens && one.probabilities == other.probabilities;
}

std::string code_of(const Error& error) {
  return abi::error_code_name(error.code);
}

Result<void> say(const std::string& what, bool holds) {
  return session::send(what + (holds ? ": yes\n" : ": no\n"));
}

Task<Result<void>> edits(Context& context, const Distribution& expected) {
  CO_TRY(context.append(some_tokens(90, 30)));
  CO_TRY(co_await context.flush());
  CO_TRY(co_await context.rewind(43));
  CO_TRY(say("rewound", same(CO_TRY(co_await context.next_distribution(8)), expected)));

  Context spliced = CO_TRY(Context::create(context.model()));
  CO_TRY(co_await spliced.splice(context, 0, 43));
  CO_TRY(say("spliced", same(CO_TRY(co_await spliced.next_distribution(8)), expected)));

  const ContextCounters dropped = CO_TRY(co_await spliced.drop_range(4, 36));
  CO_TRY(say("dropped", dropped.seq_len == 43 && dropped.committed_page_count == 1));
  CO_TRY(say("is not seen", !same(CO_TRY(co_await spliced.next_distribution(8)), expected)));

  CO_TRY(spliced.hint(ContextHint::Keep, std::chrono::seconds(60)));
  const ContextCounters reserved = CO_TRY(co_await spliced.reserve_working_pages(2));
  CO_TRY(say("reserved", reserved.working_page_count == 3));
  const ContextCounters cut = CO_TRY(co_await spliced.truncate_working_page_tokens(1));
  CO_TRY(say("cut", cut.seq_len == 42 && cut.working_page_count == 3));
  const ContextCounters released = CO_TRY(co_await spliced.release_working_pages(3));
  CO_TRY(say("released", released.seq_len == 32 && spliced.token_count() == 32));
  co_return {};
}

Task<Result<void>> refusals(Context& context) {
  const auto refused = [](const char* what, const auto& result) {
    return session::send(std::string(what) + ": " +
                         (result.ok() ? "taken" : code_of(result.error())) + "\n");
  };
  CO_TRY(refused("rewind beyond", co_await context.rewind(44)));
  CO_TRY(refused("drop beyond", co_await context.drop_range(0, 44)));
  CO_TRY(refused("splice beyond", co_await context.splice(context, 0, 44)));
  CO_TRY(refused("commit of a partial page", co_await context.commit_working_pages(1)));
  CO_TRY(refused("release of too many", co_await context.release_working_pages(9)));
  CO_TRY(refused("reserve beyond the pool", co_await context.reserve_working_pages(1u << 19)));
  CO_TRY(refused("save as ..", co_await context.save("..")));
  CO_TRY(refused("save with NUL", co_await context.save(std::string("a\0b", 3))));
  CO_TRY(refused("save as 4096 bytes", co_await context.save(std::string(4096, 'a'))));
  CO_TRY(refused("save as bad UTF-8", co_await context.save("\xc3\x28")));
  CO_TRY(refused("open of ..", co_await Context::open(context.model(), "..")));
  CO_TRY(refused("take of nothing", co_await Context::take(context.model(), "")));
  CO_TRY(refused("remove of a/b", co_await Context::remove("a/b")));
  co_return {};
}

// Where the server keeps snapshots, what was saved is opened; otherwise each call says so.
Task<Result<void>> snapshots(Context& context, const Distribution& expected) {
  const Result<void> saved = co_await context.save("check", {.overwrite = true});
  if (!saved.ok()) {
    const Result<SnapshotList> list = co_await Context::list();
    const Result<Context> opened = co_await Context::open(context.model(), "check");
    const Result<void> removed = co_await Context::remove("check");
    const bool agree = !list.ok() && !opened.ok() && !removed.ok() &&
                       list.error().code == ErrorCode::NotSupported &&
                       opened.error().code == ErrorCode::NotSupported &&
                       removed.error().code == ErrorCode::NotSupported;
    CO_TRY(say("snapshots are off", agree && saved.error().code == ErrorCode::NotSupported));
    co_return {};
  }
  Context opened = CO_TRY(co_await Context::take(context.model(), "check"));
  const Distribution next = CO_TRY(co_await opened.next_distribution(8));
  CO_TRY(say("snapshots are kept", same(next, expected) && opened.token_count() == 43));
  co_return {};
}

Task<Result<void>> program(std::vector<std::string>) {
  const Model model = CO_TRY(Model::open());
  Context context = CO_TRY(Context::create(model));
  CO_TRY(context.append(some_tokens(0, 43)));
  const Distribution expected = CO_TRY(co_await context.next_distribution(8));
  CO_TRY(co_await edits(context, expected));
  CO_TRY(co_await refusals(context));
  CO_TRY(co_await snapshots(context, expected));
  co_return {};
}

}  // namespace

QUIRE_MAIN(program)
