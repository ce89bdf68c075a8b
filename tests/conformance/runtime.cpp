// runtime: what a program is, and the programs that it launches.
#include "steps.h"

namespace quire::conformance {
namespace {

const std::string kNeighbour("\x09\0\0\0neighbour", 13);
const std::string kDeaf("\x04\0\0\0deaf", 8);

void is_itself(Harness& t) {
  char text[8192] = {};
  void* const buffer = text;
  t.check(t.ok("runtime.get-arg-count") == 1, "one argument");
  t.check(t.ok("runtime.get-arg", 0, buffer, 64) == 3 && std::string_view(text) == "one", "one");
  for (const std::uint32_t index : {1u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused("runtime.get-arg", ErrorCode::OutOfRange, index, buffer, 64);
  }
  t.check(t.ok("runtime.get-version", buffer, 64) > 4, "a version");
  t.check(t.ok("runtime.get-instance-id") >= 0, "a number");
  t.check(t.ok("runtime.get-tenant", buffer, 64) > 0, "a tenant");
  t.check(t.ok("runtime.limits", buffer, 8192) > 100, "limits");
  t.refused("runtime.misses", ErrorCode::NotSupported, buffer, 8192);  // Not asked for.
  t.check(std::strstr(text, "\nqueue_count_max 256 1\n") != nullptr, "one queue is held");
  t.check(t.ok("runtime.random", buffer, 16) == 16, "16 bytes");
  t.refused("runtime.random", ErrorCode::TooLarge, buffer, 0x7FFF'FFFF);
  t.ok("runtime.clock-now");
  t.result("runtime.sleep", std::int64_t{1'000'000});
  t.refused("runtime.sleep", ErrorCode::InvalidArgument, std::int64_t{-1});
  t.drop(t.ok("runtime.sleep", INT64_MAX));
  for (const std::uint32_t level : {0u, 1u, 2u, 3u}) t.ok("runtime.log", level, "a line");
  t.ok("runtime.log", 1, "\xFF\0\x1B[31m bytes that are no text");
  t.refused("runtime.log", ErrorCode::InvalidArgument, 4, "a line");
  t.refused("runtime.log", ErrorCode::InvalidArgument, 0xFFFF'FFFF, "a line");
  t.refused("runtime.log", ErrorCode::TooLarge, 0, std::string(kTextBytesMax + 1, 'a'));
  t.ok("runtime.set-result", "a result");
  t.refused("runtime.set-result", ErrorCode::QuotaExceeded, std::string(kTextBytesMax + 1, 'a'));
  std::memset(text, 0, sizeof text);
  t.check(t.ok("runtime.last-error", buffer, 8192) > 10 &&
              std::strstr(text, "result_bytes_max") != nullptr,
          "the last error is told");
  t.mistakes("runtime.get-arg", 0, buffer, 64);
  for (const char* call : {"runtime.get-version", "runtime.get-tenant", "runtime.limits",
                           "runtime.random", "runtime.last-error"}) {
    t.mistakes(call, buffer, 64);
  }
  t.mistakes("runtime.log", 0, "a line");
  t.edges("runtime.log", 0, "a line");
  t.mistakes("runtime.set-result", "a result");
  t.edges("runtime.set-result", "a result");
}

void launches(Harness& t) {
  const char* launch = "runtime.launch";
  const std::int32_t child = t.ok(launch, "", kNeighbour, 50);
  t.check(t.result("runtime.receive-child", child).size() == 28, "it speaks");
  const std::int32_t end = t.ok("runtime.wait-child", child);
  t.ok("runtime.send-child", child, "go");
  t.check(number_at<std::uint32_t>(t.take("runtime.wait-child", end), 0) == 0, "it finished");
  t.refused("runtime.send-child", ErrorCode::NotFound, child, "go");
  t.refused("runtime.receive-child", ErrorCode::Unavailable, child);
  t.ok("runtime.kill-child", child);
  t.result("runtime.wait-child", child);
  t.drop(child);
  const std::int32_t killed = t.ok(launch, "", kDeaf, 50);
  t.check(t.refused_after(100'000, "runtime.send-child", ErrorCode::QuotaExceeded, killed, ""),
          "inboxes have no bound");
  t.ok("runtime.kill-child", killed);
  t.check(number_at<std::uint32_t>(t.result("runtime.wait-child", killed), 0) == 3,
          "it was killed");

  t.refused(launch, ErrorCode::NotFound, "nobody", "", 50);
  for (const std::uint32_t share : {101u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused(launch, ErrorCode::InvalidArgument, "", kNeighbour, share);
  }
  for (const char* arguments : {"a", "\x01", "\xFF\xFF\xFF\xFF", "\xFF\xFF\xFF\x7Fneighbour"}) {
    t.refused(launch, ErrorCode::InvalidArgument, "", arguments, 50);
  }
  t.refused(launch, ErrorCode::TooLarge, "", std::string(kTextBytesMax + 1, '\0'), 50);
  t.refused(launch, ErrorCode::TooLarge, "", std::string(4 * 4097, '\0'), 50);
  for (const std::string& name : names_that_are_none()) {
    if (name.empty()) continue;
    t.refused(launch, ErrorCode::InvalidArgument, name, kNeighbour, 50);
  }
  t.refused("runtime.send-child", ErrorCode::TooLarge, killed, std::string(kTextBytesMax + 1, 'a'));
  t.mistakes(launch, "nobody", kNeighbour, 50);
  t.mistakes("runtime.wait-child", killed);
  t.mistakes("runtime.kill-child", killed);
  t.mistakes("runtime.send-child", killed, "go");
  t.mistakes("runtime.receive-child", killed);
  t.drop(killed);

  const std::int32_t waiting = t.ok(launch, "", kNeighbour, 0);  // It draws on what is left.
  t.ok("runtime.kill-child", waiting);
  t.check(number_at<std::uint32_t>(t.result("runtime.wait-child", waiting), 0) == 3,
          "it was killed");
  t.drop(waiting);

  // Each gets a share of what is left, until that is nothing.
  Handles all;
  for (int i = 0; i < 100; ++i) {
    const std::int32_t each = abi::runtime::launch(
        nullptr, 0, reinterpret_cast<const std::uint8_t*>(kNeighbour.data()), 13, 90);
    if (each < 0) break;
    all.push_back(each);
  }
  t.check(all.size() < 100, "children have no bound");
  t.refused(launch, ErrorCode::QuotaExceeded, "", kNeighbour, 90);
  give_back(t, all);
}

void program(Harness& t) {
  is_itself(t);
  launches(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
