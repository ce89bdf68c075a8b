#include "inference/model_store/hub_client.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/readable.h"
#include "base/utf8.h"
#include "inference/model_store/hub_answer.h"

namespace quire::inference {
namespace {

constexpr std::size_t kTextBytesMax = 32 << 20;
constexpr int kPageCountMax = 200;
constexpr std::size_t kTokenBytesMax = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A path with "/" between its segments, fit for an address.
std::string url_path(const std::string& path) {
  std::string encoded;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    encoded += (begin == 0 ? "" : "/") + url_segment(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return encoded;
}

// Collects a text of the hub's API.
class TextReceiver final : public HttpReceiver {
 public:
  TextReceiver(std::string what, bool has_token) : what_(std::move(what)), has_token_(has_token) {}

  Result<bool> begin(const std::vector<HttpHead>& heads) override {
    head = heads.back();
    if (head.status != 200) return refusal_of(head, what_, has_token_);
    return true;
  }
  Result<void> receive(std::span<const std::byte> bytes) override {
    if (bytes.size() > kTextBytesMax - text.size()) {
      return Error(ErrorCode::TooLarge, "more than " + readable_bytes(kTextBytesMax));
    }
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

  std::string text;
  HttpHead head;

 private:
  const std::string what_;
  const bool has_token_;
};

// Appends the bytes of one file to its part.
class PartReceiver final : public HttpReceiver {
 public:
  PartReceiver(const HubFile& file, PartFile& part, const HubClient::Received& received,
               bool has_token)
      : file_(file), part_(part), received_(received), has_token_(has_token) {}

  Result<bool> begin(const std::vector<HttpHead>& heads) override;
  Result<void> receive(std::span<const std::byte> bytes) override;

 private:
  Error other_file(const std::string& what) const {
    return Error(ErrorCode::Corrupted,
                 printable(file_.path) + ": the hub has another file: " + what);
  }
  Result<void> check_links(const std::vector<HttpHead>& heads) const;
  Result<void> check_length(const HttpHead& head) const;
  Result<void> begin_anew();

  const HubFile& file_;
  PartFile& part_;
  const HubClient::Received& received_;
  const bool has_token_;
};

// The hub says on its own redirect what the other host will give.
Result<void> PartReceiver::check_links(const std::vector<HttpHead>& heads) const {
  for (const HttpHead& head : heads) {
    const std::string digest = etag_text(head.field("x-linked-etag"));
    if (is_sha256(digest) && !file_.sha256.empty() && digest != file_.sha256) {
      return other_file("its SHA-256 is " + digest + ", and " + file_.sha256 + " is wanted");
    }
    const std::string size = head.field("x-linked-size");
    if (!size.empty() && parse_byte_count(size) != file_.bytes) {
      return other_file("it has " + printable(size) + " bytes, and " + std::to_string(file_.bytes) +
                        " are wanted");
    }
  }
  return {};
}

Result<void> PartReceiver::check_length(const HttpHead& head) const {
  const std::string length = head.field("content-length");
  if (length.empty() || parse_byte_count(length) == file_.bytes) return {};
  return other_file("it has " + printable(length) + " bytes, and " + std::to_string(file_.bytes) +
                    " are wanted");
}

Result<void> PartReceiver::begin_anew() {
  const auto bytes = static_cast<std::int64_t>(part_.bytes());
  TRY(part_.restart());
  return received_(-bytes);
}

Result<bool> PartReceiver::begin(const std::vector<HttpHead>& heads) {
  const HttpHead& head = heads.back();
  const bool is_denied = head.status == 401 || head.status == 403 || head.status == 404;
  if (is_denied && heads.size() > 1) {
    // The address there is signed for a while only; the hub gives another one.
    return Error(ErrorCode::Unavailable, printable(file_.path) +
                                             ": the server that the hub leads to answered " +
                                             std::to_string(head.status));
  }
  if (head.status != 200 && head.status != 206 && head.status != 416) {
    return refusal_of(head, printable(file_.path), has_token_);
  }
  TRY(check_links(heads));
  if (head.status == 200) {
    TRY(check_length(head));
    // The server does not know ranges, or took no notice.
    if (part_.bytes() > 0) TRY(begin_anew());
    return true;
  }
  const std::optional<ContentRange> range = parse_content_range(head.field("content-range"));
  const bool continues =
      head.status == 206 && range && range->first == part_.bytes() && range->bytes == file_.bytes;
  if (continues) return true;
  if (part_.bytes() == 0) {
    return other_file("it answers " + std::to_string(head.status) + " with the range " +
                      in_quotes(head.field("content-range")));
  }
  // The local part is not a beginning of the file on the server. The next attempt asks for all of
  // it.
  TRY(begin_anew());
  return Error(ErrorCode::Unavailable,
               printable(file_.path) + ": the server does not go on where the first part ended");
}

Result<void> PartReceiver::receive(std::span<const std::byte> bytes) {
  if (bytes.size() > file_.bytes - part_.bytes()) {
    return other_file("it is longer than the " + std::to_string(file_.bytes) +
                      " bytes that are wanted");
  }
  TRY(part_.append(bytes));
  return received_(static_cast<std::int64_t>(bytes.size()));
}

}  // namespace

Result<HubAccess> HubAccess::from_environment() {
  const std::string endpoint = variable("HF_ENDPOINT");
  return make(endpoint.empty() ? std::string(kHubEndpoint) : endpoint, variable("HF_TOKEN"));
}

Result<HubAccess> HubAccess::make(std::string endpoint, std::string token) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  Result<WebUrl> url = WebUrl::parse(endpoint);
  if (!url.ok()) return std::move(url).take_error().while_("HF_ENDPOINT");
  if (url.value().has_user() || url.value().has_query()) {
    return Error(ErrorCode::InvalidArgument,
                 "HF_ENDPOINT is the address of a hub, as https://huggingface.co, without a user, "
                 "\"?\" or \"#\"");
  }
  const auto is_of_token = [](char each) { return each > 0x20 && each < 0x7f; };
  if (token.size() > kTokenBytesMax || !std::ranges::all_of(token, is_of_token)) {
    return Error(
        ErrorCode::InvalidArgument,
        "HF_TOKEN is not a token: it holds a blank or another character that no token has");
  }
  if (!token.empty() && !url.value().is_encrypted() && !url.value().is_loopback()) {
    return Error(ErrorCode::InvalidArgument,
                 "HF_TOKEN would go to " + url.value().shown() +
                     " without encryption; unset it, or give HF_ENDPOINT as https://");
  }
  return HubAccess{std::move(endpoint), std::move(token)};
}

Result<std::string> HubClient::text_at(const std::string& url, const std::string& what,
                                       HttpHead& head) const {
  TextReceiver receiver(what, !access_.token.empty());
  HttpRequest request{.url = url, .token = access_.token, .go_on = go_on_};
  Result<void> done = http_get(request, receiver);
  if (!done.ok()) return std::move(done).take_error().while_("cannot ask " + access_.endpoint);
  head = std::move(receiver.head);
  return std::move(receiver.text);
}

Result<HubRepository> HubClient::list(const ModelReference& reference) const {
  const std::string models = access_.endpoint + "/api/models/" + reference.repository;
  const std::string source = "the hub's list of " + reference.repository;
  const WebUrl hub = TRY(WebUrl::parse(access_.endpoint));
  HttpHead head;
  HubRepository repository;
  const std::string what = reference.revision == "main"
                               ? reference.repository
                               : reference.repository + "@" + reference.revision;
  const std::string about =
      TRY(text_at(models + "/revision/" + url_segment(reference.revision), what, head));
  repository.revision = TRY(parse_hub_revision(about, source));
  std::optional<std::string> page =
      models + "/tree/" + repository.revision.commit + "?recursive=true";
  for (int count = 0; page; ++count) {
    if (count == kPageCountMax) {
      return Error(ErrorCode::TooLarge,
                   source + ": more than " + std::to_string(kPageCountMax) + " pages");
    }
    const std::string text = TRY(text_at(*page, what, head));
    TRY(parse_hub_tree(text, source, repository.files));
    const WebUrl here = TRY(WebUrl::parse(*page));
    page = next_page_of(head.field("link"));
    if (!page) break;
    const WebUrl next = TRY(here.follow(*page));
    // The token would go there.
    if (!next.has_origin_of(hub)) {
      return Error(ErrorCode::Corrupted, source + ": its next page is at " + next.shown());
    }
    page = next.text();
  }
  return repository;
}

Result<void> HubClient::receive(const ModelReference& reference, const HubFile& file,
                                PartFile& part, const Received& received) const {
  HttpRequest request;
  request.url = access_.endpoint + "/" + reference.repository + "/resolve/" +
                url_segment(reference.revision) + "/" + url_path(file.path);
  request.token = access_.token;
  request.go_on = go_on_;
  if (part.bytes() > 0) {
    request.fields.push_back("Range: bytes=" + std::to_string(part.bytes()) + "-");
  }
  PartReceiver receiver(file, part, received, !access_.token.empty());
  return http_get(request, receiver);
}

}  // namespace quire::inference
