// Conversations that are saved and opened: they go on as if nothing had come between.
#include <gtest/gtest.h>

#include "fake_host.h"
#include "held_tokens.h"
#include "quire/context.h"
#include "quire/generate.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::held;
using test::host;
using test::known;

class Conversation : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    // A model whose next token depends on all before it, and that ends a turn now and then.
    host.next = [](const std::vector<std::uint32_t>& seen) {
      std::uint32_t digest = 7;
      for (const std::uint32_t each : seen) digest = digest * 31 + each;
      const std::uint32_t token = digest % 6 == 0 ? 2 : 'a' + digest % 26;
      return std::vector<std::pair<std::uint32_t, float>>{{token, 1.0f}};
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static std::string turns(const Context& context) {
    std::string out;
    for (const ChatMessage& each : context.messages()) {
      out += each.role + ": " + each.content + " " + each.more + "\n";
    }
    return out;
  }
};

TEST_F(Conversation, ComesBackWithItsTurnsItsTokensAndItsTools) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    co_await context.append_text("before ");
    context.offer_tools("[]");
    context.system("Be brief.");
    context.add({"user", "\"Hi\"\n\xc3\xa9", "\"name\":\"ann\""});
    co_await context.generate({.max_tokens = 5}).collect();
    co_await context.save("ann");
    Context opened = co_await Context::open(context.model(), "ann");
    EXPECT_EQ(turns(opened), turns(context));
    EXPECT_EQ(opened.messages().size(), 3u);
    EXPECT_EQ(known(opened), known(context));
    EXPECT_EQ(opened.unknown_token_count(), 0u);
    opened.user("again");
    context.user("again");
    co_await opened.prefill();
    co_await context.prefill();
    EXPECT_EQ(held(opened), held(context));
    Context taken = co_await Context::take(context.model(), "ann");
    EXPECT_EQ(taken.messages().size(), 3u);
  };
  EXPECT_TRUE(run(program()).ok());
}

