// Random input of programs and servers: URLs, locations, headers, grants and a whole response, in
// pieces, to a program that reads now and then. No crash, no invariant broken, nothing beyond its
// limit; text that is written is read again as the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "application/net/transfer.h"

namespace {

using namespace quire::net;

void require(bool holds) {
  if (!holds) std::abort();
}

// Up to the next NUL, which goes.
std::string_view take_part(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

HttpGrant any_host(GrantPorts ports) {
  HttpGrant grant;
  grant.hosts = GrantHosts::Any;
  grant.ports = ports;
  return grant;
}

void fuzz_url(std::string_view text, std::string_view location) {
  const quire::Result<Url> url = parse_url(text);
  if (!url.ok()) return;
  const quire::Result<Url> again = parse_url(text_of(url.value()));
  require(again.ok() && again.value() == url.value());
  const quire::Result<Url> next = resolve_location(url.value(), location);
  if (!next.ok()) return;
  const quire::Result<Url> same = parse_url(text_of(next.value()));
  require(same.ok() && same.value() == next.value());
  (void)granted_reach(next.value(), {any_host(GrantPorts::Usual)}).ok();
}

void fuzz_program(std::string_view headers, std::string_view pattern) {
  if (const quire::Result<std::vector<HttpHeader>> parsed = parse_header_lines(headers);
      parsed.ok()) {
    require(parse_header_lines(header_lines(parsed.value())).value() == parsed.value());
  }
  (void)parse_http_grant(pattern).ok();
}

// Takes what is owed; `reads` asks for a piece before, and there is one.
void take_events(Transfer& transfer, std::uint64_t now_ns, bool reads) {
  if (reads) transfer.read(now_ns);
  bool has_piece = false;
  while (const std::optional<HttpEvent> event = transfer.take_event()) {
    require(event->kind == HttpEventKind::Whole || event->body.size() <= kBodyChunkBytesMax);
    has_piece = has_piece || event->kind == HttpEventKind::Chunk;
    transfer.verify();
  }
  require(has_piece == reads);
}

// Gives a line of the head or a piece of the body. False: the transport would stop.
bool give(Transfer& transfer, std::string_view piece, bool& is_head, std::uint64_t now_ns) {
  if (is_head) {
    const bool goes_on = transfer.header(piece, now_ns);
    is_head = piece != "\r\n" && piece != "\n";
    return goes_on;
  }
  Transfer::Intake intake = transfer.body(piece, now_ns);
  while (intake == Transfer::Intake::Full) {
    take_events(transfer, now_ns, true);
    intake = transfer.body(piece, now_ns);
  }
  return intake == Transfer::Intake::Taken;
}

void fuzz_response(std::string_view bytes, bool is_streamed, bool takes_raw) {
  HttpRequest request;
  request.hop.method = "GET";
  request.hop.url = parse_url("http://9.9.9.9/a").value();
  if (takes_raw) request.hop.headers = {{"accept-encoding", "gzip"}};
  request.is_streamed = is_streamed;
  request.grants = {any_host(GrantPorts::Any)};
  request.limits.response_header_bytes_max = 4096;
  Transfer transfer(std::move(request), classify, 1);
  require(!transfer.begin_hop(1));
  bool is_head = true;
  for (std::uint64_t now_ns = 2; !bytes.empty() && !transfer.is_over(); ++now_ns) {
    const std::size_t line = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    const std::string_view piece = bytes.substr(0, is_head ? line : 1 + now_ns % 997);
    bytes.remove_prefix(piece.size());
    if (!give(transfer, piece, is_head, now_ns)) {
      if (!transfer.next_hop()) break;
      // The hop needs a name looked up, which this test does not do.
      if (transfer.begin_hop(now_ns)) return;
      is_head = true;
    }
    transfer.verify();
  }
  transfer.ended();
  take_events(transfer, 2, false);
  while (!transfer.is_over()) take_events(transfer, 3, true);
  if (is_streamed) take_events(transfer, 4, true);
}

}  // namespace

// The first byte chooses; the parts of what a program says end with a NUL.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, bytes - 1);
  const std::uint8_t kind = data[0];
  if ((kind & 1) != 0) {
    fuzz_response(rest, (kind & 2) != 0, (kind & 4) != 0);
    return 0;
  }
  const std::string_view first = take_part(rest);
  const std::string_view second = take_part(rest);
  fuzz_url(first, second);
  fuzz_program(second, first);
  return 0;
}
