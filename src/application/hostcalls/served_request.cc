#include "application/hostcalls/served_request.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "application/net/http_message.h"
#include "base/check.h"

namespace quire::hostcalls {
namespace {

using service::ResponsePartKind;

constexpr std::uint32_t kStatusMin = 200;
constexpr std::uint32_t kStatusMax = 599;
constexpr std::uint32_t kNoContent = 204;
constexpr std::uint32_t kNotModified = 304;

Error client_is_gone() {
  return Error(ErrorCode::Unavailable, "the client is gone and does not read the response");
}

// The length that the head of a response gives its body, taken out of the headers.
Result<std::optional<std::uint64_t>> take_content_length(std::string& lines) {
  std::optional<std::uint64_t> bytes;
  std::string rest;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    const std::string_view line = std::string_view(lines).substr(start, end - start);
    start = end + 1;
    constexpr std::string_view kName = "content-length:";
    const bool is_length =
        line.size() >= kName.size() &&
        std::equal(kName.begin(), kName.end(), line.begin(), [](char name, char each) {
          return name == (each >= 'A' && each <= 'Z' ? each + ('a' - 'A') : each);
        });
    if (!is_length) {
      rest.append(line).append("\n");
      continue;
    }
    std::string_view digits = line.substr(kName.size());
    digits.remove_prefix(std::min(digits.find_first_not_of(" \t"), digits.size()));
    digits = digits.substr(0, digits.find_last_not_of(" \t") + 1);
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_number =
        !digits.empty() && parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
    if (!is_number || bytes) {
      return Error(ErrorCode::InvalidArgument,
                   bytes ? "headers: content-length is given twice"
                         : "headers: content-length is a whole number of bytes");
    }
    bytes = value;
  }
  lines = std::move(rest);
  return bytes;
}

}  // namespace

Result<void> ServedRequest::check_served() const {
  if (head_) return {};
  return Error(ErrorCode::NotSupported,
               "no HTTP request launched this instance; a server with an endpoint does "
               "(quire serve --endpoint \"POST /x=program\")");
}

std::string ServedRequest::encoded_head() const {
  const std::uint32_t counts[3] = {static_cast<std::uint32_t>(head_->method.size()),
                                   static_cast<std::uint32_t>(head_->target.size()),
                                   static_cast<std::uint32_t>(head_->headers.size())};
  std::string out(reinterpret_cast<const char*>(counts), sizeof counts);
  return out + head_->method + head_->target + head_->headers;
}

// ---- The body of the request.

Result<GuestHandle> ServedRequest::read() {
  TRY(check_served());
  if (futures_.find_answered(reader_) != nullptr) {
    return Error(ErrorCode::QuotaExceeded,
                 "an earlier read of the request was not taken: one at a time, so that its parts "
                 "keep their order");
  }
  has_asked_ = true;
  reader_ = futures_.add(FuturePurpose::ReadRequest).handle;
  serve_reader();
  return reader_;
}

void ServedRequest::serve_reader() {
  FutureRecord* reader = futures_.find_answered(reader_);
  if (reader == nullptr || reader->ready) return;
  if (!parts_.empty()) {
    inbox_bytes_ -= kPartBytes + parts_.front().size();
    futures_.make_ready(*reader, std::move(parts_.front()));
    parts_.pop_front();
  } else if (is_body_whole_) {
    futures_.make_ready(*reader, "");
  } else if (is_client_gone_ || stage_ == Stage::Finished) {
    futures_.make_failed(
        *reader, Error(ErrorCode::Unavailable,
                       is_client_gone_ ? "the client went before the body of its request was whole"
                                       : "the response is finished: the server reads no more"));
  }
}

void ServedRequest::push(std::string part, bool is_last) {
  if (is_body_whole_ || is_client_gone_ || stage_ == Stage::Finished) return;
  if (!part.empty()) {
    inbox_bytes_ += kPartBytes + part.size();
    parts_.push_back(std::move(part));
  }
  is_body_whole_ = is_last;
  serve_reader();
}

bool ServedRequest::wants_part() const {
  const bool may_come = !is_body_whole_ && !is_client_gone_ && stage_ != Stage::Finished;
  return may_come && (has_asked_ || !head_->awaits_continue) &&
         inbox_bytes_ < limits_.request_inbox_bytes_max;
}

void ServedRequest::drop_inbox() {
  parts_ = {};
  inbox_bytes_ = 0;
}

// ---- The response.

