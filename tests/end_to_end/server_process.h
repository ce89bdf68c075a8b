#pragma once
// `quire serve` as a process of its own, for as long as the test lasts. It has no endpoints, which
// would be programs that the tests do not ask for; tests/endpoints has those.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "end_to_end/support.h"

namespace quire::test {

class ServerProcess {
 public:
  // On a free port; returns when the line with the address was printed, or the process has ended.
  explicit ServerProcess(std::vector<std::string> arguments,
                         const decltype(ProcessOptions::environment)& environment = {}) {
    arguments.insert(arguments.begin(), {QUIRE_BINARY_DIR "/quire", "serve", "--no-endpoints",
                                         "--listen", "127.0.0.1:0"});
    ProcessOptions options;
    options.environment = environment;
    options.environment.emplace_back("QUIRE_NO_STORE", "1");
    options.environment.emplace_back("QUIRE_CONFIG", "/dev/null");  // Not the user's.
    detail::Pipe in;
    process_ = fork();
    if (process_ == 0) detail::become(arguments, options, in, out_, err_);
    out_.close_write();
    err_.close_write();
    while (read_more() && out.find('\n') == std::string::npos) {
    }
    const std::size_t begin = out.find("ws://");
    if (begin != std::string::npos)
      url_ = out.substr(begin, out.find_first_of(" \n", begin) - begin);
  }
  ~ServerProcess() {
    if (process_ > 0) stop(SIGKILL);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& url() const { return url_; }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoul(url_.substr(url_.rfind(':') + 1)));
  }

  void send_signal(int signal) const { kill(process_, signal); }
  // The exit code, or 128 + the signal that ended it, once all it wrote is in `out` and `err`.
  int stop(int signal) {
    send_signal(signal);
    while (read_more()) {
    }
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string out;
  std::string err;

 private:
  // False once both pipes are closed, or nothing came for two minutes.
  bool read_more() {
    if (out_.read_end < 0 && err_.read_end < 0) return false;
    pollfd polled[] = {{out_.read_end, POLLIN, 0}, {err_.read_end, POLLIN, 0}};
    if (poll(polled, 2, 120'000) <= 0) return false;
    for (int i = 0; i < 2; ++i) {
      detail::Pipe& pipe = i == 0 ? out_ : err_;
      if (polled[i].revents == 0) continue;
      char part[65536];
      const ssize_t count = read(pipe.read_end, part, sizeof part);
      if (count <= 0) {
        pipe.close_read();
      } else {
        (i == 0 ? out : err).append(part, static_cast<std::size_t>(count));
      }
    }
    return true;
  }

  detail::Pipe out_;
  detail::Pipe err_;
  pid_t process_ = -1;
  std::string url_;
};

}  // namespace quire::test
