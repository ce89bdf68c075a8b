// session: messages and files between a program and its client. The client sends one line and one
// file ("client"); where the client is a program ("child"), there are no files.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint64_t kFileBytesMax = 64u << 20;
constexpr std::uint32_t kFileCountMax = 64;
constexpr std::uint32_t kPartBytesMax = 1u << 20;
constexpr std::uint32_t kPartBytes = 1u << 16;
const char* const kType = "text/plain";

void messages(Harness& t) {
  t.check(t.result("session.receive") == "a line", "the client's line comes");
  t.refused("session.receive", ErrorCode::Unavailable);
  t.ok("session.send", "");
  t.refused("session.send", ErrorCode::TooLarge, std::string(kTextBytesMax + 1, 'a'));
  t.mistakes("session.send", "");
  t.check(t.refused_after(1'000'000, "session.send", ErrorCode::QuotaExceeded, ""),
          "what the client has not taken is bounded");
  t.ok_in_time("session.send", "");
}

void outgoing(Harness& t) {
  const std::int32_t file = t.ok("session.send-file", "out.txt", kType, 10);
  t.result("session.write-file", file, "hello");
  t.refused("session.write-file", ErrorCode::OutOfRange, file, "123456");
  t.result("session.write-file", file, "world");
  t.drop(file);
  t.refused("session.write-file", ErrorCode::NotFound, file, "a");
  // Without waiting for room there soon is none, unless the client takes all the while.
  std::int32_t large = 0;
  bool is_full = false;
  for (int i = 0; i < 100 && !is_full; ++i) {
    if (large > 0) t.drop(large);
    large = t.ok_in_time("session.send-file", "given_up.bin", "a/b", kFileBytesMax);
    is_full = t.refused_after(1000, "session.write-file", ErrorCode::QuotaExceeded, large,
                              std::string(kPartBytes, 'a'));
  }
  t.check(is_full, "parts that nobody waited for are bounded");
  t.refused("session.write-file", ErrorCode::TooLarge, large, std::string(kPartBytesMax + 1, 'a'));
  t.mistakes("session.write-file", large, "a");
  t.drop(large);
  t.drop(t.ok_in_time("session.send-file", "when there is room", kType, 1));

  t.refused("session.send-file", ErrorCode::TooLarge, "a", kType, kFileBytesMax + 1);
  t.refused("session.send-file", ErrorCode::TooLarge, "a", kType, ~std::uint64_t{0});
  for (const char* type : {"", "text", "text/\n", "\x80/a"}) {
    t.refused("session.send-file", ErrorCode::InvalidArgument, "a", type, 1);
  }
  t.refused("session.send-file", ErrorCode::InvalidArgument, "a", "a/" + std::string(126, 'b'), 1);
  for (const std::string& name : names_that_are_none()) {
    if (name == "." || name == "..") continue;
    t.refused("session.send-file", ErrorCode::InvalidArgument, name, kType, 1);
  }
  t.mistakes("session.send-file", "a", kType, 1);
  Handles all;
  for (std::uint32_t i = 0; i < kFileCountMax; ++i) {
    all.push_back(t.ok("session.send-file", "many", kType, 1));
  }
  t.refused("session.send-file", ErrorCode::QuotaExceeded, "one more", kType, 1);
  give_back(t, all);
}

void incoming(Harness& t) {
  const std::string told = t.result("session.receive-file");
  const auto file = number_at<std::int32_t>(told, 0);
  const auto bytes = number_at<std::uint64_t>(told, 16);
  t.check(told.size() > 24 && bytes > kPartBytesMax, "a file of more than one part comes");
  const std::int32_t read = t.ok("session.read-file", file);
  t.refused("session.read-file", ErrorCode::QuotaExceeded, file);
  std::uint64_t count = t.take("session.read-file", read).size();
  for (;;) {
    const std::string part = t.result("session.read-file", file);
    if (part.empty()) break;
    count += part.size();
  }
  t.check(count == bytes, "all of it");
  t.mistakes("session.read-file", file);
  t.drop(file);
  t.refused("session.receive-file", ErrorCode::Unavailable);
}

void program(Harness& t) {
  if (Harness::argument() == "child") {
    t.refused("session.send-file", ErrorCode::NotSupported, "a", kType, 1);
    t.refused("session.receive-file", ErrorCode::NotSupported);
    return;
  }
  messages(t);
  outgoing(t);
  incoming(t);
  const std::int32_t child = t.ok("runtime.launch", "", std::string("\5\0\0\0child", 9), 50);
  t.adopt(t.result("runtime.receive-child", child));
  t.drop(child);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
