#include "control/steps/matcher_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/api/tenant_turns.h"

namespace quire::control {

using inference::DrawMasks;
using inference::Matcher;
using inference::TokenId;

void MatcherJobs::start(TenantId tenant, std::function<void()> work, std::function<void()> after) {
  const std::uint64_t id = ++last_id_;
  after_.emplace(id, std::move(after));
  waiting_[tenant].push_back({.id = id, .work = std::move(work)});
  fill();
}

void MatcherJobs::release(TenantId tenant, MatcherRef matcher) {
  start(tenant, [held = std::move(matcher)]() mutable { held.reset(); }, [] {});
}

void MatcherJobs::fill() {
  while (running_count_ < kRunningCountMax && !waiting_.empty()) {
    const auto turn = next_tenant(waiting_, last_turn_);
    last_turn_ = turn->first;
    Job job = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    ++running_count_;
    auto run = [id = job.id, work = std::move(job.work), &sink = sink_]() mutable {
      std::exchange(work, nullptr)();  // What it holds ends here, on this thread.
      sink.matcher_job_done(id);
    };
    if (helper_ == nullptr) {
      run();
    } else {
      helper_->run(std::move(run));
    }
  }
}

void MatcherJobs::finish(std::uint64_t job) {
  const auto found = after_.find(job);
  QUIRE_CHECK(found != after_.end() && running_count_ > 0, "a job is done once");
  const std::function<void()> after = std::move(found->second);
  after_.erase(found);
  --running_count_;
  fill();
  after();
}

namespace {

// Counts the present memory of the matcher, instead of the earlier count.
Result<void> note_memory(MatcherState& state) {
  const std::uint64_t now = state.matcher->memory_bytes();
  const std::uint64_t all = state.memory->bytes += now - state.bytes;
  state.bytes = now;
  const std::uint64_t most = state.memory->bytes_max;
  if (all <= most) return {};
  state.error = Error(ErrorCode::QuotaExceeded,
                      "held_matcher_bytes_max: the program's matchers hold " + std::to_string(all) +
                          " of " + std::to_string(most) + " bytes");
  state.matcher.reset();  // The others go on.
  state.memory->bytes -= std::exchange(state.bytes, 0);
  return state.error->copy();
}

}  // namespace

Result<Matcher*> usable(MatcherState& state) {
  if (state.error) return state.error->copy();
  if (state.matcher == nullptr) state.matcher = TRY(state.grammar->matcher());
  TRY(note_memory(state));
  return state.matcher.get();
}

void fork_into(MatcherState& state, MatcherState& child) {
  Result<Matcher*> matcher = usable(state);
  if (matcher.ok()) {
    child.matcher = matcher.value()->fork();
    matcher = usable(child);
  }
  if (!matcher.ok()) child.error = std::move(matcher).take_error();
}

Result<bool> accept(MatcherState& state, const std::vector<TokenId>& tokens) {
  Matcher* matcher = TRY(usable(state));
  TRY(matcher->accept(tokens));
  return matcher->is_complete();
}

Result<std::vector<std::uint32_t>> token_mask(MatcherState& state, std::uint32_t vocabulary_size) {
  Matcher* matcher = TRY(usable(state));
  std::vector<std::uint32_t> words((vocabulary_size + 31) / 32);
  if (Result<void> filled = matcher->fill_mask(words); !filled.ok()) {
    state.error = filled.error().copy();
    return std::move(filled).take_error();
  }
  return words;
}

namespace {

constexpr std::size_t kForcedRunMax = 64;

bool allows(const std::vector<std::uint32_t>& words, TokenId token) {
  const auto id = static_cast<std::uint32_t>(token);
  return id / 32 < words.size() && (words[id / 32] >> (id % 32) & 1) != 0;
}

// The places of one draw, from where its matchers are; they are there again at the end.
class PlaceFiller {
 public:
  explicit PlaceFiller(const DrawMaskWork& work) : work_(work) {}

