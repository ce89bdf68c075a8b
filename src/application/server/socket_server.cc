#include "application/server/socket_server.h"

#include <fcntl.h>

#include <utility>  // Before Asio.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_map>
#include <vector>

#include "application/server/http_session.h"
#include "application/server/refused_keys.h"
#include "base/check.h"
#include "base/random.h"
#include "base/start_thread.h"
#include "base/thread_schedule.h"

namespace quire::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};  // After an error such as too many files.
constexpr std::chrono::milliseconds kCloseTimeMax{1'000};
constexpr std::chrono::milliseconds kExpiryPeriod{1'000};  // Between looks for keys that ended.
constexpr std::size_t kRequestIdBytes = 12;                // Random ones.
constexpr std::size_t kNetworkBytes = 8;  // Of an address of IPv6: what its owner has whole.

ClientAddress client_address(const Socket& socket) {
  ErrorCodeOf error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  ClientAddress address{};
  if (error) return address;  // It is gone already, and the session will find that.
  const bool is_ipv4 = peer.address().is_v4() || peer.address().to_v6().is_v4_mapped();
  const asio::ip::address_v6 whole =
      peer.address().is_v4()
          ? asio::ip::make_address_v6(asio::ip::v4_mapped, peer.address().to_v4())
          : peer.address().to_v6();
  const auto bytes = whole.to_bytes();
  std::copy_n(bytes.begin(), is_ipv4 ? address.size() : kNetworkBytes, address.begin());
  return address;
}

// "10.0.0.7", also if it comes as ::ffff:10.0.0.7.
std::string address_text(const Socket& socket) {
  ErrorCodeOf error;
  const asio::ip::address address = socket.remote_endpoint(error).address();
  if (error) return "unknown";
  const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return is_mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
                   : address.to_string();
}

struct RefusalWords {
  const char* name;
  const char* text;
};
RefusalWords words_of(KeyRefusal why) {
  switch (why) {
    case KeyRefusal::Unknown:
      return {"unknown", "the server does not know it"};
    case KeyRefusal::Expired:
      return {"expired", "it has expired"};
    case KeyRefusal::Unclear:
      break;
  }
  return {"unclear", "the request has two that differ, one twice, or one in another scheme"};
}

}  // namespace

class SocketServer::Implementation final : public SessionHost {
 public:
  Implementation(const SocketLimits& limits_given, Link& to, TellOperator tell)
      : SessionHost(limits_given, to),
        tell_(std::move(tell)),
        work_(io_.get_executor()),
        acceptor_(io_),
        accept_timer_(io_),
        close_timer_(io_),
        expiry_timer_(io_) {}

  Result<void> listen(const Endpoint& wanted, HttpRoutes routes, Descriptor listener);
  Result<Descriptor> listener();
  Result<void> start();
  void stop();
  void keys_changed();
  void replace_certificate(std::unique_ptr<TlsContext> tls);
  const Endpoint& endpoint() const { return endpoint_; }

  void send(Inbound inbound) override;
  void pause(const SessionHandle& session) override { paused_.push_back(session); }
  void upgraded(const SessionHandle& next) override {
    const ConnectionId id = next->connection()->id;
    connections->upgraded(id);
    sessions_.at(id) = next;
  }
  void key_refused(const RefusedKey& key, const Socket& socket) override;
  void closed(const Session& session) override;
  std::string new_request_id() override;

 private:
  void accept();
  void accepted(Socket socket);
  void take_frames();
  void take(Outbound& outbound);
  void stop_accepting();
  void close_all();
  void report_connections();
  void revoke_keys();
  void watch_ends();

  const TellOperator tell_;
  Endpoint endpoint_;
  asio::io_context io_{1};  // Before all that works on it: it may hold the last of a session.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::basic_socket_acceptor<tcp, asio::io_context::executor_type> acceptor_;
  asio::steady_timer accept_timer_;
  asio::steady_timer close_timer_;
  asio::steady_timer expiry_timer_;  // If keys have ends.
  SystemRandom random_;
  std::unordered_map<ConnectionId, SessionHandle> sessions_;  // Until they are closed.
  std::uint64_t next_id_ = 1;
  std::deque<std::weak_ptr<Session>> paused_;
  RefusedKeys refused_keys_;
  bool is_closing_ = false;
  bool has_told_accept_error_ = false;
  std::atomic<bool> is_woken_{false};
  std::thread thread_;
};

Result<void> SocketServer::Implementation::listen(const Endpoint& wanted, HttpRoutes routes,
                                                  Descriptor listener) {
  const std::string where = wire::host_and_port(wanted);
  const auto failed = [&](const ErrorCodeOf& error) {
    const char* hint = error == asio::error::address_in_use ? "; choose another port" : "";
    return Error(ErrorCode::Io, "cannot listen on " + where + ": " + error.message() + hint);
  };
  ErrorCodeOf error;
  // Names of other machines' addresses are not looked up: an operator gives the address.
  const bool is_name = wanted.host == "localhost";
  const auto address = asio::ip::make_address(is_name ? "127.0.0.1" : wanted.host, error);
  if (error) return failed(error);
  const tcp::endpoint at(address, wanted.port);
  if (listener.get() >= 0) {
    acceptor_.assign(at.protocol(), listener.get(), error);
    if (!error) listener.release();
  } else {
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }
  if (!error) {
    endpoint_ = {wanted.host, acceptor_.local_endpoint(error).port()};
  }
  if (error) return failed(error);
  keys = routes.access.keys;
  connections.emplace(
      ConnectionRules{limits.connection_count_max, limits.reserve_count_max, keys != nullptr});
  if (routes.tls != nullptr) tls = &routes.tls->context();
  router.emplace(endpoint_, std::move(routes.endpoints), std::move(routes.allowed_origins),
                 std::move(routes.access));
  return {};
}

Result<Descriptor> SocketServer::Implementation::listener() {
  const int number = fcntl(acceptor_.native_handle(), F_DUPFD_CLOEXEC, 0);
  if (number < 0) return Error(ErrorCode::Io, std::string("fcntl: ") + std::strerror(errno));
  return Descriptor(number);
}

Result<void> SocketServer::Implementation::start() {
  link.wake_io = [this] {
    if (is_woken_.exchange(true)) return;
    asio::post(io_, [this] { take_frames(); });
  };
  accept();
  watch_ends();
  thread_ = TRY(start_thread("connections", [this] {
    shorten_turns();  // Between a token and its reader there is no step of the device.
    io_.run();
  }));
  return {};
}

void SocketServer::Implementation::stop() {
  asio::post(io_, [this] { close_all(); });
  thread_.join();
}

void SocketServer::Implementation::keys_changed() {
  asio::post(io_, [this] {
    revoke_keys();
    if (!is_closing_) watch_ends();
  });
}

void SocketServer::Implementation::revoke_keys() {
  const access::KeyRingHandle ring = keys->ring();
  std::vector<std::pair<SessionHandle, KeyGone>> gone;
  for (const auto& [id, session] : sessions_) {
    const service::PrincipalHandle& caller = session->connection()->caller;
    if (caller == nullptr) continue;
    if (!ring->holds(*caller)) {
      gone.emplace_back(session, KeyGone::Revoked);
    } else if (keys->has_expired(*caller)) {
      gone.emplace_back(session, KeyGone::Expired);
    }
  }
  for (const auto& [session, how] : gone) session->revoke(how);
}

// A WebSocket that sends nothing would hear its programs for as long as it likes.
void SocketServer::Implementation::watch_ends() {
  if (keys == nullptr || !keys->ring()->has_ends()) return;
  expiry_timer_.expires_after(kExpiryPeriod);
  expiry_timer_.async_wait([this](ErrorCodeOf cancelled) {
    if (cancelled || is_closing_) return;
    revoke_keys();
    watch_ends();
  });
}

void SocketServer::Implementation::replace_certificate(std::unique_ptr<TlsContext> tls_now) {
  // Open connections hold what they began with.
  asio::post(io_, [this, tls_now = std::move(tls_now)] { *tls = std::move(tls_now->context()); });
}

void SocketServer::Implementation::close_all() {
  take_frames();
  is_shutting_down = true;
  is_closing_ = true;
  stop_accepting();
  expiry_timer_.cancel();
  work_.reset();
  std::vector<SessionHandle> sessions;
  for (const auto& [id, session] : sessions_) sessions.push_back(session);
  for (const SessionHandle& each : sessions) {
    each->close_after_writes();
  }
  if (sessions_.empty()) return;
  close_timer_.expires_after(kCloseTimeMax);
  close_timer_.async_wait([this](ErrorCodeOf error) {
    if (!error) io_.stop();
  });
}

// The server accepts connections until its end, because a request for its health still gets an
// answer. The router refuses the rest.
void SocketServer::Implementation::stop_accepting() {
  ErrorCodeOf ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
}

void SocketServer::Implementation::accept() {
  acceptor_.async_accept([this](ErrorCodeOf error, Socket socket) {
    if (is_closing_) return;
    if (!error) {
      accepted(std::move(socket));
      accept();
      return;
    }
    // Most likely too many files are open. Clients that wait are accepted once some were closed.
    if (!std::exchange(has_told_accept_error_, true)) {
      tell_({"accept_failed",
             Severity::Error,
             "connections cannot be accepted: " + error.message(),
             {{"error", error.message()}}});
    }
    accept_timer_.expires_after(kAcceptPause);
    accept_timer_.async_wait([this](ErrorCodeOf cancelled) {
      if (!cancelled && !is_closing_) accept();
    });
  });
}

void SocketServer::Implementation::accepted(Socket socket) {
  const ConnectionId id{next_id_++};
  const ConnectionTable::Arrival arrival = connections->arrive(id, client_address(socket));
  if (arrival.closed) {
    const SessionHandle closed = sessions_.at(*arrival.closed);
    closed->finish();
  }
  report_connections();
  if (arrival.place == ConnectionTable::Place::None) return;  // Closed without a word.
  ErrorCodeOf ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const SessionHandle session = make_http_session(*this, std::move(socket), id,
                                                  arrival.place == ConnectionTable::Place::Reserve);
  sessions_.emplace(id, session);
  session->start();
}

void SocketServer::Implementation::report_connections() {
  link.connection_count.store(connections->count(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < kShedReasonCount; ++i) {
    link.shed_counts[i].store(connections->shed_counts()[i], std::memory_order_relaxed);
  }
}

void SocketServer::Implementation::key_refused(const RefusedKey& key, const Socket& socket) {
  const auto held_back = refused_keys_.take(client_address(socket), link.clock->now_ns());
  if (!held_back) return;
  const RefusalWords words = words_of(key.why);
  const std::string address = address_text(socket);
  std::string text = (key.key_name.empty() ? "a key" : "the key " + key.key_name) + " from " +
                     address + " was refused: " + words.text;
  LogFields fields = {{"address", address}, {"reason", words.name}};
  add_key_name(fields, key.key_name);
  if (*held_back > 0) {
    text += " (refusals since the last such line: " + std::to_string(*held_back) + ")";
    fields.emplace_back("held_back", *held_back);
  }
  tell_({"key_refused", Severity::Warning, std::move(text), std::move(fields)});
}

void SocketServer::Implementation::closed(const Session& session) {
  const ConnectionHandle connection = session.connection();
  connections->gone(connection->id, session.is_known_to_engine());
  report_connections();
  if (session.is_known_to_engine()) send({connection, Gone{}, 0});
  sessions_.erase(connection->id);
  if (is_closing_ && sessions_.empty()) close_timer_.cancel();
}

std::string SocketServer::Implementation::new_request_id() {
  std::array<std::byte, kRequestIdBytes> bytes{};
  random_.fill(bytes);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = "req_";
  for (const std::byte each : bytes) {
    id += kDigits[std::to_integer<unsigned>(each) >> 4];
    id += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return id;
}

void SocketServer::Implementation::send(Inbound inbound) {
  if (!std::holds_alternative<Gone>(inbound.body)) {
    Connection& connection = *inbound.connection;
    if (connection.pending_count++ == 0) connection.pending_tenant = connection.tenant;
    pending_counts.take(connection.pending_tenant, 1);
    pending_bytes.take(connection.pending_tenant, inbound.bytes);
  }
  QUIRE_CHECK(link.requests.try_push(std::move(inbound)), "link.h: who pushes has a slot");
  link.engine_wakeup.notify();
}

void SocketServer::Implementation::take_frames() {
  is_woken_.store(false);
  share_among_tenants();
  while (std::optional<Outbound> outbound = link.frames.try_pop()) take(*outbound);
  for (const std::weak_ptr<Session>& each : std::exchange(paused_, {})) {
    if (const SessionHandle session = each.lock()) session->resume();
  }
}

void SocketServer::Implementation::take(Outbound& outbound) {
  if (auto* broadcast = std::get_if<Broadcast>(&outbound.body)) {
    for (const auto& [id, session] : sessions_) {
      if (session->is_open()) session->write(broadcast->frame, 0);
    }
    return;
  }
  if (std::holds_alternative<Drain>(outbound.body)) {
    is_shutting_down = true;
    return;
  }
  if (std::holds_alternative<Forget>(outbound.body)) {
    connections->forgotten(outbound.connection->id);
    report_connections();
    return;
  }
  const auto found = sessions_.find(outbound.connection->id);
  Session* session = found == sessions_.end() ? nullptr : found->second.get();
  if (outbound.request_bytes) {
    Connection& connection = *outbound.connection;
    connection.pending_count -= 1;
    pending_counts.give(connection.pending_tenant, 1);
    pending_bytes.give(connection.pending_tenant, *outbound.request_bytes);
    if (session != nullptr) session->answered(*outbound.request_bytes);
  }
  auto* frame = std::get_if<wire::ServerFrame>(&outbound.body);
  if (frame != nullptr && session != nullptr) session->write(std::move(*frame), outbound.charge);
  auto* http = std::get_if<HttpFrame>(&outbound.body);
  if (http != nullptr && session != nullptr) session->write(std::move(*http), outbound.charge);
}

Result<std::unique_ptr<SocketServer>> SocketServer::open(const Endpoint& endpoint,
                                                         HttpRoutes routes,
                                                         const SocketLimits& limits, Link& link,
                                                         TellOperator tell, Descriptor listener) {
  auto implementation = std::make_unique<Implementation>(limits, link, std::move(tell));
  TRY(implementation->listen(endpoint, std::move(routes), std::move(listener)));
  TRY(implementation->start());
  return std::unique_ptr<SocketServer>(new SocketServer(std::move(implementation)));
}

SocketServer::SocketServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

void SocketServer::keys_changed() {
  implementation_->keys_changed();
}

void SocketServer::replace_certificate(std::unique_ptr<TlsContext> tls) {
  implementation_->replace_certificate(std::move(tls));
}

SocketServer::~SocketServer() {
  implementation_->stop();
}

Result<Descriptor> SocketServer::listener() const {
  return implementation_->listener();
}

const Endpoint& SocketServer::endpoint() const {
  return implementation_->endpoint();
}

}  // namespace quire::server
