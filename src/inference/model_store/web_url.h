#pragma once
// Addresses of the web: http and https, and no other scheme.
//
// Thread   any; no state.
// Errors   InvalidArgument names the address and what is wrong with it.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::inference {

bool is_web_url(std::string_view text);  // By how it begins.

class WebUrl final {
 public:
  static Result<WebUrl> parse(const std::string& text);

  // The address that a `Location` of an answer from here leads to. It never leads from https to
  // http.
  Result<WebUrl> follow(const std::string& location) const;

  const std::string& text() const { return text_; }
  // Scheme, host and port are equal, so that the same server answers.
  bool has_origin_of(const WebUrl& other) const;
  bool is_encrypted() const { return scheme_ == "https"; }
  bool is_loopback() const;  // 127.0.0.0/8, ::1 or localhost.
  bool has_user() const { return has_user_; }
  bool has_query() const { return has_query_; }  // Or a fragment.
  const std::string& path() const { return path_; }

  // Fit for a message. The query is left out: it may be a signature that opens the file.
  std::string shown() const;

 private:
  std::string text_;
  std::string scheme_;
  std::string host_;
  std::string port_;
  std::string path_;
  bool has_user_ = false;
  bool has_query_ = false;
};

// One segment of a path, with all but letters, digits and "-._~" as %XX.
std::string url_segment(std::string_view text);
// The bytes that %XX stands for. A "%" without two digits stays as it is.
std::string url_decoded(std::string_view text);

}  // namespace quire::inference
