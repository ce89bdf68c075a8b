// parent: launches the program that its first argument names with the further arguments. It relays
// the output, and reports how the program ended.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<> program(std::vector<std::string> command_line) {
  ChildOptions options;
  options.program = command_line.empty() ? "" : command_line.front();
  if (!command_line.empty()) command_line.erase(command_line.begin());
  options.arguments = std::move(command_line);
  const Child child = co_await Child::launch(options);
  for (;;) {
    const Result<std::string> message = co_await attempt(child.receive());
    if (!message.ok()) break;
    co_await session::send("child: " + message.value());
  }
  const ChildEnd end = co_await child.wait();
  co_await session::send("ended with " + std::to_string(end.exit_code) + "\n");
}

}  // namespace

QUIRE_MAIN(program)
