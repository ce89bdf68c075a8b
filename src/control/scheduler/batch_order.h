#pragma once
// BatchOrder chooses the operation that comes next into the batch that is built.
//
// Between tenants, the one that has had the least of its share goes first (FairShares). Within a
// tenant: by level, which is the priority of the queue and rises by one for each aging period that
// the operation has waited; then the earlier deadline; then the age. Above the highest priority
// lies Overdue, where only the time of waiting counts. Each waiting operation comes there in the
// end, and then no other goes before it twice, except short prompts.
//
// A short prompt goes before a longer one of its priority whose turn it is, the shortest one first
// (shortest remaining processing time, Schrage 1968). However many short ones come, a prompt is
// done at most a fifth of its own rows later than in the order of age. One that needs more than
// what is left of that fifth waits for its own turn. A prompt with a deadline neither overtakes nor
// is overtaken.
//
// Decoding (a few rows) and prefill are kept apart, because a batch takes all decoding and limits
// prefill. A tenant's decoding owes its own prefill a third of as many rows. If not even all
// decoding finds room, so many of the tenant's rows are prefill. If a tenant has used up its share
// by decoding alone, an overdue prompt still gets them.
//
// Where several tenants decode, each has its part of a batch (decode_limits.h), so that the step of
// a tenant with one stream is not that of another one with a hundred.
//
// Thread   that of its owner. Reads no clock.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "control/batches/ready_queue.h"
#include "control/objects/fair_shares.h"

namespace quire::control {

inline constexpr std::uint8_t kOverdueLevel = static_cast<std::uint8_t>(Priority::High) + 1;

enum class Turn : std::uint8_t { Decode, Owed, Prefill, Both };

class BatchOrder {
 public:
  // `aging_ns`: how long one waits to be served as if its priority were one higher.
  BatchOrder(FairShares& shares, std::uint64_t aging_ns) : shares_(shares), aging_ns_(aging_ns) {}

  // `by_age_alone`: decoding and prefill are one list; for policies that count commands.
  void begin_batch(std::uint64_t now_ns, bool by_age_alone);
  void add(const Candidate& candidate);
  void end_batch();

  std::uint64_t decode_row_count() const { return decode_row_count_; }
  // Limits the decoding of each tenant in this batch, once all is added; see decode_limits.h.
  // Returns the rows that remain.
  std::uint64_t limit_decoding(double step_rows, double stretch);
  void lift_limits();
  bool has_prefill() const { return prefill_count_ > 0; }
  // The slots of the prefill that attends to the fewest.
  std::uint32_t prefill_slot_count_least() const { return prefill_slot_count_least_; }

  // The operations whose turn it is, one after the other, until there is none; also those that are
  // added meanwhile. `prefill_rows_max` is what one prefill takes at once.
  void begin(Turn turn, std::uint32_t prefill_rows_max);
  // False: the operation decodes, and its tenant has had its part of this batch.
  bool may_have_rows(const Candidate& candidate) const {
    return candidate.is_prefill || candidate.row_count == 0 ||
           tenants_[candidate.share->order_place].decode_left > 0;
  }
  std::optional<Candidate> next();
  // The decoding that comes after the one that next() gave, unless another tenant's turn comes
  // before. It serves to fetch their memory while earlier ones are placed; valid until the next
  // add().
  std::span<const Candidate> decoding_ahead() const {
    if (!current_) return {};
    const List& list = tenants_[*current_].decode;
    return std::span(list.all).subspan(list.next);
  }
  // The one that next() gave got so many rows,
  void note_served(const Candidate& candidate, std::uint32_t row_count);
  // or found no room, or not enough.
  void note_waiting(const Candidate& candidate) { shares_.leave_waiting(*candidate.share); }

 private:
  std::uint8_t level_of(const Candidate& candidate) const;
  struct List {
    std::vector<Candidate> all;
    std::size_t next = 0;
    bool is_empty() const { return next == all.size(); }
    const Candidate& first() const { return all[next]; }
    void clear() { all.clear(), next = 0; }
  };
  static constexpr double kAllDecoding = std::numeric_limits<double>::max();
  struct Tenant {
    FairShare* share = nullptr;
    List decode;
    List prefill;
    bool has_turn = false;              // Is in turns_, or the one whose turn it is now.
    double decode_cost = 0;             // Of its decoding, in rows of the model alone,
    double decode_left = kAllDecoding;  // and what this batch may still have of that.
  };
  List* list_of(Tenant& tenant) const;
  std::uint64_t overtaking_room(const Candidate& candidate) const;
  static constexpr std::size_t kPriorityCount = kOverdueLevel;
  using Overtaken = std::array<const Candidate*, kPriorityCount>;
  Overtaken mark_overtaking(std::span<Candidate> prompts) const;
  // Moves the short prompts of each priority to the place of the first prompt of that priority.
  void let_short_overtake(List& list);
  void give_turn(std::uint32_t place);
  bool comes_later(std::uint32_t left, std::uint32_t right) const;

  FairShares& shares_;
  const std::uint64_t aging_ns_;
  std::vector<Tenant> tenants_;  // The first tenant_count_ of them; buffers keep their capacity.
  std::uint32_t tenant_count_ = 0;
  std::vector<Candidate> reordered_;      // Of let_short_overtake(); its memory is used again.
  std::vector<std::uint32_t> turns_;      // A heap of places in tenants_, the next one first,
  std::optional<std::uint32_t> current_;  // without the one that is being served.
  Turn turn_ = Turn::Decode;
  bool is_ordering_ = false;  // Since begin().
  std::uint32_t prefill_quantum_ = 1;
  std::uint64_t now_ns_ = 0;
  bool by_age_alone_ = false;
  std::uint64_t decode_row_count_ = 0;
  std::size_t prefill_count_ = 0;
  std::uint32_t prefill_slot_count_least_ = 0;
};

}  // namespace quire::control
