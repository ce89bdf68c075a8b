// parent: launches the program that its first argument names with the arguments behind it, and says
// what it says and how it ended.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<Result<void>> program(std::vector<std::string> command_line) {
  ChildOptions options;
  options.program = command_line.empty() ? "" : command_line.front();
  if (!command_line.empty()) command_line.erase(command_line.begin());
  options.arguments = std::move(command_line);
  const Child child = CO_TRY(Child::launch(options));
  for (;;) {
    const Result<std::string> message = co_await child.receive();
    if (!message.ok()) break;
    CO_TRY(session::send("child: " + message.value()));
  }
  const ChildEnd end = CO_TRY(co_await child.wait());
  CO_TRY(session::send("ended with " + std::to_string(end.exit_code) + "\n"));
  co_return {};
}

}  // namespace

QUIRE_MAIN(program)
