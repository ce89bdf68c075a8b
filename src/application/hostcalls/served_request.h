#pragma once
// ServedRequest is the HTTP request that launched an instance, and the instance's response. It has
// the parts of the body that the guest has not read, and the state of the response, whose parts
// wait in the Outbox. An instance that no request launched has an empty one.
//
// Thread   engine thread only.
// Bound    GuestLimits::request_inbox_bytes_max and response_outbox_bytes_max. Each side may go
//          beyond its bytes by one part, because a side that learns of room may use it.
// Errors   as interface/serve.wit lists them; QuotaExceeded names the limit.
//
// Invariants, all checked by verify():
//   V1  inbox_bytes() is the sum over the parts that wait; each counts kPartBytes more than it has.
//   V2  A read waits only while no part is here, more may come, and nothing has failed.
//   V3  A write waits only while the client is there and the outbox has no room.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/outbox.h"
#include "application/hostcalls/output_meter.h"
#include "base/result.h"

namespace quire::hostcalls {

// The part of a request that a guest can read before the body.
struct RequestHead {
  std::string method;
  std::string target;
  std::string headers;           // Lines "name: value\n", names in lower case.
  bool awaits_continue = false;  // The client sends the body once it is asked for it.
};

inline constexpr std::uint32_t kResponseHeaderBytesMax = 64u << 10;

class ServedRequest {
 public:
  static constexpr std::uint64_t kPartBytes = Outbox::kPartBytes;
  enum class Stage : std::uint8_t { Waiting, Begun, Finished };

  // The rest outlives it. No head: no request launched the instance.
  ServedRequest(std::optional<RequestHead> head, const GuestLimits& limits, OutputMeter& output,
                Outbox& outbox, FutureTable& futures)
      : head_(std::move(head)),
        limits_(limits),
        output_(output),
        outbox_(outbox),
        futures_(futures) {}

  // The guest's calls. NotSupported without a request; the caller checked room for a future.
  Result<void> check_served() const;
  std::string encoded_head() const;
  Result<GuestHandle> read();
  Result<void> respond(std::uint32_t status, std::string_view headers, bool goes_on);
  Result<GuestHandle> write(std::string bytes);
  Result<void> finish();
  void future_dropped(FutureRecord& record);

  // Takes a part that the client sends, and whether another may come.
  void push(std::string part, bool is_last);
  bool wants_part() const;
  // The client reads no more of the response, and no part of the body comes.
  void client_gone();
  // The client took a part of the response.
  void part_taken() { wake_writer(); }
  void drop_inbox();  // The guest has ended.

  bool is_served() const { return head_.has_value(); }
  Stage stage() const { return stage_; }
  // The program asked to go on without its client, or owes it nothing more. A client that knows the
  // length of the body may leave before the program says that it is finished.
  bool outlives_client() const { return goes_on_ || is_response_whole(); }
  std::uint64_t inbox_bytes() const { return inbox_bytes_; }
  void verify() const;

 private:
  bool is_response_whole() const {
    return stage_ == Stage::Finished ||
           (stage_ == Stage::Begun && content_bytes_ == written_bytes_);
  }
  bool has_out_room() const { return outbox_.response_bytes() < limits_.response_outbox_bytes_max; }
  Result<void> check_write(std::uint64_t bytes) const;
  void put(service::ResponsePartKind kind, std::uint32_t status, std::string bytes);
  void serve_reader();
  void wake_writer();

  const std::optional<RequestHead> head_;
  const GuestLimits& limits_;
  OutputMeter& output_;
  Outbox& outbox_;
  FutureTable& futures_;
  std::deque<std::string> parts_;
  std::uint64_t inbox_bytes_ = 0;
  GuestHandle reader_{};  // The future of the last read, which may be gone.
  GuestHandle writer_{};  // The future that waits for room; 0: none.
  Stage stage_ = Stage::Waiting;
  std::optional<std::uint64_t> content_bytes_;  // As the head of the response says.
  std::uint64_t written_bytes_ = 0;
  bool has_asked_ = false;      // The guest has read once at least.
  bool is_body_whole_ = false;  // All parts came.
  bool is_client_gone_ = false;
  bool goes_on_ = false;
};

}  // namespace quire::hostcalls
