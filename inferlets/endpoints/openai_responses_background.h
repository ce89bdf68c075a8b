#pragma once
// Responses that are made in the background: their events are kept, and requests follow them.
//
// The program that makes a response subscribes to the topic of its id. Another program that
// broadcasts there learns whether the first one is still there, and can stop it. Events are the
// lines of a text in parts of the store; each part but the last has kPartBytesMax bytes.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "openai_responses_events.h"
#include "quire/messaging.h"
#include "response_store.h"

namespace endpoints::openai {

inline constexpr std::string_view kIsThere = "?";
inline constexpr std::string_view kCancel = "cancel";

// The events of a response in the background. It keeps them, and sends them to the client that
// asked for the response, if that one wants a stream and as long as it is there.
class KeptEvents : public EventOutput {
 public:
  KeptEvents(std::string id, messaging::Subscription messages,
             std::optional<serve::LiveEvents> client)
      : id_(std::move(id)),
        messages_(std::move(messages)),
        message_(messages_.next()),
        client_(std::move(client)) {}

  // Fails with `cancelled`, after the event, if the response is to end.
  Task<> event(std::string type, std::string json) override {
    if (client_) {
      const Result<void> sent = co_await attempt(client_->send(json, {.name = std::move(type)}));
      if (!sent.ok()) client_.reset();  // It left. Another request can follow the events.
    }
    tail_ += json + "\n";
    is_written_ = false;
    co_await write(false);
    co_await take_messages();
  }
  // Returns when all events are on disk and the client has them.
  Task<> finish() {
    co_await write(true);
    if (!client_) co_return;
    const Result<void> finished = co_await attempt(client_->finish());
    if (!finished.ok() && finished.error().code != ErrorCode::Unavailable) co_await finished;
  }
  // Messages from now on are not answered: the response is ending.
  void ignore_messages() { message_.reset(); }

 private:
  static constexpr std::chrono::milliseconds kInterval{250};

  Task<> take_messages() {
    while (message_ && message_->ready()) {
      const std::string message = co_await std::move(*message_);
      if (message == kCancel)
        co_await fail(ErrorCode::Cancelled, "the client canceled the response");
      message_.emplace(messages_.next());
    }
  }

  Task<> end_write() {
    if (!write_) co_return;
    Future<std::uint64_t> write = std::move(*write_);
    write_.reset();
    co_await std::move(write);
  }
  void begin_write(std::string_view bytes) {
    write_.emplace(store::put(ResponseStore::part_key(id_, ResponsePart::Events, number_), bytes));
  }
  // Begins a write now and then; waits for it only if `all` events must be there.
  Task<> write(bool all) {
    constexpr std::size_t kBytes = ResponseStore::kPartBytesMax;
    while (tail_.size() >= kBytes) {
      co_await end_write();
      begin_write(std::string_view(tail_).substr(0, kBytes));
      co_await end_write();
      tail_.erase(0, kBytes);
      ++number_;
    }
    const bool is_due = all || runtime::now() - written_ >= kInterval;
    const bool is_free = all || !write_ || write_->ready();
    if (!is_written_ && is_due && is_free) {
      co_await end_write();
      begin_write(tail_);
      written_ = runtime::now();
      is_written_ = true;
    }
    if (all) co_await end_write();
  }

  std::string id_;
  messaging::Subscription messages_;
  std::optional<Future<std::string>> message_;
  std::optional<serve::LiveEvents> client_;
  std::string tail_;          // What the last part is to hold.
  std::uint32_t number_ = 0;  // Of the last part.
  bool is_written_ = true;    // The last write that began has all of it.
  std::optional<Future<std::uint64_t>> write_;
  std::chrono::nanoseconds written_{0};
};

// The entry of `id` as it is now. A response whose program has gone, with the server for example,
// is failed.
inline Task<ResponseEntry> current_entry(ResponseStore responses, std::string id) {
  ResponseEntry entry = co_await responses.find(id);
  if (entry.is_over()) co_return entry;
  const Result<std::uint32_t> listeners = messaging::broadcast(id, kIsThere);
  // A program that is busy and has too many messages is there.
  if (!listeners.ok() && listeners.error().code != ErrorCode::QuotaExceeded) co_await listeners;
  if (!listeners.ok() || listeners.value() > 0) co_return entry;
  entry = co_await responses.find(id);  // It may have ended in the meantime.
  if (entry.is_over()) co_return entry;
  entry.status = "failed";
  co_return co_await responses.publish(id, entry);
}

// Sends the events of a response that come after the one numbered `after`, and those to come.
class EventFollower {
 public:
  EventFollower(ResponseStore responses, std::string id, double after)
      : responses_(responses), id_(std::move(id)), after_(after) {}

  Task<> follow(serve::LiveEvents client) {
    constexpr std::chrono::milliseconds kPoll{100};
    constexpr std::uint32_t kIdlePollsMax = 10;
    for (std::uint32_t idle_polls = 0; !is_over_;) {
      const bool has_more = co_await send_more(client);
      idle_polls = has_more ? 0 : idle_polls + 1;
      if (has_more) continue;
      if (idle_polls % kIdlePollsMax == 0) {
        const ResponseEntry entry = co_await current_entry(responses_, id_);
        if (entry.is_over() && idle_polls >= 2 * kIdlePollsMax) break;  // No last event will come.
      }
      co_await sleep(kPoll);
    }
    co_await client.finish();
  }

 private:
  // Whether there was something to read.
  Task<bool> send_more(serve::LiveEvents& client) {
    const std::string key = ResponseStore::part_key(id_, ResponsePart::Events, part_);
    const Result<store::Value> part = co_await attempt(store::get(key));
    if (!part.ok() && part.error().code == ErrorCode::NotFound) co_return false;
    const store::Value value = co_await part;
    const bool has_more = value.bytes.size() > read_bytes_;
    lines_ += value.bytes.substr(std::min(read_bytes_, value.bytes.size()));
    read_bytes_ = value.bytes.size();
    if (read_bytes_ == ResponseStore::kPartBytesMax) {
      ++part_;
      read_bytes_ = 0;
    }
    for (std::size_t end = lines_.find('\n'); end != std::string::npos; end = lines_.find('\n')) {
      const std::string line = lines_.substr(0, end);
      lines_.erase(0, end + 1);
      const Json event = co_await Json::parse(line);
      const std::string type(event.text("type"));
      is_over_ = type == "response.completed" || type == "response.incomplete" ||
                 type == "response.failed";
      if (co_await event.number("sequence_number") <= after_) continue;
      co_await client.send(line, {.name = type});
    }
    co_return has_more;
  }

  ResponseStore responses_;
  std::string id_;
  double after_;
  std::uint32_t part_ = 0;      // The one that is read next,
  std::size_t read_bytes_ = 0;  // from here on.
  std::string lines_;           // Of which the last is not whole.
  bool is_over_ = false;
};

}  // namespace endpoints::openai
