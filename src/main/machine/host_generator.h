#pragma once
// HostGenerator is the generation loop in the host: one context, and for each step one command that
// computes what is queued and draws the token after it. Guests' generators do the same through host
// calls.
//
// begin_step() and finish_step() are apart so that many generators share batches: begin all, then
// finish each. Rules and stops are the SDK's own, so both give the same tokens for a seed.
//
// Thread   the engine thread.
// Errors   OutOfRange for a prompt beyond the model's context and NoFreePage for one beyond the
//          pool, with the numbers, before any work; whatever a pass answers.
#include <optional>
#include <string>
#include <vector>

#include "inference/api/text_codec.h"
#include "main/machine/host_loop.h"
#include "quire/draw_rule.h"
#include "quire/sampling.h"
#include "quire/stop.h"

namespace quire {

class HostGenerator {
 public:
  HostGenerator(HostLoop& loop, const inference::TextCodec& codec,
                const control::ModelDescription& model);

  // Queues tokens after those of the context. Nothing is computed yet.
  Result<void> append(const std::vector<std::uint32_t>& tokens);

  // Tokens appended from now on are of these adapters; null: of none.
  void use(control::ChosenAdaptersRef adapters);

  // Every reply from now on is a text of the grammar.
  Result<void> constrain(inference::GrammarKind kind, const std::string& source);

  // A new reply: how its tokens are drawn, and its stop rules. A limit beyond the context's end is
  // cut to it.
  void start(const DrawRule& rule, std::uint64_t seed, StopOptions stop);

  void begin_step();
  // The text that may be shown now. Ended: see reason(); what was held back is part of it.
  Result<std::string> finish_step();
  bool ended() const { return stop_->ended(); }
  FinishReason reason() const { return stop_->reason(); }

  const std::vector<std::uint32_t>& ids() const { return ids_; }  // Of this reply, no stop token.
  const control::ContextCounters& counters() const { return counters_; }
  control::InstanceStatistics statistics() const { return instance_.statistics(); }
  std::uint32_t token_count() const { return appended_; }  // In the context, queued ones included.

 private:
  const inference::TextCodec& codec_;
  const control::ModelDescription& model_;
  HostInstance instance_;
  const control::ObjectId queue_;
  const control::ObjectId context_;
  std::shared_ptr<const inference::Grammar> grammar_;
  control::ObjectId matcher_{};  // Of this reply, where there is a grammar.
  control::DrawSpec draw_;
  sampling::Random random_{0};
  std::optional<double> next_random_;  // Not used yet.
  std::optional<StopRules> stop_;
  std::uint32_t token_count_max_ = 0;
  std::vector<std::uint32_t> ids_;
  control::ContextCounters counters_;
  control::FutureId step_ = control::kNoFuture;
  std::uint32_t appended_ = 0;

  Result<std::string> take(const control::Draws& draws);
};

}  // namespace quire
