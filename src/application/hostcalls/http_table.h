#pragma once
// HttpTable holds the HTTP exchanges of one instance, and which of its futures wait for what of
// them.
//
// Owns     the instance's exchanges at the HttpClient: whatever is left ends with the table.
// Thread   engine thread only.
// Errors   QuotaExceeded and TooLarge name the limit; Unavailable for a second future where there
//          may be one.
//
// Invariants, all checked by verify():
//   HX1  Every Exchange handle has a record, and every record its handle or its future.
//   HX2  A future that waits is the one that its exchange knows.
//   HX3  At most http.exchange_count_max exchanges are open, and the gauge knows how many.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/handle_table.h"
#include "application/hostcalls/tenant_gauge.h"
#include "application/net/http_client.h"
#include "control/api/types.h"

namespace quire::hostcalls {

class HttpTable {
 public:
  // A client of null: this server has none. A gauge, where there is one, outlives the table.
  HttpTable(net::HttpClient* client, control::InstanceId instance, const GuestLimits& limits,
            TenantGauge* gauge, HandleTable& handles, FutureTable& futures)
      : client_(client),
        instance_(instance),
        limits_(limits),
        gauge_(gauge),
        handles_(handles),
        futures_(futures),
        call_count_max_{.own = limits.http.call_count_max},
        exchange_count_max_{.own = limits.http.exchange_count_max} {}
  ~HttpTable() { close_all(); }
  HttpTable(const HttpTable&) = delete;
  HttpTable& operator=(const HttpTable&) = delete;

  // Sets the limits that are left to the instance after it lent the rest to its children.
  void set_own(SplitLimit call_count_max, SplitLimit exchange_count_max) {
    call_count_max_ = call_count_max;
    exchange_count_max_ = exchange_count_max;
  }
  std::uint32_t call_count() const { return call_count_; }  // Ever.
  std::uint32_t open_count() const { return static_cast<std::uint32_t>(exchanges_.size()); }

  // Checks the counts, before arguments are read.
  Result<void> check_room() const;
  // The future of a whole exchange, or the handle of a streamed one. The caller checked room for
  // it.
  Result<GuestHandle> start(net::HttpRequest request);

  // Futures; the caller checked room.
  Result<GuestHandle> head(GuestHandle exchange);
  Result<GuestHandle> read(GuestHandle exchange);
  Result<GuestHandle> write(GuestHandle exchange, std::string bytes);
  Result<void> finish(GuestHandle exchange);

  void drop(GuestHandle exchange);  // The handle was found before.
  // Of a future of ours, before it is removed: the guest does not want it, or has it.
  void drop_future(FutureRecord& record);
  void taken(const FutureRecord& record);
  void close_all();  // The instance has ended.
  void take_in(net::HttpEvent event);
  void verify() const;

 private:
  struct Exchange {
    std::optional<net::ExchangeId> id;  // Empty: nothing more comes of it.
    bool is_whole = false;
    GuestHandle head_future{}, read_future{}, write_future{};  // 0: none waits.
    std::optional<std::string> head;                           // As it is given.
    std::optional<std::string> piece;                          // Came for a read that was dropped.
    bool is_reading = false;                                   // The client owes a piece.
    bool is_writing = false;
    bool has_ended = false;
    std::optional<Error> error;
    bool takes_body = false;
    bool is_finished = false;                 // finish() was called.
    std::optional<std::uint64_t> body_bytes;  // As the program said.
    std::uint64_t written_bytes = 0;
  };

  void note_open();  // After each change of how many are open.
  Result<Exchange*> find(GuestHandle handle);
  GuestHandle add_future(GuestHandle exchange, FuturePurpose purpose);
  static GuestHandle* waiting(Exchange& exchange, FuturePurpose purpose);
  void settle(GuestHandle& future, std::string result);
  void settle(GuestHandle& future, const Error& error);
  void fail(Exchange& exchange, Error error);
  void end(Exchange& exchange);
  void give_piece(Exchange& exchange, std::string piece);
  void take_in_piece(Exchange& exchange, std::string piece);
  void take_in_whole(std::uint32_t key, net::HttpEvent event);
  void close(Exchange& exchange);

  net::HttpClient* const client_;
  const control::InstanceId instance_;
  const GuestLimits& limits_;
  TenantGauge* const gauge_;
  std::size_t noted_open_count_ = 0;  // As the gauge knows it.
  HandleTable& handles_;
  FutureTable& futures_;
  std::map<std::uint32_t, Exchange> exchanges_;  // By handle; whole ones by their future's.
  std::uint32_t call_count_ = 0;
  SplitLimit call_count_max_;
  SplitLimit exchange_count_max_;
};

}  // namespace quire::hostcalls
