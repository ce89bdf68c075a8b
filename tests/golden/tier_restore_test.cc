// The whole control layer on a real model: what comes back from host memory gives the logits, bit
// for bit, of what never left.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>

#include "base/clock.h"
#include "control/controller/controller.h"
#include "inference/architectures/model_files.h"
#include "inference/devices/open_device.h"
#include "support/default_model.h"
#include "support/golden.h"

namespace quire::test {
namespace {

using namespace control;  // NOLINT: a test of that layer.

class Engine final : public AnswerSink {
 public:
  Engine(const std::string& model, std::uint32_t page_count, std::uint64_t host_bytes) {
    auto files = inference::open_model(model);
    EXPECT_TRUE(files.ok());
    inference::DeviceOptions options;
    options.threads = 2;
    options.page_count = page_count;
    auto made = inference::open_device(*files.value(), options, inbox_);
    EXPECT_TRUE(made.ok());
    backend_ = std::move(made).take();
    ControllerOptions control;
    control.tiers.host_bytes_max = host_bytes;
    control.costs.choice = TierChoice::Restore;
    controller_ =
        make_controller({{.backend = backend_.get()}}, control, inbox_, *this, wakeup_, clock_);
  }

  void lost(control::InstanceId, const Error& error) override { ADD_FAILURE() << error.message(); }
  void answer(Answer given) override {
    if (given.body.ok() && std::holds_alternative<Values>(given.body.value())) {
      logits_ = std::get<Values>(given.body.value()).all;
    } else if (!given.body.ok()) {
      ADD_FAILURE() << given.body.error().message();
    }
  }

  struct Program {
    InstanceId guest{};
    ObjectId queue{1};
    ObjectId context{2};
    ObjectId output{3};
  };
  Program start() {
    Program program{.guest = InstanceId{++guest_count_}};
    controller_->start_instance(program.guest, TenantId{1}, {});
    send(program, CreateQueue{.queue = program.queue, .model = ModelIndex{0}});
    send(program, ContextCreate{.context = program.context, .queue = program.queue});
    send(program, AllocEmbeds{.queue = program.queue, .embeds = {program.output}});
    return program;
  }
  void end(const Program& program) { controller_->end_instance(program.guest); }
  void send(const Program& program, CommandBody body) {
    controller_->submit({.instance = program.guest, .future = kNoFuture, .body = std::move(body)});
  }
  std::vector<float> next(const Program& program, const std::vector<std::uint32_t>& tokens) {
    send(program, ContextAppend{program.context, tokens});
    send(program, ContextForward{program.context, {program.output}});
    logits_.clear();
    controller_->submit({.instance = program.guest,
                         .future = FutureId{++future_count_},
                         .body = GetLogits{program.queue, program.output}});
    run();
    return logits_;
  }
  void run() {
    while (!controller_->idle()) {
      const bool has_any = controller_->poll();
      if (!controller_->dispatch() && !has_any) wakeup_.wait_for(std::chrono::milliseconds(10));
    }
    controller_->verify();
  }
  TierStatistics tiers() const { return controller_->tier_statistics(); }
  std::uint64_t row_count() const { return controller_->statistics().row_count; }

 private:
  Wakeup wakeup_;
  SteadyClock clock_;
  CompletionInbox inbox_{wakeup_};
  std::unique_ptr<inference::Backend> backend_;
  std::unique_ptr<Controller> controller_;
  std::vector<float> logits_;
  std::uint64_t guest_count_ = 0;
  std::uint32_t future_count_ = 0;
};

// Tokens that the smallest vocabulary of these models has.
std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t each = 0; each < count; ++each) tokens.push_back(3 + (first + each * 7) % 311);
  return tokens;
}

// A window over a context that another context displaces, and a prompt that comes twice.
struct Seen {
  std::vector<float> windowed;
  std::vector<float> again;
};

Seen displaced(Engine& engine, bool is_displaced) {
  const Engine::Program windowed = engine.start();
  engine.next(windowed, tokens_from(1, 300));
  engine.send(windowed, ContextDropRange{windowed.context, 4, 200});
  engine.next(windowed, tokens_from(5, 9));
  const Engine::Program first = engine.start();
  engine.next(first, tokens_from(9, 290));
  engine.end(first);
  if (is_displaced) {
    const Engine::Program other = engine.start();
    engine.next(other, tokens_from(77, 380));
    engine.end(other);
  }
  Seen seen;
  seen.windowed = engine.next(windowed, tokens_from(11, 21));
  const Engine::Program second = engine.start();
  seen.again = engine.next(second, tokens_from(9, 300));
  return seen;
}

void expect_equal_bits(const std::string& model) {
  Engine roomy(model, 256, 0);
  const Seen wanted = displaced(roomy, false);
  Engine tight(model, 25, std::uint64_t{1} << 30);
  const Seen given = displaced(tight, true);
  ASSERT_FALSE(given.windowed.empty());
  EXPECT_EQ(given.windowed, wanted.windowed);
  EXPECT_EQ(given.again, wanted.again);
  EXPECT_GE(tight.tiers().swap_count, 1u);
  EXPECT_GE(tight.tiers().restored_page_count, 18u);
  EXPECT_EQ(tight.tiers().damaged_page_count, 0u);
}

TEST(TierRestore, GivesTheBitsOfPagesThatStayed) {
  for (const char* model : {"tiny_llama", "tiny_qwen3", "experts/qwen3moe_8.gguf"}) {
    SCOPED_TRACE(model);
    expect_equal_bits(golden_path(model));
  }
}

TEST(TierRestore, GivesThemWithTheDefaultModelToo) {
  const std::string model = default_model_path();
  if (model.empty()) GTEST_SKIP() << "no " << kDefaultModelFile << " here: make model";
  expect_equal_bits(model);
}

}  // namespace
}  // namespace quire::test
