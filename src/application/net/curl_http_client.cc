#include "application/net/curl_http_client.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "application/net/transfer.h"
#include "base/bounded_queue.h"
#include "base/check.h"
#include "base/start_thread.h"

namespace quire::net {
namespace {

// The most commands of one exchange at once: start, read, write, finish, close. The most reports:
// head or whole, chunk, sent, closed.
constexpr std::size_t kCommandsPerExchange = 5;
constexpr std::size_t kReportsPerExchange = 4;
constexpr std::size_t kPinnedAddressCountMax = 16;
constexpr std::uint64_t kPollNsMax = 1'000'000'000;
constexpr std::uint64_t kConnectMsMax = 1'000'000'000;

template <auto kRelease>
struct Releaser {
  template <typename T>
  void operator()(T* handle) const {
    kRelease(handle);
  }
};
using CurlMulti = std::unique_ptr<CURLM, Releaser<curl_multi_cleanup>>;
using CurlEasy = std::unique_ptr<CURL, Releaser<curl_easy_cleanup>>;
using CurlShare = std::unique_ptr<CURLSH, Releaser<curl_share_cleanup>>;
using CurlList = std::unique_ptr<curl_slist, Releaser<curl_slist_free_all>>;

void append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  QUIRE_CHECK(longer != nullptr, "memory for a header");
  (void)list.release();
  list.reset(longer);
}

enum class CommandKind : std::uint8_t { Start, Read, Write, Finish, Close };
struct Command {
  CommandKind kind = CommandKind::Close;
  ExchangeId id{};
  std::unique_ptr<HttpRequest> request;  // Of Start.
  std::string bytes;                     // Of Write.
};

struct Report {
  ExchangeId id{};
  std::optional<HttpEvent> event;  // Empty: the exchange is closed, its slot free.
};

std::optional<std::pair<IpAddress, std::uint16_t>> address_of(const sockaddr* from) {
  IpAddress address;
  if (from->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, from, sizeof v4);
    address.is_v4 = true;
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
    return std::pair(address, ntohs(v4.sin_port));
  }
  if (from->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, from, sizeof v6);
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    return std::pair(address, ntohs(v6.sin6_port));
  }
  return std::nullopt;
}

ErrorCode code_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return ErrorCode::Unavailable;
    case CURLE_OPERATION_TIMEDOUT:
      return ErrorCode::Timeout;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return ErrorCode::Internal;
    default:
      return ErrorCode::Io;
  }
}

// Fails where memory has run out, or where we use libcurl wrongly.
void check(CURLMcode code) {
  QUIRE_CHECK(code == CURLM_OK, curl_multi_strerror(code));
}

// An exchange on the net thread. What libcurl holds of it lives as long as one hop.
struct Exchange {
  Exchange(HttpRequest request, AddressPolicy policy, const Clock& given)
      : clock(given), transfer(std::move(request), policy, given.now_ns()) {}

  const Clock& clock;
  Transfer transfer;
  std::shared_ptr<Lookup> lookup;
  CurlList headers;
  CurlList pinned;
  CurlShare names;  // So that no other exchange's addresses are used for this one's names.
  CurlEasy easy;    // Uses the lists and the share, so it goes first.
  char message[CURL_ERROR_SIZE] = {};
  bool is_receive_paused = false;
  bool is_send_paused = false;
};

Exchange& exchange_of(void* context) {
  return *static_cast<Exchange*>(context);
}

std::size_t on_header(char* line, std::size_t, std::size_t bytes, void* context) {
  Exchange& self = exchange_of(context);
  return self.transfer.header({line, bytes}, self.clock.now_ns()) ? bytes : 0;
}

std::size_t on_body(char* data, std::size_t, std::size_t bytes, void* context) {
  Exchange& self = exchange_of(context);
  switch (self.transfer.body({data, bytes}, self.clock.now_ns())) {
    case Transfer::Intake::Taken:
      return bytes;
    case Transfer::Intake::Full:
      self.is_receive_paused = true;
      return CURL_WRITEFUNC_PAUSE;
    case Transfer::Intake::Stop:
      break;
  }
  return CURL_WRITEFUNC_ERROR;
}

std::size_t on_send(char* into, std::size_t, std::size_t room, void* context) {
  Exchange& self = exchange_of(context);
  const std::optional<std::size_t> count = self.transfer.send(into, room, self.clock.now_ns());
  if (count) return *count;
  self.is_send_paused = true;
  return CURL_READFUNC_PAUSE;
}

curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* to) {
  const auto address = address_of(&to->addr);
  if (!address || !exchange_of(context).transfer.may_connect(address->first, address->second)) {
    return CURL_SOCKET_BAD;
  }
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

// The connection is there, and nothing was sent on it.
int on_connected(void* context, char* peer, char*, int port, int) {
  Exchange& self = exchange_of(context);
  std::optional<IpAddress> address = parse_ipv4(peer);
  if (!address) address = parse_ipv6(peer);
  const bool is_checked =
      address && self.transfer.may_connect(*address, static_cast<std::uint16_t>(port));
  if (!is_checked) return CURL_PREREQFUNC_ABORT;
  self.transfer.connected(self.clock.now_ns());
  return CURL_PREREQFUNC_OK;
}

CurlList header_list(const Hop& hop) {
  CurlList list;
  const auto is_given = [&](const char* name) { return find_header(hop.headers, name) != nullptr; };
  for (const HttpHeader& each : hop.headers) {
    // libcurl takes "name:" for the wish to leave a header out, and "name;" for an empty one.
    append(list, each.value.empty() ? each.name + ";" : each.name + ": " + each.value);
  }
  if (!is_given("user-agent")) append(list, "user-agent: quire/" QUIRE_VERSION);
  if (!is_given("accept-encoding")) append(list, "accept-encoding: gzip");
  if (!is_given("content-type")) append(list, "content-type:");
  append(list, "expect:");
  return list;
}

// "+" is left out: the entry shall not expire while it is used.
CurlList pinned_list(const Hop& hop, const std::vector<IpAddress>& addresses) {
  std::string line = hop.url.host + ":" + std::to_string(hop.url.port) + ":";
  const std::size_t count = std::min(addresses.size(), kPinnedAddressCountMax);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = text_of(addresses[i]);
    line += (i > 0 ? "," : "") + (addresses[i].is_v4 ? text : "[" + text + "]");
  }
  CurlList list;
  append(list, line);
  return list;
}

// Sets options of a handle, and remembers whether libcurl knew each: an option that it does not
// know may be the one that matters.
class Options {
 public:
  explicit Options(CURL* curl) : curl_(curl) {}

  template <typename T>
  void set(CURLoption option, T value) {
    if (failure_ == CURLE_OK) failure_ = curl_easy_setopt(curl_, option, value);
  }
  CURLcode failure() const { return failure_; }

 private:
  CURL* const curl_;
  CURLcode failure_ = CURLE_OK;
};

void set_callbacks(Options& options, Exchange& exchange) {
  options.set(CURLOPT_HEADERFUNCTION, on_header);
  options.set(CURLOPT_HEADERDATA, &exchange);
  options.set(CURLOPT_WRITEFUNCTION, on_body);
  options.set(CURLOPT_WRITEDATA, &exchange);
  options.set(CURLOPT_READFUNCTION, on_send);
  options.set(CURLOPT_READDATA, &exchange);
  options.set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  options.set(CURLOPT_OPENSOCKETDATA, &exchange);
  options.set(CURLOPT_PREREQFUNCTION, on_connected);
  options.set(CURLOPT_PREREQDATA, &exchange);
  options.set(CURLOPT_PRIVATE, &exchange);
  options.set(CURLOPT_ERRORBUFFER, exchange.message);
}

void set_request(Options& options, Exchange& exchange) {
  const Hop& hop = exchange.transfer.hop();
  if (hop.method == "HEAD") options.set(CURLOPT_NOBODY, 1L);
  if (hop.has_body) {
    options.set(CURLOPT_UPLOAD, 1L);
    const std::optional<std::uint64_t> bytes = exchange.transfer.body_bytes();
    const curl_off_t length = bytes ? static_cast<curl_off_t>(*bytes) : -1;
    options.set(CURLOPT_INFILESIZE_LARGE, length);
  }
  options.set(CURLOPT_CUSTOMREQUEST, hop.method.c_str());
}

