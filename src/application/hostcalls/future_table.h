#pragma once
// FutureTable holds the futures of one instance: what each waits for, and its result until the
// guest takes it. There is one wait at a time, because a guest has one stack.
//
// Owns     results, the deadlines of sleeps, the set that the guest waits for.
// Thread   engine thread only.
// Errors   NotFound for a handle of another kind; QuotaExceeded names the limit.
//
// Invariants, all checked by verify():
//   FT1  Every future handle has one record, and every record in use has its handle.
//   FT2  A sleep that is not ready has its deadline in the set of deadlines, and no other has one.
//   FT3  held_bytes() is the sum of the results that were not taken, shared ones in full, and of
//        what hold() added.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "application/hostcalls/handle_table.h"
#include "base/result.h"
#include "base/split_limit.h"

namespace quire::control {
struct DrawExtras;  // control/api/command.h
}

namespace quire::hostcalls {

// The effect of a command on the tokens that are queued in its context.
enum class QueueEffect : std::uint8_t { None, Computes, Draws, Truncates, Rewinds, Splices };

enum class FuturePurpose : std::uint8_t {
  Free,
  Command,
  Sleep,
  Receive,
  Message,  // Of a subscription.
  Pull,
  ChildEnd,
  ChildMessage,
  WriteFile,
  ReceiveFile,
  ReadFile,
  ReadRequest,    // Of the request that launched the instance,
  WriteResponse,  // and its response.
  Tokens,         // Of a generation: the next ones,
  Stop,           // and its end.
  HttpWhole,
  HttpHead,
  HttpRead,
  HttpWrite,
  Step,  // Of a generation; the guest never learns of this one.
};
// Whether the guest has the handle; one that names another is forged.
inline bool is_known_to_guest(FuturePurpose purpose) {
  return purpose < FuturePurpose::Step;
}
inline bool is_file(FuturePurpose purpose) {
  return purpose >= FuturePurpose::WriteFile && purpose <= FuturePurpose::ReadFile;
}
inline bool is_served(FuturePurpose purpose) {
  return purpose == FuturePurpose::ReadRequest || purpose == FuturePurpose::WriteResponse;
}
inline bool is_http(FuturePurpose purpose) {
  return purpose >= FuturePurpose::HttpWhole && purpose <= FuturePurpose::HttpWrite;
}

// Bytes that many hold at once, as the subscribers of a topic do.
using SharedMessage = std::shared_ptr<const std::string>;

struct FutureRecord {
  FuturePurpose purpose = FuturePurpose::Free;
  bool ready = false;
  bool awaited = false;  // The guest waits for it now.
  ErrorCode error{};     // 0: none. Meaningful when ready.
  GuestHandle handle{};
  GuestHandle context{};  // Whose counters the answer brings; 0: none.
  // The generation, subscription, child, file or HTTP exchange that it is of; HttpWhole is its own.
  GuestHandle owner{};
  GuestHandle child{};           // The context that comes of it; 0: none.
  bool is_child_made = false;    // The control layer has the child even if the command fails.
  bool is_child_queued = false;  // It comes with queued tokens, as many as its answer says.
  bool is_child_taken = false;   // From a snapshot that goes when the guest has the result.
  GuestHandle grammar{};         // The grammar that comes of it; 0: none.
  // Of a draw that is not answered: it uses these matchers. Null: none.
  std::shared_ptr<const control::DrawExtras> extras;
  QueueEffect effect = QueueEffect::None;
  std::uint32_t effect_count = 0;           // Of Truncates, Rewinds (a length) and Splices.
  std::uint64_t covered_tokens = 0;         // Ever queued in `context` before this command.
  std::uint64_t deadline_ns = 0;            // Of a sleep.
  std::uint64_t order = 0;                  // Of its message in the queue that it came from.
  std::vector<std::uint32_t> token_orders;  // The same of the tokens of a generation.
  std::string result;
  SharedMessage shared_result;  // Not null: instead of `result`.
  std::string message;          // Of the error.

  std::string_view result_bytes() const {
    return shared_result != nullptr ? std::string_view(*shared_result) : std::string_view(result);
  }
};

class FutureTable {
 public:
  // Results of so many bytes need no room: how many there are is bounded.
  static constexpr std::uint64_t kSmallResultBytes = 4096;

  FutureTable(HandleTable& handles, std::uint64_t held_bytes_max)
      : handles_(handles), held_bytes_max_{.own = held_bytes_max} {}

  // A new future that is not ready; the caller checked room.
  FutureRecord& add(FuturePurpose purpose);
  Result<FutureRecord*> find(GuestHandle handle);
  // Steps too; null when the future was dropped.
  FutureRecord* find_answered(GuestHandle handle);
  void remove(FutureRecord& record);

  void arm(FutureRecord& sleep, std::uint64_t deadline_ns);
  // Whether a result of so many bytes may be held beside those that are; QuotaExceeded names
  // held_result_bytes_max. Asked where a program may gather results without calling for each.
  Result<void> check_held(std::uint64_t bytes) const;
  // The same for the result of `record`: where it has no room, the future has failed for it.
  bool admit(FutureRecord& record, std::uint64_t bytes);
  void set_held_bytes_max(SplitLimit maximum) { held_bytes_max_ = maximum; }
  // Counts bytes that another table keeps until the guest asks for them, as results are counted.
  void hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  void make_ready(FutureRecord& record, std::string result);
  void make_ready(FutureRecord& record, SharedMessage result);
  // Takes the result of a future that will be removed, for another receiver.
  std::string give_up(FutureRecord& record);
  SharedMessage give_up_shared(FutureRecord& record);
  void make_failed(FutureRecord& record, const Error& error);
  // All of a list of handles whose futures are not dropped; it is empty then.
  template <typename Handles>
  void fail_all(Handles& handles, const Error& error) {
    for (const GuestHandle each : std::exchange(handles, {})) {
      make_failed(*find_answered(each), error);
    }
  }

  // The index of the first ready one of `handles`; NotFound names a handle that is not a future.
  Result<std::optional<std::int32_t>> first_ready(const std::vector<std::int32_t>& handles);

  // The guest parks on these (checked by first_ready) until one is ready or `deadline_ns` is there.
  void begin_wait(std::vector<std::int32_t> handles, std::optional<std::uint64_t> deadline_ns);
  bool waiting() const { return waiting_; }
  bool wait_over(std::uint64_t now_ns) const;
  bool wait_is_poll = false;  // It is that of poll_oneoff, which returns an errno.
  // Ends the wait. The index of the first ready future; empty: the time was over.
  std::optional<std::int32_t> end_wait();

  // Readies sleeps whose time has come.
  void fire(std::uint64_t now_ns);
  std::optional<std::uint64_t> next_deadline_ns() const;

  void drop_results();  // Their guest has ended.

  std::uint64_t held_bytes() const { return held_bytes_; }
  const SplitLimit& held_bytes_max() const { return held_bytes_max_; }
  void verify() const;

 private:
  void settle(FutureRecord& record);

  HandleTable& handles_;
  SplitLimit held_bytes_max_;
  std::vector<FutureRecord> records_;
  std::vector<std::uint32_t> free_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> deadlines_;  // (time, record)
  std::uint64_t held_bytes_ = 0;
  std::uint64_t held_elsewhere_bytes_ = 0;  // Of those, by hold().
  std::vector<std::int32_t> awaited_;
  std::optional<std::uint64_t> wait_deadline_ns_;
  bool waiting_ = false;
  bool awaited_ready_ = false;
};

}  // namespace quire::hostcalls
