// The calls on pages that are copied, shared under a name, or a context's: what is checked at once,
// and what a command and its result look like.
#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls::page_calls_test {
namespace {

constexpr std::uint32_t kPages = 1024;
constexpr std::uint32_t kMorePages = 1088;
constexpr std::uint32_t kName = 64;

class PageCalls : public HostCalls {
 protected:
  void SetUp() override {
    HostCalls::SetUp();
    ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 2, kPages}), 2);
    control.commands.clear();
  }
  std::int64_t page(std::uint32_t index) { return number_at(kPages + 4 * index); }
  std::int64_t name(std::string_view text) {
    host->put(kName, text);
    return static_cast<std::int64_t>(text.size());
  }
  // A queue of the model that only allocates.
  std::int64_t mute_queue() {
    host->put(kName, "mute");
    return call("queue", "create-queue", {call("models", "get-model", {kName, 4}), 1});
  }
};

TEST_F(PageCalls, CopyIsACommandWithAnEmptyResult) {
  const std::int64_t future = call("allocate", "copy-kvpage", {queue, page(0), page(1), 2, 5, 3});
  const auto& copy = last_command<control::CopyPage>();
  EXPECT_EQ(static_cast<std::int64_t>(copy.from), page(0));
  EXPECT_EQ(static_cast<std::int64_t>(copy.to), page(1));
  EXPECT_EQ(copy.from_slot, 2u);
  EXPECT_EQ(copy.to_slot, 5u);
  EXPECT_EQ(copy.slot_count, 3u);
  answer(control::AnswerBody(control::Done{}));
  EXPECT_EQ(take(future), 0);
}

TEST_F(PageCalls, CopyNamesThePageThatIsNone) {
  EXPECT_EQ(call("allocate", "copy-kvpage", {queue, queue, page(1), 0, 0, 1}),
            minus(ErrorCode::NotFound));
  EXPECT_TRUE(state->last_error.starts_with("source: ")) << state->last_error;
  EXPECT_EQ(call("allocate", "copy-kvpage", {queue, page(0), 77, 0, 0, 1}),
            minus(ErrorCode::NotFound));
  EXPECT_TRUE(state->last_error.starts_with("target: ")) << state->last_error;
  EXPECT_EQ(call("allocate", "copy-kvpage", {page(0), page(0), page(1), 0, 0, 1}),
            minus(ErrorCode::NotFound));
  EXPECT_EQ(call("allocate", "copy-kvpage", {mute_queue(), page(0), page(1), 0, 0, 1}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_FALSE(control.waits());
}

TEST_F(PageCalls, ExportCarriesPagesNameAndFlag) {
  EXPECT_GT(call("allocate", "export-kvpage", {queue, kPages, 2, kName, name("system"), 1}), 0);
  const auto& made = last_command<control::ExportPages>();
  EXPECT_EQ(made.pages.size(), 2u);
  EXPECT_EQ(made.name, "system");
  EXPECT_TRUE(made.is_public);
  EXPECT_EQ(call("allocate", "export-kvpage", {queue, kPages, 2, kName, name("a"), 2}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("allocate", "export-kvpage", {queue, kPages, 2, kName, name("a/b"), 0}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(state->last_error, "export name has a \"/\" at byte 1");
  put(kMorePages, {static_cast<std::int32_t>(page(0)), 5});
  EXPECT_EQ(call("allocate", "export-kvpage", {queue, kMorePages, 2, kName, name("a"), 0}),
            minus(ErrorCode::NotFound));
}

TEST_F(PageCalls, ImportGivesHandlesAtOnceAndTellsWhatTheyHold) {
  const std::int64_t future =
      call("allocate", "import-kvpage", {queue, kName, name("system"), 2, kMorePages});
  const std::int32_t first = number_at(kMorePages);
  EXPECT_GT(first, 0);
  const auto& import = last_command<control::ImportPages>();
  ASSERT_EQ(import.pages.size(), 2u);
  EXPECT_EQ(static_cast<std::int32_t>(import.pages[0]), first);
  answer(control::AnswerBody(control::SharedPages{{{0, 0xff}, {1, 7}}}));
  EXPECT_EQ(take(future), 16);
  EXPECT_EQ(number_at(kBuffer + 4), 0xff);
  EXPECT_EQ(number_at(kBuffer + 8), 1);
  EXPECT_EQ(number_at(kBuffer + 12), 7);
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, kMorePages, 2}), 0);
}

TEST_F(PageCalls, AnImportThatIsRefusedAtOnceGivesNoHandle) {
  put(kMorePages, {-1, -1});
  EXPECT_EQ(call("allocate", "import-kvpage", {queue, kName, name(".."), 2, kMorePages}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("allocate", "import-kvpage", {queue, kName, name("a"), 2, (1 << 16) - 4}),
            minus(ErrorCode::OutOfRange));
  EXPECT_EQ(number_at(kMorePages), -1);
  restart({}, {.page_count_max = 3});
  ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 2, kPages}), 2);
  EXPECT_EQ(call("allocate", "import-kvpage", {queue, kName, name("a"), 2, kMorePages}),
            minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->handles.count(HandleKind::Page), 2u);
}

