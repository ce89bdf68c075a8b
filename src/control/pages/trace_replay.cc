#include "control/pages/trace_replay.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/check.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kNsOfMs = 1'000'000;
constexpr std::uint32_t kTraceBlocksMax = 1u << 28;

std::uint64_t hash_of(std::uint32_t block) {  // SplitMix64.
  std::uint64_t value = block + 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

class Replay {
 public:
  Replay(const Trace& trace, const ReplayOptions& options)
      : options_(options),
        is_flat_(options.policy == EvictionPolicyKind::Lru),
        pages_({.kind = options.policy, .entry_count = options.capacity}),
        entry_of_(trace.block_count, kNoEntry),
        block_of_(options.capacity) {
    for (std::uint32_t index = options.capacity; index-- > 0;) free_.push_back(EntryId{index});
    if (!options.hints_from_future) return;
    last_use_.assign(trace.block_count, 0);
    for (std::uint32_t index = 0; index < trace.requests.size(); ++index) {
      for (const std::uint32_t block : trace.requests[index].blocks) last_use_[block] = index;
    }
  }

  void play(const TraceRequest& request, std::uint32_t index, bool is_counted) {
    const std::uint64_t now_ns = request.time_ms * kNsOfMs;
    std::uint32_t hits = 0;
    while (hits < request.blocks.size() && entry_of_[request.blocks[hits]] != kNoEntry) ++hits;
    for (const std::uint32_t block : request.blocks) {
      if (entry_of_[block] != kNoEntry) pages_.revive(entry_of_[block]);
    }
    EntryId parent = kNoEntry;
    for (const std::uint32_t block : request.blocks) {
      if (entry_of_[block] == kNoEntry) insert(block, parent, request, now_ns);
      if (!is_flat_) parent = entry_of_[block];
    }
    if (is_flat_) {
      for (const std::uint32_t block : request.blocks) let_go(block, index, now_ns);
    } else {
      for (std::size_t at = request.blocks.size(); at-- > 0;) {
        let_go(request.blocks[at], index, now_ns);
      }
    }
    if (!is_counted) return;
    ++result_.request_count;
    result_.block_count += request.blocks.size();
    result_.hit_count += hits;
  }

  ReplayResult result() const {
    ReplayResult result = result_;
    result.step_count = pages_.step_count();
    return result;
  }

 private:
  void insert(std::uint32_t block, EntryId parent, const TraceRequest& request,
              std::uint64_t now_ns) {
    if (free_.empty()) {
      const std::optional<EntryId> victim = pages_.evict([](EntryId) { return false; }, now_ns);
      QUIRE_CHECK(victim.has_value(), "a request that fits finds room");
      entry_of_[block_of_[index_of(*victim)]] = kNoEntry;
      free_.push_back(*victim);
      ++result_.eviction_count;
    }
    const EntryId entry = free_.back();
    free_.pop_back();
    entry_of_[block] = entry;
    block_of_[index_of(entry)] = block;
    pages_.insert(
        entry,
        {.parent = parent, .tenant = TenantId{request.tenant}, .content_hash = hash_of(block)});
  }

  void let_go(std::uint32_t block, std::uint32_t index, std::uint64_t now_ns) {
    ColdHint hint;
    if (options_.hints_from_future) {
      hint.hint = last_use_[block] > index ? EvictionHint::WillResume : EvictionHint::Done;
    }
    pages_.go_cold(entry_of_[block], hint, now_ns);
  }

  const ReplayOptions options_;
  const bool is_flat_;
  ColdPages pages_;
  std::vector<EntryId> entry_of_;        // [block]
  std::vector<std::uint32_t> block_of_;  // [entry]
  std::vector<std::uint32_t> last_use_;  // [block] the last request that has it.
  std::vector<EntryId> free_;
  ReplayResult result_;
};

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// "FIRST-LAST" or "NAME".
bool parse_run(std::string_view word, std::vector<std::uint32_t>& blocks) {
  const std::size_t dash = word.find('-');
  std::uint64_t first = 0;
  if (!parse_number(word.substr(0, dash), first)) return false;
  std::uint64_t last = first;
  if (dash != std::string_view::npos && !parse_number(word.substr(dash + 1), last)) return false;
  if (last < first || last >= kTraceBlocksMax) return false;
  for (std::uint64_t block = first; block <= last; ++block) {
    blocks.push_back(static_cast<std::uint32_t>(block));
  }
  return true;
}

Result<void> check_request(const TraceRequest& request, std::uint32_t index, std::uint32_t capacity,
                           std::vector<std::uint32_t>& seen_in) {
  if (request.blocks.size() > capacity) {
    return Error(ErrorCode::InvalidArgument, "request " + std::to_string(index) + " of " +
                                                 std::to_string(request.blocks.size()) +
                                                 " blocks does not fit a capacity of " +
                                                 std::to_string(capacity));
  }
  for (const std::uint32_t block : request.blocks) {
    if (seen_in[block] == index + 1) {
      return Error(ErrorCode::InvalidArgument,
                   "request " + std::to_string(index) + " names a block twice");
    }
    seen_in[block] = index + 1;
  }
  return {};
}

}  // namespace

Result<Trace> parse_compact_trace(std::string_view text) {
  Trace trace;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    TraceRequest request;
    bool is_time = true;
    bool is_good = true;
    while (!line.empty() && is_good) {
      const std::size_t space = std::min(line.find(' '), line.size());
      const std::string_view word = line.substr(0, space);
      line.remove_prefix(std::min(space + 1, line.size()));
      is_good = is_time ? parse_number(word, request.time_ms) : parse_run(word, request.blocks);
      is_time = false;
    }
    if (!is_good) {
      return Error(ErrorCode::InvalidArgument,
                   "line " + std::to_string(line_number) + " of the trace is not a request");
    }
    for (const std::uint32_t block : request.blocks) {
      trace.block_count = std::max(trace.block_count, block + 1);
    }
    trace.requests.push_back(std::move(request));
  }
  return trace;
}

Result<ReplayResult> replay_trace(const Trace& trace, const ReplayOptions& options) {
  if (options.capacity == 0) {
    return Error(ErrorCode::InvalidArgument, "a cache of 0 blocks holds nothing");
  }
  if (trace.requests.empty()) {
    return Error(ErrorCode::InvalidArgument, "the trace has no request");
  }
  const auto count = static_cast<double>(trace.requests.size());
  if (!(options.from >= 0.0 && options.from < options.to && options.to <= 1.0)) {
    return Error(ErrorCode::InvalidArgument, "--from lies below --to, both between 0 and 1");
  }
  const auto first = static_cast<std::uint32_t>(options.from * count);
  const auto end = static_cast<std::uint32_t>(options.to * count);
  std::vector<std::uint32_t> seen_in(trace.block_count, 0);  // [block] the last request, from 1.
  for (std::uint32_t index = 0; index < trace.requests.size(); ++index) {
    TRY(check_request(trace.requests[index], index, options.capacity, seen_in));
  }
  Replay replay(trace, options);
  for (std::uint32_t index = options.is_cold_start ? first : 0; index < end; ++index) {
    const TraceRequest& request = trace.requests[index];
    const bool is_counted =
        index >= first && (!options.tenant || *options.tenant == request.tenant);
    replay.play(request, index, is_counted);
  }
  return replay.result();
}

}  // namespace quire::control
