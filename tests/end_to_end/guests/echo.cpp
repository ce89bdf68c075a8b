// echo: sends back each message of its client, "again N" as N lines that count, "log TEXT" as a
// line of its log; "crash" traps. It ends with "quit", or with 3 when its client has gone or ended.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<> count_to(std::uint32_t last) {
  for (std::uint32_t i = 1; i <= last; ++i) {
    const std::string line = std::to_string(i) + "\n";
    while (!session::send(line).ok()) co_await sleep(std::chrono::milliseconds(1));
  }
}

Task<> program(std::vector<std::string> command_line) {
  for (const std::string& each : command_line) co_await session::send(each + "\n");
  for (;;) {
    const Result<std::string> message = co_await attempt(session::receive());
    if (!message.ok()) {
      co_await runtime::set_result("end: " + message.error().message);
      co_return;
    }
    const std::string& text = message.value();
    if (text == "quit") co_return;
    if (text == "crash") __builtin_trap();
    if (text.starts_with("log ")) {
      runtime::log(LogLevel::Info, text.substr(4));
    } else if (text.starts_with("again ")) {
      co_await count_to(static_cast<std::uint32_t>(std::atoi(text.c_str() + 6)));
    } else {
      co_await session::send(text + "\n");
    }
  }
}

}  // namespace

QUIRE_MAIN(program)