// The fake's template writes a turn in four tokens and its text, and begins an answer with two.
TEST_F(Conversation, MarksTheEndOfItsTurnsAndOfTheUsersLastOne) {
  host.has_states = true;
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("one");
    co_await context.prefill();
    const auto marks = [&] { return host.contexts.at(context.handle()).marks; };
    EXPECT_EQ(marks(), std::vector<std::size_t>({7}));
    co_await context.generate({.max_tokens = 5}).collect();
    context.user("two");
    context.add("tool", "three");
    co_await context.prefill();
    const std::uint32_t end = context.token_count() - 2;
    EXPECT_EQ(marks(), std::vector<std::size_t>({7, end - 9, end}));
    co_await context.append_text("x");
    co_await context.mark();
    EXPECT_EQ(marks().back(), context.token_count());
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, MarksNothingForAModelWithoutStates) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("one");
    co_await context.prefill();
    EXPECT_TRUE(host.contexts.at(context.handle()).marks.empty());
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, OpenOrCreateBeginsOneThatGoesOnAtTheNextCall) {
  const auto program = []() -> Task<> {
    const Model model = co_await Model::open();
    for (std::size_t run = 0; run < 3; ++run) {
      Context context = co_await Context::open_or_create(model, "ann");
      EXPECT_EQ(context.messages().size(), 2 * run);
      context.user("Hi");
      co_await context.generate({.max_tokens = 5}).collect();
      co_await context.save("ann", {.overwrite = true});
    }
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, OpenOrCreateGivesEveryErrorButThatThereIsNone) {
  const auto program = []() -> Task<> {
    const Model model = co_await Model::open();
    host.open_error = ErrorCode::Corrupted;
    const Result<Context> refused = co_await attempt(Context::open_or_create(model, "ann"));
    EXPECT_EQ(refused.error().code, ErrorCode::Corrupted);
  };
  EXPECT_TRUE(run(program()).ok());
}

// The same operations on a conversation that is never saved and on one that is opened again and again.
struct Twins {
  Context whole;
  Context broken;
  sampling::Random random;
  std::uint32_t break_count = 0;

  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(random.uniform() * count);
  }
  std::string some_text() {
    std::string text(1 + below(6), ' ');
    for (char& each : text) each = static_cast<char>('A' + below(26));
    return text;
  }

  Task<> step() {
    switch (below(9)) {
      case 0:
      case 1: {
        constexpr const char* kRoles[] = {"user", "user", "system", "assistant", "tool"};
        const ChatMessage message = {kRoles[below(5)], some_text()};
        whole.add(message);
        broken.add(message);
        co_return;
      }
      case 2:
        co_return co_await generate();
      case 3:
        co_await whole.prefill();
        co_await broken.prefill();
        co_return;
      case 4:
        co_return co_await rewind();
      case 5: {
        const std::string text = some_text();
        co_await whole.append_text(text);
        co_await broken.append_text(text);
        co_return;
      }
      case 6: {
        const ChatMessage message = {"assistant", some_text(), "\"name\":\"x\""};
        const bool rewrites = below(2) == 0;
        whole.amend_answer(message, rewrites);
        broken.amend_answer(message, rewrites);
        co_return;
      }
      default:
        co_return co_await break_it();
    }
  }

  Task<> generate() {
    GenerateOptions options = {.max_tokens = 1 + below(6)};
    if (below(3) == 0) options.stop = {"e"};
    options.cut_stop_text = below(2) == 0;
    if (below(2) == 0) {
      const Generation one = co_await whole.generate(options);
      const Generation other = co_await broken.generate(options);
      EXPECT_EQ(one.text, other.text);
      co_return;
    }
    // Token by token, and perhaps not to its end.
    Generator one = whole.generate(options);
    Generator other = broken.generate(options);
    for (std::uint32_t left = below(4); left > 0; --left) {
      const std::optional<Piece> piece = co_await one.next();
      EXPECT_EQ(piece.has_value(), (co_await other.next()).has_value());
    }
  }

  Task<> rewind() {
    co_await whole.flush();  // What was drawn and not given is gone then.
    co_await broken.flush();
    const std::uint32_t length = whole.token_count() - below(std::min(12u, whole.token_count()));
    co_await whole.rewind(length);
    co_await broken.rewind(length);
  }

  Task<> break_it() {
    ++break_count;
    co_await whole.flush();  // As save writes the turns that are queued.
    co_await broken.save("twin", {.overwrite = true, .compute = below(2) == 0});
    const Model model = broken.model();
    if (below(2) == 0) {
      broken = co_await Context::open(model, "twin");
    } else {
      broken = co_await Context::take(model, "twin");
    }
  }
};

TEST_F(Conversation, OpenedAtAnyTimeItGoesOnAsOneThatWasNeverSaved) {
  std::uint32_t break_count = 0;
  const auto program = [&](std::uint64_t seed) -> Task<> {
    Twins twins{co_await Context::create(), co_await Context::create(), sampling::Random(seed)};
    host.run_ahead = seed % 3;
    co_await twins.whole.append_text("q");
    co_await twins.broken.append_text("q");
    for (int step = 0; step < 40 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      co_await twins.step();
      EXPECT_EQ(turns(twins.whole), turns(twins.broken));
      EXPECT_EQ(twins.whole.token_count(), twins.broken.token_count());
      // A loop of the host that was dropped may have queued more than is known.
      co_await twins.whole.flush();
      co_await twins.broken.flush();
      EXPECT_EQ(held(twins.whole), held(twins.broken));
      EXPECT_TRUE(known(twins.whole).ends_with(known(twins.broken)));
    }
    break_count += twins.break_count;
  };
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Result<void> result = run(program(seed));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  }
  EXPECT_GT(break_count, 1000u);
}