// Sets what this connection may do. Environment variables and servers have no say in it.
void set_policy(Options& options, const std::string& ca_file) {
  options.set(CURLOPT_PROTOCOLS_STR, "http,https");
  options.set(CURLOPT_FOLLOWLOCATION, 0L);
  options.set(CURLOPT_PROXY, "");
  options.set(CURLOPT_NOPROXY, "*");
  options.set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  options.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  options.set(CURLOPT_HTTP09_ALLOWED, 0L);
  options.set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  options.set(CURLOPT_FRESH_CONNECT, 1L);
  options.set(CURLOPT_FORBID_REUSE, 1L);
  options.set(CURLOPT_SSL_VERIFYPEER, 1L);
  options.set(CURLOPT_SSL_VERIFYHOST, 2L);
  options.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file.empty()) {
    options.set(CURLOPT_CAINFO, ca_file.c_str());
    options.set<char*>(CURLOPT_CAPATH, nullptr);
  }
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_PATH_AS_IS, 1L);
  options.set(CURLOPT_BUFFERSIZE, static_cast<long>(kReceivedBytesMax));
}

}  // namespace

struct CurlHttpClient::Implementation {
  explicit Implementation(CurlHttpParts given) : parts(std::move(given)) {}

  // Engine thread.
  void send(Command command);
  void wake();

  // Net thread.
  void run();
  void carry_out(Command command);
  void begin_hops(Exchange& exchange);
  void connect(Exchange& exchange);
  void disconnect(Exchange& exchange);
  void take_lookups(LookupPool& lookups);
  void take_results();
  bool resume(Exchange& exchange);  // True if anything waited.
  void report(Report report);
  std::uint64_t tend();

  const CurlHttpParts parts;
  BoundedQueue<std::unique_ptr<Command>> commands{kCommandsPerExchange * kExchangeCountMax};
  BoundedQueue<std::unique_ptr<Report>> reports{kReportsPerExchange * kExchangeCountMax};
  CurlMulti owned_multi;               // Made by the net thread; outlives it, for wake().
  std::atomic<CURLM*> multi{nullptr};  // The same, for any thread that calls wake().
  std::atomic<bool> stopping{false};
  std::thread thread;

  // Engine thread only.
  std::uint64_t last_id = 0;
  std::set<ExchangeId> open;

  // Net thread only.
  LookupPool* lookups = nullptr;
  std::map<ExchangeId, std::unique_ptr<Exchange>> exchanges;
};

void CurlHttpClient::Implementation::wake() {
  if (CURLM* known = multi.load()) curl_multi_wakeup(known);
}

void CurlHttpClient::Implementation::send(Command command) {
  QUIRE_CHECK(commands.try_push(std::make_unique<Command>(std::move(command))),
              "kCommandsPerExchange slots for each exchange");
  wake();
}

void CurlHttpClient::Implementation::report(Report report) {
  QUIRE_CHECK(reports.try_push(std::make_unique<Report>(std::move(report))),
              "kReportsPerExchange slots for each exchange");
}

void CurlHttpClient::Implementation::disconnect(Exchange& exchange) {
  if (exchange.easy == nullptr) return;
  curl_multi_remove_handle(multi.load(), exchange.easy.get());
  exchange.easy.reset();
  exchange.names.reset();
  exchange.is_receive_paused = exchange.is_send_paused = false;
}

