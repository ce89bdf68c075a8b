#include "inference/model_store/http_exchange.h"

#include <curl/curl.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "inference/model_store/lower_case.h"

namespace quire::inference {
namespace {

constexpr int kRedirectCountMax = 10;
constexpr long kStalledBytesPerSecond = 1024;
constexpr std::size_t kHeadBytesMax = 256 << 10;

struct CurlCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Curl = std::unique_ptr<CURL, CurlCleanup>;
struct ListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using FieldList = std::unique_ptr<curl_slist, ListCleanup>;

// A connection that breaks while OpenSSL writes to it is an error of the exchange, and does not end
// the process by SIGPIPE. Other threads notice nothing.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool is_redirect(const HttpHead& head) {
  const bool redirects = head.status == 301 || head.status == 302 || head.status == 303 ||
                         head.status == 307 || head.status == 308;
  return redirects && !head.field("location").empty();
}

// One answer. Its body goes to the receiver, unless the answer is a redirect.
class Exchange {
 public:
  // `body`: null for a GET.
  Exchange(const HttpRequest& request, const std::string* body, HttpReceiver& receiver,
           std::vector<HttpHead>& heads)
      : request_(request), body_(body), receiver_(receiver), heads_(heads) {
    heads_.emplace_back();
  }

  Result<void> run(const WebUrl& url, bool has_token);

 private:
  static std::size_t take_head(char* data, std::size_t, std::size_t count, void* context);
  static std::size_t take_body(char* data, std::size_t, std::size_t count, void* context);
  static int look_up(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  void configure(CURL* curl, const WebUrl& url, curl_slist* fields, char* message);
  // Gives the receiver the head, once. False: the body is not wanted.
  bool begin();
  Error failure(CURLcode code, const WebUrl& url, const char* message);

  const HttpRequest& request_;
  const std::string* const body_;
  HttpReceiver& receiver_;
  std::vector<HttpHead>& heads_;
  std::size_t head_bytes_ = 0;
  bool has_begun_ = false;
  bool wants_body_ = false;
  std::optional<Error> error_;
};

std::size_t Exchange::take_head(char* data, std::size_t, std::size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  exchange.head_bytes_ += count;
  if (exchange.head_bytes_ > kHeadBytesMax) {
    exchange.error_ = Error(ErrorCode::TooLarge, "the head of the answer is longer than " +
                                                     std::to_string(kHeadBytesMax) + " bytes");
    return 0;
  }
  // Lines after a body are a trailer, which is not read here.
  if (!exchange.has_begun_) add_head_line(exchange.heads_.back(), {data, count});
  return count;
}

std::size_t Exchange::take_body(char* data, std::size_t, std::size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  if (!exchange.begin()) return 0;
  Result<void> taken = exchange.receiver_.receive(std::as_bytes(std::span(data, count)));
  if (taken.ok()) return count;
  exchange.error_ = std::move(taken).take_error();
  return 0;
}

int Exchange::look_up(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& exchange = *static_cast<Exchange*>(context);
  return !exchange.request_.go_on || exchange.request_.go_on() ? 0 : 1;
}

bool Exchange::begin() {
  if (has_begun_) return wants_body_;
  has_begun_ = true;
  if (is_redirect(heads_.back())) return false;
  Result<bool> wanted = receiver_.begin(heads_);
  if (!wanted.ok()) {
    error_ = std::move(wanted).take_error();
    return false;
  }
  wants_body_ = wanted.value();
  return wants_body_;
}

void Exchange::configure(CURL* curl, const WebUrl& url, curl_slist* fields, char* message) {
  curl_easy_setopt(curl, CURLOPT_URL, url.text().c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "quire/" QUIRE_VERSION);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request_.connect_seconds_max));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kStalledBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stalled_seconds_max));
  if (request_.stalled_seconds_max == 0) curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  if (request_.is_direct) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (!request_.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, request_.ca_file.c_str());
  }
  if (body_ != nullptr) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body_->c_str());
  }
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_head);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &look_up);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
}

