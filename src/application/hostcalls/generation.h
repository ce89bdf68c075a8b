#pragma once
// Generations of one instance: the loop of interface/draw.wit in the host. A step is a ContextDraw
// command whose future the guest never sees. Its answer sends the next step at once: that is in the
// next batch, and the guest need not run for it.
//
// Owns     the random numbers, and the drawn tokens that the guest has not taken.
// Thread   engine thread only.
// Errors   what a step answers ends its generation, and is given after the tokens before it.
//
// Invariants, all checked by verify():
//   GN1  A generation that has not ended is that of its context; one that has ended is of none.
//   GN2  One that has not ended has a step under way, unless the guest has too many tokens to take.
//   GN3  A reader waits only for tokens that are not there yet.
//   GN4  A generation uses its matchers until it has ended.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/handle_table.h"
#include "application/hostcalls/ordered_queue.h"
#include "base/result.h"
#include "control/api/answer.h"
#include "control/api/command.h"
#include "quire/sampling.h"

namespace quire::hostcalls {

class GuestState;

// Numbers of interface/draw.wit: next-draws.
enum class GenerationEnd : std::uint32_t {
  NotYet,
  StopToken,
  Length,
  Stopped,
  GrammarComplete,
  NoTokenAllowed
};

struct GenerateOptions {
  control::DrawSpec draw;
  std::uint64_t seed = 0;
  std::uint32_t token_count_max = 0;
  std::vector<std::uint32_t> stop_tokens;
};

class GenerationTable {
 public:
  static constexpr std::size_t kUntakenCountMax = 4096;
  static constexpr std::uint32_t kUntakenTopCountMax = 65'536;  // Of the most probable ones.
  static constexpr std::uint32_t kGenerationCountMax = 64;

  explicit GenerationTable(GuestState& guest) : guest_(guest) {}

  // The context has no generation, and may be changed.
  Result<GuestHandle> start(GuestHandle context, GenerateOptions options);
  // The future of the next tokens. AlreadyExists: one is not answered yet.
  Result<GuestHandle> read(GuestHandle generation, std::uint32_t count_min);
  Result<GuestHandle> stop(GuestHandle generation);
  // The generation and what was not taken of it go; the token of a step under way stays in the
  // context.
  void drop(GuestHandle generation);
  void drop_of(GuestHandle context);  // Where it has one.

  void answered(GuestHandle generation, const Result<control::AnswerBody>& answer);
  // The guest will never take what a reader was given, or would be.
  void reader_dropped(const FutureRecord& record);
  void stopper_dropped(const FutureRecord& record);
  void verify() const;

 private:
  struct Token {
    control::Drawn drawn;
    std::vector<std::uint32_t> top_tokens;  // The most probable ones where it was drawn.
    std::vector<float> top_probabilities;
  };
  struct Generation {
    GuestHandle context{};
    GenerateOptions options;
    sampling::Random random{0};
    double next_random = 0.0;  // Of the next token that is not forced.
    std::uint32_t drawn_count = 0;
    OrderedQueue<Token> untaken;
    bool has_step = false;
    bool is_stopping = false;
    GenerationEnd end = GenerationEnd::NotYet;
    std::optional<Error> error;  // Ended by it.
    bool has_ended() const { return end != GenerationEnd::NotYet || error.has_value(); }
    std::size_t untaken_count_max() const;
    GuestHandle reader{};  // 0: none waits.
    std::uint32_t count_min = 0;
    std::vector<GuestHandle> stoppers;
  };

  void step(GuestHandle handle, Generation& generation);
  Result<void> send_step(GuestHandle handle, Generation& generation);
  static void note_draws(Generation& generation, const control::Draws& draws);
  void finish(GuestHandle handle, Generation& generation);
  void serve_reader(Generation& generation);
  static std::string take_record(Generation& generation, FutureRecord& record);

  GuestState& guest_;
  std::unordered_map<std::uint32_t, Generation> generations_;
};

}  // namespace quire::hostcalls
