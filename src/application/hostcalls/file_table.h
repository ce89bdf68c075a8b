#pragma once
// FileTable holds the files between one instance and its client: those that the guest writes, whose
// parts wait in its Outbox, and those that the client sends, with the parts that were not read.
//
// Thread   engine thread only.
// Bound    GuestLimits::file_*. Each side may go beyond its bytes by one part, because a side that
//          was promised room may use it; and one part of each file may be in a future.
// Errors   QuotaExceeded names the limit; InvalidArgument for a part that does not continue its
//          file, which changes nothing.
//
// Invariants, all checked by verify():
//   FL1  Every file handle is that of one outgoing or one incoming file.
//   FL2  The figures are the sums over parts; each part counts kPartBytes more than it has.
//   FL3  A write waits only while there is no room, a read only while there is no part.
//   FL4  At most one write waits for room, and each file has at most one read that was not taken.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/outbox.h"
#include "application/hostcalls/output_meter.h"
#include "base/lazy_deque.h"
#include "base/result.h"
#include "service/said.h"

namespace quire::hostcalls {

inline constexpr std::uint32_t kMediaTypeBytesMax = 127;
// InvalidArgument unless it is a valid media type.
Result<void> check_media_type(std::string_view media_type);

class FileTable {
 public:
  static constexpr std::uint64_t kPartBytes = Outbox::kPartBytes;

  FileTable(const GuestLimits& limits, OutputMeter& output, Outbox& outbox, HandleTable& handles,
            FutureTable& futures)
      : limits_(limits), output_(output), outbox_(outbox), handles_(handles), futures_(futures) {}

  // The guest's calls; the caller checked room for a future.
  Result<GuestHandle> send_file(std::string name, std::string media_type, std::uint64_t file_bytes);
  Result<GuestHandle> write_file(GuestHandle file, std::string part);
  GuestHandle receive_file();
  Result<GuestHandle> read_file(GuestHandle file);
  // The handle was found before.
  void drop(GuestHandle file);
  void future_dropped(FutureRecord& record);

  // The form of a part in the outbox that the client gets; valid until the next call that changes
  // something.
  service::Said shown(const Outbox::Part& part) const;
  // Call it after the client took a part of the file and the outbox let it go.
  void part_taken(std::uint32_t file);

  // Takes a part that the client sends.
  Result<void> push(service::FilePart part);
  void drop_inbox();
  bool has_room() const { return in_bytes_ < limits_.file_inbox_bytes_max; }
  // Why no part can come, for good or until the client is back. Empty: parts can come.
  void set_absence(std::optional<Error> absence);

  std::uint64_t inbox_bytes() const { return in_bytes_; }
  void verify() const;

 private:
  struct Outgoing {
    std::string name;
    std::string media_type;
    std::uint64_t file_bytes = 0;
    std::uint64_t written = 0;
    std::uint32_t part_count = 0;  // Not taken; dropped ones with it.
    GuestHandle handle{};          // 0: dropped.
  };
  struct Incoming {
    std::string name;
    std::string media_type;
    std::uint64_t file_bytes = 0;
    std::uint64_t received = 0;
    std::deque<std::string> parts;
    GuestHandle reader{};         // The future of the last read, which may be gone.
    std::optional<Error> broken;  // It will not become complete.
    GuestHandle handle{};         // 0: the guest has not received it.
  };

  bool has_out_room() const { return outbox_.part_bytes() < limits_.file_outbox_bytes_max; }
  void add_part(Outbox::Part part);
  void forget_if_done(std::uint32_t file);
  Result<void> check_begin(const service::FilePart& part) const;
  Result<void> check_continues(const service::FilePart& part) const;
  Incoming& begin(service::FilePart& part);
  void break_current(const Error& why);
  void serve_receivers();
  void serve(Incoming& file);
  void put_back(GuestHandle file);
  void wake_writer();

  const GuestLimits& limits_;
  OutputMeter& output_;
  Outbox& outbox_;
  HandleTable& handles_;
  FutureTable& futures_;
  std::uint32_t last_file_ = 0;
  std::unordered_map<std::uint32_t, Outgoing> outgoing_;
  GuestHandle writer_{};  // The future that waits for room; 0: none.
  std::unordered_map<std::uint32_t, Incoming> incoming_;
  LazyDeque<std::uint32_t> unreceived_;  // Incoming ones without a handle, oldest first.
  std::uint32_t current_ = 0;            // The incoming one that is not complete; 0: none.
  std::uint64_t in_bytes_ = 0;
  LazyDeque<GuestHandle> receivers_;  // Futures of receive_file, oldest first.
  std::optional<Error> absence_;
};

}  // namespace quire::hostcalls
