#pragma once
// TokenStreams drives many generations at once against a control layer, real or simulated, and
// notes when each token came: what benchmarks of batching measure with.
//
// Each stream is an instance with a context: its prompt, then a token at a time, the most probable
// each. What a stream asks next it asks in the turn in which it is answered, so that all whom one
// batch answered share the next one.
//
// Owns     the instances, while they run.
// Thread   the engine thread.
// Errors   the first that a stream is answered; the others are ended then.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "application/lifecycle/answer_inbox.h"
#include "base/clock.h"
#include "base/result.h"
#include "control/api/control_port.h"

namespace quire {

struct StreamPlan {
  std::uint64_t arrives_ns = 0;  // After run() began.
  std::vector<std::uint32_t> prompt{};
  std::uint32_t token_count = 1;
  control::TenantId tenant{};
  // Begins when so many tokens of all streams have come, instead.
  std::optional<std::uint64_t> arrives_at_token{};
  // Ends with that plan's stream, where it has not had its tokens before.
  std::optional<std::size_t> ends_with{};
  // Tokens are drawn, greedy, instead of read from the distribution;
  bool is_drawn = false;
  // one a step, under this grammar where there is one. An error of its masks ends this stream alone.
  std::shared_ptr<const inference::Grammar> grammar{};
};

struct StreamTimes {
  std::uint64_t arrived_ns = 0;         // Both on the clock.
  std::vector<std::uint64_t> token_ns;  // When each token came.
  std::vector<std::uint32_t> tokens;
  std::optional<Error> error{};  // That ended it: of its grammar.
};

class TokenStreams {
 public:
  // `pause` is called when there is nothing to do: for so many ns at most, or until the device is
  // done, whichever comes first.
  using Pause = std::function<void(std::uint64_t ns_max)>;
  TokenStreams(control::ControlPort& control, lifecycle::AnswerInbox& answers, const Clock& clock,
               Pause pause)
      : control_(control), answers_(answers), clock_(clock), pause_(std::move(pause)) {}

  // The times of each plan, in their order, which is that of their arrival.
  Result<std::vector<StreamTimes>> run(const std::vector<StreamPlan>& plans);

 private:
  struct Stream {
    const StreamPlan* plan = nullptr;
    control::InstanceId instance{};
    StreamTimes times;
    control::DrawSpec draw;    // Where its tokens are drawn; shared by all its steps.
    std::uint32_t future = 0;  // Of the distribution, or the draw, that it waits for.
    bool is_running = false;
  };
  bool arrive();
  std::uint64_t ns_until_arrival() const;
  Result<bool> take_answers();
  Result<bool> take(std::size_t index, Result<control::AnswerBody> answered);
  void ask(Stream& stream);
  void end(Stream& stream);

  control::ControlPort& control_;
  lifecycle::AnswerInbox& answers_;
  const Clock& clock_;
  const Pause pause_;
  std::vector<Stream> streams_;
  std::vector<std::size_t> to_come_;  // Indices of streams_, the next one last.
  std::unordered_map<std::uint64_t, std::size_t> by_instance_;
  std::size_t running_count_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t token_count_ = 0;
  std::uint64_t instances_ = std::uint64_t{1} << 32;  // Those of a HostLoop may be beside them.
};

}  // namespace quire
