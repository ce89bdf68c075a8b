#pragma once
// What is around a model: session, runtime, store, messages, children, HTTP.
#include "bind.h"

namespace quire::javascript {

inline JSValue to_js(JSContext* js, const store::Value& value) {
  return ObjectMaker(js)
      .set("version", value.version)
      .set("bytes", Bytes{value.bytes})
      .set("text", valid_utf8(value.bytes))
      .take();
}
inline JSValue to_js(JSContext* js, const store::Key& key) {
  return ObjectMaker(js)
      .set("name", key.name)
      .set("version", key.version)
      .set("valueBytes", key.value_bytes)
      .take();
}
inline JSValue to_js(JSContext* js, const store::KeyList& list) {
  return ObjectMaker(js).set("keys", list.keys).set("hasMore", list.has_more).take();
}
inline JSValue to_js(JSContext* js, const ChildEnd& end) {
  constexpr const char* kKinds[] = {"finished", "trapped", "limit-exceeded", "killed",
                                    "not-started"};
  return ObjectMaker(js)
      .set("kind", kKinds[static_cast<std::uint32_t>(end.kind)])
      .set("exitCode", end.exit_code)
      .set("result", end.result)
      .set("message", end.message)
      .take();
}
inline JSValue to_js(JSContext* js, const Miss& miss) {
  return ObjectMaker(js)
      .set("reason", static_cast<std::uint32_t>(miss.reason))
      .set("field", static_cast<std::uint32_t>(miss.field))
      .set("position", miss.position)
      .set("tokenCount", miss.token_count)
      .set("slot", miss.slot)
      .set("here", miss.here)
      .set("there", miss.there)
      .set("goneMs", miss.gone_ms)
      .take();
}
inline JSValue to_js(JSContext* js, const http::Header& header) {
  return to_js(js, std::vector<std::string>{header.name, header.value});
}
inline JSValue to_js(JSContext* js, const http::Head& head) {
  return ObjectMaker(js).set("status", head.status).set("headers", head.headers).take();
}

// Pairs of a name and a value.
template <>
struct FromJs<http::Header> {
  static const char* read(JSContext* js, JSValueConst value, http::Header& into) {
    std::vector<std::string> pair;
    const char* wrong = FromJs<std::vector<std::string>>::read(js, value, pair);
    if (wrong == kThrown) return kThrown;
    if (wrong != nullptr || pair.size() != 2) return "a header";
    into = {std::move(pair[0]), std::move(pair[1])};
    return nullptr;
  }
};

// What must be there for a change of the store: {version: 7}, or "none".
struct Expectation {
  store::Expected expected = store::Expected::any();
};
template <>
struct FromJs<Expectation> {
  static const char* read(JSContext* js, JSValueConst value, Expectation& into) {
    if (JS_IsUndefined(value)) return nullptr;
    if (JS_IsString(value) && text_of(js, value) == "none") {
      into.expected = store::Expected::none();
      return nullptr;
    }
    std::uint64_t version = 0;
    if (!JS_IsObject(value)) return "{version} or \"none\"";
    const Value member = Value::copy(js, value).member("version");
    if (FromJs<std::uint64_t>::read(js, member.get(), version) != nullptr) {
      return "{version} or \"none\"";
    }
    into.expected = store::Expected::version(version);
    return nullptr;
  }
};

struct ListOptions {
  std::string after;
  std::uint32_t count = store::kListedKeyCountMax;
};
template <>
struct FromJs<ListOptions> {
  static const char* read(JSContext* js, JSValueConst value, ListOptions& into) {
    ObjectReader in(js, value);
    in.read("after", into.after).read("count", into.count);
    return in.finish();
  }
};
template <>
struct FromJs<ChildOptions> {
  static const char* read(JSContext* js, JSValueConst value, ChildOptions& into) {
    ObjectReader in(js, value);
    in.read("program", into.program).read("arguments", into.arguments);
    in.read("sharePercent", into.share_percent);
    return in.finish();
  }
};
template <>
struct FromJs<LogLevel> {
  static const char* read(JSContext* js, JSValueConst value, LogLevel& into) {
    constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
    const std::string name = JS_IsString(value) ? text_of(js, value) : "";
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (name != kNames[i]) continue;
      into = LogLevel{i};
      return nullptr;
    }
    return "\"debug\", \"info\", \"warning\" or \"error\"";
  }
};

