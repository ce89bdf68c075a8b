#pragma once
// Random loads on one scheduler. There are tenants of several weights, and guests that decode,
// bring prompts, or pass vectors on by hand. There are priorities, deadlines, synchronize, batches
// of a few rows, every policy, and a clock that goes on. A model alongside knows for each guest
// what it waits for and since when.
//
// After every batch, four things hold. Guests that decode were served by level, deadline and age
// within their tenant. Tenants that both had something left waiting got rows by their weights, to
// within kAheadBatchCount batches. Overdue guests were served within wait_bound() batches. A
// synchronize was answered after what came before it. In the end every future is answered as it is
// for the guest alone.
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "control/harness.h"

namespace quire::control {

struct ScheduleKnobs {
  std::uint32_t row_count_max = 16;
  std::uint32_t prefill_row_budget = 8;
  std::uint64_t aging_ns = 1'000'000;
  DispatchPolicy dispatch{};
  std::vector<std::uint32_t> weights;  // Of tenants 1, 2, ...
  std::uint32_t guest_count = 8;
  int step_count = 150;

  static ScheduleKnobs of_seed(std::uint64_t seed);
  bool is_adaptive() const { return dispatch.kind == DispatchKind::Adaptive; }
};

class ScheduleProgram {
 public:
  ScheduleProgram(const ScheduleKnobs& knobs, std::uint64_t seed);
  void run();

 private:
  enum class Kind : std::uint8_t { Decode, Prefill, Hand };
  // A future that the guest waits for, in the order in which it asked.
  struct Asked {
    FutureId future{};
    bool is_barrier = false;
  };
  // One guest on one machine. What it does depends on its seed alone.
  struct Guest {
    Kind kind = Kind::Decode;
    std::uint32_t tenant = 0;  // Index into the weights.
    Priority priority = Priority::Normal;
    std::uint64_t deadline_ns = kNoDeadline;
    std::uint32_t number = 0;  // Tokens of different guests differ.
    std::mt19937_64 random;
    InstanceId id{};
    ObjectId queue{};
    ObjectId context{};
    std::vector<ObjectId> embeds;
    ObjectId page{};
    std::uint32_t position = 0;
    std::vector<Asked> asked;
    std::size_t answered_count = 0;  // Of asked, from the first.
    // Of what it decodes: when it was asked for, and since when a batch could have had it.
    std::uint64_t order = 0;
    std::optional<std::uint64_t> since_ns;
    std::uint64_t computed_count = 0;  // Rows that it got, as of the last look.
    bool is_served = true;
    std::uint32_t overdue_batch_count = 0;  // That were built without it since it is overdue.
    std::uint64_t rows_left = 0;  // Of its context, that are asked for and in no batch yet.
  };

  Harness::Options options() const;
  std::vector<Guest> new_guests() const;
  static void start(Harness& harness, Guest& guest);
  // Sends the guest's next commands; it has none under way.
  static void ask(Harness& harness, Guest& guest);
  static void ask_context(Harness& harness, Guest& guest, std::uint32_t token_count);
  static void ask_by_hand(Harness& harness, Guest& guest);
  static void expect(Harness& harness, Guest& guest, CommandBody body);
  static bool is_idle(const Guest& guest) { return guest.answered_count == guest.asked.size(); }

  void step();
  void dispatch();
  std::uint32_t level(const Guest& guest) const;
  void check_order(const std::vector<Guest*>& ready);
  void check_shares();
  void check_waits();
  double wait_bound(const Guest& guest) const;
  void take_answers(Guest& guest);
  void finish();
  void compare_with_each_alone();

  const ScheduleKnobs knobs_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  Harness harness_;
  std::vector<Guest> guests_;
  std::uint64_t order_ = 0;
  std::vector<double> served_;                                   // Rows that each tenant got, ever.
  std::map<std::pair<std::size_t, std::size_t>, double> ahead_;  // See check_shares().
};

}  // namespace quire::control
