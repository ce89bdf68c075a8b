#pragma once
// Tokens that the device draws: after a context's, at outputs, under masks.
//
// Drafts. They are computed after what is queued, in one pass with its last row, and a token is
// drawn at each place. The drafts that equal what is drawn stand, as if the program had drawn and
// appended them; the rest is taken back before a page that they are in could be committed.
//
// A draft of a program is a guess. Each draw gets a share of the rows that a batch has for guesses,
// and the drafts beyond it are ignored. A token that a grammar forces is certain: it has no limit.
//
// Masks. The matchers' thread fills them while the device works on the rows before. A draw whose
// masks come too late is deferred: when they are there, its last token runs once more without
// writing, in a later batch. So no other row ever waits for a grammar.
//
// Thread   engine thread only.
// Errors   answered to the one whose draw it was.
#include <cstdint>
#include <optional>
#include <vector>

#include "control/steps/matcher_jobs.h"
#include "control/steps/steps.h"

namespace quire::control {

class DrawSteps final : public ReadOwner, private ToolUser {
 public:
  DrawSteps(const StepTools& tools, MatcherJobs& matchers) : ToolUser(tools), matchers_(matchers) {}

  // Before an operation that draws under masks, or with drafts, is placed. Empty: it may be;
  // otherwise what to do with it.
  std::optional<Attempt> prepare(Operation& operation);
  void start_masks(Operation& operation, std::vector<double> randoms);
  // How many drafts go with `queued` tokens that are computed before them: of a program's, at most
  // `guess_count_max`.
  std::uint32_t choose_drafts(Operation& operation, std::uint32_t queued,
                              std::uint32_t guess_count_max);
  // Whether what is issued on its context waits for the end of its pass.
  static bool changes_after_pass(const Operation& operation);
  // The token at a place of the draw, after a row of the pass that is being added.
  void want_draw(Operation& operation, std::uint32_t row, std::uint32_t place, BatchDraft& draft);
  void describe(const Operation& operation, std::uint32_t place,
                inference::DistributionRequest& request) const;
  void read(const ReadRecord& record, Result<inference::Distribution> outcome) override;
  // A batch is done, and all its reads were heard of: of operations that are gone, no draft stands.
  void settle_drafts(const Flight& flight);

 private:
  struct Outcome;

  void masks_ready(Operation& operation);
  void take_back_drafts(Context& context, std::uint32_t count);
  void queue_drawn(Context& context, std::uint32_t token);
  void complete_draw(Operation& operation, inference::Distribution drawn);
  void complete_draws(Operation& operation, std::uint32_t draft_count);
  void count_drafts(const Operation& operation, std::uint32_t draft_count, Outcome& outcome);
  void draw_again(Operation& operation, std::uint32_t draft_count);
  Result<Outcome> outcome_of(const Operation& operation) const;
  void advance_matchers(Operation& operation, const Outcome& outcome);

  MatcherJobs& matchers_;
};

}  // namespace quire::control
