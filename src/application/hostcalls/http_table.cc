#include "application/hostcalls/http_table.h"

#include <utility>

#include "application/hostcalls/answer_encoding.h"
#include "base/check.h"

namespace quire::hostcalls {
namespace {

using net::HttpEventKind;

GuestHandle handle_of(std::uint32_t key) {
  return GuestHandle{static_cast<std::int32_t>(key)};
}

Error busy(const char* what) {
  return Error(ErrorCode::Unavailable,
               std::string("the exchange has a ") + what + " that waits; take or drop it first");
}

Error reads_no_more() {
  return Error(ErrorCode::Unavailable, "the server has answered and reads no more");
}

}  // namespace

Result<void> HttpTable::check_room() const {
  if (open_count() >= exchange_count_max_.own) {
    return Error(ErrorCode::QuotaExceeded,
                 "http.exchange_count_max: " + std::to_string(open_count()) + " of " +
                     exchange_count_max_.text("exchanges are open") +
                     "; wait for one, or drop one");
  }
  if (gauge_ != nullptr) TRY(gauge_->check_exchange());
  if (call_count_ >= call_count_max_.own) {
    return Error(ErrorCode::QuotaExceeded,
                 "http.call_count_max: " + std::to_string(call_count_) + " of " +
                     call_count_max_.text("calls of this program were made"));
  }
  return {};
}

Result<GuestHandle> HttpTable::start(net::HttpRequest request) {
  if (client_ == nullptr) {
    return Error(ErrorCode::NotSupported, "this server has no outbound HTTP");
  }
  const bool is_whole = !request.is_streamed;
  GuestHandle handle{};
  if (is_whole) {
    FutureRecord& record = futures_.add(FuturePurpose::HttpWhole);
    record.owner = handle = record.handle;
  } else {
    handle = TRY(handles_.add(HandleKind::Exchange, {}));
  }
  Exchange exchange;
  exchange.is_whole = is_whole;
  exchange.takes_body = request.is_body_streamed;
  exchange.body_bytes = request.body_bytes;
  request.owner = {static_cast<std::uint64_t>(instance_), number(handle)};
  if (gauge_ != nullptr) request.tenant = gauge_->tenant;
  request.grants = limits_.http_grants;
  request.limits = limits_.http;
  Result<net::ExchangeId> id = client_->start(std::move(request));
  if (!id.ok()) {
    if (is_whole) {
      futures_.remove(*futures_.find_answered(handle));
    } else {
      handles_.remove(handle);
    }
    return std::move(id).take_error();
  }
  exchange.id = id.value();
  exchanges_.emplace(number(handle), std::move(exchange));
  note_open();
  ++call_count_;
  return handle;
}

void HttpTable::note_open() {
  if (gauge_ == nullptr) return;
  gauge_->http_exchange_count += exchanges_.size() - noted_open_count_;
  noted_open_count_ = exchanges_.size();
}

Result<HttpTable::Exchange*> HttpTable::find(GuestHandle handle) {
  TRY(handles_.find(handle, HandleKind::Exchange));
  return &exchanges_.at(number(handle));
}

// The field in which an exchange notes a waiting future; null for a purpose that it has no field
// for.
GuestHandle* HttpTable::waiting(Exchange& exchange, FuturePurpose purpose) {
  switch (purpose) {
    case FuturePurpose::HttpHead:
      return &exchange.head_future;
    case FuturePurpose::HttpRead:
      return &exchange.read_future;
    case FuturePurpose::HttpWrite:
      return &exchange.write_future;
    default:
      return nullptr;
  }
}

GuestHandle HttpTable::add_future(GuestHandle exchange, FuturePurpose purpose) {
  FutureRecord& record = futures_.add(purpose);
  record.owner = exchange;
  return *waiting(exchanges_.at(number(exchange)), purpose) = record.handle;
}

// Answers the waiting future, if there is one that was not dropped.
void HttpTable::settle(GuestHandle& future, std::string result) {
  if (future == GuestHandle{}) return;
  futures_.make_ready(*futures_.find_answered(std::exchange(future, {})), std::move(result));
}

void HttpTable::settle(GuestHandle& future, const Error& error) {
  if (future == GuestHandle{}) return;
  futures_.make_failed(*futures_.find_answered(std::exchange(future, {})), error);
}

Result<GuestHandle> HttpTable::head(GuestHandle handle) {
  Exchange& exchange = *TRY(find(handle));
  if (exchange.head_future != GuestHandle{}) return busy("future of its head");
  const GuestHandle future = add_future(handle, FuturePurpose::HttpHead);
  if (exchange.head) {
    settle(exchange.head_future, *exchange.head);
  } else if (exchange.error) {
    settle(exchange.head_future, *exchange.error);
  }
  return future;
}

Result<GuestHandle> HttpTable::read(GuestHandle handle) {
  Exchange& exchange = *TRY(find(handle));
  if (exchange.read_future != GuestHandle{}) return busy("read");
  const GuestHandle future = add_future(handle, FuturePurpose::HttpRead);
  if (exchange.piece) {
    give_piece(exchange, *std::exchange(exchange.piece, std::nullopt));
  } else if (exchange.error) {
    settle(exchange.read_future, *exchange.error);
  } else if (exchange.has_ended) {
    settle(exchange.read_future, "");
  } else if (!exchange.is_reading) {
    exchange.is_reading = true;
    client_->read(*exchange.id);
  }
  return future;
}

// The future stays known until it is taken: dropped, it gives its piece back.
void HttpTable::give_piece(Exchange& exchange, std::string piece) {
  futures_.make_ready(*futures_.find_answered(exchange.read_future), std::move(piece));
}

Result<GuestHandle> HttpTable::write(GuestHandle handle, std::string bytes) {
  Exchange& exchange = *TRY(find(handle));
  if (!exchange.takes_body || exchange.is_finished) {
    return Error(ErrorCode::OutOfRange, exchange.is_finished
                                            ? "the body of the request is finished"
                                            : "the request was made without a body");
  }
  if (exchange.is_writing) return busy("write");
  const std::uint64_t body_bytes_max =
      exchange.body_bytes.value_or(limits_.http.request_body_bytes_max);
  if (bytes.size() > body_bytes_max - exchange.written_bytes) {
    const std::string figures = std::to_string(bytes.size()) + " bytes behind " +
                                std::to_string(exchange.written_bytes) + " are more than the " +
                                std::to_string(body_bytes_max);
    if (exchange.body_bytes) {
      return Error(ErrorCode::OutOfRange, figures + " of body-bytes");
    }
    return Error(ErrorCode::TooLarge, "http.request_body_bytes_max: " + figures);
  }
  exchange.written_bytes += bytes.size();
  const GuestHandle future = add_future(handle, FuturePurpose::HttpWrite);
  if (exchange.error) {
    settle(exchange.write_future, *exchange.error);
  } else if (exchange.has_ended) {
    settle(exchange.write_future, reads_no_more());
  } else {
    exchange.is_writing = true;
    client_->write(*exchange.id, std::move(bytes));
  }
  return future;
}

Result<void> HttpTable::finish(GuestHandle handle) {
  Exchange& exchange = *TRY(find(handle));
  if (!exchange.takes_body || exchange.is_finished) {
    return Error(ErrorCode::OutOfRange, exchange.is_finished
                                            ? "the body of the request is finished"
                                            : "the request was made without a body");
  }
  if (exchange.body_bytes && exchange.written_bytes < *exchange.body_bytes) {
    return Error(ErrorCode::OutOfRange, std::to_string(exchange.written_bytes) + " of " +
                                            std::to_string(*exchange.body_bytes) +
                                            " bytes of the request were written");
  }
  exchange.is_finished = true;
  if (exchange.id) client_->finish(*exchange.id);
  return {};
}

void HttpTable::close(Exchange& exchange) {
  if (exchange.id) client_->close(*exchange.id);
  exchange.id.reset();
  exchange.is_reading = exchange.is_writing = false;
}

// Ends the exchange, and fails every future that still waits.
void HttpTable::fail(Exchange& exchange, Error error) {
  close(exchange);
  exchange.error = std::move(error);
  settle(exchange.head_future, *exchange.error);
  settle(exchange.write_future, *exchange.error);
  if (exchange.read_future == GuestHandle{}) return;
  const FutureRecord* read = futures_.find_answered(exchange.read_future);
  if (!read->ready) settle(exchange.read_future, *exchange.error);
}

void HttpTable::end(Exchange& exchange) {
  close(exchange);
  exchange.has_ended = true;
  settle(exchange.read_future, "");
  settle(exchange.write_future, reads_no_more());
}

void HttpTable::drop(GuestHandle handle) {
  const auto found = exchanges_.find(number(handle));
  QUIRE_CHECK(found != exchanges_.end(), "HX1");
  fail(found->second, Error(ErrorCode::Cancelled, "the exchange was dropped"));
  exchanges_.erase(found);
  note_open();
  handles_.remove(handle);
}

void HttpTable::taken(const FutureRecord& record) {
  const auto found = exchanges_.find(number(record.owner));
  if (found == exchanges_.end()) return;  // The exchange went first.
  GuestHandle* known = waiting(found->second, record.purpose);
  if (known != nullptr && *known == record.handle) *known = {};
}

void HttpTable::drop_future(FutureRecord& record) {
  const auto found = exchanges_.find(number(record.owner));
  if (found == exchanges_.end()) return;
  Exchange& exchange = found->second;
  if (record.purpose == FuturePurpose::HttpWhole) {
    close(exchange);
    exchanges_.erase(found);
    note_open();
    return;
  }
  // Only a read that has its piece is ready and still known.
  if (record.ready && exchange.read_future == record.handle) exchange.piece = record.result;
  taken(record);
}

void HttpTable::close_all() {
  for (auto& [key, exchange] : exchanges_) {
    close(exchange);
    if (!exchange.is_whole) handles_.remove(handle_of(key));
  }
  exchanges_.clear();
  note_open();
}

void HttpTable::take_in_piece(Exchange& exchange, std::string piece) {
  exchange.is_reading = false;
  if (piece.empty()) {
    end(exchange);
  } else if (exchange.read_future == GuestHandle{}) {
    exchange.piece = std::move(piece);
  } else {
    give_piece(exchange, std::move(piece));
  }
}

void HttpTable::take_in_whole(std::uint32_t key, net::HttpEvent event) {
  close(exchanges_.at(key));
  exchanges_.erase(key);
  note_open();
  GuestHandle future = handle_of(key);
  if (event.error) {
    settle(future, *event.error);
  } else {
    settle(future, encode(event.head) + event.body);
  }
}

void HttpTable::take_in(net::HttpEvent event) {
  const auto found = exchanges_.find(event.owner.handle);
  // An earlier event of the same turn may have closed it.
  if (found == exchanges_.end() || !found->second.id) return;
  Exchange& exchange = found->second;
  switch (event.kind) {
    case HttpEventKind::Whole:
      take_in_whole(found->first, std::move(event));
      return;
    case HttpEventKind::Head:
      if (event.error) return fail(exchange, *std::move(event.error));
      exchange.head = encode(event.head);
      settle(exchange.head_future, *exchange.head);
      return;
    case HttpEventKind::Chunk:
      if (event.error) return fail(exchange, *std::move(event.error));
      take_in_piece(exchange, std::move(event.body));
      return;
    case HttpEventKind::Sent:
      exchange.is_writing = false;
      if (event.error) {
        settle(exchange.write_future, *event.error);
      } else {
        settle(exchange.write_future, "");
      }
      return;
  }
}

void HttpTable::verify() const {
  std::size_t handle_count = 0;
  for (const auto& [key, exchange] : exchanges_) {
    const GuestHandle handle = handle_of(key);
    const HandleKind kind = exchange.is_whole ? HandleKind::Future : HandleKind::Exchange;
    QUIRE_CHECK(handles_.find(handle, kind).ok(), "HX1");
    handle_count += exchange.is_whole ? 0 : 1;
    for (const GuestHandle each :
         {exchange.head_future, exchange.read_future, exchange.write_future}) {
      if (each == GuestHandle{}) continue;
      const FutureRecord* record = futures_.find_answered(each);
      QUIRE_CHECK(record != nullptr && record->owner == handle, "HX2");
      QUIRE_CHECK(!record->ready || each == exchange.read_future, "HX2");
    }
    QUIRE_CHECK(exchange.id || exchange.error || exchange.has_ended, "HX1");
  }
  QUIRE_CHECK(handle_count == handles_.count(HandleKind::Exchange), "HX1");
  QUIRE_CHECK(exchanges_.size() <= limits_.http.exchange_count_max, "HX3");
  QUIRE_CHECK(gauge_ == nullptr || noted_open_count_ == exchanges_.size(), "HX3");
}

}  // namespace quire::hostcalls
