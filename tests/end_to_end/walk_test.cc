// One guest, one token, ten stops in order, on a tiny model.
#include <algorithm>
#include <mutex>
#include <optional>

#include "end_to_end/support.h"
#include "main/machine/application.h"

namespace quire::test {
namespace {

// Stops come from the engine's and the device's thread.
class RecordedWalk final : public WalkSink {
 public:
  void reached(WalkStop stop) override {
    std::lock_guard lock(mutex_);
    stops_.push_back(stop);
  }
  std::vector<WalkStop> stops() const {
    std::lock_guard lock(mutex_);
    return stops_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<WalkStop> stops_;
};

class EndOnly final : public service::Listener {
 public:
  bool heard(InstanceId, const service::Said& said) override {
    if (const auto* message = std::get_if<service::Message>(&said)) {
      text += message->bytes;
    } else if (const auto* ended = std::get_if<service::Ended>(&said)) {
      exit_code = ended->end.exit_code;
      message_at_end = ended->end.message;
    }
    return true;
  }
  std::string text;
  std::optional<std::int32_t> exit_code;
  std::string message_at_end;
};

TEST(Walk, OneTokenOfOneGuestMakesTheTenStopsInOrder) {
  const SteadyClock clock;
  RecordedWalk walk;
  cli::EngineOptions engine;
  engine.model = golden_path("tiny_llama");
  engine.pool.page_count = 64;
  engine.thread_count = 1;
  Result<std::unique_ptr<Machine>> machine = Machine::build(engine, clock, &walk);
  ASSERT_TRUE(machine.ok()) << machine.error().message();
  Result<std::unique_ptr<Application>> application =
      Application::build(*machine.value(), clock, {.instance_count_max = 4}, &walk);
  ASSERT_TRUE(application.ok()) << application.error().message();

  Result<lifecycle::ProgramId> program =
      application.value()->manager().load_program_file(inferlet("text_completion"));
  ASSERT_TRUE(program.ok()) << program.error().message();
  lifecycle::LaunchRequest request;
  request.program = program.value();
  request.arguments = {"--prompt", "abc", "--max-tokens", "1", "--ignore-eos"};
  EndOnly client;
  ASSERT_TRUE(application.value()->launch(std::move(request), client).ok());
  application.value()->loop().run_until_idle();
  ASSERT_EQ(client.exit_code, 0) << client.message_at_end;

  // Around the one time that the model ran: each stop before it is followed by the next one.
  const std::vector<WalkStop> stops = walk.stops();
  EXPECT_EQ(std::count(stops.begin(), stops.end(), WalkStop::Models), 1);
  auto at = std::find(stops.begin(), stops.end(), WalkStop::Models);
  ASSERT_NE(at, stops.end());
  const auto model = at;
  for (int stop = static_cast<int>(WalkStop::Devices); stop >= 1; --stop) {
    const auto before = std::find(std::make_reverse_iterator(at), stops.rend(), WalkStop(stop));
    ASSERT_NE(before, stops.rend()) << "stop " << stop << " is not before stop " << stop + 1;
    at = std::prev(before.base());
  }
  EXPECT_EQ(at, stops.begin()) << "the walk begins with the client";
  const auto answered = std::find(model, stops.end(), WalkStop::Dispatcher);
  ASSERT_NE(answered, stops.end());
  EXPECT_NE(std::find(answered, stops.end(), WalkStop::Sandbox), stops.end());
}

}  // namespace
}  // namespace quire::test
