#pragma once
// The calls around a model: session, runtime, store, messages, children, HTTP.
#include <cstdlib>
#include <optional>
#include <string>

#include "bind_methods.h"
#include "service_values.h"

namespace quire::javascript {

namespace calls {

inline Result<void> session_send(Bytes message) {
  return session::send(message.bytes);
}
inline Task<> session_send_file(std::string name, std::string media_type, Bytes bytes) {
  return session::send_file(std::move(name), std::move(media_type), std::move(bytes.bytes));
}
inline Task<Object<IncomingFile>> session_receive_file() {
  co_return std::make_shared<IncomingFile>(co_await session::receive_file());
}
inline Task<Bytes> file_read(Object<IncomingFile> self) {
  co_return Bytes{co_await self->read()};
}
inline Task<Bytes> file_read_all(Object<IncomingFile> self) {
  co_return Bytes{co_await self->read_all()};
}

inline void runtime_log(LogLevel level, std::string text) {
  runtime::log(level, text);
}
inline Result<void> runtime_set_result(Bytes result) {
  return runtime::set_result(result.bytes);
}
inline std::optional<std::string> runtime_env(std::string name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}
inline double runtime_now_ms() {
  return static_cast<double>(runtime::now().count()) / 1e6;
}
inline constexpr std::uint32_t kRandomBytesMax = 65'536;  // Of one call of the host.
inline Result<Bytes> runtime_random(std::uint32_t count) {
  // The host refuses more, with the text that programs in other languages get.
  if (count > kRandomBytesMax) TRY(checked_empty(abi::runtime::random(nullptr, count)));
  Bytes bytes{std::string(count, '\0')};
  TRY(runtime::random(std::as_writable_bytes(std::span(bytes.bytes))));
  return bytes;
}
inline Future<void> sleep_ms(double ms) {
  constexpr double kMsMax = 9e12;  // 285 years: more are too many nanoseconds.
  const double within = ms > 0.0 ? std::min(ms, kMsMax) : 0.0;
  return sleep(std::chrono::nanoseconds(static_cast<std::int64_t>(within * 1e6)));
}

inline Future<store::Value> store_get(std::string key) {
  return store::get(key);
}
inline Future<std::uint64_t> store_put(std::string key, Bytes value, Expectation expected) {
  return store::put(key, value.bytes, expected.expected);
}
inline Future<void> store_remove(std::string key, Expectation expected) {
  return store::remove(key, expected.expected);
}
inline Future<store::KeyList> store_list_keys(std::string prefix, ListOptions options) {
  return store::list_keys(prefix, options.after, options.count);
}
inline Task<std::vector<store::Key>> store_all_keys(std::string prefix) {
  return store::all_keys(std::move(prefix));
}

inline Result<std::uint32_t> messages_broadcast(std::string topic, Bytes message) {
  return messaging::broadcast(topic, message.bytes);
}
inline Result<void> messages_push(std::string name, Bytes message) {
  return messaging::push(name, message.bytes);
}
inline Future<std::string> messages_pull(std::string name) {
  return messaging::pull(name);
}
inline Result<Object<messaging::Subscription>> messages_subscribe(std::string topic) {
  return std::make_shared<messaging::Subscription>(TRY(messaging::subscribe(topic)));
}

inline Result<Object<Child>> child_launch(ChildOptions options) {
  return std::make_shared<Child>(TRY(Child::launch(options)));
}
inline Result<void> child_send(Object<Child> self, Bytes message) {
  return self->send(message.bytes);
}

inline Result<Object<http::Exchange>> exchange_open(std::string method, std::string url,
                                                    std::vector<http::Header> headers,
                                                    std::int64_t body_bytes) {
  return std::make_shared<http::Exchange>(TRY(http::Exchange::open({.method = std::move(method),
                                                                    .url = std::move(url),
                                                                    .headers = std::move(headers),
                                                                    .body_bytes = body_bytes})));
}
// In pieces that the host takes at once.
inline Task<> exchange_write(Object<http::Exchange> self, Bytes bytes) {
  constexpr std::size_t kPieceBytesMax = std::size_t{256} << 10;
  const std::string_view all = bytes.bytes;
  for (std::size_t at = 0; at < all.size(); at += kPieceBytesMax) {
    co_await self->write(all.substr(at, kPieceBytesMax));
  }
}
inline Task<Bytes> exchange_read(Object<http::Exchange> self) {
  co_return Bytes{co_await self->read()};
}

}  // namespace calls

inline void define_services(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_namespace(
      js, space, "session",
      {function<"session.send", session_send>(), function<"session.receive", session::receive>(),
       function<"session.sendFile", session_send_file>(),
       function<"session.receiveFile", session_receive_file>()});
  define_class<IncomingFile>(
      js, space, "IncomingFile",
      {getter<"IncomingFile.name", Held<&IncomingFile::name>::call>(),
       getter<"IncomingFile.mediaType", Held<&IncomingFile::media_type>::call>(),
       getter<"IncomingFile.fileBytes", Held<&IncomingFile::file_bytes>::call>(),
       method<"IncomingFile.read", file_read>(), method<"IncomingFile.readAll", file_read_all>()});
  define_namespace(
      js, space, "runtime",
      {function<"runtime.arguments", runtime::arguments>(),
       function<"runtime.version", runtime::version>(),
       function<"runtime.instanceId", runtime::instance_id>(),
       function<"runtime.tenant", runtime::tenant>(), function<"runtime.env", runtime_env>(),
       function<"runtime.limits", runtime::limits>(), function<"runtime.misses", runtime::misses>(),
       function<"runtime.log", runtime_log>(), function<"runtime.setResult", runtime_set_result>(),
       function<"runtime.now", runtime_now_ms>(), function<"runtime.random", runtime_random>()});
  define_namespace(
      js, space, "store",
      {function<"store.get", store_get>(), function<"store.put", store_put>(),
       function<"store.remove", store_remove>(), function<"store.listKeys", store_list_keys>(),
       function<"store.allKeys", store_all_keys>()});
  define_namespace(
      js, space, "messages",
      {function<"messages.broadcast", messages_broadcast>(),
       function<"messages.subscribe", messages_subscribe>(),
       function<"messages.push", messages_push>(), function<"messages.pull", messages_pull>()});
  define_class<messaging::Subscription>(
      js, space, "Subscription",
      {method<"Subscription.receive", Held<&messaging::Subscription::next>::call>()});
  define_class<Child>(js, space, "Child",
                      {function<"Child.launch", child_launch>(), method<"Child.send", child_send>(),
                       method<"Child.receive", Held<&Child::receive>::call>(),
                       method<"Child.wait", Held<&Child::wait>::call>(),
                       method<"Child.kill", Held<&Child::kill>::call>()});
  define_class<http::Exchange>(
      js, space, "Exchange",
      {function<"Exchange.open", exchange_open>(), method<"Exchange.write", exchange_write>(),
       method<"Exchange.finish", Held<&http::Exchange::finish>::call>(),
       method<"Exchange.head", Held<&http::Exchange::head>::call>(),
       method<"Exchange.read", exchange_read>()});
  define_namespace(js, space, "timers", {function<"sleep", sleep_ms>()});
}

}  // namespace quire::javascript
