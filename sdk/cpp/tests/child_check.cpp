// A program for inferlets_test.cc: it launches itself, speaks with its children, over messages of
// the tenant too, and sees what it may use. It sends one line for each thing seen.
#include "quire/quire.h"

namespace {

using namespace quire;

Result<void> say(const std::string& what, bool holds) {
  return session::send(what + (holds ? ": yes\n" : ": no\n"));
}

// The child: says what it was asked, with how many pages it may have; then does what its message
// says.
Task<> child(std::string order) {
  co_await session::send("child " + order);
  const std::string message = co_await session::receive();
  if (message == "trap") __builtin_trap();
  if (message == "work") {
    const std::string job = co_await messaging::pull("work");
    co_await messaging::broadcast("done", job + " by " + order);
  }
  co_await runtime::set_result("result of " + order);
}

Task<> parent() {
  messaging::Subscription done = co_await messaging::subscribe("done");
  Child one = co_await Child::launch({.arguments = {"one"}, .share_percent = 30});
  Child two = co_await Child::launch({.arguments = {"two"}, .share_percent = 30});
  Child three = co_await Child::launch({.arguments = {"three"}, .share_percent = 30});
  co_await say("the first speaks", co_await one.receive() == "child one");
  co_await say("the second speaks", co_await two.receive() == "child two");
  co_await messaging::push("work", "a job");
  co_await one.send("work");
  co_await two.send("trap");
  co_await say("the job is done", co_await done.next() == "a job by one");
  const ChildEnd first = co_await one.wait();
  co_await say("the first finished",
               first.kind == ChildEndKind::Finished && first.result == "result of one");
  const ChildEnd second = co_await two.wait();
  co_await say("the second trapped",
               second.kind == ChildEndKind::Trapped && !second.message.empty());
  co_await three.kill();
  const ChildEnd third = co_await three.wait();
  co_await say("the third was killed", third.kind == ChildEndKind::Killed);
  const Result<Child> unknown = Child::launch({.program = "nobody"});
  co_await say("nobody is not found", !unknown.ok() && unknown.error().code == ErrorCode::NotFound);
  const std::string limits = co_await runtime::limits();
  co_await say("limits are told", limits.find("memory_bytes_max 134217728 ") != std::string::npos &&
                                      limits.find("\nchild_count_max 64 0\n") != std::string::npos);
}

// Relays the output of another program, launched by its name.
Task<> relay(std::string name) {
  Child child = co_await Child::launch({.program = name});
  co_await session::print("{} says: ", name);
  co_await child.forward(session::send);
  co_await child.wait();
}

Task<> program(std::vector<std::string> arguments) {
  if (arguments.size() == 2 && arguments[0] == "launch") co_return co_await relay(arguments[1]);
  if (!arguments.empty()) co_return co_await child(arguments[0]);
  co_return co_await parent();
}

}  // namespace

QUIRE_MAIN(program)
