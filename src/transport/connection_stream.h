#pragma once
// ConnectionStream is the bytes of a connection: those of the socket, or with TLS what they decrypt to. The server's
// sessions, the client and Beast's WebSocket use it as one stream, so that none exists twice.
//
// What Asio and OpenSSL do for it is compiled in connection_stream.cc alone: the templates here only take a handler's and
// a buffer sequence's type away (any_handler.h).
//
// Owns     the socket.
// Thread   the thread that runs the socket's io context.
// <utility> goes first: Asio 1.18 uses std::exchange without including it.
#include <utility>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/detail/openssl_types.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/role.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "transport/any_handler.h"

namespace boost::asio::ssl {
class context;
}

namespace quire::transport {

// The executor has a fixed type, which costs a fifth less than a socket of any executor.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// The first buffers of a sequence. An operation on some of the bytes may leave the others to the next one.
template <typename Buffer>
class FirstBuffers {
 public:
  static constexpr std::size_t kCountMax = 8;

  template <typename Buffers>
  explicit FirstBuffers(const Buffers& all) {
    const auto last = boost::asio::buffer_sequence_end(all);
    for (auto each = boost::asio::buffer_sequence_begin(all); each != last && count_ < kCountMax;
         ++each) {
      buffers_[count_++] = *each;
    }
  }
  using value_type = Buffer;
  using const_iterator = const Buffer*;
  const_iterator begin() const { return buffers_.data(); }
  const_iterator end() const { return buffers_.data() + count_; }

 private:
  std::array<Buffer, kCountMax> buffers_;
  std::size_t count_ = 0;
};

class ConnectionStream {
 public:
  using executor_type = Socket::executor_type;
  using ErrorCodeOf = boost::system::error_code;
  using TransferHandler = AnyHandler<ErrorCodeOf, std::size_t>;
  using EndHandler = AnyHandler<ErrorCodeOf>;

  // `tls`: null without TLS.
  ConnectionStream(Socket socket, boost::asio::ssl::context* tls);
  ConnectionStream(ConnectionStream&&) noexcept;
  ConnectionStream& operator=(ConnectionStream&&) noexcept;
  ~ConnectionStream();

  executor_type get_executor() noexcept { return socket().get_executor(); }
  Socket& socket() noexcept;
  bool has_tls() const noexcept { return tls_ != nullptr; }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& into, Handler&& handler) {
    read_some(FirstBuffers<boost::asio::mutable_buffer>(into),
              TransferHandler(std::forward<Handler>(handler)));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& bytes, Handler&& handler) {
    write_some(FirstBuffers<boost::asio::const_buffer>(bytes),
               TransferHandler(std::forward<Handler>(handler)));
  }
  // Requires: has_tls().
  SSL* native_tls() noexcept;
  template <typename Handler>
  void async_handshake(boost::asio::ssl::stream_base::handshake_type role, Handler&& handler) {
    handshake(role, EndHandler(std::forward<Handler>(handler)));
  }
  // Nothing more is written. With TLS the peer gets a notice, and the handler is called once the
  // peer has answered it or the connection has failed. Without TLS the handler is never called.
  template <typename Handler>
  void async_end_writing(Handler&& handler) {
    end_writing(EndHandler(std::forward<Handler>(handler)));
  }
  void close();

  // Beast's WebSocket needs these functions of a stream.
  friend void beast_close_socket(ConnectionStream& stream) { stream.close(); }
  friend void teardown(boost::beast::role_type role, ConnectionStream& stream, ErrorCodeOf& error) {
    stream.end(role, error);
  }
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, ConnectionStream& stream,
                             Handler&& handler) {
    stream.end(role, EndHandler(std::forward<Handler>(handler)));
  }

 private:
  struct Tls;

  void read_some(const FirstBuffers<boost::asio::mutable_buffer>& into, TransferHandler handler);
  void write_some(const FirstBuffers<boost::asio::const_buffer>& bytes, TransferHandler handler);
  void handshake(boost::asio::ssl::stream_base::handshake_type role, EndHandler handler);
  void end_writing(EndHandler handler);
  void end(boost::beast::role_type role, ErrorCodeOf& error);
  void end(boost::beast::role_type role, EndHandler handler);

  // One of the two.
  std::optional<Socket> plain_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace quire::transport
