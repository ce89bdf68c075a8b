#include "client/server_client.h"

#include <utility>  // Before Asio.

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/start_thread.h"
#include "client/client_tls.h"
#include "transport/connection_stream.h"
#include "wire/frame_codec.h"

namespace quire::client {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;
using transport::ConnectionStream;
using transport::Socket;
using Stream = websocket::stream<ConnectionStream, false>;  // Nothing is compressed.

constexpr std::chrono::milliseconds kPongTimeMax{100};  // How long the caller may have to wait.

// "message" of the JSON with which a server refuses a connection; else the body itself.
std::string refusal_text(const std::string& body) {
  const Result<Json> json = parse_json(body, "answer");
  if (json.ok() && json.value().is_object() && json.value().contains("error")) {
    const Json& error = json.value()["error"];
    if (error.is_object() && error.contains("message") && error["message"].is_string()) {
      return error["message"].get<std::string>();
    }
  }
  return "not a Quire server, or a different protocol version";
}

// If a server's bytes are not an answer, perhaps one side speaks TLS and the other does not.
std::string hint_at_tls(wire::Endpoint to) {
  to.has_tls = !to.has_tls;
  return std::string("; ") + (to.has_tls ? "with" : "without") + " TLS its address is " +
         wire::server_url(to);
}

// Runs handlers until `done`, or the time is over.
template <typename Done>
void run_until(asio::io_context& io, Done done, std::chrono::steady_clock::time_point end) {
  while (!done()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return;
    io.restart();
    io.run_one_for(left);
  }
}

// One connection. `changed` is called once it has a frame to be taken, or an error.
struct ClientConnection {
  ClientConnection(asio::io_context& context, const wire::Endpoint& to, const LivenessTimes& given,
                   std::function<void()> on_change)
      : url(wire::server_url(to)), times(given), io(context), changed(std::move(on_change)) {}

  Error lost(const std::string& why) const {
    return Error(ErrorCode::Unavailable, "the connection to " + url + " was lost: " + why);
  }
  Result<void> open(const wire::Endpoint& to, std::chrono::milliseconds time_max,
                    const std::string& key);
  std::uint64_t send(wire::RequestBody body);
  // Reads a frame, once the last one was taken.
  void read_next();
  // Sends the server a pong once in each stay_period, without waiting for its ping. The ping may
  // come after megabytes that this client reads slowly.
  void tell();
  // The same while no frame is read and the caller does not run `io`.
  void stay();

  const std::string url;
  const LivenessTimes times;
  std::deque<wire::Message> outgoing;
  std::optional<wire::ServerFrame> frame;
  std::chrono::steady_clock::time_point frame_at{};
  std::optional<Error> error;

  void write_next();
  void fail(Error why);
  void set_idle_time(std::chrono::steady_clock::duration time_max);

  Result<Socket> connected(const wire::Endpoint& to, std::chrono::milliseconds time_max);
  Result<void> agree_on_tls(const wire::Endpoint& to, std::chrono::milliseconds time_max);
  Result<void> upgrade(const wire::Endpoint& to, std::chrono::milliseconds time_max,
                       const std::string& key);
  // Whether `outcome` came in time. If not, came() closes the socket and waits as long again, so
  // that the operation can end.
  bool came(const std::optional<ErrorCodeOf>& outcome, std::chrono::milliseconds time_max,
            Socket& socket);