Result<void> ServedRequest::respond(std::uint32_t status, std::string_view headers, bool goes_on) {
  TRY(check_served());
  if (stage_ != Stage::Waiting) {
    return Error(ErrorCode::AlreadyExists, "the program has responded before");
  }
  if (status < kStatusMin || status > kStatusMax) {
    return Error(ErrorCode::InvalidArgument, "status " + std::to_string(status) + ": " +
                                                 std::to_string(kStatusMin) + " to " +
                                                 std::to_string(kStatusMax) + " were expected");
  }
  std::string lines(headers);
  const std::optional<std::uint64_t> content_bytes = TRY(take_content_length(lines));
  std::vector<net::HttpHeader> parsed = TRY(net::parse_header_lines(lines));
  if (net::find_header(parsed, "x-request-id") != nullptr) {
    return Error(ErrorCode::InvalidArgument,
                 "headers: \"x-request-id\" is written by the server itself");
  }
  const bool has_body = status != kNoContent && status != kNotModified;
  if (content_bytes && !has_body && *content_bytes != 0) {
    return Error(ErrorCode::InvalidArgument,
                 "headers: a response of status " + std::to_string(status) + " has no body");
  }
  content_bytes_ = has_body ? content_bytes : std::optional<std::uint64_t>(0);
  if (content_bytes_ && has_body) {
    parsed.push_back({"content-length", std::to_string(*content_bytes_)});
  }
  stage_ = Stage::Begun;
  goes_on_ = goes_on;
  put(ResponsePartKind::Head, status, net::header_lines(parsed));
  return {};
}

Result<void> ServedRequest::check_write(std::uint64_t bytes) const {
  TRY(check_served());
  if (stage_ != Stage::Begun) {
    return Error(ErrorCode::InvalidArgument, stage_ == Stage::Waiting
                                                 ? "the response is not begun: respond first"
                                                 : "the response is finished");
  }
  if (content_bytes_ && bytes > *content_bytes_ - written_bytes_) {
    return Error(ErrorCode::OutOfRange,
                 std::to_string(bytes) + " bytes after " + std::to_string(written_bytes_) +
                     " are more than the body's " + std::to_string(*content_bytes_));
  }
  if (is_client_gone_) return client_is_gone();
  if (!has_out_room()) {
    return Error(ErrorCode::QuotaExceeded,
                 "response_outbox_bytes_max: " + std::to_string(outbox_.response_bytes()) + " of " +
                     std::to_string(limits_.response_outbox_bytes_max) +
                     " bytes are not yet taken by the client; wait for the future of the part "
                     "before");
  }
  return output_.check(bytes);
}

Result<GuestHandle> ServedRequest::write(std::string bytes) {
  TRY(check_write(bytes.size()));
  if (!bytes.empty()) {
    output_.add(bytes.size());
    written_bytes_ += bytes.size();
    put(ResponsePartKind::Bytes, 0, std::move(bytes));
  }
  writer_ = futures_.add(FuturePurpose::WriteResponse).handle;
  const GuestHandle future = writer_;
  wake_writer();
  return future;
}

void ServedRequest::wake_writer() {
  if (writer_ == GuestHandle{} || !has_out_room()) return;
  futures_.make_ready(*futures_.find_answered(std::exchange(writer_, GuestHandle{})), "");
}

Result<void> ServedRequest::finish() {
  TRY(check_served());
  if (stage_ != Stage::Begun) {
    return Error(ErrorCode::InvalidArgument, stage_ == Stage::Waiting
                                                 ? "the response is not begun: respond first"
                                                 : "the response is finished");
  }
  if (content_bytes_ && written_bytes_ < *content_bytes_) {
    return Error(ErrorCode::OutOfRange, std::to_string(written_bytes_) + " of the " +
                                            std::to_string(*content_bytes_) +
                                            " bytes of the body were written");
  }
  stage_ = Stage::Finished;
  put(ResponsePartKind::End, 0, "");
  serve_reader();
  return {};
}

void ServedRequest::put(ResponsePartKind kind, std::uint32_t status, std::string bytes) {
  if (!is_client_gone_) outbox_.push(Outbox::Response{kind, status, std::move(bytes)});
}

void ServedRequest::client_gone() {
  is_client_gone_ = true;
  outbox_.drop_response();
  serve_reader();
  if (writer_ == GuestHandle{}) return;
  futures_.make_failed(*futures_.find_answered(std::exchange(writer_, GuestHandle{})),
                       client_is_gone());
}

// ---- Both.

void ServedRequest::future_dropped(FutureRecord& record) {
  if (record.purpose == FuturePurpose::WriteResponse) {
    if (record.handle == writer_) writer_ = GuestHandle{};
    return;
  }
  if (record.result.empty()) return;
  inbox_bytes_ += kPartBytes + record.result.size();
  parts_.push_front(futures_.give_up(record));
}

void ServedRequest::verify() const {
  std::uint64_t bytes = 0;
  for (const std::string& each : parts_) bytes += kPartBytes + each.size();
  QUIRE_CHECK(bytes == inbox_bytes_, "V1");
  const FutureRecord* reader = futures_.find_answered(reader_);
  if (reader != nullptr && !reader->ready) {
    QUIRE_CHECK(parts_.empty() && !is_body_whole_ && !is_client_gone_, "V2");
    QUIRE_CHECK(stage_ != Stage::Finished, "V2");
  }
  if (writer_ != GuestHandle{}) {
    QUIRE_CHECK(!has_out_room() && !is_client_gone_, "V3");
    QUIRE_CHECK(futures_.find_answered(writer_) != nullptr, "V3");
  }
}

}  // namespace quire::hostcalls
