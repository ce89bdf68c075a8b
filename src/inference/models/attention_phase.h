#pragma once
// How rows attend: tasks of one kv head each, shared out among the workers. Spans that several rows
// see are met first, and leave partials (devices/cpu/attention_plan.h).
//
// Thread   called by every worker, in one order.
#include "inference/api/kv_layout.h"
#include "inference/models/matmul_phase.h"

namespace quire::inference {

// A layer's heads, and the place of its keys and values.
struct AttentionHeads {
  const AttentionSpec& spec;
  const KvLayout& kv;
  std::uint32_t layer = 0;
  std::uint32_t window = 0;  // Of ForwardPlan::windows.
};

// attended[row] = softmax(scale * q K^T) V for the queries in qkv[row], of all rows.
void attend(const Forward& forward, const AttentionHeads& heads);

}  // namespace quire::inference
