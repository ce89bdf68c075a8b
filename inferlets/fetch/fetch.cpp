// fetch: the tool call of an agent, without the agent. It gets a URL (or posts to it) and says
// which status came and how much of what; `quire run` must allow it: --allow-http HOST.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string url;
  std::optional<std::string> post;
  std::string header;
  bool stream = false;
  bool show = false;

  void read(OptionReader& in) {
    in.words("url", url, "What to get, or to post to", Required::Yes);
    in.text("post", post, "The body of a request to post");
    in.text("header", header, "A header of the request: \"name: value\"");
    in.flag("stream", stream, "Send the body on as it comes, so that its size does not matter");
    in.flag("show", show, "Send the body too");
  }
};

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

Task<> program(Options options) {
  if (options.url.find(' ') != std::string::npos) {
    co_await fail(ErrorCode::InvalidArgument, "give one URL, not \"" + options.url + "\"");
  }
  const http::Headers headers = co_await headers_of(options.header);
  if (options.stream) {
    const std::string line = co_await stream({.url = options.url, .headers = headers});
    co_await session::send("\n" + line + "\n");
    co_return;
  }
  const http::Response response = options.post
                                      ? co_await http::post(options.url, *options.post, headers)
                                      : co_await http::get(options.url, headers);
  if (options.show) {
    co_await session::send(valid_utf8(response.body.substr(0, kShownBytesMax)) + "\n");
  }
  co_await session::send(described(response, response.body.size()) + "\n");
}

QUIRE_MAIN(program)
