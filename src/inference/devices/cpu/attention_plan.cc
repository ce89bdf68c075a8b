#include "inference/devices/cpu/attention_plan.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/divide_up.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kRowsPerTask = 16;         // Rows of one pass that share its keys.
constexpr std::uint32_t kRowsPerPartialTask = 32;  // Rows of many passes.
constexpr std::uint32_t kTasksPerWorker = 4;       // Fewer leave workers idle at the end.
constexpr std::uint32_t kSpansPerPiece = 4;        // 1,024 slots: a fold costs little beside them.

}  // namespace

void AttentionPlan::fill(std::span<const AttentionPass> passes, AttentionTasks& tasks) {
  passes_ = passes;
  tasks_ = &tasks;
  tasks.attention.clear();
  tasks.partial_tasks.clear();
  tasks.partial_row_of.clear();
  tasks.partial_query_rows.clear();
  states_.assign(passes.size(), {});
  partial_total_ = 0;
  if (options_.partial_count_max > 0) {
    share();
    split();
    give_places();
  }
  add_attention();
}

// ---- Shared spans ----

void AttentionPlan::share() {
  members_.clear();
  groups_.clear();
  for (std::uint32_t i = 0; i < passes_.size(); ++i) {
    if (may_share(i, 0)) members_.push_back(i);
  }
  groups_.push_back({0, static_cast<std::uint32_t>(members_.size()), 0});
  while (!groups_.empty()) {
    const Group group = groups_.back();
    groups_.pop_back();
    share_group(group);
  }
}

// A whole span, of a pass whose rows are few and have no masks of their own.
bool AttentionPlan::may_share(std::uint32_t pass, std::uint32_t span) const {
  const AttentionPass& of = passes_[pass];
  return !of.has_mask && of.row_count <= kRowsPerTask && span < of.spans.size() &&
         (std::uint64_t{of.spans[span]} + 1) * kSpanSlots <= of.visible_slot_end;
}

const std::byte* AttentionPlan::first_page(std::uint32_t pass, std::uint32_t span) const {
  const AttentionPass& of = passes_[pass];
  const std::size_t index = std::size_t{of.spans[span]} * kSpanSlots / options_.page_size;
  return of.pages[index].base;
}

bool AttentionPlan::same_span(std::uint32_t a, std::uint32_t b, std::uint32_t span) const {
  const AttentionPass &one = passes_[a], &other = passes_[b];
  if (one.spans[span] != other.spans[span]) return false;
  const std::uint32_t count = kSpanSlots / options_.page_size;
  const std::size_t first = std::size_t{one.spans[span]} * count;
  return std::equal(one.pages.begin() + static_cast<std::ptrdiff_t>(first),
                    one.pages.begin() + static_cast<std::ptrdiff_t>(first + count),
                    other.pages.begin() + static_cast<std::ptrdiff_t>(first),
                    [](const PageView& x, const PageView& y) {
                      return x.base == y.base && x.visible == y.visible;
                    });
}

// Parts the group by what its next span is. Each part shares as many spans as all of it agree on,
// and is a group again.
void AttentionPlan::share_group(const Group& group) {
  const std::uint32_t begin = group.begin;
  const auto all = members_.begin() + group.first;
  const auto may_end =
      std::partition(all, all + group.count, [&](std::uint32_t i) { return may_share(i, begin); });
  std::sort(all, may_end, [&](std::uint32_t a, std::uint32_t b) {
    const std::byte *one = first_page(a, begin), *other = first_page(b, begin);
    return one != other ? std::less<>()(one, other) : a < b;
  });
  for (auto first = all; first != may_end;) {
    const std::uint32_t leader = *first;
    const auto end = std::find_if_not(first + 1, may_end,
                                      [&](std::uint32_t i) { return same_span(leader, i, begin); });
    const std::span<const std::uint32_t> part(first, end);
    first = end;
    if (part.size() < 2) continue;
    std::uint32_t agreed = begin + 1;
    while (std::all_of(part.begin(), part.end(), [&](std::uint32_t i) {
      return may_share(i, agreed) && same_span(leader, i, agreed);
    })) {
      ++agreed;
    }
    std::uint32_t row_count = 0;
    for (const std::uint32_t i : part) row_count += passes_[i].row_count;
    const std::uint32_t pieces =
        pieces_of(divide_up(row_count, kRowsPerPartialTask), agreed - begin);
    if (!add_partials(part, begin, agreed, pieces)) continue;
    groups_.push_back({static_cast<std::uint32_t>(part.data() - members_.data()),
                       static_cast<std::uint32_t>(part.size()), agreed});
  }
}

// ---- Long contexts of few rows ----

void AttentionPlan::split() {
  std::uint32_t task_count = static_cast<std::uint32_t>(tasks_->partial_tasks.size());
  for (const AttentionPass& pass : passes_) task_count += divide_up(pass.row_count, kRowsPerTask);
  for (std::uint32_t i = 0; i < passes_.size(); ++i) {
    const auto span_count = static_cast<std::uint32_t>(passes_[i].spans.size());
    const std::uint32_t begin = states_[i].span_count;
    if (passes_[i].row_count > kRowsPerTask || passes_[i].has_mask) continue;
    const std::uint32_t pieces = pieces_of(task_count, span_count - begin);
    const std::uint32_t member[] = {i};
    if (pieces > 1) add_partials(member, begin, span_count, pieces);
  }
}

