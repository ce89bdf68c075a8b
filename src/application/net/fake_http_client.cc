#include "application/net/fake_http_client.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::net {

void FakeHttpClient::respond(const std::string& url, FakeResponse response) {
  responses_[url] = std::make_unique<FakeResponse>(std::move(response));
}

void FakeHttpClient::set_addresses(const std::string& name, std::vector<IpAddress> addresses) {
  addresses_[name] = std::move(addresses);
}

Result<ExchangeId> FakeHttpClient::start(HttpRequest request) {
  const ExchangeId id{last_id_ + 1};
  TRY(slots_.take(id, request.tenant));
  ++last_id_;
  Exchange& exchange =
      exchanges_.emplace(id, Transfer(std::move(request), classify, clock_.now_ns())).first->second;
  begin_hop(exchange);
  advance(exchange);  // The request leaves now, not at the next look.
  return id;
}

void FakeHttpClient::begin_hop(Exchange& exchange) {
  Transfer& transfer = exchange.transfer;
  exchange.body.clear();
  exchange.response = nullptr;
  exchange.piece = 0;
  exchange.has_head = false;
  if (transfer.begin_hop(clock_.now_ns())) {
    const auto known = addresses_.find(transfer.hop().url.host);
    transfer.found(known != addresses_.end() ? known->second
                                             : std::vector<IpAddress>{*parse_ipv4("9.9.9.9")});
  }
  if (transfer.is_over()) return;
  if (!responses_.contains(text_of(transfer.hop().url))) {
    transfer.fail(Error(ErrorCode::Unavailable, "connection refused"));
    return;
  }
  transfer.connected(clock_.now_ns());
}

// Takes the part of the request's body that is there; the response begins when that is all.
void FakeHttpClient::take_request(Exchange& exchange) {
  Transfer& transfer = exchange.transfer;
  if (transfer.hop().has_body) {
    char part[4096];
    for (;;) {
      const std::optional<std::size_t> count = transfer.send(part, sizeof part, clock_.now_ns());
      if (!count) return;
      if (*count == 0) break;
      exchange.body.append(part, *count);
    }
  }
  sent_.push_back({transfer.hop(), std::exchange(exchange.body, {})});
  exchange.response = responses_.at(text_of(transfer.hop().url)).get();
  exchange.due_ns = clock_.now_ns() + exchange.response->after_ns;
}

// One step of the script that is due. False: it waits.
bool FakeHttpClient::step(Exchange& exchange) {
  Transfer& transfer = exchange.transfer;
  const FakeResponse& response = *exchange.response;
  if (clock_.now_ns() < exchange.due_ns) return false;
  const auto wait_for_next = [&] {
    if (exchange.piece < response.body.size()) {
      exchange.due_ns += response.body[exchange.piece].after_ns;
    }
  };
  if (!exchange.has_head) {
    exchange.has_head = true;
    std::string_view rest = response.headers;
    bool goes_on =
        transfer.header("HTTP/1.1 " + std::to_string(response.status) + " .", clock_.now_ns());
    while (goes_on && !rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      goes_on = transfer.header(rest.substr(0, end), clock_.now_ns());
      rest.remove_prefix(end);
    }
    if (goes_on) transfer.header("\n", clock_.now_ns());
    wait_for_next();
  } else if (exchange.piece < response.body.size()) {
    const std::string& bytes = response.body[exchange.piece].bytes;
    QUIRE_CHECK(bytes.size() <= kReceivedBytesMax, "a piece is what one read of a socket gives");
    if (transfer.body(bytes, clock_.now_ns()) == Transfer::Intake::Full) return false;
    ++exchange.piece;
    wait_for_next();
  } else if (response.failure.empty()) {
    transfer.ended();
  } else {
    transfer.fail(Error(ErrorCode::Io, response.failure));
  }
  return true;
}

void FakeHttpClient::advance(Exchange& exchange) {
  Transfer& transfer = exchange.transfer;
  transfer.check_time(clock_.now_ns());
  while (!transfer.is_over()) {
    if (transfer.next_hop()) {
      begin_hop(exchange);
    } else if (exchange.response == nullptr) {
      take_request(exchange);
      if (exchange.response == nullptr) return;
    } else if (!step(exchange)) {
      return;
    }
  }
}

void FakeHttpClient::read(ExchangeId id) {
  exchanges_.at(id).transfer.read(clock_.now_ns());
}

void FakeHttpClient::write(ExchangeId id, std::string bytes) {
  Exchange& exchange = exchanges_.at(id);
  exchange.transfer.write(std::move(bytes), clock_.now_ns());
  advance(exchange);
}

void FakeHttpClient::finish(ExchangeId id) {
  Exchange& exchange = exchanges_.at(id);
  exchange.transfer.finish();
  advance(exchange);
}

void FakeHttpClient::close(ExchangeId id) {
  QUIRE_CHECK(exchanges_.erase(id) == 1, "an open exchange");
  slots_.give(id);
}

std::vector<HttpEvent> FakeHttpClient::take_events() {
  std::vector<HttpEvent> events;
  for (auto& [id, exchange] : exchanges_) {
    advance(exchange);
    while (std::optional<HttpEvent> event = exchange.transfer.take_event()) {
      events.push_back(*std::move(event));
      advance(exchange);  // Room for more of the body.
    }
    exchange.transfer.verify();
  }
  return events;
}

std::optional<std::uint64_t> FakeHttpClient::next_event_ns() const {
  std::optional<std::uint64_t> next;
  const auto add = [&](std::uint64_t at_ns) { next = std::min(next.value_or(at_ns), at_ns); };
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange.transfer.is_over()) continue;
    if (const std::optional<std::uint64_t> end_ns = exchange.transfer.end_ns()) add(*end_ns);
    // One that is due and does not go on waits for its program.
    if (exchange.response != nullptr && exchange.due_ns > clock_.now_ns()) add(exchange.due_ns);
  }
  return next;
}

}  // namespace quire::net
