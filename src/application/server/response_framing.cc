#include "application/server/response_framing.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>

namespace quire::server {
namespace {

constexpr std::size_t kRequestIdBytesMax = 128;

// Whether the lines have a header of that name, in lower case.
bool has_line(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::string_view found = line.substr(0, line.find(':'));
    const bool is_same = std::equal(
        found.begin(), found.end(), name.begin(), name.end(), [](char each, char wanted) {
          return (each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each) == wanted;
        });
    if (is_same) return true;
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return false;
}

}  // namespace

bool is_request_id(std::string_view text) {
  constexpr std::string_view kMarks = "-_.:/+=@";
  return !text.empty() && text.size() <= kRequestIdBytesMax &&
         std::all_of(text.begin(), text.end(), [&](char each) {
           return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                  (each >= 'A' && each <= 'Z') || kMarks.find(each) != std::string_view::npos;
         });
}

ResponseFraming::ResponseFraming(const HttpHead& request, std::uint32_t status, bool may_keep)
    : request_id_(request.request_id),
      status_(status),
      is_head_(request.method == "HEAD"),
      is_http_1_0_(request.is_http_1_0),
      keeps_(may_keep) {}

void ResponseFraming::frame(std::string_view lines) {
  if (status_ == 204 || status_ == 304) {
    body_ = Body::None;
  } else if (has_line(lines, "content-length")) {
    body_ = Body::Length;
  } else {
    body_ = is_http_1_0_ ? Body::ToTheEnd : Body::Chunks;
  }
  if (body_ == Body::ToTheEnd) keeps_ = false;
}

bool ResponseFraming::keeps_for(std::string_view lines) {
  frame(lines);
  return keeps_;
}

std::string ResponseFraming::head(std::string_view lines, const HttpHeaders& more) {
  frame(lines);
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status_));
  std::string out = "HTTP/1.1 " + std::to_string(status_) + " ";
  out.append(reason.data(), reason.size());
  out += "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
  };
  if (!has_line(lines, "server")) add("Server", "quire/" QUIRE_VERSION);
  if (!request_id_.empty()) add("X-Request-Id", request_id_);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::string_view name = line.substr(0, line.find(':'));
    // The server's headers about origins replace those of the program, except Vary.
    const bool is_replaced = std::any_of(more.begin(), more.end(), [&](const auto& each) {
      return has_line(line,
                      [&] {
                        std::string lower = each.first;
                        std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
                          return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
                        });
                        return lower;
                      }()) &&
             name != "vary";
    });
    if (!is_replaced && !(body_ == Body::None && has_line(line, "content-length"))) {
      out.append(line).append("\r\n");
    }
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  for (const auto& [name, value] : more) add(name, value);
  if (body_ == Body::Chunks) add("Transfer-Encoding", "chunked");
  if (!keeps_) {
    add("Connection", "close");
  } else if (is_http_1_0_) {
    add("Connection", "keep-alive");
  }
  return out + "\r\n";
}

std::string ResponseFraming::part(std::string_view bytes) const {
  if (bytes.empty() || is_head_ || body_ == Body::None) return "";
  if (body_ != Body::Chunks) return std::string(bytes);
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  std::string out(digits.data(), end.ptr);
  return out.append("\r\n").append(bytes).append("\r\n");
}

std::string ResponseFraming::end() const {
  return body_ == Body::Chunks && !is_head_ ? "0\r\n\r\n" : "";
}

}  // namespace quire::server
