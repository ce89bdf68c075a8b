#pragma once
// For tests and the fuzzer: what an HttpReader makes of bytes that come in pieces.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "application/server/http_reader.h"

namespace quire::server {

// The requests that were read whole, a line each, and how the reading ended: "more" (the rest is not
// here yet), "problem STATUS" or "upgrade".
struct ReadRequests {
  std::string requests;
  std::string end = "more";
  std::string problem;  // Its message.

  std::string text() const { return requests + end; }
};

class PieceReader {
 public:
  explicit PieceReader(const HttpReaderLimits& limits) : reader_(limits) {}

  ReadRequests read(std::string_view bytes, std::size_t piece_bytes) {
    while (!is_over_) {
      take_all();
      if (is_over_ || bytes.empty()) break;
      // Otherwise the connection would hang: it waits for bytes and has no room for them.
      if (!reader_.has_room()) std::abort();
      const std::size_t count = std::min(piece_bytes, bytes.size());
      reader_.add(bytes.substr(0, count));
      bytes.remove_prefix(count);
    }
    return read_;
  }

 private:
  void take_all() {
    while (!is_over_ && (is_in_body_ ? take_part() : take_head())) {
    }
  }
  void end(std::string how, std::string message = "") {
    read_.end = std::move(how);
    read_.problem = std::move(message);
    is_over_ = true;
  }
  bool fail(const HttpProblem& problem) {
    end("problem " + std::to_string(problem.status), problem.message);
    return false;
  }
  void finish_request() {
    read_.requests += request_ + " [" + body_ + "]\n";
    is_in_body_ = false;
  }
  bool take_head() {
    auto read = reader_.read_head();
    if (std::holds_alternative<MoreNeeded>(read)) return false;
    if (const auto* problem = std::get_if<HttpProblem>(&read)) return fail(*problem);
    const HttpHead& head = std::get<HttpHead>(read);
    if (head.has_body != !reader_.is_body_whole()) std::abort();
    request_ = head.method + " " + head.target + " {" + head.lines + "}";
    body_.clear();
    is_in_body_ = head.has_body;
    if (head.is_upgrade && !head.has_body) {
      (void)reader_.take_upgrade();
      end("upgrade");
      return false;
    }
    if (!is_in_body_) finish_request();
    return true;
  }
  bool take_part() {
    auto read = reader_.read_part();
    if (std::holds_alternative<MoreNeeded>(read)) return false;
    if (const auto* problem = std::get_if<HttpProblem>(&read)) return fail(*problem);
    const BodyPart& part = std::get<BodyPart>(read);
    if (part.bytes.size() > HttpReader::kPartBytesMax) std::abort();
    if (part.is_last != reader_.is_body_whole() || (part.bytes.empty() && !part.is_last))
      std::abort();
    body_ += part.bytes;
    if (part.is_last) finish_request();
    return true;
  }

  HttpReader reader_;
  ReadRequests read_;
  std::string request_;
  std::string body_;
  bool is_in_body_ = false;
  bool is_over_ = false;
};

inline ReadRequests read_requests(std::string_view bytes, std::size_t piece_bytes,
                                  const HttpReaderLimits& limits = {.header_bytes_max = 8192,
                                                                    .body_bytes_max = 1u << 20}) {
  return PieceReader(limits).read(bytes, piece_bytes);
}

}  // namespace quire::server