// Into how many pieces `span_count` spans are cut, if there are `task_count` tasks for each head.
std::uint32_t AttentionPlan::pieces_of(std::uint32_t task_count, std::uint32_t span_count) const {
  if (options_.worker_count == 1) return 1;
  const std::uint32_t wanted =
      divide_up(kTasksPerWorker * options_.worker_count, options_.kv_head_count * task_count);
  return std::clamp(wanted, 1u, std::max(1u, span_count / kSpansPerPiece));
}

// ---- Partials ----

// The first piece of a row's spans, if it begins at the first span, leaves one partial. Every other
// piece leaves one for each span, because partials are folded from the left.
bool AttentionPlan::add_partials(std::span<const std::uint32_t> members, std::uint32_t begin,
                                 std::uint32_t end, std::uint32_t piece_count) {
  std::uint32_t row_count = 0;
  for (const std::uint32_t i : members) row_count += passes_[i].row_count;
  std::uint32_t piece = divide_up(end - begin, piece_count);
  const auto partials_each = [&] { return begin == 0 ? 1 + end - piece : end - begin; };
  const std::uint32_t left = options_.partial_count_max - partial_total_;
  if (begin == 0 && partials_each() > left / row_count) piece = end;
  if (partials_each() > left / row_count) return false;
  partial_total_ += row_count * partials_each();
  const std::uint32_t offset = states_[members[0]].partial_count;
  const AttentionPass& leader = passes_[members[0]];
  for (std::uint32_t first = begin; first < end; first += piece) {
    const std::uint32_t count = std::min(piece, end - first);
    const bool is_one = first == 0;
    add_task({.pages = leader.pages,
              .spans = leader.spans.subspan(first, count),
              .visible_slot_end = leader.visible_slot_end,
              .use = is_one ? PartialUse::WriteOne : PartialUse::WriteEach,
              .partial_offset = is_one       ? 0
                                : begin == 0 ? 1 + first - piece
                                             : offset + first - begin},
             members);
  }
  for (const std::uint32_t i : members) {
    QUIRE_CHECK(states_[i].span_count == begin && states_[i].partial_count == offset,
                "members agree on what is done");
    states_[i] = {end, offset + partials_each()};
  }
  return true;
}

// A task for each kRowsPerPartialTask rows.
void AttentionPlan::add_task(const PartialRows& task, std::span<const std::uint32_t> members) {
  std::vector<std::uint32_t>& rows = tasks_->partial_row_of;
  PartialRows next = task;
  next.row_first = static_cast<std::uint32_t>(rows.size());
  const auto close = [&] {
    next.row_count = static_cast<std::uint32_t>(rows.size()) - next.row_first;
    if (next.row_count > 0) tasks_->partial_tasks.push_back(next);
    next.row_first = static_cast<std::uint32_t>(rows.size());
  };
  for (const std::uint32_t i : members) {
    for (std::uint32_t row = 0; row < passes_[i].row_count; ++row) {
      rows.push_back(passes_[i].row_first + row);
      if (rows.size() - next.row_first == kRowsPerPartialTask) close();
    }
  }
  close();
}

// Each row's partials, one after the other.
void AttentionPlan::give_places() {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    for (std::uint32_t row = 0; row < passes_[i].row_count; ++row) {
      QueryRow& of = tasks_->query_rows[passes_[i].row_first + row];
      of.partial_first = next;
      of.partial_count = states_[i].partial_count;
      next += states_[i].partial_count;
    }
  }
  QUIRE_CHECK(next == partial_total_, "every partial has a place");
  for (const std::uint32_t row : tasks_->partial_row_of) {
    tasks_->partial_query_rows.push_back(tasks_->query_rows[row]);
  }
  std::ranges::stable_sort(
      tasks_->partial_tasks, std::ranges::greater{},
      [](const PartialRows& task) { return std::size_t{task.row_count} * task.spans.size(); });
}

// ---- Outputs ----

void AttentionPlan::add_attention() {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const AttentionPass& pass = passes_[i];
    for (std::uint32_t done = 0; done < pass.row_count; done += kRowsPerTask) {
      tasks_->attention.push_back({.pages = pass.pages,
                                   .spans = pass.spans.subspan(states_[i].span_count),
                                   .visible_slot_end = pass.visible_slot_end,
                                   .mask_slot_count = pass.mask_slot_count,
                                   .row_first = pass.row_first + done,
                                   .row_count = std::min(kRowsPerTask, pass.row_count - done)});
    }
  }
  // The longest first: workers take tasks one by one, and a long one that is taken last has the
  // others wait.
  std::ranges::stable_sort(
      tasks_->attention, std::ranges::greater{},
      [](const AttentionRows& rows) { return rows.row_count * (rows.spans.size() + 1); });
}

}  // namespace quire::inference