namespace calls {

inline Result<void> session_send(Bytes message) {
  return session::send(message.bytes);
}
inline Future<std::string> session_receive() {
  return session::receive();
}
inline Task<> session_send_file(std::string name, std::string media_type, Bytes bytes) {
  return session::send_file(std::move(name), std::move(media_type), std::move(bytes.bytes));
}
inline Task<Object<IncomingFile>> session_receive_file() {
  co_return std::make_shared<IncomingFile>(co_await session::receive_file());
}
inline std::string file_name(Object<IncomingFile> self) {
  return self->name();
}
inline std::string file_media_type(Object<IncomingFile> self) {
  return self->media_type();
}
inline std::uint64_t file_bytes(Object<IncomingFile> self) {
  return self->file_bytes();
}
inline Task<Bytes> file_read(Object<IncomingFile> self) {
  co_return Bytes{co_await self->read()};
}
inline Task<Bytes> file_read_all(Object<IncomingFile> self) {
  co_return Bytes{co_await self->read_all()};
}

inline Result<std::vector<std::string>> runtime_arguments() {
  return runtime::arguments();
}
inline Result<std::string> runtime_version() {
  return runtime::version();
}
inline std::int64_t runtime_instance_id() {
  return runtime::instance_id();
}
inline Result<std::string> runtime_tenant() {
  return runtime::tenant();
}
inline Result<std::string> runtime_limits() {
  return runtime::limits();
}
inline Result<std::vector<Miss>> runtime_misses() {
  return runtime::misses();
}
inline void runtime_log(LogLevel level, std::string text) {
  runtime::log(level, text);
}
inline Result<void> runtime_set_result(Bytes result) {
  return runtime::set_result(result.bytes);
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
inline Future<std::string> subscription_receive(Object<messaging::Subscription> self) {
  return self->next();
}

inline Result<Object<Child>> child_launch(ChildOptions options) {
  return std::make_shared<Child>(TRY(Child::launch(options)));
}
inline Result<void> child_send(Object<Child> self, Bytes message) {
  return self->send(message.bytes);
}
inline Future<std::string> child_receive(Object<Child> self) {
  return self->receive();
}
inline Task<ChildEnd> child_wait(Object<Child> self) {
  co_return co_await self->wait();
}
inline Result<void> child_kill(Object<Child> self) {
  return self->kill();
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
inline Result<void> exchange_finish(Object<http::Exchange> self) {
  return self->finish();
}
inline Task<http::Head> exchange_head(Object<http::Exchange> self) {
  co_return co_await self->head();
}
inline Task<Bytes> exchange_read(Object<http::Exchange> self) {
  co_return Bytes{co_await self->read()};
}

}  // namespace calls

inline void define_services(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_namespace(
      js, space, "session",
      {function<"session.send", session_send>(), function<"session.receive", session_receive>(),
       function<"session.sendFile", session_send_file>(),
       function<"session.receiveFile", session_receive_file>()});
  define_class<IncomingFile>(
      js, space, "IncomingFile",
      {getter<"IncomingFile.name", file_name>(),
       getter<"IncomingFile.mediaType", file_media_type>(),
       getter<"IncomingFile.fileBytes", file_bytes>(), method<"IncomingFile.read", file_read>(),
       method<"IncomingFile.readAll", file_read_all>()});
  define_namespace(
      js, space, "runtime",
      {function<"runtime.arguments", runtime_arguments>(),
       function<"runtime.version", runtime_version>(),
       function<"runtime.instanceId", runtime_instance_id>(),
       function<"runtime.tenant", runtime_tenant>(), function<"runtime.limits", runtime_limits>(),
       function<"runtime.misses", runtime_misses>(), function<"runtime.log", runtime_log>(),
       function<"runtime.setResult", runtime_set_result>(),
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
  define_class<messaging::Subscription>(js, space, "Subscription",
                                        {method<"Subscription.receive", subscription_receive>()});
  define_class<Child>(js, space, "Child",
                      {function<"Child.launch", child_launch>(), method<"Child.send", child_send>(),
                       method<"Child.receive", child_receive>(), method<"Child.wait", child_wait>(),
                       method<"Child.kill", child_kill>()});
  define_class<http::Exchange>(
      js, space, "Exchange",
      {function<"Exchange.open", exchange_open>(), method<"Exchange.write", exchange_write>(),
       method<"Exchange.finish", exchange_finish>(), method<"Exchange.head", exchange_head>(),
       method<"Exchange.read", exchange_read>()});
  define_namespace(js, space, "timers", {function<"sleep", sleep_ms>()});
}

}  // namespace quire::javascript
