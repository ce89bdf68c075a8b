#include "control/objects/miss_log.h"

#include "base/check.h"

namespace quire::control {
namespace {

// Whether a miss follows from an earlier one: below a page that is new, no page was ever seen.
bool is_consequence(const MissRecord& before, const MissRecord& now) {
  const bool is_new = now.why.reason == MissReason::NeverSeen;
  if (before.operation == now.operation) return is_new || before.why.reason == now.why.reason;
  return is_new && before.why.reason == MissReason::NeverSeen;
}

}  // namespace

MissRecord* MissLog::find(std::uint64_t number) {
  if (number == 0 || number > noted_count_ || number <= forgotten_count()) return nullptr;
  return &records_[(number - 1) % count_max_];
}

std::uint64_t MissLog::note(std::uint64_t last, MissRecord record) {
  QUIRE_CHECK(is_on(), "the log is off");
  if (MissRecord* before = find(last)) {
    if (before->token_count == 0 && before->page == record.page) {
      // Nothing was computed yet: the last look is the one that counts.
      record.number = before->number;
      *before = record;
      return last;
    }
    if (is_consequence(*before, record)) return last;
  }
  record.number = ++noted_count_;
  if (records_.size() < count_max_) {
    records_.push_back(record);
  } else {
    records_[(record.number - 1) % count_max_] = record;
  }
  return record.number;
}

void MissLog::count(std::uint64_t last, std::uint64_t operation, std::uint32_t token_count) {
  MissRecord* record = find(last);
  if (record == nullptr) return;
  // Tokens of later operations fill new pages: theirs is another miss, unless this one is of new
  // pages itself.
  if (record->operation != operation && record->why.reason != MissReason::NeverSeen) return;
  record->token_count += token_count;
}

}  // namespace quire::control
