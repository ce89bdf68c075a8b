// The whole control layer on models with states: the same bits however a context came to its
// tokens.
#include <algorithm>
#include <string>

#include "inference/kernels/kernels.h"
#include "support/control_engine.h"
#include "support/golden.h"

namespace quire::test::recurrent_context_test {
namespace {

using control::ContextEdit;
using control::ContextEditKind;
std::string recurrent_path(const std::string& name) {
  return golden_path("recurrent/" + name);
}

class RecurrentContext : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return recurrent_path(GetParam()); }
};

Engine::Options options_of(const char* kernels, std::uint32_t state_count) {
  Engine::Options options;
  options.device.name = kernels;
  options.device.page_count = 128;
  options.device.state_count = state_count;
  return options;
}

constexpr std::uint32_t kPrefix = 200;

std::vector<std::uint32_t> some_prefix() {
  return tokens_from(1, kPrefix);
}
std::vector<std::uint32_t> some_end() {
  return tokens_from(17, 21);
}

// Computed at once, in an engine that has seen nothing else.
std::vector<float> plain(const std::string& model, const char* kernels) {
  Engine engine(model, options_of(kernels, 8));
  std::vector<std::uint32_t> all = some_prefix();
  const std::vector<std::uint32_t> end = some_end();
  all.insert(all.end(), end.begin(), end.end());
  return engine.next(engine.start(), all);
}

std::vector<float> in_pieces(Engine& engine) {
  const Engine::Program program = engine.start();
  const std::vector<std::uint32_t> prefix = some_prefix();
  for (std::size_t begin = 0; begin < prefix.size(); begin += 7) {
    const auto first = prefix.begin() + static_cast<std::ptrdiff_t>(begin);
    engine.next(program, {first, prefix.end() - first > 7 ? first + 7 : prefix.end()});
  }
  std::vector<float> logits;
  for (const std::uint32_t token : some_end()) logits = engine.next(program, {token});
  return logits;
}

std::vector<float> rewound(Engine& engine, std::uint32_t wasted) {
  const Engine::Program program = engine.start();
  engine.next(program, some_prefix());
  engine.next(program, tokens_from(99, wasted));
  engine.send(program, ContextEdit{program.context, ContextEditKind::Rewind, kPrefix});
  return engine.next(program, some_end());
}

// A fork of a context that goes another way, before it or after it.
std::vector<float> forked(Engine& engine, bool is_first) {
  const Engine::Program program = engine.start();
  engine.next(program, some_prefix());
  Engine::Program child = program;
  child.context = control::ObjectId{9};
  engine.send(program, control::ContextFork{program.context, child.context});
  if (!is_first) engine.next(program, tokens_from(40, 3));
  std::vector<float> logits;
  for (const std::uint32_t token : some_end()) logits = engine.next(child, {token});
  if (is_first) engine.next(program, tokens_from(40, 3));
  EXPECT_EQ(engine.next(child, {}), logits) << "the output of the last token, once more";
  return logits;
}

TEST_P(RecurrentContext, GiveTheSameBitsHoweverAContextCameToItsTokens) {
  for (const char* kernels : {"scalar", "avx2", "avxvnni", "avx512"}) {
    if (!inference::choose_kernels(kernels).ok()) continue;  // This machine has not got them.
    const std::vector<float> wanted = plain(path(), kernels);
    ASSERT_FALSE(wanted.empty());
    for (const std::uint32_t state_count : {8u, 2u}) {
      SCOPED_TRACE(std::string(kernels) + ", " + std::to_string(state_count) + " states");
      Engine engine(path(), options_of(kernels, state_count));
      EXPECT_EQ(in_pieces(engine), wanted);
      EXPECT_EQ(rewound(engine, 5), wanted);
      EXPECT_EQ(rewound(engine, 90), wanted);
      EXPECT_EQ(forked(engine, false), wanted);
      EXPECT_EQ(forked(engine, true), wanted);
    }
  }
}

// Twelve pages, of which one context wants up to sixteen: each gives its pages up in turn.
TEST_P(RecurrentContext, GiveTheSameBitsAfterASuspension) {
  Engine::Options options = options_of("auto", 3);
  options.device.page_count = 20;
  Engine engine(path(), options);
  const Engine::Program first = engine.start();
  engine.next(first, some_prefix());
  const Engine::Program second = engine.start();
  engine.next(second, tokens_from(50, 210));
  EXPECT_EQ(engine.next(first, some_end()), plain(path(), "auto"));
  EXPECT_GT(engine.suspension_count(), 0u);
}

// In a new engine, from a snapshot with its state.
TEST_P(RecurrentContext, GiveTheSameBitsAfterARestart) {
  for (const char* kernels : {"scalar", "auto"}) {
    store::SimulatedFileSystem files;
    Engine::Options options = options_of(kernels, 4);
    options.files = &files;
    {
      Engine engine(path(), options);
      const Engine::Program program = engine.start();
      engine.next(program, some_prefix());
      engine.save(program, "one");
    }
    Engine engine(path(), options);
    Engine::Program program = engine.start();
    engine.open(program, "one");
    EXPECT_EQ(engine.next(program, some_end()), plain(path(), kernels));
    EXPECT_LE(engine.row_count(), kPrefix % 16 + some_end().size());
  }
}

TEST(RecurrentPrefix, IsComputedOnceForAllThatBeginWithIt) {
  const std::string model = recurrent_path("qwen35_4k4v.gguf");
  Engine engine(model, options_of("auto", 8));
  const Engine::Program first = engine.start();
  engine.next(first, some_prefix());
  const std::uint64_t before = engine.row_count();
  engine.next(engine.start(), some_prefix());
  EXPECT_LE(engine.row_count() - before, 16u);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentContext,
                         testing::Values("qwen35_4k4v.gguf", "qwen35_16k32v",
                                         "qwen35moe_2k4v.gguf"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace quire::test::recurrent_context_test
