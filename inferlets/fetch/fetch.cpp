// fetch: the tool call of an agent, without the agent. It gets a URL (or posts to it) and says
// which status came and how much of what; `quire run` must allow it: --allow-http HOST.
#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::size_t kShownBytesMax = std::size_t{1} << 20;

// "name: value"
Result<http::Headers> headers_of(const std::string& line) {
  if (line.empty()) return http::Headers{};
  const std::size_t colon = line.find(": ");
  if (colon == std::string::npos) {
    return Error{ErrorCode::InvalidArgument, "--header is \"name: value\", not \"" + line + "\""};
  }
  return http::Headers{{line.substr(0, colon), line.substr(colon + 2)}};
}

std::string described(const http::Head& head, std::size_t bytes) {
  return "status " + std::to_string(head.status) + ", " + std::to_string(bytes) + " bytes of " +
         head.header("content-type").value_or("no type");
}

// Sends the body on as it comes, so that its size does not matter.
Task<std::string> stream(http::Request request) {
  const http::Exchange exchange = co_await http::Exchange::open(request);
  const http::Head head = co_await exchange.head();
  std::size_t bytes = 0;
  std::size_t pieces = 0;
  for (;; ++pieces) {
    const std::string piece = co_await exchange.read();
    if (piece.empty()) break;
    bytes += piece.size();
    co_await session::send(piece);
  }
  co_return described(head, bytes) + " in " + std::to_string(pieces) + " pieces";
}

Task<> program(std::vector<std::string> command_line) {
  const Arguments arguments = co_await Arguments::parse(
      command_line, {.values = {"post", "header"}, .flags = {"stream", "show"}});
  if (arguments.positional().size() != 1) {
    co_await fail(ErrorCode::InvalidArgument,
                  "give one URL (and --post TEXT, --header \"name: value\", --stream, --show)");
  }
  const std::string& url = arguments.positional()[0];
  const http::Headers headers = co_await headers_of(arguments.text("header"));
  if (arguments.flag("stream")) {
    const std::string line = co_await stream({.url = url, .headers = headers});
    co_return co_await session::send("\n" + line + "\n");
  }
  const http::Response response = arguments.has("post")
                                      ? co_await http::post(url, arguments.text("post"), headers)
                                      : co_await http::get(url, headers);
  if (arguments.flag("show")) {
    co_await session::send(valid_utf8(response.body.substr(0, kShownBytesMax)) + "\n");
  }
  co_return co_await session::send(described(response, response.body.size()) + "\n");
}

}  // namespace

QUIRE_MAIN(program)