  asio::io_context& io;
  std::unique_ptr<ClientTls> tls;  // Null: none.
  std::optional<Stream> stream;    // Once it is connected.
  websocket::response_type response;
  beast::flat_buffer buffer;
  const std::function<void()> changed;
  bool is_writing = false;
  bool is_reading = false;
  bool is_telling = false;  // A pong is being sent.
  std::chrono::steady_clock::time_point told_at{};
  std::uint64_t last_id = 0;
};

bool ClientConnection::came(const std::optional<ErrorCodeOf>& outcome,
                            std::chrono::milliseconds time_max, Socket& socket) {
  run_until(io, [&] { return outcome.has_value(); }, std::chrono::steady_clock::now() + time_max);
  if (outcome && !*outcome) return true;
  const bool is_in_time = outcome.has_value();
  ErrorCodeOf ignored;
  socket.close(ignored);
  run_until(io, [&] { return outcome.has_value(); }, std::chrono::steady_clock::now() + time_max);
  return is_in_time;
}

Result<Socket> ClientConnection::connected(const wire::Endpoint& to,
                                           std::chrono::milliseconds time_max) {
  ErrorCodeOf failed;
  tcp::resolver resolver(io);
  const auto addresses = resolver.resolve(to.host, std::to_string(to.port), failed);
  if (failed) return Error(ErrorCode::Unavailable, url + ": " + failed.message());
  Socket socket(io);
  std::optional<ErrorCodeOf> outcome;
  asio::async_connect(socket, addresses,
                      [&](ErrorCodeOf now, const tcp::endpoint&) { outcome = now; });
  const bool is_in_time = came(outcome, time_max, socket);
  if (!is_in_time || *outcome) {
    const std::string why = is_in_time ? outcome->message() : "no answer in time";
    return Error(ErrorCode::Unavailable,
                 "nothing listens at " + url + " (" + why + "); `quire serve` starts a server");
  }
  ErrorCodeOf ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  return socket;
}

Result<void> ClientConnection::agree_on_tls(const wire::Endpoint& to,
                                            std::chrono::milliseconds time_max) {
  ConnectionStream& bytes = stream->next_layer();
  std::optional<ErrorCodeOf> outcome;
  bytes.async_handshake(asio::ssl::stream_base::client, [&](ErrorCodeOf now) { outcome = now; });
  const bool is_in_time = came(outcome, time_max, bytes.socket());
  if (is_in_time && !*outcome) return {};
  std::string why = "no answer in time";
  if (is_in_time) {
    why = certificate_fault(bytes.native_tls()).value_or(outcome->message() + hint_at_tls(to));
  }
  return Error(ErrorCode::Unavailable, url + ": no agreement on TLS: " + why);
}

Result<void> ClientConnection::upgrade(const wire::Endpoint& to, std::chrono::milliseconds time_max,
                                       const std::string& key) {
  stream->set_option(websocket::stream_base::timeout{time_max, times.idle_time_max, true});
  stream->set_option(websocket::stream_base::decorator([key](websocket::request_type& request) {
    request.set(beast::http::field::sec_websocket_protocol, wire::kSubprotocol);
    if (!key.empty()) request.set(beast::http::field::authorization, "Bearer " + key);
    request.set(beast::http::field::user_agent, "quire/" QUIRE_VERSION);
  }));
  stream->read_message_max(wire::kFrameBytesMax);
  stream->auto_fragment(false);
  std::optional<ErrorCodeOf> outcome;
  stream->async_handshake(response, wire::host_and_port(to), "/",
                          [&](ErrorCodeOf now) { outcome = now; });
  const bool is_in_time = came(outcome, time_max, stream->next_layer().socket());
  if (!is_in_time || *outcome) {
    const bool is_refusal = is_in_time && *outcome == websocket::error::upgrade_declined;
    const bool wants_key =
        is_refusal && response.result() == beast::http::status::unauthorized && key.empty();
    const std::string why =
        wants_key ? refusal_text(response.body()) + "; give the key by --key-file FILE or QUIRE_KEY"
        : is_refusal ? refusal_text(response.body())
        : is_in_time ? outcome->message() + (to.has_tls ? "" : hint_at_tls(to))
                     : "no answer in time";
    return Error(ErrorCode::Unavailable, url + " refused the connection: " + why);
  }
  if (response[beast::http::field::sec_websocket_protocol] != wire::kSubprotocol) {
    return Error(ErrorCode::Unavailable, url + " is not a Quire server: it does not speak " +
                                             std::string(wire::kSubprotocol));
  }
  return {};
}

Result<void> ClientConnection::open(const wire::Endpoint& to, std::chrono::milliseconds time_max,
                                    const std::string& key) {
  if (to.has_tls) tls = TRY(ClientTls::create());
  Socket socket = TRY(connected(to, time_max));
  stream.emplace(ConnectionStream(std::move(socket), tls ? &tls->context() : nullptr));
  if (tls) {
    TRY(expect_host(stream->next_layer().native_tls(), to.host));
    TRY(agree_on_tls(to, time_max));
  }
  return upgrade(to, time_max, key);
}

void ClientConnection::fail(Error why) {
  if (error) return;
  error = std::move(why);
  changed();
}

std::uint64_t ClientConnection::send(wire::RequestBody body) {
  const std::uint64_t id = ++last_id;
  outgoing.push_back(wire::encode(wire::Request{id, std::move(body)}));
  write_next();
  return id;
}

void ClientConnection::write_next() {
  if (is_writing || outgoing.empty() || error) return;
  is_writing = true;
  stream->binary(outgoing.front().is_binary);
  stream->async_write(asio::buffer(outgoing.front().bytes),
                      [this](ErrorCodeOf failed, std::size_t) {
                        is_writing = false;
                        outgoing.pop_front();
                        if (failed) fail(lost(failed.message()));
                        write_next();
                      });
}

void ClientConnection::set_idle_time(std::chrono::steady_clock::duration time_max) {
  websocket::stream_base::timeout timeouts;
  stream->get_option(timeouts);
  timeouts.idle_timeout = time_max;
  stream->set_option(timeouts);
}

void ClientConnection::tell() {
  const auto now = std::chrono::steady_clock::now();
  if (error || is_telling || now - told_at < times.stay_period) return;
  is_telling = true;
  told_at = now;
  stream->async_pong({}, [this](ErrorCodeOf failed) {
    is_telling = false;
    if (failed) fail(lost(failed.message()));
  });
}

void ClientConnection::stay() {
  if (error) return;
  // While nothing is read, silence says nothing of the server.
  if (!is_reading) set_idle_time(websocket::stream_base::none());
  tell();
  run_until(io, [&] { return !is_telling; }, std::chrono::steady_clock::now() + kPongTimeMax);
  io.restart();
  io.poll();
}

void ClientConnection::read_next() {
  if (is_reading || frame || error) return;
  set_idle_time(times.idle_time_max);
  is_reading = true;
  stream->async_read(buffer, [this](ErrorCodeOf failed, std::size_t) {
    is_reading = false;
    if (failed) {
      const std::string reason(stream->reason().reason.c_str());
      fail(lost(reason.empty() ? failed.message() : reason));
      return;
    }
    const auto data = buffer.data();
    Result<wire::ServerFrame> decoded = wire::decode_server_frame(
        stream->got_binary(), {static_cast<const char*>(data.data()), data.size()});
    buffer.clear();
    if (decoded.ok()) {
      frame = std::move(decoded).take();
      frame_at = std::chrono::steady_clock::now();
      changed();
    } else {
      fail(lost("it said what this client does not understand: " +
                std::string(decoded.error().message())));
    }
  });
}

}  // namespace

