// serve: the HTTP request that launched the program, and its response. The argument names the request
// that programs.py sends: "whole", "flood" (read slowly) or "gone" (the client leaves). Without an
// argument no request launched the program. "noted" collects what the others noted.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kBodyBytes = 100'000;  // Of "whole".
constexpr std::uint32_t kPartBytesMax = 65'536;
constexpr std::uint32_t kHeaderBytesMax = 65'536;
constexpr int kRequestCount = 3;  // That note something.

void without_request(Harness& t) {
  char text[64] = {};
  void* const buffer = text;
  constexpr ErrorCode kAbsent = ErrorCode::NotSupported;
  t.refused("serve.request-head", kAbsent, buffer, 64);
  t.refused("serve.read-request", kAbsent);
  t.refused("serve.respond", kAbsent, 200, "", 0);
  t.refused("serve.write-response", kAbsent, "a");
  t.refused("serve.finish-response", kAbsent);
}

void head(Harness& t) {
  std::string record(8192, '\0');
  void* const buffer = record.data();
  const std::int32_t bytes = t.ok("serve.request-head", buffer, 8192);
  const auto method_bytes = number_at<std::uint32_t>(record, 0);
  const auto target_bytes = number_at<std::uint32_t>(record, 4);
  const auto header_bytes = number_at<std::uint32_t>(record, 8);
  t.check(12 + method_bytes + target_bytes + header_bytes == static_cast<std::uint32_t>(bytes),
          "the parts are the record");
  const std::string rest = record.substr(12, static_cast<std::size_t>(bytes) - 12);
  t.check(rest.starts_with("POST/whole?x=1"), "the method and the target come first");
  t.check(rest.find("x-one: 1\n") != std::string::npos, "the client's header is there");
  t.check(rest.find("x-request-id: ") != std::string::npos, "the request has an id");
  record.assign(8192, '!');
  t.check(t.ok("serve.request-head", buffer, 16) == bytes, "a head without room says its bytes");
  t.check(record == std::string(8192, '!'), "and writes nothing");
  t.mistakes("serve.request-head", buffer, 8192);
  t.refused("session.send", ErrorCode::NotSupported, "a");
  t.check(t.ok("runtime.misses", buffer, 8192) % 32 == 0, "each miss has eight numbers");
  t.mistakes("runtime.misses", buffer, 8192);
}

void body(Harness& t) {
  const std::int32_t first = t.ok("serve.read-request");
  t.refused("serve.read-request", ErrorCode::QuotaExceeded);
  std::string part = t.take("serve.read-request", first);
  std::size_t bytes = 0;
  while (!part.empty()) {
    t.check(part.size() <= kPartBytesMax, "a part is bounded");
    bytes += part.size();
    part = t.result("serve.read-request");
  }
  t.check(bytes == kBodyBytes, "all of the body comes");
  t.check(t.result("serve.read-request").empty(), "and then nothing");
}

void response(Harness& t) {
  const char* respond = "serve.respond";
  const char* write = "serve.write-response";
  t.refused(write, ErrorCode::InvalidArgument, "early");
  t.refused("serve.finish-response", ErrorCode::InvalidArgument);
  for (const std::uint32_t status : {0u, 100u, 199u, 600u, 0xFFFF'FFFFu}) {
    t.refused(respond, ErrorCode::InvalidArgument, status, "", 0);
  }
  for (const char* headers :
       {"no colon\n", ": b\n", "a: b\r\n", "a: \x01\n", "connection: close\n",
        "transfer-encoding: chunked\n", "x-request-id: a\n", "content-length: a\n",
        "content-length: -1\n", "content-length: 1\ncontent-length: 1\n"}) {
    t.refused(respond, ErrorCode::InvalidArgument, 200, headers, 0);
  }
  t.refused(respond, ErrorCode::InvalidArgument, 204, "content-length: 1\n", 0);
  t.refused(respond, ErrorCode::TooLarge, 200, std::string(kHeaderBytesMax + 1, 'a'), 0);
  t.mistakes(respond, 200, "", 0);
  t.ok(respond, 200, "content-length: 10\nx-two: 2\n", 0);
  t.refused(respond, ErrorCode::AlreadyExists, 200, "", 0);
  t.result(write, "hello");
  t.refused("serve.finish-response", ErrorCode::OutOfRange);
  t.refused(write, ErrorCode::OutOfRange, "123456");
  t.refused(write, ErrorCode::TooLarge, std::string(kTextBytesMax + 1, 'a'));
  t.mistakes(write, "a");
  t.result(write, "world");
  t.ok("serve.finish-response");
  t.refused("serve.finish-response", ErrorCode::InvalidArgument);
  t.refused(write, ErrorCode::InvalidArgument, "late");
}

void flood(Harness& t) {
  const char* write = "serve.write-response";
  t.ok("serve.respond", 200, "", 0);
  t.check(t.refused_after(1'000, write, ErrorCode::QuotaExceeded, std::string(kPartBytesMax, 'a')),
          "parts that the program did not wait for are bounded");
  t.drop(t.ok_in_time(write, "when there is room"));
  t.edges(write, "a");
  t.ok("serve.finish-response");
}

void gone(Harness& t) {
  t.check(t.result("serve.read-request") == "hello", "what the client sent comes");
  t.ok("serve.respond", 200, "", 1);
  t.result("serve.write-response", "go");
  std::int32_t written = 0;
  for (int i = 0; i < 6'000 && written >= 0; ++i) {
    t.sleep_ms(10);
    written = abi::serve::write_response(reinterpret_cast<const std::uint8_t*>("a"), 1);
    if (written > 0) abi::future::drop(written);
  }
  t.refused("serve.write-response", ErrorCode::Unavailable, "a");
  t.refused("serve.read-request", ErrorCode::Unavailable);
}

// The notes of the instances that requests launched, which have no session. This instance waits before
// the first of them: the messages of a tenant go with its last program.
void noted(Harness& t) {
  for (int i = 0; i < kRequestCount; ++i) t.adopt(t.result("messaging.pull", Harness::kNoted));
}

void program(Harness& t) {
  const std::string request = Harness::argument();
  if (request.empty()) return without_request(t);
  if (request == "flood") return flood(t);
  if (request == "gone") return gone(t);
  if (request == "noted") return noted(t);
  head(t);
  body(t);
  response(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
