#pragma once
// HttpServer answers HTTP on a loopback address and an ephemeral port, as badly as a test wants:
// the handler of a connection writes the bytes itself. Each connection has a thread; all of them
// end with the server.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace quire::test {

class HttpConnection {
 public:
  HttpConnection(int socket, const std::atomic<bool>& stopping)
      : socket_(socket), stopping_(stopping) {}
  ~HttpConnection() { close(socket_); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  int socket() const { return socket_; }

  // Up to the empty line; false when the client left first.
  bool read_head() {
    while (head.find("\r\n\r\n") == std::string::npos) {
      if (!receive(head)) return false;
    }
    const std::size_t end = head.find("\r\n\r\n") + 4;
    rest_ = head.substr(end);
    head.resize(end);
    return true;
  }
  // The body after the head, by its length or its chunks.
  bool read_body() {
    const std::string length = header("content-length");
    if (!length.empty()) return read_bytes(std::stoul(length));
    if (header("transfer-encoding") != "chunked") return true;
    for (;;) {
      while (rest_.find("\r\n") == std::string::npos) {
        if (!receive(rest_)) return false;
      }
      const std::size_t count = std::stoul(rest_, nullptr, 16);
      rest_.erase(0, rest_.find("\r\n") + 2);
      if (!read_bytes(count)) return false;
      while (rest_.size() < 2) {
        if (!receive(rest_)) return false;
      }
      rest_.erase(0, 2);
      if (count == 0) return true;
    }
  }
  bool read_request() { return read_head() && read_body(); }

  // "GET", "/path?query", and a header's value, its name in lower case.
  std::string method() const { return head.substr(0, head.find(' ')); }
  std::string target() const {
    const std::size_t begin = head.find(' ') + 1;
    return head.substr(begin, head.find(' ', begin) - begin);
  }
  std::string header(std::string_view name) const {
    for (std::size_t at = head.find("\r\n"); at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
      const std::size_t colon = head.find(':', at);
      if (colon == std::string::npos) break;
      std::string found = head.substr(at + 2, colon - at - 2);
      for (char& each : found) each = static_cast<char>(std::tolower(each));
      if (found != name) continue;
      const std::size_t begin = head.find_first_not_of(' ', colon + 1);
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
    return "";
  }

  // False when the client has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool respond(std::string_view status, std::string_view headers, std::string_view content) {
    std::string out = "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(headers);
    out += "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n";
    if (method() != "HEAD") out += content;
    return send(out);
  }
  // Closes with RST instead of FIN.
  void reset() {
    const linger now{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  // Until the client leaves or the server ends; false then.
  bool wait_ms(int milliseconds) {
    for (int waited = 0; waited < milliseconds; waited += 10) {
      if (stopping_) return false;
      pollfd polled{socket_, POLLRDHUP, 0};
      if (poll(&polled, 1, 10) > 0) return false;
    }
    return true;
  }
  void wait_for_end() {
    while (wait_ms(1000)) {
    }
  }

  std::string head;
  std::string body;

 private:
  bool receive(std::string& into) {
    char part[16384];
    const ssize_t count = recv(socket_, part, sizeof part, 0);
    if (count <= 0) return false;
    into.append(part, static_cast<std::size_t>(count));
    return true;
  }
  bool read_bytes(std::size_t count) {
    while (rest_.size() < count) {
      if (!receive(rest_)) return false;
    }
    body += rest_.substr(0, count);
    rest_.erase(0, count);
    return true;
  }

  const int socket_;
  const std::atomic<bool>& stopping_;
  std::string rest_;  // Received, not yet taken.
};

class HttpServer {
 public:
  using Handler = std::function<void(HttpConnection&)>;

  // "::" takes what comes for any local address of either family. Port 0: any that is free.
  explicit HttpServer(Handler handler, const std::string& address = "127.0.0.1",
                      std::uint16_t port = 0)
      : handler_(std::move(handler)) {
    if (address.find(':') == std::string::npos) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      inet_pton(AF_INET, address.c_str(), &to.sin_addr);
      listen_at(AF_INET, to);
      port_ = ntohs(to.sin_port);
    } else {
      sockaddr_in6 to{};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      inet_pton(AF_INET6, address.c_str(), &to.sin6_addr);
      listen_at(AF_INET6, to);
      port_ = ntohs(to.sin6_port);
    }
    if (is_open()) acceptor_ = std::thread([this] { accept_all(); });
  }
  ~HttpServer() {
    stopping_ = true;
    if (listener_ >= 0) shutdown(listener_, SHUT_RDWR);
    if (acceptor_.joinable()) acceptor_.join();
    {
      std::unique_lock lock(mutex_);
      for (const int each : sockets_) shutdown(each, SHUT_RDWR);
      changed_.wait(lock, [this] { return sockets_.empty(); });
    }
    if (listener_ >= 0) close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  bool is_open() const { return listener_ >= 0 && port_ != 0; }
  std::uint16_t port() const { return port_; }
  std::string text_of_port() const { return std::to_string(port_); }
  std::uint64_t connection_count() const { return connection_count_; }

 private:
  template <typename Address>
  void listen_at(int family, Address& to) {
    listener_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) return;
    const int off = 0;
    if (family == AF_INET6) setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    socklen_t bytes = sizeof to;
    auto* generic = reinterpret_cast<sockaddr*>(&to);
    if (bind(listener_, generic, bytes) != 0 || listen(listener_, 512) != 0 ||
        getsockname(listener_, generic, &bytes) != 0) {
      close(std::exchange(listener_, -1));
    }
  }
  void accept_all() {
    while (!stopping_) {
      const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) continue;
      ++connection_count_;
      std::lock_guard lock(mutex_);
      const auto at = sockets_.insert(sockets_.end(), accepted);
      std::thread([this, accepted, at] {
        HttpConnection connection(accepted, stopping_);
        handler_(connection);
        // Under the lock to the end: then the server may go.
        std::lock_guard again(mutex_);
        sockets_.erase(at);
        changed_.notify_all();
      }).detach();
    }
  }

  const Handler handler_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> connection_count_{0};
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<int> sockets_;  // Of connections that are served now.
  std::thread acceptor_;
};

}  // namespace quire::test