Error Exchange::failure(CURLcode code, const WebUrl& url, const char* message) {
  if (error_) return std::move(*error_);
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error(ErrorCode::Cancelled, "stopped");
  // libcurl says this of a head with more than its 100 KB in one line, too.
  if (code == CURLE_OUT_OF_MEMORY) {
    return Error(
        ErrorCode::TooLarge,
        url.shown() + ": the head of the answer is too large, or there is no memory for it");
  }
  const std::string reason = *message != '\0' ? message : curl_easy_strerror(code);
  // The caller knows the first address, and not where redirects led.
  const std::string where = heads_.size() > 1 ? url.shown() + ": " : std::string();
  return Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::Timeout : ErrorCode::Unavailable,
               where + reason);
}

Result<void> Exchange::run(const WebUrl& url, bool has_token) {
  const Curl curl(curl_easy_init());
  if (curl == nullptr) return Error(ErrorCode::Unavailable, "libcurl cannot be set up");
  // A compressed body would have other bytes and another length.
  FieldList fields(curl_slist_append(nullptr, "Accept-Encoding: identity"));
  std::vector<std::string> further = request_.fields;
  if (has_token) further.push_back("Authorization: Bearer " + request_.token);
  // Without the second one libcurl waits a second for a server that does not ask for a large body.
  if (body_ != nullptr)
    further.insert(further.end(), {"Content-Type: application/json", "Expect:"});
  for (const std::string& each : further) {
    curl_slist* longer = curl_slist_append(fields.get(), each.c_str());
    if (longer == nullptr) return Error(ErrorCode::Unavailable, "libcurl has no memory");
    (void)fields.release();
    fields.reset(longer);
  }
  char message[CURL_ERROR_SIZE] = "";
  configure(curl.get(), url, fields.get(), message);
  const CURLcode code = curl_easy_perform(curl.get());
  // An answer without a body has not begun yet.
  if (code == CURLE_OK) (void)begin();
  const bool is_cut_short = has_begun_ && !wants_body_ && !error_;
  if (is_cut_short || (code == CURLE_OK && !error_)) return {};
  return failure(code, url, message);
}

}  // namespace

std::string HttpHead::field(std::string_view name) const {
  const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                  [&](const auto& each) { return each.first == name; });
  return found == fields.rend() ? std::string() : found->second;
}

void add_head_line(HttpHead& head, std::string_view line) {
  if (line.starts_with("HTTP/")) {
    head = HttpHead();
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return;
    for (const char each : line.substr(space + 1, 3)) {
      if (each < '0' || each > '9') break;
      head.status = head.status * 10 + (each - '0');
    }
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  head.fields.emplace_back(in_lower_case(trimmed(line.substr(0, colon))),
                           std::string(trimmed(line.substr(colon + 1))));
}

Result<void> http_get(const HttpRequest& request, HttpReceiver& receiver) {
  const NoPipeSignal no_signal;
  const WebUrl first = TRY(WebUrl::parse(request.url));
  WebUrl url = first;
  std::vector<HttpHead> heads;
  for (int count = 0; count <= kRedirectCountMax; ++count) {
    Exchange exchange(request, nullptr, receiver, heads);
    TRY(exchange.run(url, !request.token.empty() && url.has_origin_of(first)));
    if (!is_redirect(heads.back())) return {};
    url = TRY(url.follow(heads.back().field("location")));
  }
  return Error(ErrorCode::Unavailable, first.shown() + " leads on and on: more than " +
                                           std::to_string(kRedirectCountMax) + " redirects");
}

Result<void> http_post(const HttpRequest& request, const std::string& body,
                       HttpReceiver& receiver) {
  const NoPipeSignal no_signal;
  const WebUrl url = TRY(WebUrl::parse(request.url));
  std::vector<HttpHead> heads;
  return Exchange(request, &body, receiver, heads).run(url, !request.token.empty());
}

}  // namespace quire::inference