  DrawMasks::Filled run() {
    Result<void> filled = fill();
    if (!filled.ok()) {
      // The states of the matchers are unknown now: each gives the error from now on.
      for (const MatcherRef& each : work_.matchers) {
        if (!each->error) each->error = filled.error().copy();
      }
      DrawMasks::Filled failed;
      failed.error = std::move(filled).take_error();
      return failed;
    }
    return std::move(result_);
  }

 private:
  Result<void> fill() {
    for (const MatcherRef& each : work_.matchers) matchers_.push_back(TRY(usable(*each)));
    std::uint32_t random_index = 0;
    for (std::size_t place = 0; place <= work_.drafts.size(); ++place) {
      if (is_complete()) {
        result_.end = DrawMasks::End::Complete;
        break;
      }
      DrawMasks::Place filled = TRY(fill_place());
      if (std::all_of(filled.words.begin(), filled.words.end(),
                      [](auto word) { return word == 0; })) {
        result_.end = DrawMasks::End::NoneAllowed;
        break;
      }
      filled.random_index = random_index;
      random_index += filled.is_forced ? 0 : 1;
      result_.places.push_back(std::move(filled));
      if (place == work_.drafts.size()) {
        TRY(follow_forced());
        break;
      }
      if (!allows(result_.places.back().words, work_.drafts[place])) break;
      TRY(go_on(work_.drafts[place]));
    }
    for (Matcher* each : matchers_) TRY(each->roll_back(accepted_count_));
    return {};
  }

  bool is_complete() const {
    return std::any_of(matchers_.begin(), matchers_.end(),
                       [](const Matcher* each) { return each->is_complete(); });
  }

  // One grammar alone forces: what several allow together is not looked through for it.
  std::optional<TokenId> forced() {
    if (!work_.forces_tokens || matchers_.size() > 1) return std::nullopt;
    const std::vector<TokenId> next = matchers_.front()->forced(1);
    if (next.empty() || (work_.mask != nullptr && !allows(*work_.mask, next.front()))) {
      return std::nullopt;
    }
    return next.front();
  }

  Result<DrawMasks::Place> fill_place() {
    const std::size_t word_count = (work_.vocabulary_size + 31) / 32;
    DrawMasks::Place place;
    if (const std::optional<TokenId> token = forced()) {
      const auto id = static_cast<std::uint32_t>(*token);
      place.words.assign(word_count, 0);
      place.words[id / 32] = 1u << (id % 32);
      place.is_forced = true;
      return place;
    }
    if (work_.mask != nullptr) place.words = *work_.mask;
    std::vector<std::uint32_t> words(word_count);
    for (Matcher* each : matchers_) {
      TRY(each->fill_mask(words));
      if (place.words.empty()) {
        place.words = words;
        continue;
      }
      for (std::size_t index = 0; index < word_count; ++index) place.words[index] &= words[index];
    }
    return place;
  }

  Result<void> go_on(TokenId token) {
    for (Matcher* each : matchers_) TRY(each->accept(std::span(&token, 1)));
    ++accepted_count_;
    return {};
  }

  // The last place is forced: what must follow it too.
  Result<void> follow_forced() {
    if (!result_.places.back().is_forced) return {};
    std::optional<TokenId> next = forced();
    while (next && result_.forced_run.size() < kForcedRunMax) {
      TRY(go_on(*next));
      if (is_complete()) return {};
      next = forced();
      if (next) result_.forced_run.push_back(*next);
    }
    return {};
  }

  const DrawMaskWork& work_;
  std::vector<Matcher*> matchers_;
  std::uint32_t accepted_count_ = 0;
  DrawMasks::Filled result_;
};

}  // namespace

DrawMasks::Filled fill_masks(const DrawMaskWork& work) {
  return PlaceFiller(work).run();
}

}  // namespace quire::control
