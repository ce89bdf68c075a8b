#include "inference/models/attention_phase.h"

#include <algorithm>

#include "base/divide_up.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kGroupsMax = 16;  // Query heads of one attention task.

// How the query heads of a kv head are cut into tasks.
struct GroupParts {
  std::uint32_t groups;  // Query heads of a kv head.
  std::uint32_t parts;
  std::uint32_t groups_per_part;

  explicit GroupParts(const AttentionSpec& spec)
      : groups(spec.head_count / spec.kv_head_count),
        parts(divide_up(groups, kGroupsMax)),
        groups_per_part(divide_up(groups, parts)) {}
  std::uint32_t count_from(std::uint32_t group) const {
    return std::min(groups_per_part, groups - group);
  }
};

// The common part of all tasks of a kv head; query and output of its query head `group`.
AttentionTask task_of(const Forward& forward, const AttentionHeads& heads, std::uint32_t head,
                      std::uint32_t group, std::uint32_t group_count) {
  const AttentionSpec& spec = heads.spec;
  const std::uint32_t query_head = head * (spec.head_count / spec.kv_head_count) + group;
  const std::size_t column = std::size_t{query_head} * spec.head_dim;
  const std::size_t partial_floats = spec.head_dim + kPartialTail;
  const ForwardScratch& scratch = forward.scratch;
  AttentionTask task;
  task.page_size = heads.kv.page_size();
  task.head_offset = heads.kv.head_offset(heads.layer, head);
  task.kv_format = heads.kv.format();
  task.head_dim = spec.head_dim;
  task.group_count = group_count;
  task.scale = spec.scale();
  task.query = scratch.qkv.at + column;
  task.query_stride = scratch.qkv.stride;
  task.out = scratch.attended.at + column;
  task.out_stride = scratch.attended.stride;
  task.partials.at = scratch.partials + query_head * partial_floats;
  task.partials.stride = spec.head_count * partial_floats;
  return task;
}

void attend_partials(const Forward& forward, const AttentionHeads& heads) {
  const GroupParts cut(heads.spec);
  const AttentionTasks& plan = forward.plan.windows[heads.window];
  const std::uint32_t kv_heads = heads.spec.kv_head_count;
  const auto count = static_cast<std::uint32_t>(plan.partial_tasks.size());
  forward.worker.phase(count * kv_heads * cut.parts, [&](std::uint32_t index) {
    const PartialRows& rows = plan.partial_tasks[index / (kv_heads * cut.parts)];
    const std::uint32_t group = index % cut.parts * cut.groups_per_part;
    AttentionTask task =
        task_of(forward, heads, index / cut.parts % kv_heads, group, cut.count_from(group));
    task.pages = rows.pages;
    task.spans = rows.spans;
    task.visible_slot_end = rows.visible_slot_end;
    task.rows = std::span(plan.partial_query_rows).subspan(rows.row_first, rows.row_count);
    task.row_of = plan.partial_row_of.data() + rows.row_first;
    task.partials.use = rows.use;
    task.partials.offset = rows.partial_offset;
    forward.kernels.attention.attend(task);
  });
}

}  // namespace

void attend(const Forward& forward, const AttentionHeads& heads) {
  const AttentionTasks& plan = forward.plan.windows[heads.window];
  if (!plan.partial_tasks.empty()) attend_partials(forward, heads);
  const GroupParts cut(heads.spec);
  const std::uint32_t kv_heads = heads.spec.kv_head_count;
  const auto chunk_count = static_cast<std::uint32_t>(plan.attention.size());
  const std::uint32_t task_count = chunk_count * kv_heads * cut.parts;
  // If there are few tasks, those that do not divide evenly are split by query head: their keys are
  // read again for each, but all workers share them.
  const std::uint32_t workers = forward.worker.count();
  const std::uint32_t odd = task_count < 4 * workers ? task_count % workers : 0;
  const std::uint32_t whole = task_count - odd;
  forward.worker.phase(whole + odd * cut.groups_per_part, [&](std::uint32_t index) {
    const std::uint32_t single = index < whole ? 0 : (index - whole) % cut.groups_per_part;
    if (index >= whole) index = whole + (index - whole) / cut.groups_per_part;
    const AttentionRows& rows = plan.attention[index / (kv_heads * cut.parts)];
    const std::uint32_t group = index % cut.parts * cut.groups_per_part + single;
    if (group >= cut.groups) return;
    const std::uint32_t group_count = index < whole ? cut.count_from(group) : 1;
    AttentionTask task = task_of(forward, heads, index / cut.parts % kv_heads, group, group_count);
    task.pages = rows.pages;
    task.spans = rows.spans;
    task.visible_slot_end = rows.visible_slot_end;
    task.rows = std::span(plan.query_rows).subspan(rows.row_first, rows.row_count);
    task.mask_slot_count = rows.mask_slot_count;
    task.query += rows.row_first * task.query_stride;
    task.out += std::size_t{rows.row_first} * task.out_stride;
    if (task.rows[0].partial_count > 0) task.partials.use = PartialUse::Read;
    forward.kernels.attention.attend(task);
  });
}

}  // namespace quire::inference
