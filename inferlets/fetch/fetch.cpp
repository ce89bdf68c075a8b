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
Task<Result<std::string>> stream(http::Request request) {
  const http::Exchange exchange = CO_TRY(http::Exchange::open(request));
  const http::Head head = CO_TRY(co_await exchange.head());
  std::size_t bytes = 0;
  std::size_t pieces = 0;
  for (;; ++pieces) {
    const std::string piece = CO_TRY(co_await exchange.read());
    if (piece.empty()) break;
    bytes += piece.size();
    CO_TRY(session::send(piece));
  }
  co_return described(head, bytes) + " in " + std::to_string(pieces) + " pieces";
}

Task<Result<void>> program(std::vector<std::string> command_line) {
  const Arguments arguments = CO_TRY(
      Arguments::parse(command_line, {.values = {"post", "header"}, .flags = {"stream", "show"}}));
  if (arguments.positional().size() != 1) {
    co_return Error{ErrorCode::InvalidArgument,
                    "give one URL (and --post TEXT, --header \"name: value\", --stream, --show)"};
  }
  const std::string& url = arguments.positional()[0];
  const http::Headers headers = CO_TRY(headers_of(arguments.text("header")));
  if (arguments.flag("stream")) {
    const std::string line = CO_TRY(co_await stream({.url = url, .headers = headers}));
    co_return session::send("\n" + line + "\n");
  }
  const http::Response response =
      arguments.has("post") ? CO_TRY(co_await http::post(url, arguments.text("post"), headers))
                            : CO_TRY(co_await http::get(url, headers));
  if (arguments.flag("show")) {
    CO_TRY(session::send(valid_utf8(response.body.substr(0, kShownBytesMax)) + "\n"));
  }
  co_return session::send(described(response, response.body.size()) + "\n");
}

}  // namespace

QUIRE_MAIN(program)