TEST_F(Conversation, SavedWhileTheHostDrawsItGoesOnFromWhatItsProgramKnew) {
  host.run_ahead = 3;
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("one");
    std::string at_save;
    const auto save_once = [&](std::string_view) -> Task<> {
      if (!at_save.empty()) co_return;
      at_save = known(context);
      co_await context.save("s");
    };
    co_await context.generate({.max_tokens = 6, .ignore_stop_tokens = true}).stream(save_once);
    Context opened = co_await Context::open(context.model(), "s");
    EXPECT_GT(held(opened).size(), at_save.size()) << "the host was further";
    co_await opened.flush();
    EXPECT_EQ(held(opened), at_save);
    EXPECT_EQ(turns(opened), "user: one \n");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, WithoutTurnsOrWithAnotherNoteItIsTokensThatTheProgramNeverSaw) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("one");
    co_await context.save("bare", {.turns = false});
    EXPECT_EQ(host.snapshots["bare"].note, "");
    for (const char* note : {"", "another program's", "{\"quire\":1}"}) {
      host.snapshots["bare"].note = note;
      Context opened = co_await Context::open(context.model(), "bare");
      EXPECT_TRUE(opened.messages().empty());
      EXPECT_EQ(opened.unknown_token_count(), 7u);
    }
    EXPECT_TRUE(host.logged.empty());
    Context text = co_await Context::create();
    co_await text.append_text("no turn at all");
    co_await text.save("text");
    EXPECT_EQ(host.snapshots["text"].note, "");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, ANoteThatIsDamagedOrOfAnotherContextIsLeftOutWithAWarning) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("one");
    co_await context.save("s");
    const std::string note = host.snapshots["s"].note;
    EXPECT_TRUE(note.starts_with("{\"quire.conversation\":1,"));
    const auto is_left_out = [&](std::string other) -> Task<> {
      host.logged.clear();
      host.snapshots["s"].note = std::move(other);
      Context opened = co_await Context::open(context.model(), "s");
      EXPECT_TRUE(opened.messages().empty());
      EXPECT_EQ(opened.unknown_token_count(), 7u);
      EXPECT_EQ(host.logged.size(), 1u);
      EXPECT_NE(host.logged.back().find("the turns of the snapshot \"s\" cannot be read"),
                std::string::npos);
    };
    for (std::size_t bytes = detail::kConversationNoteBegin.size(); bytes < note.size(); ++bytes) {
      co_await is_left_out(note.substr(0, bytes));
    }
    co_await is_left_out(note + "x");
    context.user("two");
    co_await context.save("longer");
    co_await is_left_out(host.snapshots["longer"].note);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, TurnsThatAreTooManyForANoteAreAnErrorThatSaysTheWayOut) {
  const auto program = []() -> Task<> {
    host.context_length = 3'000'000;
    Context context = co_await Context::create();
    context.user(std::string(600'000, 'x'));
    const Result<void> refused = co_await attempt(context.save("s"));
    EXPECT_EQ(refused.error().code, ErrorCode::TooLarge);
    EXPECT_NE(refused.error().message.find("a snapshot holds 1048576: save with {.turns = false}"),
              std::string::npos)
        << refused.error().message;
    co_await context.save("s", {.turns = false});
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(Conversation, TokensOfANoteTakeTheirLengthInGroupsOfSevenBits) {
  detail::ConversationNote note;
  note.tokens = {0, 1, 127, 128, 16'383, 16'384, 151'935, 0xffff'ffff};
  const std::string bytes = detail::note_of(note);
  EXPECT_EQ(bytes.size() - bytes.find('\n') - 1, 1u + 1 + 1 + 2 + 2 + 3 + 3 + 5);
  const auto read = detail::read_conversation_note(bytes);
  ASSERT_TRUE(read.ok() && read.value());
  EXPECT_EQ(read.value()->tokens, note.tokens);
}

}  // namespace
}  // namespace quire
