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
Task<Result<void>> child(std::string order) {
  CO_TRY(session::send("child " + order));
  const std::string message = CO_TRY(co_await session::receive());
  if (message == "trap") __builtin_trap();
  if (message == "work") {
    const std::string job = CO_TRY(co_await messaging::pull("work"));
    CO_TRY(messaging::broadcast("done", job + " by " + order));
  }
  CO_TRY(runtime::set_result("result of " + order));
  co_return {};
}

Task<Result<void>> parent() {
  messaging::Subscription done = CO_TRY(messaging::subscribe("done"));
  Child one = CO_TRY(Child::launch({.arguments = {"one"}, .share_percent = 30}));
  Child two = CO_TRY(Child::launch({.arguments = {"two"}, .share_percent = 30}));
  Child three = CO_TRY(Child::launch({.arguments = {"three"}, .share_percent = 30}));
  CO_TRY(say("the first speaks", CO_TRY(co_await one.receive()) == "child one"));
  CO_TRY(say("the second speaks", CO_TRY(co_await two.receive()) == "child two"));
  CO_TRY(messaging::push("work", "a job"));
  CO_TRY(one.send("work"));
  CO_TRY(two.send("trap"));
  CO_TRY(say("the job is done", CO_TRY(co_await done.next()) == "a job by one"));
  const ChildEnd first = CO_TRY(co_await one.wait());
  CO_TRY(say("the first finished",
             first.kind == ChildEndKind::Finished && first.result == "result of one"));
  const ChildEnd second = CO_TRY(co_await two.wait());
  CO_TRY(
      say("the second trapped", second.kind == ChildEndKind::Trapped && !second.message.empty()));
  CO_TRY(three.kill());
  const ChildEnd third = CO_TRY(co_await three.wait());
  CO_TRY(say("the third was killed", third.kind == ChildEndKind::Killed));
  const Result<Child> unknown = Child::launch({.program = "nobody"});
  CO_TRY(say("nobody is not found", !unknown.ok() && unknown.error().code == ErrorCode::NotFound));
  const std::string limits = CO_TRY(runtime::limits());
  CO_TRY(say("limits are told", limits.find("memory_bytes_max 134217728 ") != std::string::npos &&
                                    limits.find("\nchild_count_max 64 0\n") != std::string::npos));
  co_return {};
}

// What another program says, launched by its name.
Task<Result<void>> relay(std::string name) {
  Child child = CO_TRY(Child::launch({.program = name}));
  CO_TRY(session::send(name + " says: " + CO_TRY(co_await child.receive())));
  CO_TRY(co_await child.wait());
  co_return {};
}

Task<Result<void>> program(std::vector<std::string> arguments) {
  if (arguments.size() == 2 && arguments[0] == "launch") co_return co_await relay(arguments[1]);
  if (!arguments.empty()) co_return co_await child(arguments[0]);
  co_return co_await parent();
}

}  // namespace

QUIRE_MAIN(program)
