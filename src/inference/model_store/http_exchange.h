#pragma once
// http_get: one GET over HTTP or HTTPS with the redirects that it takes, through libcurl.
// http_post: one POST, which follows no redirect.
//
// The token of a request goes to the origin (scheme, host and port) of the first address alone,
// wherever redirects lead. A redirect leads to http or https, and never from https to http.
//
// Thread   any, but not the engine's: it blocks until the exchange ends.
// Errors   Unavailable for errors of the network; Timeout when the other side stalls; `Cancelled`
//          when `go_on` says no; InvalidArgument for an address or a redirect that leads nowhere;
//          TooLarge for heads beyond the limit; and those of the receiver.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inference/model_store/web_url.h"

namespace quire::inference {

// The head of an answer, before its body.
struct HttpHead {
  long status = 0;
  // Names in lower case, in the order of arrival.
  std::vector<std::pair<std::string, std::string>> fields;

  // Empty if there is none; the last if there are several.
  std::string field(std::string_view name) const;
};

// Takes one line of a head, as "Name: value". A status line begins a new head: that of a proxy or
// an interim answer comes before the one that counts.
void add_head_line(HttpHead& head, std::string_view line);

class HttpReceiver {
 public:
  virtual ~HttpReceiver() = default;
  // The heads of all answers, redirects first: whether the body of the last is wanted.
  virtual Result<bool> begin(const std::vector<HttpHead>& heads) = 0;
  virtual Result<void> receive(std::span<const std::byte> bytes) = 0;
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> fields = {};  // As "Name: value"; sent to every host.
  std::string token = {};                // Empty: none.
  std::uint32_t connect_seconds_max = 30;
  std::uint32_t stalled_seconds_max = 60;  // With less than 1 KiB/s; 0: it may take any time.
  std::string ca_file = {};                // Of the authorities to trust; empty: the system's.
  bool is_direct = false;                  // Through no proxy, whatever the environment says.
  std::function<bool()> go_on = {};        // Asked about once a second.
};

// The receiver has all of the body when this is ok.
Result<void> http_get(const HttpRequest& request, HttpReceiver& receiver);
// The body is JSON.
Result<void> http_post(const HttpRequest& request, const std::string& body, HttpReceiver& receiver);

}  // namespace quire::inference
