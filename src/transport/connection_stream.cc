#include "transport/connection_stream.h"

#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

namespace quire::transport {

namespace beast = boost::beast;

struct ConnectionStream::Tls {
  Tls(Socket socket, boost::asio::ssl::context& context) : stream(std::move(socket), context) {}
  beast::ssl_stream<Socket> stream;
};

ConnectionStream::ConnectionStream(Socket socket, boost::asio::ssl::context* tls) {
  if (tls != nullptr) {
    tls_ = std::make_unique<Tls>(std::move(socket), *tls);
  } else {
    plain_.emplace(std::move(socket));
  }
}
ConnectionStream::ConnectionStream(ConnectionStream&&) noexcept = default;
ConnectionStream& ConnectionStream::operator=(ConnectionStream&&) noexcept = default;
ConnectionStream::~ConnectionStream() = default;

Socket& ConnectionStream::socket() noexcept {
  return tls_ != nullptr ? tls_->stream.next_layer() : *plain_;
}

SSL* ConnectionStream::native_tls() noexcept {
  return tls_->stream.native_handle();
}

void ConnectionStream::read_some(const FirstBuffers<boost::asio::mutable_buffer>& into,
                                 TransferHandler handler) {
  if (tls_ != nullptr) {
    tls_->stream.async_read_some(into, std::move(handler));
  } else {
    plain_->async_read_some(into, std::move(handler));
  }
}

void ConnectionStream::write_some(const FirstBuffers<boost::asio::const_buffer>& bytes,
                                  TransferHandler handler) {
  if (tls_ != nullptr) {
    tls_->stream.async_write_some(bytes, std::move(handler));
  } else {
    plain_->async_write_some(bytes, std::move(handler));
  }
}

void ConnectionStream::handshake(boost::asio::ssl::stream_base::handshake_type role,
                                 EndHandler handler) {
  tls_->stream.async_handshake(role, std::move(handler));
}

void ConnectionStream::end_writing(EndHandler handler) {
  if (tls_ != nullptr) {
    tls_->stream.async_shutdown(std::move(handler));
  } else {
    ErrorCodeOf ignored;
    plain_->shutdown(Socket::shutdown_send, ignored);
  }
}

void ConnectionStream::close() {
  ErrorCodeOf ignored;
  socket().close(ignored);
}

void ConnectionStream::end(beast::role_type role, ErrorCodeOf& error) {
  if (tls_ != nullptr) {
    tls_->stream.shutdown(error);
  } else {
    beast::websocket::teardown(role, *plain_, error);
  }
}

void ConnectionStream::end(beast::role_type role, EndHandler handler) {
  if (tls_ != nullptr) {
    tls_->stream.async_shutdown(std::move(handler));
  } else {
    beast::websocket::async_teardown(role, *plain_, std::move(handler));
  }
}

}  // namespace quire::transport
