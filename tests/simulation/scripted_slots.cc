// Actions of scripted guests with the slots of pages: copies of them, and masks.
#include <algorithm>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kRunsAndCopiesMax = 4;

}  // namespace

// A run of its own with what another holds, slot by slot; what follows must be the same. Each page
// is copied at once, or in two pieces.
void ScriptedGuest::copy_run() {
  if (runs_.size() >= kRunsAndCopiesMax) return;
  const Run* source = some_run(false);
  if (source == nullptr || source->content.length() == 0) return;
  if (!source->content.drops.empty()) return;  // Masks are of a handle and not copied.
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t length = source->content.length();
  Run copy{.queue = source->queue, .model = source->model, .content = source->content};
  if (!allocate(copy, "allocate.alloc-kvpage", (length + page_size - 1) / page_size, copy.pages)) {
    return;
  }
  const std::vector<std::int32_t> from = source->pages;
  const std::vector<std::int32_t> to = copy.pages;
  const std::uint32_t key = next_run_++;
  runs_[key] = std::move(copy);
  for (std::uint32_t index = 0; index < to.size(); ++index) {
    const std::uint32_t count = std::min(page_size, length - index * page_size);
    const std::uint32_t middle = dice_.one_in(2) ? dice_.between(1, count) : count;
    copy_slots(key, from[index], to[index], 0, middle);
    if (middle < count) copy_slots(key, from[index], to[index], middle, count);
  }
}

void ScriptedGuest::copy_slots(std::uint32_t key, std::int32_t from, std::int32_t to,
                               std::uint32_t begin, std::uint32_t end) {
  const auto forget = [this, key] {
    const auto found = runs_.find(key);
    if (found == runs_.end()) return;
    --found->second.pending_count;
    found->second.is_known = false;
  };
  const std::int64_t future =
      call("allocate.copy-kvpage", {runs_.at(key).queue, from, to, begin, begin, end - begin});
  ++runs_.at(key).pending_count;
  const bool made = expect(
      "copy", future, Comes::Surely,
      [this, key, forget](const Taken& taken) {
        if (compute_failed("copy", taken)) return forget();
        if (!taken.bytes.empty()) find("a copy gives bytes");
        if (const auto found = runs_.find(key); found != runs_.end()) --found->second.pending_count;
      },
      forget);
  if (!made) forget();
}

// Some slots of a page are left out by all that comes.
void ScriptedGuest::mask_run() {
  Run* run = some_run(true);
  if (run == nullptr || run->content.length() == 0) return;
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t length = run->content.length();
  const std::uint32_t page = dice_.below((length + page_size - 1) / page_size);
  const std::uint32_t first = page * page_size;
  const std::uint32_t count = std::min(page_size, length - first);
  const std::uint32_t begin = dice_.below(count);
  const std::uint32_t end = dice_.between(begin + 1, count);
  // A mask says all of its page: what was left out before is left out again.
  run->content.drops.push_back({length, first + begin, first + end});
  std::string mask(page_size, '\1');
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    if (!run->content.sees(length, first + slot)) mask[slot] = '\0';
  }
  const std::int64_t at = put_bytes(mask);
  if (!check("forward.mask-kvpage",
             call("forward.mask-kvpage", {run->queue, run->pages[page], at, length_of(mask)}))) {
    run->is_known = false;
  }
}

// The token that is drawn at an output: the likeliest, where `is_greedy` and it is known.
void ScriptedGuest::draw_token(std::int32_t queue, std::int32_t embed,
                               std::optional<std::uint64_t> output) {
  constexpr double kDrawTemperature = 0.8;
  const bool is_greedy = !dice_.one_in(4);
  std::optional<std::uint32_t> expected;
  if (is_greedy && output) expected = test::top_tokens(*output, kVocabularySize, 1).front();
  const std::int64_t rule = make_rule(queue, is_greedy ? 0.0 : kDrawTemperature);
  if (rule == 0) return;
  const std::int64_t embeds = put_list(std::vector<std::int32_t>{embed});
  const double number = dice_.below(1000) / 1000.0;
  const std::int64_t randoms = put_bytes({reinterpret_cast<const char*>(&number), sizeof number});
  const std::int64_t future =
      call("draw.draw-tokens", {queue, embeds, 1, rule, 0, 0, 0, 0, randoms, 1, 0});
  drop_rule(rule);
  expect("draw-tokens", future, Comes::Surely, [this, expected](const Taken& taken) {
    if (compute_failed("draw-tokens", taken)) return;
    const auto token = value_at<std::uint32_t>(taken.bytes, 8);
    if (taken.bytes.size() != 24) find("draw-tokens gives other than a token");
    if (expected && token != *expected) {
      find("draw-tokens draws " + std::to_string(token) + ", not " + std::to_string(*expected));
    }
  });
}

}  // namespace quire::simulation
