#pragma once
// ResponseFraming writes a response as HTTP/1.1 carries it: the status line and headers, then the body
// by its length, in chunks, or (to a client of HTTP/1.0) up to the end of the connection.
//
// Thread   of its session.
#include <cstdint>
#include <string>
#include <string_view>

#include "application/server/http_router.h"

namespace quire::server {

// A client may give an x-request-id of 1 to 128 letters, digits and marks that no log or header
// uses for itself.
bool is_request_id(std::string_view text);

class ResponseFraming {
 public:
  // `may_keep`: the connection may carry another request after this one.
  ResponseFraming(const HttpHead& request, std::uint32_t status, bool may_keep);

  // The first bytes; `lines` are "name: value\n".
  std::string head(std::string_view lines, const HttpHeaders& more);
  // A part of the body, and its end.
  std::string part(std::string_view bytes) const;
  std::string end() const;
  // The program ended too early: the connection ends so that the client sees it.
  void break_off() { is_broken_off_ = true; }

  bool keeps() const { return keeps_; }
  // The same for a head with these lines: a body without an end of its own ends the connection.
  bool keeps_for(std::string_view lines);
  bool is_broken_off() const { return is_broken_off_; }

 private:
  enum class Body : std::uint8_t { None, Length, Chunks, ToTheEnd };
  void frame(std::string_view lines);

  const std::string request_id_;
  const std::uint32_t status_;
  const bool is_head_;  // The request's method is HEAD: the response has no body.
  const bool is_http_1_0_;
  bool keeps_;
  Body body_ = Body::Length;
  bool is_broken_off_ = false;
};

}  // namespace quire::server
