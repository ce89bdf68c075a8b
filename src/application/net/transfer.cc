#include "application/net/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace quire::net {
namespace {

std::string duration(std::uint64_t ns) {
  if (ns < 1'000'000'000) return std::to_string(ns / 1'000'000) + " ms";
  const std::uint64_t tenths = ns / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

Error too_large(const char* limit, std::uint64_t bytes_max, const char* what) {
  return Error(ErrorCode::TooLarge, std::string(limit) + ": " + what + " has more than " +
                                        std::to_string(bytes_max) + " bytes");
}

bool is_gzip(const HttpHead& head) {
  const std::string* coding = find_header(head.headers, "content-encoding");
  return coding != nullptr && (*coding == "gzip" || *coding == "x-gzip");
}

}  // namespace

Transfer::Transfer(HttpRequest request, AddressPolicy policy, std::uint64_t now_ns)
    : request_(std::move(request)),
      policy_(policy),
      begin_ns_(now_ns),
      parser_(request_.limits.response_header_bytes_max) {}

bool Transfer::begin_hop(std::uint64_t now_ns) {
  hop_ns_ = progress_ns_ = now_ns;
  stage_ = Stage::Connecting;
  has_next_hop_ = false;
  addresses_.clear();
  parser_ = HeadParser(request_.limits.response_header_bytes_max);
  sent_bytes_ = 0;
  Result<Reach> reach = granted_reach(hop().url, request_.grants);
  if (!reach.ok()) {
    fail(std::move(reach).take_error());
    return false;
  }
  reach_ = reach.value();
  if (!hop().url.address) return true;
  found(std::vector<IpAddress>{*hop().url.address});
  return false;
}

void Transfer::found(Result<std::vector<IpAddress>> addresses) {
  if (!addresses.ok()) return fail(std::move(addresses).take_error());
  Result<void> checked =
      check_addresses(hop().url, addresses.value(), reach_, policy_, request_.grants);
  if (!checked.ok()) return fail(std::move(checked).take_error());
  addresses_ = std::move(addresses).take();
}

bool Transfer::may_connect(const IpAddress& address, std::uint16_t port) {
  const bool is_checked =
      std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end();
  if (is_checked && port == hop().url.port) return true;
  fail(Error(ErrorCode::PermissionDenied, "the address " + text_of(address) + ", port " +
                                              std::to_string(port) + ", is none that was checked"));
  return false;
}

void Transfer::connected(std::uint64_t now_ns) {
  progress_ns_ = now_ns;
  stage_ = Stage::Requesting;
}

bool Transfer::header(std::string_view line, std::uint64_t now_ns) {
  if (is_over()) return false;
  progress_ns_ = now_ns;
  stage_ = Stage::Receiving;
  Result<bool> is_whole = parser_.take(line);
  if (!is_whole.ok()) {
    fail(std::move(is_whole).take_error());
    return false;
  }
  return !is_whole.value() || take_head(std::move(parser_.head()));
}

bool Transfer::take_head(HttpHead head) {
  Result<std::optional<Hop>> next = net::next_hop(hop(), head, request_.is_body_streamed);
  if (!next.ok()) {
    fail(std::move(next).take_error());
    return false;
  }
  if (next.value()) {
    if (redirect_count_ == request_.limits.redirect_count_max) {
      fail(Error(ErrorCode::QuotaExceeded,
                 "http.redirect_count_max: " + std::to_string(redirect_count_) +
                     " redirects were followed, and the next leads to " +
                     text_of(next.value()->url)));
      return false;
    }
    ++redirect_count_;
    request_.hop = *std::move(next.value());
    has_next_hop_ = true;
    return false;
  }
  // libcurl undoes what it finds here, asked or not, and "chunked" alone takes no memory.
  for (const HttpHeader& each : head.headers) {
    if (each.name != "transfer-encoding" || each.value == "chunked") continue;
    fail(Error(ErrorCode::Io,
               "the server sends a transfer-encoding that the request did not ask for: " +
                   printable(each.value)));
    return false;
  }
  remove_header(head.headers, "transfer-encoding");
  // A program that names a coding itself gets the body as the server sends it.
  if (is_gzip(head) && find_header(hop().headers, "accept-encoding") == nullptr) {
    decoder_.emplace(ZlibFormat::Gzip);
    remove_header(head.headers, "content-encoding");
    remove_header(head.headers, "content-length");
  }
  head_ = std::move(head);
  return true;
}

std::size_t Transfer::body_bytes_max() const {
  return request_.is_streamed ? kBodyChunkBytesMax : request_.limits.whole_body_bytes_max;
}

bool Transfer::wants_body() const {
  if (is_over()) return false;
  if (!request_.is_streamed) return true;
  if (decoder_) return encoded_.empty() && !decoder_->has_more();
  return body_.size() + kReceivedBytesMax <= kBodyChunkBytesMax;
}

Transfer::Intake Transfer::body(std::string_view bytes, std::uint64_t now_ns) {
  if (is_over() || has_next_hop_) return Intake::Stop;
  if (!wants_body()) return Intake::Full;
  progress_ns_ = now_ns;
  received_bytes_ += bytes.size();
  if (received_bytes_ > request_.limits.response_body_bytes_max) {
    fail(too_large("http.response_body_bytes_max", request_.limits.response_body_bytes_max,
                   "the response"));
    return Intake::Stop;
  }
  if (decoder_) {
    encoded_ = bytes;
    return decode() ? Intake::Taken : Intake::Stop;
  }
  body_ += bytes;
  if (!request_.is_streamed && body_.size() > body_bytes_max()) {
    fail(too_large("http.whole_body_bytes_max", body_bytes_max(),
                   "the response (http-request gives it in pieces)"));
    return Intake::Stop;
  }
  return Intake::Taken;
}

bool Transfer::count_decoded(std::size_t bytes) {
  const HttpLimits& limits = request_.limits;
  decoded_bytes_ += bytes;
  if (decoded_bytes_ > limits.decompressed_bytes_max) {
    fail(too_large("http.decompressed_bytes_max", limits.decompressed_bytes_max,
                   "the decompressed response"));
  } else if (!request_.is_streamed && body_.size() > body_bytes_max()) {
    fail(too_large("http.whole_body_bytes_max", body_bytes_max(),
                   "the response (http-request gives it in pieces)"));
  } else if (decoded_bytes_ > kDecompressionFreeBytes &&
             decoded_bytes_ / std::max<std::uint64_t>(received_bytes_, 1) >=
                 limits.decompression_ratio_max) {
    fail(Error(ErrorCode::TooLarge,
               "http.decompression_ratio_max: " + std::to_string(received_bytes_) +
                   " bytes became " + std::to_string(decoded_bytes_) + ", " +
                   std::to_string(limits.decompression_ratio_max) + " times as many or more"));
  }
  return stage_ != Stage::Failed;
}

// As much as there is room for. A whole body may get one byte too many, which is an error then.
bool Transfer::decode() {
  const std::size_t room = body_bytes_max() + (request_.is_streamed ? 0 : 1);
  std::string_view rest = encoded_;
  while ((!rest.empty() || decoder_->has_more()) && body_.size() < room) {
    const std::size_t before = body_.size();
    // In pieces, so that the ratio is looked at before much has been made.
    Result<void> decoded =
        decoder_->decode(rest, body_, std::min(room, before + kReceivedBytesMax));
    if (!decoded.ok()) {
      fail(std::move(decoded).take_error());
      return false;
    }
    if (!count_decoded(body_.size() - before)) return false;
  }
  encoded_.erase(0, encoded_.size() - rest.size());
  settle_end();
  return stage_ != Stage::Failed;
}

void Transfer::ended() {
  if (is_over()) return;
  has_all_ = true;
  settle_end();
}

// All has arrived, and all of it is decoded.
void Transfer::settle_end() {
  if (!has_all_ || !encoded_.empty() || (decoder_ && decoder_->has_more())) return;
  if (!head_ && owes_head_) {
    fail(Error(ErrorCode::Io, "the server ended without a response"));
  } else if (decoder_ && !decoder_->whole()) {
    fail(Error(ErrorCode::Corrupted, "the compressed response is cut short after " +
                                         std::to_string(received_bytes_) + " bytes"));
  } else {
    stage_ = Stage::Ended;
  }
}

void Transfer::fail(Error error) {
  if (is_over()) return;
  stage_ = Stage::Failed;
  has_next_hop_ = false;
  error_ = std::move(error).while_(hop().method + " " + text_of(hop().url));
  encoded_.clear();
  if (!request_.is_streamed) body_.clear();
}

std::optional<std::uint64_t> Transfer::body_bytes() const {
  if (request_.is_body_streamed) return request_.body_bytes;
  return request_.body.size();
}

std::optional<std::size_t> Transfer::send(char* into, std::size_t room, std::uint64_t now_ns) {
  const std::string& bytes = request_.is_body_streamed ? unsent_ : request_.body;
  const std::size_t count = std::min(room, bytes.size() - sent_bytes_);
  if (count == 0) {
    if (request_.is_body_streamed && !is_finished_) return std::nullopt;
    return 0;
  }
  std::memcpy(into, bytes.data() + sent_bytes_, count);
  sent_bytes_ += count;
  progress_ns_ = now_ns;
  if (request_.is_body_streamed && sent_bytes_ == unsent_.size()) {
    unsent_.clear();
    sent_bytes_ = 0;
  }
  return count;
}

bool Transfer::has_to_send() const {
  return request_.is_body_streamed && !is_over() && (!unsent_.empty() || is_finished_);
}

void Transfer::read(std::uint64_t now_ns) {
  QUIRE_CHECK(request_.is_streamed && !owes_chunk_, "TR1");
  owes_chunk_ = true;
  if (!wants_body()) progress_ns_ = now_ns;  // The server had to wait for the program until now.
}

void Transfer::write(std::string bytes, std::uint64_t now_ns) {
  QUIRE_CHECK(request_.is_body_streamed && !owes_sent_ && unsent_.empty(), "TR1");
  owes_sent_ = true;
  unsent_ = std::move(bytes);
  progress_ns_ = now_ns;
}

void Transfer::finish() {
  is_finished_ = true;
}

std::optional<Transfer::TimeLimit> Transfer::time_limit() const {
  if (is_over() || has_all_) return std::nullopt;
  const HttpLimits& limits = request_.limits;
  const auto limit = [](const char* name, std::uint64_t from_ns, std::uint64_t span_ns) {
    return TimeLimit{name, from_ns + span_ns, span_ns};
  };
  TimeLimit first = limit("http.total_ns_max", begin_ns_, limits.total_ns_max);
  const auto add = [&](const TimeLimit& other) {
    if (other.end_ns < first.end_ns) first = other;
  };
  // The server may wait for what the program has not yet written.
  const bool waits_for_program = request_.is_body_streamed && unsent_.empty() && !is_finished_;
  if (stage_ == Stage::Connecting) {
    add(limit("http.connect_ns_max", hop_ns_, limits.connect_ns_max));
  } else if (stage_ == Stage::Requesting && !waits_for_program) {
    add(limit("http.first_byte_ns_max", progress_ns_, limits.first_byte_ns_max));
  } else if (stage_ == Stage::Receiving && wants_body() && !waits_for_program) {
    add(limit("http.idle_ns_max", progress_ns_, limits.idle_ns_max));
  }
  return first;
}

std::optional<std::uint64_t> Transfer::end_ns() const {
  const std::optional<TimeLimit> limit = time_limit();
  return limit ? std::optional(limit->end_ns) : std::nullopt;
}

void Transfer::check_time(std::uint64_t now_ns) {
  const std::optional<TimeLimit> limit = time_limit();
  if (!limit || now_ns < limit->end_ns) return;
  fail(Error(ErrorCode::Timeout,
             std::string(limit->name) + ": not done after " + duration(limit->span_ns)));
}

HttpEvent Transfer::event(HttpEventKind kind) const {
  return {.owner = request_.owner, .kind = kind, .error = {}, .head = {}, .body = {}};
}

std::optional<HttpEvent> Transfer::take_event() {
  const auto failed = [&](HttpEventKind kind) {
    HttpEvent out = event(kind);
    out.error = error_->copy();
    return out;
  };
  const bool is_failed = stage_ == Stage::Failed;
  if (owes_head_ && (request_.is_streamed ? head_.has_value() : stage_ == Stage::Ended)) {
    owes_head_ = false;
    HttpEvent out = event(request_.is_streamed ? HttpEventKind::Head : HttpEventKind::Whole);
    out.head = *std::exchange(head_, std::nullopt);
    if (!request_.is_streamed) out.body = std::exchange(body_, {});
    return out;
  }
  if (owes_head_ && is_failed) {
    owes_head_ = false;
    return failed(request_.is_streamed ? HttpEventKind::Head : HttpEventKind::Whole);
  }
  if (owes_chunk_ && !owes_head_ && (!body_.empty() || is_over())) {
    owes_chunk_ = false;
    if (body_.empty() && is_failed) return failed(HttpEventKind::Chunk);
    HttpEvent out = event(HttpEventKind::Chunk);
    out.body = std::exchange(body_, {});
    if (decoder_ && !is_over()) decode();
    return out;
  }
  if (owes_sent_ && (unsent_.empty() || is_over())) {
    owes_sent_ = false;
    const bool is_unsent = !unsent_.empty();
    unsent_.clear();
    if (is_failed) return failed(HttpEventKind::Sent);
    HttpEvent out = event(HttpEventKind::Sent);
    if (is_unsent) {
      out.error = Error(ErrorCode::Unavailable, "the server has answered and reads no more");
    }
    return out;
  }
  return std::nullopt;
}

void Transfer::verify() const {
  QUIRE_CHECK(request_.is_streamed || !owes_chunk_, "TR1");
  QUIRE_CHECK(request_.is_body_streamed || !owes_sent_, "TR1");
  QUIRE_CHECK(body_.size() <= body_bytes_max() + (is_over() ? 0 : 1), "TR2");
  QUIRE_CHECK(encoded_.size() <= kReceivedBytesMax, "TR2");
}

}  // namespace quire::net