// The addresses were checked; from here libcurl takes over.
void CurlHttpClient::Implementation::connect(Exchange& exchange) {
  const Hop& hop = exchange.transfer.hop();
  exchange.headers = header_list(hop);
  exchange.names.reset(curl_share_init());
  exchange.easy.reset(curl_easy_init());
  CURL* curl = exchange.easy.get();
  if (curl == nullptr || exchange.names == nullptr) {
    exchange.transfer.fail(Error(ErrorCode::Internal, "libcurl has no memory for a transfer"));
    return;
  }
  exchange.message[0] = '\0';
  Options options(curl);
  curl_share_setopt(exchange.names.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
  options.set(CURLOPT_SHARE, exchange.names.get());
  if (!hop.url.address) {
    exchange.pinned = pinned_list(hop, exchange.transfer.addresses());
    options.set(CURLOPT_RESOLVE, exchange.pinned.get());
  }
  set_policy(options, parts.ca_file);
  set_callbacks(options, exchange);
  set_request(options, exchange);
  // libcurl shares this out among the addresses; Transfer ends it a little earlier, by its name.
  const std::uint64_t connect_ms = exchange.transfer.request().limits.connect_ns_max / 1'000'000;
  options.set(CURLOPT_CONNECTTIMEOUT_MS,
              static_cast<long>(std::min<std::uint64_t>(connect_ms, kConnectMsMax) + 100));
  options.set(CURLOPT_HTTPHEADER, exchange.headers.get());
  options.set(CURLOPT_URL, text_of(hop.url).c_str());
  if (options.failure() != CURLE_OK) {
    exchange.transfer.fail(
        Error(ErrorCode::Internal, std::string("libcurl cannot do what a transfer needs: ") +
                                       curl_easy_strerror(options.failure())));
    return;
  }
  check(curl_multi_add_handle(multi.load(), curl));
}

void CurlHttpClient::Implementation::begin_hops(Exchange& exchange) {
  Transfer& transfer = exchange.transfer;
  if (transfer.begin_hop(parts.clock.now_ns())) {
    Result<std::shared_ptr<Lookup>> lookup = lookups->begin(
        transfer.hop().url.host, transfer.request().owner.instance, transfer.request().tenant);
    if (lookup.ok()) {
      exchange.lookup = std::move(lookup).take();
    } else {
      transfer.fail(std::move(lookup).take_error());
    }
  } else if (!transfer.is_over()) {
    connect(exchange);
  }
}

void CurlHttpClient::Implementation::take_lookups(LookupPool& pool) {
  for (const std::shared_ptr<Lookup>& finished : pool.take_finished()) {
    for (auto& [id, exchange] : exchanges) {
      if (exchange->lookup != finished) continue;
      exchange->lookup.reset();
      exchange->transfer.found(std::move(finished->answer));
      if (!exchange->transfer.is_over()) connect(*exchange);
      break;
    }
  }
}

void CurlHttpClient::Implementation::take_results() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.load(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* context = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
    Exchange& exchange = exchange_of(context);
    disconnect(exchange);
    Transfer& transfer = exchange.transfer;
    if (transfer.next_hop()) {
      begin_hops(exchange);
    } else if (code == CURLE_OK) {
      transfer.ended();
    } else {
      transfer.fail(Error(code_of(code), exchange.message[0] != '\0' ? exchange.message
                                                                     : curl_easy_strerror(code)));
    }
  }
}

void CurlHttpClient::Implementation::carry_out(Command command) {
  const std::uint64_t now_ns = parts.clock.now_ns();
  if (command.kind == CommandKind::Start) {
    auto exchange =
        std::make_unique<Exchange>(*std::move(command.request), parts.policy, parts.clock);
    begin_hops(*exchange);
    exchanges.emplace(command.id, std::move(exchange));
    return;
  }
  const auto found = exchanges.find(command.id);
  QUIRE_CHECK(found != exchanges.end(), "only close() ends an exchange");
  Exchange& exchange = *found->second;
  switch (command.kind) {
    case CommandKind::Start:
      break;
    case CommandKind::Read:
      exchange.transfer.read(now_ns);
      break;
    case CommandKind::Write:
      exchange.transfer.write(std::move(command.bytes), now_ns);
      break;
    case CommandKind::Finish:
      exchange.transfer.finish();
      break;
    case CommandKind::Close:
      if (exchange.lookup != nullptr) exchange.lookup->is_dropped = true;
      disconnect(exchange);
      exchanges.erase(found);
      report({command.id, std::nullopt});
      parts.wakeup.notify();
      break;
  }
}

// Lets go on what waited for the program. libcurl may call back from inside.
bool CurlHttpClient::Implementation::resume(Exchange& exchange) {
  const Transfer& transfer = exchange.transfer;
  if (exchange.easy == nullptr) return false;
  const bool receives = exchange.is_receive_paused && transfer.wants_body();
  const bool sends = exchange.is_send_paused && transfer.has_to_send();
  if (!receives && !sends) return false;
  if (receives) exchange.is_receive_paused = false;
  if (sends) exchange.is_send_paused = false;
  const int pauses = (exchange.is_receive_paused ? CURLPAUSE_RECV : 0) |
                     (exchange.is_send_paused ? CURLPAUSE_SEND : 0);
  // A failure is one of a callback, which the transfer knows, or is in the result.
  (void)curl_easy_pause(exchange.easy.get(), pauses);
  return true;
}

