#include "simulation/tenant_flood.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kFloodStream = 0x74656e666c6fu;
constexpr std::uint32_t kWorldsPerFlood = 4;
constexpr std::uint64_t kFloodPauseNsMax = 50 * kMillisecond;
constexpr std::uint64_t kSleepNsMax = 50 * kMillisecond;
constexpr std::uint32_t kLaunchCountMax = 24;  // Of one action.
constexpr std::string_view kProgram = "sleeper";

}  // namespace

// Sleeps once to four times, and ends.
class TenantFlood::Sleeper final : public sandbox::FakeGuest {
 public:
  explicit Sleeper(TenantFlood& flood) : flood_(flood), left_(flood.dice_.between(1, 4)) {
    const std::uint32_t most = std::max(flood_.town_.knobs.instance_slot_count / 2, 1u);
    if (++flood_.running_count_ > most) {
      flood_.town_.findings.add("a flood has " + std::to_string(flood_.running_count_) +
                                " places, more than half of " +
                                std::to_string(flood_.town_.knobs.instance_slot_count));
    }
  }
  ~Sleeper() override { --flood_.running_count_; }

  sandbox::FakeAction step(sandbox::FakeHost& host) override {
    if (left_-- == 0) return {};
    const auto ns = static_cast<std::int64_t>(flood_.dice_.time_ns(kSleepNsMax));
    const auto future = static_cast<std::int32_t>(host.call("runtime", "sleep", {ns}).value);
    host.put(0, {reinterpret_cast<const char*>(&future), sizeof future});
    const bool waits =
        host.call("future", "wait", {0, 1, -1}).outcome == sandbox::CallOutcome::Suspend;
    return {waits ? sandbox::FakeAction::Kind::Wait : sandbox::FakeAction::Kind::Yield, 0, ""};
  }

 private:
  TenantFlood& flood_;
  std::uint32_t left_;
};

TenantFlood::TenantFlood(Town& town, lifecycle::InstanceManager& manager, std::uint64_t seed)
    : town_(town),
      manager_(manager),
      dice_(seed ^ kFloodStream),
      tenant_{town.knobs.tenant_count + 1} {
  if (dice_.one_in(kWorldsPerFlood)) actions_left_ = dice_.between(5, 40);
}

void TenantFlood::begin(sandbox::FakeRuntime& runtime) {
  if (is_done()) return;
  runtime.add_program(std::string(kProgram), [this] { return std::make_unique<Sleeper>(*this); });
  const Result<lifecycle::ProgramId> program =
      manager_.load_program(std::as_bytes(std::span(kProgram)));
  QUIRE_CHECK(program.ok(), "a program of the fake runtime");
  program_ = program.value();
}

void TenantFlood::act() {
  --actions_left_;
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kFloodPauseNsMax);
  const std::uint32_t draw = dice_.below(10);
  town_.trace.note({"tenant flood"}, "act", draw);
  if (draw == 0 && !launched_.empty()) return kill_some();
  for (std::uint32_t count = dice_.between(1, kLaunchCountMax); count > 0; --count) launch();
}

void TenantFlood::launch() {
  lifecycle::LaunchRequest request;
  request.program = program_;
  request.tenant = tenant_;
  const Result<lifecycle::InstanceId> launched = manager_.launch(std::move(request), *this);
  if (launched.ok()) {
    launched_.insert(launched.value());
    town_.trace.note({"tenant flood"}, "launch", static_cast<std::int64_t>(launched.value()));
    return;
  }
  town_.trace.note({"tenant flood"}, "refused", static_cast<std::int64_t>(launched.error().code()));
  if (launched.error().code() == ErrorCode::Unavailable) return;
  town_.findings.add("a launch of a flood is refused: " + std::string(launched.error().message()));
}

void TenantFlood::kill_some() {
  auto at = launched_.begin();
  std::advance(at, dice_.below(launched_.size()));
  (void)manager_.kill(*at, "by the flood").ok();  // It may have ended.
}

bool TenantFlood::heard(lifecycle::InstanceId instance, const service::Said& said) {
  if (!std::holds_alternative<service::Ended>(said)) return true;
  town_.trace.note({"tenant flood"}, "ended", static_cast<std::int64_t>(instance));
  if (launched_.erase(instance) == 0) town_.findings.add("a program of a flood ended twice");
  return true;
}

void TenantFlood::check_over() const {
  if (!launched_.empty() || running_count_ != 0) {
    town_.findings.add(std::to_string(launched_.size()) + " programs of a flood did not end, " +
                       std::to_string(running_count_) + " have a place");
  }
}

}  // namespace quire::simulation