TEST_F(PageCalls, UnexportAndListAreInNoQueueAndSettleWhatPends) {
  restart({}, {.pending_command_count_max = 1});
  const std::int64_t gone = call("allocate", "unexport-kvpage", {kName, name("a")});
  EXPECT_GT(gone, 0);
  EXPECT_EQ(last_command<control::UnexportPages>().name, "a");
  EXPECT_EQ(call("allocate", "list-exports", {}), minus(ErrorCode::QuotaExceeded));
  answer(Error(ErrorCode::NotFound, "no export \"a\""));
  EXPECT_EQ(take(gone), minus(ErrorCode::NotFound));
  const std::int64_t list = call("allocate", "list-exports", {});
  answer(control::AnswerBody(
      control::Exports{{{.name = "mine", .page_count = 3, .token_count = 40, .is_own = true},
                        {.name = "ours", .page_count = 1, .token_count = 2, .is_public = true}}}));
  EXPECT_EQ(take(list), 8 + 2 * (16 + 4));
  EXPECT_EQ(number_at(kBuffer), 2);
  EXPECT_EQ(number_at(kBuffer + 8), 3);
  EXPECT_EQ(number_at(kBuffer + 12), 40);
  EXPECT_EQ(number_at(kBuffer + 16), 2);  // Own.
  EXPECT_EQ(host->get(kBuffer + 24, 4), "mine");
  EXPECT_EQ(number_at(kBuffer + 28 + 8), 1);  // Public.
  EXPECT_EQ(host->get(kBuffer + 28 + 16, 4), "ours");
}

TEST_F(PageCalls, PagesOfAContextAreHandlesAtOnce) {
  const std::int64_t context = call("context", "create", {queue});
  const std::int64_t future = call("context", "pages", {context, 1, 2, kMorePages});
  const auto& shared = last_command<control::ContextPages>();
  EXPECT_EQ(static_cast<std::int64_t>(shared.context), context);
  EXPECT_EQ(shared.first, 1u);
  EXPECT_EQ(static_cast<std::int32_t>(shared.pages[1]), number_at(kMorePages + 4));
  answer(Error(ErrorCode::OutOfRange, "pages [1, 3): the context holds 0"));
  EXPECT_EQ(take(future), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, kMorePages, 2}), 0);
  EXPECT_EQ(call("context", "pages", {page(0), 0, 1, kMorePages}), minus(ErrorCode::NotFound));
}

TEST_F(PageCalls, FromPagesMakesAContextThatTheResultNames) {
  put(kMorePages, {11, 12, 13});
  const std::int64_t future = call("context", "from-pages", {queue, kPages, 2, kMorePages, 3});
  const auto& made = last_command<control::ContextFromPages>();
  EXPECT_EQ(made.pages.size(), 2u);
  EXPECT_EQ(made.tokens, (std::vector<std::uint32_t>{11, 12, 13}));
  answer(control::AnswerBody(control::Forked{made.context, {.seq_len = 3}}));
  EXPECT_EQ(take(future), 4);
  const std::int32_t context = number_at(kBuffer);
  EXPECT_EQ(call("context", "seq-len", {context}), 3);
  EXPECT_EQ(call("future", "drop", {context}), 0);
}

TEST_F(PageCalls, FromPagesThatFailsOrIsDroppedLeavesNoContext) {
  put(kMorePages, {11, 100});
  EXPECT_EQ(call("context", "from-pages", {queue, kPages, 2, kMorePages, 2}),
            minus(ErrorCode::OutOfRange));
  const std::int64_t failed = call("context", "from-pages", {queue, kPages, 1, kMorePages, 1});
  answer(Error(ErrorCode::PageNotFull, "pages[0] holds 0 of 16 tokens"));
  EXPECT_TRUE(std::holds_alternative<control::ContextDrop>(control.commands.back().body));
  EXPECT_EQ(take(failed), minus(ErrorCode::PageNotFull));
  const std::int64_t dropped = call("context", "from-pages", {queue, kPages, 1, kMorePages, 1});
  EXPECT_EQ(call("future", "drop", {dropped}), 0);
  EXPECT_TRUE(std::holds_alternative<control::ContextDrop>(control.commands.back().body));
  EXPECT_TRUE(state->contexts.empty());
}

}  // namespace
}  // namespace quire::hostcalls::page_calls_test
