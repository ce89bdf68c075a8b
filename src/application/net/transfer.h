#pragma once
// Transfer is one exchange without its sockets: what to ask of whom, what may come back and how
// much of it, and which events the program is owed. A transport (curl_http_client.cc) carries the
// bytes and obeys.
//
// A hop at a time: begin_hop() says where to, found() what its name is, may_connect() to whom a
// socket may be opened. Then header() and body() take what arrives. Where next_hop() has become
// true the transport drops its connection and begins again.
//
// Owns     the request, and at most kBodyChunkBytesMax plus 16 KiB of a streamed body, or
//          http.whole_body_bytes_max of a whole one.
// Thread   net thread only.
// Errors   fail() is given the first; every event that is owed has it then. What had arrived before
//          is given first.
//
// Invariants, all checked by verify():
//   TR1  An event is owed only for what was asked: one head or whole, one chunk a read, one sent a
//        write.
//   TR2  Nothing beyond its limit is held.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "application/net/http_client.h"
#include "application/net/zlib_decoder.h"

namespace quire::net {

// How much a transport gives to body() at once.
inline constexpr std::size_t kReceivedBytesMax = std::size_t{16} << 10;

class Transfer {
 public:
  enum class Stage : std::uint8_t {
    Connecting,  // Looks its name up, connects, shakes hands.
    Requesting,  // Sends, and waits for the first byte.
    Receiving,
    Ended,  // All has arrived, though not all may have been given yet.
    Failed,
  };
  enum class Intake : std::uint8_t {
    Taken,
    Full,  // Nothing was taken: offer it again when wants_body() is true.
    Stop,
  };

  Transfer(HttpRequest request, AddressPolicy policy, std::uint64_t now_ns);

  Stage stage() const { return stage_; }
  const Hop& hop() const { return request_.hop; }
  const HttpRequest& request() const { return request_; }
  bool is_over() const { return stage_ == Stage::Ended || stage_ == Stage::Failed; }

  // Begins a hop. False when it needs no lookup, or has failed.
  bool begin_hop(std::uint64_t now_ns);
  void found(Result<std::vector<IpAddress>> addresses);
  // Every one was checked; empty until they are.
  const std::vector<IpAddress>& addresses() const { return addresses_; }
  // True for a checked address and the port of the URL; fails the transfer otherwise.
  bool may_connect(const IpAddress& address, std::uint16_t port);
  void connected(std::uint64_t now_ns);

  // The response. False: the transport shall stop.
  bool header(std::string_view line, std::uint64_t now_ns);
  Intake body(std::string_view bytes, std::uint64_t now_ns);
  bool wants_body() const;
  void ended();  // The transport has all of the response.
  void fail(Error error);
  // True: the response leads elsewhere; hop() is where.
  bool next_hop() const { return has_next_hop_; }

  // The request's body: bytes copied to `into`, 0 at its end; empty: the program has more to write.
  std::optional<std::size_t> send(char* into, std::size_t room, std::uint64_t now_ns);
  bool has_to_send() const;
  // How many bytes it has, where that is known.
  std::optional<std::uint64_t> body_bytes() const;

  // The program.
  void read(std::uint64_t now_ns);
  void write(std::string bytes, std::uint64_t now_ns);
  void finish();

  // When the next limit of time is over; empty: none runs.
  std::optional<std::uint64_t> end_ns() const;
  // Fails when that is now or was before.
  void check_time(std::uint64_t now_ns);
  // Moves out what is owed now.
  std::optional<HttpEvent> take_event();
  void verify() const;

 private:
  struct TimeLimit {
    const char* name;
    std::uint64_t end_ns, span_ns;
  };
  std::optional<TimeLimit> time_limit() const;
  bool take_head(HttpHead head);
  bool decode();
  bool count_decoded(std::size_t bytes);
  void settle_end();
  std::size_t body_bytes_max() const;
  HttpEvent event(HttpEventKind kind) const;

  HttpRequest request_;
  const AddressPolicy policy_;
  const std::uint64_t begin_ns_;
  std::uint64_t hop_ns_ = 0;       // When the hop began.
  std::uint64_t progress_ns_ = 0;  // When a byte last went or came, or was wanted again.
  Stage stage_ = Stage::Connecting;
  std::optional<Error> error_;
  Reach reach_ = Reach::Public;
  std::vector<IpAddress> addresses_;
  std::uint32_t redirect_count_ = 0;
  bool has_next_hop_ = false;

  HeadParser parser_;
  std::optional<HttpHead> head_;  // Until it is given.
  std::optional<ZlibDecoder> decoder_;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
  std::string encoded_;   // Received, not yet decoded.
  std::string body_;      // Not yet given.
  bool has_all_ = false;  // The transport has given everything.

  std::string unsent_;  // Of a streamed body; of a whole one see request_.body.
  std::size_t sent_bytes_ = 0;
  bool is_finished_ = false;

  bool owes_head_ = true;  // Or the whole.
  bool owes_chunk_ = false;
  bool owes_sent_ = false;
};

}  // namespace quire::net
