#pragma once
// AttentionPlan chooses the attention tasks of a batch, for layers of one window. Spans of keys and
// values that several sequences share are read and converted once, and a long context occupies all
// workers.
//
// Sequences that share a prefix have the same pages for it (the control layer finds them by
// content). The plan compares the pages of small passes span by span, as a tree. If passes agree on
// some spans, one task has all their rows meet these spans, and leaves partials. If a batch makes
// few tasks, a long context is cut at spans, and each cut leaves partials as well. Each row's task
// then folds its partials in the order of the spans, and goes on with the spans that are left. So
// the bits of a row depend neither on the tree nor on the number of workers.
//
// Thread   device thread; a plan keeps its memory between batches.
#include <cstdint>
#include <span>
#include <vector>

#include "inference/models/forward_plan.h"

namespace quire::inference {

struct AttentionPlanOptions {
  std::uint32_t page_size = 16;
  std::uint32_t kv_head_count = 1;
  std::uint32_t worker_count = 1;
  std::uint32_t partial_count_max = 0;  // Of one batch. 0: no partials.
};

// The rows of a pass, and what they may see.
struct AttentionPass {
  std::span<const PageView> pages;
  std::span<const std::uint32_t> spans;  // Of AttentionTask.
  std::uint32_t visible_slot_end = 0;
  std::uint32_t mask_slot_count = 0;
  bool has_mask = false;
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
};

class AttentionPlan {
 public:
  explicit AttentionPlan(const AttentionPlanOptions& options) : options_(options) {}

  // Fills `attention` and all that is about partials. Requires: tasks.query_rows has the rows.
  void fill(std::span<const AttentionPass> passes, AttentionTasks& tasks);

 private:
  // Passes that agree on their first `begin` spans, which are done: members_[first, first + count).
  struct Group {
    std::uint32_t first = 0, count = 0, begin = 0;
  };
  // How far a pass is done.
  struct State {
    std::uint32_t span_count = 0;
    std::uint32_t partial_count = 0;
  };

  void share();
  void share_group(const Group& group);
  bool may_share(std::uint32_t pass, std::uint32_t span) const;
  bool same_span(std::uint32_t a, std::uint32_t b, std::uint32_t span) const;
  const std::byte* first_page(std::uint32_t pass, std::uint32_t span) const;
  void split();
  // Spans [begin, end) of the members; false if there is no room for the partials.
  bool add_partials(std::span<const std::uint32_t> members, std::uint32_t begin, std::uint32_t end,
                    std::uint32_t piece_count);
  void add_task(const PartialRows& task, std::span<const std::uint32_t> members);
  std::uint32_t pieces_of(std::uint32_t task_count, std::uint32_t span_count) const;
  void give_places();
  void add_attention();

  const AttentionPlanOptions options_;
  std::span<const AttentionPass> passes_;  // Of the batch that is planned, as all below.
  AttentionTasks* tasks_ = nullptr;
  std::vector<State> states_;
  std::vector<std::uint32_t> members_;
  std::vector<Group> groups_;
  std::uint32_t partial_total_ = 0;
};

}  // namespace quire::inference
