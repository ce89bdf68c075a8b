#pragma once
// AdapterGroups: the rows of a batch by the adapters that act on them, so that a step reads each
// adapter's matrices once for all its rows.
//
// Two sets may name one adapter with different scales: each row keeps its own. Adapters of equal
// digests are one group.
//
// Thread   device thread; workers write the temporaries inside a batch.
#include <vector>

#include "inference/api/batch.h"
#include "inference/models/forward_plan.h"

namespace quire::inference {

class AdapterGroups {
 public:
  // `plan_row_of`: of each row of the batch, kNoSlot if it is in no plan. Fills plan.adapters,
  // whose memory for temporaries is this object's.
  void fill(const Batch& batch, const std::vector<std::uint32_t>& plan_row_of, ForwardPlan& plan);

 private:
  std::vector<float> temporaries_;
};

}  // namespace quire::inference
