#include "inference/model_store/web_url.h"

#include <curl/curl.h>

#include <memory>

#include "base/utf8.h"
#include "inference/model_store/lower_case.h"

namespace quire::inference {
namespace {

constexpr std::size_t kShownBytesMax = 200;

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, UrlCleanup>;

// A part of the address; empty if it has none.
std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

int hex_digit(char each) {
  if (each >= '0' && each <= '9') return each - '0';
  if (each >= 'a' && each <= 'f') return each - 'a' + 10;
  if (each >= 'A' && each <= 'F') return each - 'A' + 10;
  return -1;
}

}  // namespace

bool is_web_url(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

Result<WebUrl> WebUrl::parse(const std::string& text) {
  const CurlUrl url(curl_url());
  if (url == nullptr) return Error(ErrorCode::Unavailable, "libcurl cannot be set up");
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0);
  if (code != CURLUE_OK) {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(text) + " is not the address of a file: " + curl_url_strerror(code));
  }
  WebUrl parsed;
  parsed.text_ = part_of(url.get(), CURLUPART_URL);
  parsed.scheme_ = part_of(url.get(), CURLUPART_SCHEME);
  parsed.host_ = in_lower_case(part_of(url.get(), CURLUPART_HOST));
  parsed.port_ = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  parsed.path_ = part_of(url.get(), CURLUPART_PATH);
  parsed.has_user_ = !part_of(url.get(), CURLUPART_USER).empty() ||
                     !part_of(url.get(), CURLUPART_PASSWORD).empty();
  parsed.has_query_ = !part_of(url.get(), CURLUPART_QUERY).empty() ||
                      !part_of(url.get(), CURLUPART_FRAGMENT).empty();
  if (parsed.scheme_ != "http" && parsed.scheme_ != "https") {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(text) + " does not begin with http:// or https://");
  }
  return parsed;
}

Result<WebUrl> WebUrl::follow(const std::string& location) const {
  const CurlUrl url(curl_url());
  if (url == nullptr) return Error(ErrorCode::Unavailable, "libcurl cannot be set up");
  CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text_.c_str(), 0);
  if (code == CURLUE_OK) {
    // Servers write spaces and letters beyond ASCII as they are.
    code = curl_url_set(url.get(), CURLUPART_URL, location.c_str(),
                        CURLU_URLENCODE | CURLU_ALLOW_SPACE);
  }
  if (code != CURLUE_OK) {
    return Error(ErrorCode::InvalidArgument,
                 shown() + " leads to " + in_quotes(location) + ": " + curl_url_strerror(code));
  }
  WebUrl next = TRY(parse(part_of(url.get(), CURLUPART_URL)));
  if (is_encrypted() && !next.is_encrypted()) {
    return Error(ErrorCode::InvalidArgument,
                 shown() + " leads from https to " + next.shown() + ", which anyone could change");
  }
  return next;
}

bool WebUrl::has_origin_of(const WebUrl& other) const {
  return scheme_ == other.scheme_ && host_ == other.host_ && port_ == other.port_;
}

bool WebUrl::is_loopback() const {
  if (host_ == "localhost" || host_ == "[::1]") return true;
  // libcurl writes an IPv4 address in four numbers, however it was given.
  return host_.starts_with("127.") && host_.find_first_not_of("0123456789.") == std::string::npos;
}

std::string WebUrl::shown() const {
  const std::string address = text_.substr(0, text_.find_first_of("?#"));
  const bool is_long = address.size() > kShownBytesMax;
  return printable(address.substr(0, kShownBytesMax)) + (is_long ? "..." : "");
}

std::string url_segment(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char each : text) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') || each == '-' || each == '.' ||
                          each == '_' || each == '~';
    if (is_plain) {
      encoded += each;
      continue;
    }
    const auto byte = static_cast<unsigned char>(each);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

std::string url_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                           hex_digit(text[i + 2]) >= 0;
    if (!is_escape) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return decoded;
}

}  // namespace quire::inference