// ---- One.

struct ServerClient::Implementation {
  Implementation(const wire::Endpoint& to, const LivenessTimes& times)
      : connection(io, to, times, [] {}) {}
  ~Implementation() {
    {
      const std::lock_guard lock(mutex);
      is_closing = true;
    }
    closing.notify_one();
    if (keeper.joinable()) keeper.join();
  }

  void keep();

  asio::io_context io{1};
  ClientConnection connection;  // With its io, of who holds the mutex.
  bool is_closing = false;
  std::mutex mutex;
  std::condition_variable closing;
  std::thread keeper;
};

// The keeper's.
void ServerClient::Implementation::keep() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // Signals are the caller's.
  std::unique_lock lock(mutex);
  while (!closing.wait_for(lock, connection.times.stay_period, [&] { return is_closing; })) {
    connection.stay();
  }
}

Result<std::unique_ptr<ServerClient>> ServerClient::connect(const wire::Endpoint& endpoint,
                                                            std::chrono::milliseconds time_max,
                                                            const LivenessTimes& times,
                                                            const std::string& key) {
  auto implementation = std::make_unique<Implementation>(endpoint, times);
  TRY(implementation->connection.open(endpoint, time_max, key));
  implementation->keeper =
      TRY(start_thread("the server's connection", [self = implementation.get()] { self->keep(); }));
  return std::unique_ptr<ServerClient>(new ServerClient(std::move(implementation)));
}

