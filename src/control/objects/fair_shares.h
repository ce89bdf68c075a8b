#pragma once
// FairShares divides the work of a device among tenants by their weights: start-time fair queueing
// over rows, which are tokens computed. A row under adapters counts as more.
//
// A tenant's time is the rows that it was given, over its weight; the smallest time goes first. So
// tenants that always have something waiting get rows in proportion to their weights, to within one
// batch. Work without a row is charged as a part of one (kRowsOfRowless), or a tenant that only
// reads outputs would go first forever. A tenant that had nothing waiting may not save up without
// limit: it enters at the time of the waiting tenants, less kCreditBatchCount full batches. Work
// that found room at once is charged too, though it takes nothing from other tenants. So a tenant
// that used spare room is held back for a bounded time. It owes at most kDebtBatchCount full
// batches of the model alone, or what one round charged it if that is more.
//
// A round is one batch that is built. The tenants that still wait at its end decide the common
// time.
//
// Owns     a FairShare for each tenant that has instances, or whose time is still ahead.
// Thread   engine thread only.
//
// Invariants, checked by verify():
//   F1  Times and weights are numbers, times not negative and weights positive.
//   F2  Instance counts are those that joined and did not leave.
//   F3  A tenant without instances has no outputs.
#include <cstdint>
#include <unordered_map>

#include "control/api/types.h"

namespace quire::control {

struct FairShare {
  TenantId tenant{};
  double weight = 1;
  double time = 0;                  // Rows over weight.
  double charged = 0;               // In the last round that charged it, likewise.
  std::uint64_t charged_round = 0;  // That round.
  std::uint32_t instance_count = 0;
  std::uint32_t output_count = 0;   // Embed slots that outputs of its instances take.
  std::uint64_t waiting_round = 0;  // The last round that left something of it waiting.
  double prefill_credit = 0;        // Rows of prefill that its decoding owes: see BatchOrder.
  std::uint64_t overtaking_row_count = 0;  // Rows of short prompts that went before longer ones.
  double page_load = 0;  // Pages over weight, while contexts to suspend are chosen.
  // Where its candidates are while a batch is ordered.
  std::uint64_t order_round = 0;
  std::uint32_t order_place = 0;
};

class FairShares {
 public:
  static constexpr double kCreditBatchCount = 1;
  static constexpr double kDebtBatchCount = 4;
  // To read an output or to copy a page: 0.1 ms, where a row of the smallest model takes 0.8.
  static constexpr double kRowsOfRowless = 0.125;

  // `batch_row_count`: of a full batch.
  explicit FairShares(std::uint32_t batch_row_count) : batch_rows_(batch_row_count) {}

  // An instance of the tenant starts, or ends. The share is where it is until the last one ends.
  FairShare& join(TenantId tenant, double weight);
  void leave(FairShare& share);
  void set_weight(TenantId tenant, double weight);  // Positive.

  void begin_round() { ++round_; }
  std::uint64_t round() const { return round_; }
  // The tenant has something ready in this round. Once a round.
  void enter(FairShare& share);
  // Whether the tenant is at most a batch ahead; decides on an operation that may take a whole
  // batch.
  bool is_in_turn(const FairShare& share) const {
    return share.time <= time_ + batch_rows_ / share.weight;
  }
  void charge(FairShare& share, double row_count);
  // Something of it was ready and found no room in this round.
  void leave_waiting(FairShare& share) { share.waiting_round = round_; }
  // `least_waiting` is the smallest time of those left waiting, `most_served` the largest of all
  // that entered; the second counts if none was left.
  void end_round(double least_waiting, double most_served, bool has_waiting);

  double time() const { return time_; }
  std::size_t tenant_count() const { return shares_.size(); }
  // Tenants that have instances.
  std::size_t active_count() const { return active_count_; }
  void verify() const;

 private:
  void sweep();

  const double batch_rows_;
  std::unordered_map<std::uint32_t, FairShare> shares_;  // By tenant; references stay valid.
  std::size_t active_count_ = 0;
  std::size_t sweep_beyond_ = 64;  // Shares; more are looked through for those that can go.
  double time_ = 0;                // The common time.
  std::uint64_t round_ = 0;
};

}  // namespace quire::control
