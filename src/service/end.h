#pragma once
// How an instance ended, and what it used until then.
#include <cstdint>
#include <string>

namespace quire::service {

enum class EndKind : std::uint8_t {
  Finished,       // The entry returned or asked to end; `exit_code` is its. If that is not 0,
                  // `message` is what the guest logged last as an error; it may be empty.
  Trapped,        // `message` holds the trap and its backtrace with function names.
  LimitExceeded,  // `limit` names it, `message` says how much.
  Killed,         // `message` is the reason that was given; `limit` the error if pages ran out.
  NotStarted,     // The module could not be compiled or instantiated; `message` says why.
};
const char* end_kind_name(EndKind kind);  // "finished", "trapped", ...

struct End {
  EndKind kind = EndKind::Finished;
  std::int32_t exit_code = 0;  // The guest's if it Finished, else not 0.
  std::string message;
  std::string limit;
  std::string result;  // Bytes: what set_result gave last.
  // From the launch on.
  std::uint64_t duration_ns = 0;
  std::uint64_t first_message_ns = 0;  // 0: the instance sent none.
  std::uint64_t first_token_ns = 0;    // It could know its first token. 0: it never could.
  std::uint64_t cpu_ns = 0;            // The guest's own, without its children's.
  std::uint64_t asked_token_count = 0;
  std::uint64_t computed_token_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t opened_token_count = 0;  // Of opened snapshots; none of those that were asked for.
  std::uint64_t page_count_max = 0;
  // These counts are of the instances that it launched, and of theirs. Those above leave them out.
  std::uint64_t children_asked_token_count = 0;
  std::uint64_t children_computed_token_count = 0;
  std::uint64_t children_found_token_count = 0;
  std::uint64_t children_opened_token_count = 0;
  bool operator==(const End&) const = default;
};

}  // namespace quire::service