// Events out, pauses and times looked at. When to look again.
std::uint64_t CurlHttpClient::Implementation::tend() {
  const std::uint64_t now_ns = parts.clock.now_ns();
  std::uint64_t next_ns = now_ns + kPollNsMax;
  bool any = false;
  for (auto& [id, exchange] : exchanges) {
    Transfer& transfer = exchange->transfer;
    transfer.check_time(now_ns);
    while (std::optional<HttpEvent> event = transfer.take_event()) {
      report({id, std::move(event)});
      any = true;
    }
    if (transfer.is_over()) {
      if (exchange->lookup != nullptr) exchange->lookup->is_dropped = true;
      exchange->lookup.reset();
      disconnect(*exchange);
    } else {
      // The next turn, which is now, looks at the outcome.
      if (resume(*exchange)) next_ns = now_ns;
      next_ns = std::min(next_ns, transfer.end_ns().value_or(next_ns));
    }
    transfer.verify();
  }
  if (any) parts.wakeup.notify();
  return next_ns;
}

void CurlHttpClient::Implementation::run() {
  // Signals are the main thread's; a peer that goes away is an error of a write.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  QUIRE_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl begins");
  owned_multi.reset(curl_multi_init());
  QUIRE_CHECK(owned_multi != nullptr, "memory for a curl_multi");
  LookupPool pool(parts.resolver, [this] { wake(); });
  lookups = &pool;
  multi.store(owned_multi.get());
  while (!stopping.load()) {
    while (std::optional<std::unique_ptr<Command>> command = commands.try_pop()) {
      carry_out(std::move(**command));
    }
    take_lookups(pool);
    int running = 0;
    check(curl_multi_perform(owned_multi.get(), &running));
    take_results();
    const std::uint64_t next_ns = tend();
    const std::uint64_t now_ns = parts.clock.now_ns();
    const std::uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    const auto wait_ms = static_cast<int>((wait_ns + 999'999) / 1'000'000);
    check(curl_multi_poll(owned_multi.get(), nullptr, 0, wait_ms, nullptr));
  }
  for (auto& [id, exchange] : exchanges) {
    if (exchange->lookup != nullptr) exchange->lookup->is_dropped = true;
    disconnect(*exchange);
  }
  exchanges.clear();
}

CurlHttpClient::CurlHttpClient(CurlHttpParts parts)
    : implementation_(std::make_unique<Implementation>(std::move(parts))) {}

CurlHttpClient::~CurlHttpClient() {
  Implementation& self = *implementation_;
  if (!self.thread.joinable()) return;
  self.stopping.store(true);
  self.wake();
  self.thread.join();
}

Result<ExchangeId> CurlHttpClient::start(HttpRequest request) {
  Implementation& self = *implementation_;
  if (!self.thread.joinable()) {
    self.thread = TRY(start_thread("HTTP to the outside", [&self] { self.run(); }));
  }
  const ExchangeId id{self.last_id + 1};
  TRY(slots_.take(id, request.tenant));
  ++self.last_id;
  self.open.insert(id);
  self.send({CommandKind::Start, id, std::make_unique<HttpRequest>(std::move(request)), {}});
  return id;
}

void CurlHttpClient::read(ExchangeId id) {
  QUIRE_CHECK(implementation_->open.contains(id), "an open exchange");
  implementation_->send({CommandKind::Read, id, nullptr, {}});
}

void CurlHttpClient::write(ExchangeId id, std::string bytes) {
  QUIRE_CHECK(implementation_->open.contains(id), "an open exchange");
  implementation_->send({CommandKind::Write, id, nullptr, std::move(bytes)});
}

void CurlHttpClient::finish(ExchangeId id) {
  QUIRE_CHECK(implementation_->open.contains(id), "an open exchange");
  implementation_->send({CommandKind::Finish, id, nullptr, {}});
}

void CurlHttpClient::close(ExchangeId id) {
  QUIRE_CHECK(implementation_->open.erase(id) == 1, "an open exchange");
  implementation_->send({CommandKind::Close, id, nullptr, {}});
}

std::vector<HttpEvent> CurlHttpClient::take_events() {
  Implementation& self = *implementation_;
  std::vector<HttpEvent> events;
  if (slots_.count() == 0) return events;
  while (std::optional<std::unique_ptr<Report>> report = self.reports.try_pop()) {
    if (!(*report)->event) {
      slots_.give((*report)->id);
    } else if (self.open.contains((*report)->id)) {
      events.push_back(*std::move((*report)->event));
    }
  }
  return events;
}

}  // namespace quire::net
