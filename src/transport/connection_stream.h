#pragma once
// ConnectionStream is the bytes of a connection: those of the socket, or with TLS what they decrypt to. The server's
// sessions, the client and Beast's WebSocket use it as one stream, so that none exists twice.
//
// Owns     the socket.
// Thread   the thread that runs the socket's io context.
// <utility> goes first: Asio 1.18 uses std::exchange without including it.
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <optional>

namespace quire::transport {

// Of one kind of executor, which costs a fifth less than a socket of any.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

class ConnectionStream {
 public:
  using executor_type = Socket::executor_type;
  using ErrorCodeOf = boost::system::error_code;

  // `tls`: null without TLS.
  ConnectionStream(Socket socket, boost::asio::ssl::context* tls) {
    if (tls != nullptr) {
      tls_.emplace(std::move(socket), *tls);
    } else {
      plain_.emplace(std::move(socket));
    }
  }

  executor_type get_executor() noexcept { return socket().get_executor(); }
  Socket& socket() noexcept { return plain_ ? *plain_ : tls_->next_layer(); }
  bool has_tls() const noexcept { return tls_.has_value(); }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& into, Handler&& handler) {
    if (plain_) {
      plain_->async_read_some(into, std::forward<Handler>(handler));
    } else {
      tls_->async_read_some(into, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& bytes, Handler&& handler) {
    if (plain_) {
      plain_->async_write_some(bytes, std::forward<Handler>(handler));
    } else {
      tls_->async_write_some(bytes, std::forward<Handler>(handler));
    }
  }
  // Requires: has_tls().
  SSL* native_tls() noexcept { return tls_->native_handle(); }
  template <typename Handler>
  void async_handshake(boost::asio::ssl::stream_base::handshake_type role, Handler&& handler) {
    tls_->async_handshake(role, std::forward<Handler>(handler));
  }
  // Nothing more is written. With TLS the peer is told so, and the handler hears of that later.
  template <typename Handler>
  void async_end_writing(Handler&& handler) {
    if (tls_) {
      tls_->async_shutdown(std::forward<Handler>(handler));
    } else {
      ErrorCodeOf ignored;
      plain_->shutdown(Socket::shutdown_send, ignored);
    }
  }
  void close() {
    ErrorCodeOf ignored;
    socket().close(ignored);
  }

  // What Beast's WebSocket asks of a stream.
  friend void beast_close_socket(ConnectionStream& stream) { stream.close(); }
  friend void teardown(boost::beast::role_type role, ConnectionStream& stream, ErrorCodeOf& error) {
    if (stream.tls_) {
      stream.tls_->shutdown(error);
    } else {
      boost::beast::websocket::teardown(role, *stream.plain_, error);
    }
  }
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, ConnectionStream& stream,
                             Handler&& handler) {
    if (stream.tls_) {
      stream.tls_->async_shutdown(std::forward<Handler>(handler));
    } else {
      boost::beast::websocket::async_teardown(role, *stream.plain_, std::forward<Handler>(handler));
    }
  }

 private:
  // One of the two.
  std::optional<Socket> plain_;
  std::optional<boost::beast::ssl_stream<Socket>> tls_;
};

}  // namespace quire::transport