ServerClient::ServerClient(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
ServerClient::~ServerClient() = default;

std::uint64_t ServerClient::send(wire::RequestBody body) {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->connection.send(std::move(body));
}

std::size_t ServerClient::unsent_count() const {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->connection.outgoing.size();
}

Result<std::optional<wire::ServerFrame>> ServerClient::receive(std::chrono::nanoseconds time_max) {
  const std::lock_guard lock(implementation_->mutex);
  ClientConnection& self = implementation_->connection;
  self.read_next();
  self.tell();
  run_until(
      implementation_->io, [&] { return self.frame || self.error; },
      std::chrono::steady_clock::now() + time_max);
  if (!self.frame && self.error) return self.error->copy();
  return std::exchange(self.frame, std::nullopt);
}

Result<wire::ReplyBody> ServerClient::ask(wire::RequestBody body,
                                          std::chrono::milliseconds time_max) {
  const std::uint64_t id = send(std::move(body));
  std::optional<wire::ServerFrame> frame = TRY(receive(time_max));
  if (!frame) {
    return implementation_->connection.lost("no reply in " + std::to_string(time_max.count()) +
                                            " ms");
  }
  auto* reply = std::get_if<wire::Reply>(&*frame);
  if (reply == nullptr || reply->id != id) {
    return implementation_->connection.lost("a reply was expected and something else came");
  }
  return std::move(reply->body);
}

// ---- Many.

struct ServerClients::Implementation {
  asio::io_context io{1};
  std::vector<std::unique_ptr<ClientConnection>> connections;
  std::deque<std::size_t> changed;  // Each at most once: it reads no more until it was taken.
};

Result<std::unique_ptr<ServerClients>> ServerClients::connect(const wire::Endpoint& endpoint,
                                                              std::size_t count,
                                                              std::chrono::milliseconds time_max) {
  auto implementation = std::make_unique<Implementation>();
  for (std::size_t index = 0; index < count; ++index) {
    auto connection = std::make_unique<ClientConnection>(
        implementation->io, endpoint, LivenessTimes{},
        [self = implementation.get(), index] { self->changed.push_back(index); });
    TRY(connection->open(endpoint, time_max, ""));
    connection->read_next();
    implementation->connections.push_back(std::move(connection));
  }
  return std::unique_ptr<ServerClients>(new ServerClients(std::move(implementation)));
}

ServerClients::ServerClients(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
ServerClients::~ServerClients() = default;

std::uint64_t ServerClients::send(std::size_t client, wire::RequestBody body) {
  return implementation_->connections[client]->send(std::move(body));
}

Result<std::optional<ServerClients::Received>> ServerClients::receive(
    std::chrono::nanoseconds time_max) {
  Implementation& self = *implementation_;
  run_until(
      self.io, [&] { return !self.changed.empty(); }, std::chrono::steady_clock::now() + time_max);
  if (self.changed.empty()) return std::optional<Received>();
  const std::size_t client = self.changed.front();
  self.changed.pop_front();
  ClientConnection& connection = *self.connections[client];
  if (!connection.frame) return connection.error->copy();
  Received received{client, std::move(*connection.frame), connection.frame_at};
  connection.frame.reset();
  connection.read_next();
  return std::optional(std::move(received));
}

}  // namespace quire::client
