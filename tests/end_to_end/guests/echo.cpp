// echo: sends back each message of its client, "again N" as N lines that count, "log TEXT" as a
// line of its log; "crash" traps. It ends with "quit", or with 3 when its client has gone or ended.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<Result<void>> count_to(std::uint32_t last) {
  for (std::uint32_t i = 1; i <= last; ++i) {
    const std::string line = std::to_string(i) + "\n";
    while (!session::send(line).ok()) CO_TRY(co_await sleep(std::chrono::milliseconds(1)));
  }
  co_return {};
}

Task<Result<void>> program(std::vector<std::string> command_line) {
  for (const std::string& each : command_line) CO_TRY(session::send(each + "\n"));
  for (;;) {
    const Result<std::string> message = co_await session::receive();
    if (!message.ok()) {
      CO_TRY(runtime::set_result("end: " + message.error().message));
      co_return {};
    }
    const std::string& text = message.value();
    if (text == "quit") co_return {};
    if (text == "crash") __builtin_trap();
    if (text.starts_with("log ")) {
      runtime::log(LogLevel::Info, text.substr(4));
    } else if (text.starts_with("again ")) {
      CO_TRY(co_await count_to(static_cast<std::uint32_t>(std::atoi(text.c_str() + 6))));
    } else {
      CO_TRY(session::send(text + "\n"));
    }
  }
}

}  // namespace

QUIRE_MAIN(program)
