// net: HTTP to the outside. The argument is "http://HOST:PORT" of a server of the test, or "denied"
// where nothing is granted.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kExchangeCountMax = 8;

void wholes(Harness& t, const std::string& at) {
  const char* get = "net.http-get";
  const char* post = "net.http-post";
  const std::string page = t.result(get, at + "/page", "accept: text/plain\n");
  t.check(number_at<std::uint32_t>(page, 0) == 200 && page.ends_with("a page"), "a page comes");
  t.check(t.result(post, at + "/echo", "", "a body").ends_with("a body"), "a body comes back");
  t.check(number_at<std::uint32_t>(t.result(get, at + "/missing", ""), 0) == 404,
          "a status is no error");
  for (const char* url : {"", "page", "ftp://a/", "http://", "http://user@a.example/", "http:///a",
                          "http://0x7f.1/", "http://a:99999/"}) {
    t.refused(get, ErrorCode::InvalidArgument, url, "");
    t.refused(post, ErrorCode::InvalidArgument, url, "", "");
  }
  for (const char* headers : {"no colon\n", ": b\n", "a: b\r\n", "host: b\n", "a: \x01\n"}) {
    t.refused(get, ErrorCode::InvalidArgument, at, headers);
    t.refused(post, ErrorCode::InvalidArgument, at, headers, "");
  }
  for (const char* url : {"http://127.0.0.1:1/", "http://10.0.0.1/", "http://[::1]/"}) {
    t.refused(get, ErrorCode::PermissionDenied, url, "");
    t.refused(post, ErrorCode::PermissionDenied, url, "", "");
  }
  t.refused(get, ErrorCode::PermissionDenied, at + "/elsewhere", "");
  t.refused(get, ErrorCode::Io, at + "/broken", "");
  t.refused(get, ErrorCode::Io, at + "/nonsense", "");
  t.refused(get, ErrorCode::Corrupted, at + "/no_gzip", "");
  t.refused(get, ErrorCode::TooLarge, at + "/large", "");
  t.refused(get, ErrorCode::TooLarge, at + "/headers", "");
  t.refused(get, ErrorCode::Unavailable, Harness::argument(1), "");
  t.refused(get, ErrorCode::TooLarge, at + "/" + std::string(8192, 'a'), "");
  t.refused(get, ErrorCode::TooLarge, at, "a: " + std::string(65'536, 'a') + "\n");
  t.refused(post, ErrorCode::TooLarge, at, "", std::string(kTextBytesMax + 1, 'a'));
  t.refused(post, ErrorCode::Io, at + "/broken", "", "");
  t.mistakes(get, at + "/page", "");
  t.mistakes(post, at + "/echo", "", "body");
}

void exchanges(Harness& t, const std::string& at) {
  const char* request = "net.http-request";
  const std::int32_t upload = t.ok(request, "PUT", at + "/echo", "", std::int64_t{10});
  // The server answers when it has the whole body; until then these wait, one at a time.
  const std::int32_t head = t.ok("net.response-head", upload);
  t.refused("net.response-head", ErrorCode::Unavailable, upload);
  const std::int32_t read = t.ok("net.read-body", upload);
  t.refused("net.read-body", ErrorCode::Unavailable, upload);
  t.result("net.write-body", upload, "hello");
  t.refused("net.finish-body", ErrorCode::OutOfRange, upload);
  t.refused("net.write-body", ErrorCode::OutOfRange, upload, "123456");
  t.result("net.write-body", upload, "world");
  t.ok("net.finish-body", upload);
  t.check(number_at<std::uint32_t>(t.take("net.response-head", head), 0) == 200, "it answers");
  std::string body = t.take("net.read-body", read);
  for (std::string piece = "first"; !piece.empty(); body += piece) {
    piece = t.result("net.read-body", upload);
  }
  t.check(body == "helloworld", "all of the body comes back");
  t.refused("net.write-body", ErrorCode::TooLarge, upload, std::string(kTextBytesMax + 1, 'a'));
  t.mistakes("net.write-body", upload, "a");
  t.mistakes("net.finish-body", upload);
  t.mistakes("net.response-head", upload);
  t.mistakes("net.read-body", upload);
  t.drop(upload);
  t.refused("net.write-body", ErrorCode::NotFound, upload, "a");

  const std::int32_t chunked = t.ok(request, "POST", at + "/echo", "", std::int64_t{-1});
  t.result("net.write-body", chunked, "a");
  t.ok("net.finish-body", chunked);
  t.result("net.response-head", chunked);
  t.drop(chunked);

  // The exchange never answers: a future that waits for it is canceled with it.
  const std::int32_t silent = t.ok(request, "GET", at + "/silent", "", std::int64_t{0});
  const std::int32_t waits = t.ok("net.response-head", silent);
  t.drop(silent);
  t.fails("net.response-head", ErrorCode::Cancelled, waits);
  const std::int32_t broken = t.ok(request, "GET", at + "/broken", "", std::int64_t{0});
  t.result("net.response-head", broken);
  std::string first = t.result("net.read-body", broken);
  t.refused("net.read-body", ErrorCode::Io, broken);
  t.drop(broken);

  for (const char* method : {"", "get", "TRACE", "CONNECT", "A B", "GETGETGET"}) {
    t.refused(request, ErrorCode::InvalidArgument, method, at, "", std::int64_t{0});
  }
  t.refused(request, ErrorCode::TooLarge, std::string(17, 'G'), at, "", std::int64_t{0});
  t.refused(request, ErrorCode::InvalidArgument, "GET", at, "", std::int64_t{1});
  t.refused(request, ErrorCode::TooLarge, "POST", at, "", INT64_MAX);
  t.refused(request, ErrorCode::PermissionDenied, "GET", "http://127.0.0.1:1/", "",
            std::int64_t{0});
  t.mistakes(request, "GET", at, "", std::int64_t{0});
  // So many at once; the harness's second instance has been lent some of them.
  Handles all;
  for (std::uint32_t i = 0; i < kExchangeCountMax; ++i) {
    const std::string url = at + "/silent";
    const std::int32_t each =
        abi::net::http_request(reinterpret_cast<const std::uint8_t*>("GET"), 3,
                               reinterpret_cast<const std::uint8_t*>(url.data()),
                               static_cast<std::uint32_t>(url.size()), nullptr, 0, 0);
    if (each < 0) break;
    all.push_back(each);
  }
  t.refused(request, ErrorCode::QuotaExceeded, "GET", at + "/page", "", std::int64_t{0});
  t.refused("net.http-get", ErrorCode::QuotaExceeded, at + "/page", "");
  t.refused("net.http-post", ErrorCode::QuotaExceeded, at + "/page", "", "");
  give_back(t, all);
}

void program(Harness& t) {
  const std::string at = Harness::argument();
  if (at != "denied") {
    wholes(t, at);
    return exchanges(t, at);
  }
  const char* url = "http://public.example/";
  t.refused("net.http-get", ErrorCode::PermissionDenied, url, "");
  t.refused("net.http-post", ErrorCode::PermissionDenied, url, "", "");
  t.refused("net.http-request", ErrorCode::PermissionDenied, "GET", url, "", std::int64_t{0});
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
