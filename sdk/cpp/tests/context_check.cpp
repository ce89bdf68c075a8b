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

Task<> edits(Context& context, const Distribution& expected) {
  co_await context.append(some_tokens(90, 30));
  co_await context.flush();
  co_await context.rewind(43);
  co_await say("rewound", same(co_await context.next_distribution(8), expected));

  Context spliced = co_await Context::create(context.model());
  co_await spliced.splice(context, 0, 43);
  co_await say("spliced", same(co_await spliced.next_distribution(8), expected));

  const ContextCounters dropped = co_await spliced.drop_range(4, 36);
  co_await say("dropped", dropped.seq_len == 43 && dropped.committed_page_count == 1);
  co_await say("is not seen", !same(co_await spliced.next_distribution(8), expected));

  co_await spliced.hint(ContextHint::Keep, std::chrono::seconds(60));
  const ContextCounters reserved = co_await spliced.reserve_working_pages(2);
  co_await say("reserved", reserved.working_page_count == 3);
  const ContextCounters cut = co_await spliced.truncate_working_page_tokens(1);
  co_await say("cut", cut.seq_len == 42 && cut.working_page_count == 3);
  const ContextCounters released = co_await spliced.release_working_pages(3);
  co_await say("released", released.seq_len == 32 && spliced.token_count() == 32);
}

Task<> refusals(Context& context) {
  const auto refused = [](const char* what, const auto& result) {
    return session::send(std::string(what) + ": " +
                         (result.ok() ? "taken" : code_of(result.error())) + "\n");
  };
  co_await refused("rewind beyond", co_await attempt(context.rewind(44)));
  co_await refused("drop beyond", co_await attempt(context.drop_range(0, 44)));
  co_await refused("splice beyond", co_await attempt(context.splice(context, 0, 44)));
  co_await refused("commit of a partial page", co_await attempt(context.commit_working_pages(1)));
  co_await refused("release of too many", co_await attempt(context.release_working_pages(9)));
  co_await refused("reserve beyond the pool",
                   co_await attempt(context.reserve_working_pages(1u << 19)));
  co_await refused("save as ..", co_await attempt(context.save("..")));
  co_await refused("save with NUL", co_await attempt(context.save(std::string("a\0b", 3))));
  co_await refused("save as 4096 bytes", co_await attempt(context.save(std::string(4096, 'a'))));
  co_await refused("save as bad UTF-8", co_await attempt(context.save("\xc3\x28")));
  co_await refused("open of ..", co_await attempt(Context::open(context.model(), "..")));
  co_await refused("take of nothing", co_await attempt(Context::take(context.model(), "")));
  co_await refused("remove of a/b", co_await attempt(Context::remove("a/b")));
}

// If the server keeps snapshots, the saved one is opened; otherwise each call reports the lack.
Task<> snapshots(Context& context, const Distribution& expected) {
  const Result<void> saved = co_await attempt(context.save("check", {.overwrite = true}));
  if (!saved.ok()) {
    const Result<SnapshotList> list = co_await attempt(Context::list());
    const Result<Context> opened = co_await attempt(Context::open(context.model(), "check"));
    const Result<void> removed = co_await attempt(Context::remove("check"));
    const bool agree = !list.ok() && !opened.ok() && !removed.ok() &&
                       list.error().code == ErrorCode::NotSupported &&
                       opened.error().code == ErrorCode::NotSupported &&
                       removed.error().code == ErrorCode::NotSupported;
    co_await say("snapshots are off", agree && saved.error().code == ErrorCode::NotSupported);
    co_return;
  }
  Context opened = co_await Context::take(context.model(), "check");
  const Distribution next = co_await opened.next_distribution(8);
  co_await say("snapshots are kept", same(next, expected) && opened.token_count() == 43);
}

// The same for a context that is shared; what is opened goes on as the one that was shared does.
Task<> sharing(Context& context, const Distribution& expected) {
  const Result<void> shared = co_await attempt(context.share("prompt"));
  if (!shared.ok()) {
    co_await say("nothing is shared", shared.error().code == ErrorCode::NotSupported);
    co_return;
  }
  Context opened = co_await Context::open_shared(context.model(), "prompt");
  bool holds = opened.tokens() == context.tokens();
  holds = holds && same(co_await opened.next_distribution(8), expected);
  const Result<void> again = co_await attempt(opened.share("prompt"));
  holds = holds && again.error().code == ErrorCode::AlreadyExists;
  co_await Context::unshare("prompt");
  const Result<Context> gone = co_await attempt(Context::open_shared(context.model(), "prompt"));
  co_await say("it is shared", holds && gone.error().code == ErrorCode::NotFound &&
                                   (co_await list_exports()).empty() &&
                                   (co_await store::all_keys("")).empty());
}

Task<> program(std::vector<std::string>) {
  const Model model = co_await Model::open();
  Context context = co_await Context::create(model);
  co_await context.append(some_tokens(0, 43));
  const Distribution expected = co_await context.next_distribution(8);
  co_await edits(context, expected);
  co_await refusals(context);
  co_await snapshots(context, expected);
  co_await sharing(context, expected);
}

}  // namespace

QUIRE_MAIN(program)
