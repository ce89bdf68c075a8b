#pragma once
// Classes Request, Response and EventStream of JavaScript: scripts that answer HTTP requests; see
// serve.h of the SDK.
#include "bind.h"
#include "service_calls.h"

namespace quire::javascript {

template <>
struct FromJs<serve::Event> {
  static const char* read(JSContext* js, JSValueConst value, serve::Event& into) {
    ObjectReader in(js, value);
    in.read("name", into.name).read("id", into.id);
    return in.finish();
  }
};

// The headers of a response: an object of names and values, or an array of pairs.
struct HeadersArgument {
  http::Headers headers;
};
template <>
struct FromJs<HeadersArgument> {
  static const char* read(JSContext* js, JSValueConst value, HeadersArgument& into) {
    if (JS_IsUndefined(value)) return nullptr;
    if (JS_IsArray(value)) return FromJs<std::vector<http::Header>>::read(js, value, into.headers);
    if (!JS_IsObject(value)) return "headers";
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (JS_GetOwnPropertyNames(js, &properties, &count, value,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
      return kThrown;
    }
    bool is_right = true;
    for (std::uint32_t i = 0; i < count && is_right; ++i) {
      const Value name(js, JS_AtomToString(js, properties[i].atom));
      const Value held(js, JS_GetProperty(js, value, properties[i].atom));
      is_right = JS_IsString(held.get());
      if (is_right) into.headers.push_back({text_of(js, name.get()), text_of(js, held.get())});
    }
    JS_FreePropertyEnum(js, properties, count);
    return is_right ? nullptr : JS_HasException(js) ? kThrown : "headers, whose values are strings";
  }
};

namespace calls {

using Asked = Object<serve::Request>;
using Answering = Object<serve::Response>;

inline std::string request_method(Asked self) {
  return self->method();
}
inline std::string request_target(Asked self) {
  return self->target();
}
inline std::string request_path(Asked self) {
  return std::string(self->path());
}
inline std::string request_query(Asked self) {
  return std::string(self->query());
}
inline http::Headers request_headers(Asked self) {
  return self->headers();
}
inline std::string request_id(Asked self) {
  return self->id();
}
inline std::string request_path_after(Asked self, std::string prefix) {
  return self->path_after(prefix);
}
inline std::optional<std::string> request_query_value(Asked self, std::string name) {
  return self->query_value(name);
}
inline std::optional<std::string> request_header(Asked self, std::string name) {
  return self->header(name);
}
inline Task<Bytes> request_read(Asked self) {
  co_return Bytes{co_await self->read()};
}
inline Task<Bytes> request_bytes(Asked self) {
  co_return Bytes{co_await self->body()};
}
inline Task<std::string> request_text(Asked self) {
  const std::string body = co_await self->body();
  co_return valid_utf8(body);
}
// Read by the SDK's JSON, so that a request that is none is refused alike in all languages.
inline Task<Value> request_json(JSContext* js, Asked self) {
  const Json json = co_await self->json();
  const std::string text = json.str();
  co_return Value(js, JS_ParseJSON(js, text.c_str(), text.size(), "the body"));
}
// An exception to throw: the client gets the status, and the SDK writes the response.
inline Value request_refuse(JSContext* js, Asked self, std::uint32_t status, std::string message) {
  const Error error{serve::code_of_status(status), std::move(message)};
  self->exchange()->refusal = {status, error};
  Engine& engine = Engine::of(js);
  return engine.error_value(error, engine.stack_here());
}

inline bool response_begun(Answering self) {
  return self->begun();
}
inline bool response_finished(Answering self) {
  return self->finished();
}
inline void response_add_header(Answering self, std::string name, std::string value) {
  self->add_header({std::move(name), std::move(value)});
}
inline Result<void> response_begin(Answering self, std::uint32_t status, HeadersArgument headers) {
  return self->begin(status, headers.headers);
}
inline Task<> response_write(Answering self, Bytes part) {
  const std::string_view all = part.bytes;
  for (std::size_t at = 0; at < all.size(); at += serve::kPartBytesMax) {
    co_await self->write(all.substr(at, serve::kPartBytesMax));
  }
}
inline Result<void> response_finish(Answering self) {
  return self->finish();
}
inline Task<> response_send(Answering self, std::uint32_t status, Bytes body,
                            HeadersArgument headers) {
  return self->send(status, std::move(body.bytes), std::move(headers.headers));
}
inline JSValue response_json(JSContext* js, Answering self, std::uint32_t status, Value value,
                             HeadersArgument headers) {
  const Value text(js, JS_JSONStringify(js, value.get(), JS_UNDEFINED, JS_UNDEFINED));
  if (text.is_exception()) return JS_EXCEPTION;
  if (!JS_IsString(text.get()))
    return JS_ThrowTypeError(js, "Response.json: argument 2 is no JSON");
  std::string json;
  if (!read_text(js, text.get(), json)) return JS_EXCEPTION;
  return returned(js, self->json(status, std::move(json), std::move(headers.headers)));
}
inline Task<> response_error(Answering self, std::uint32_t status, std::string message) {
  return self->error(status, std::move(message));
}
inline Result<Object<serve::EventStream>> response_events(Answering self, HeadersArgument headers) {
  return std::make_shared<serve::EventStream>(TRY(self->events(std::move(headers.headers))));
}

// A text as it is, anything else as JSON.
inline JSValue events_send(JSContext* js, Object<serve::EventStream> self, Value data,
                           serve::Event event) {
  std::string sent;
  if (JS_IsString(data.get())) {
    if (!read_text(js, data.get(), sent)) return JS_EXCEPTION;
    return returned(js, self->send(sent, event));
  }
  const Value text(js, JS_JSONStringify(js, data.get(), JS_UNDEFINED, JS_UNDEFINED));
  if (text.is_exception()) return JS_EXCEPTION;
  if (!JS_IsString(text.get())) {
    return JS_ThrowTypeError(js, "EventStream.send: argument 1 is neither a string nor JSON");
  }
  if (!read_text(js, text.get(), sent)) return JS_EXCEPTION;
  return returned(js, self->send(sent, event));
}
inline Future<void> events_comment(Object<serve::EventStream> self, std::string text) {
  return self->comment(text);
}
inline Result<void> events_finish(Object<serve::EventStream> self) {
  return self->finish();
}

}  // namespace calls

inline void define_serve(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_class<serve::Request>(
      js, space, "Request",
      {getter<"Request.method", request_method>(), getter<"Request.target", request_target>(),
       getter<"Request.path", request_path>(), getter<"Request.query", request_query>(),
       getter<"Request.headers", request_headers>(), getter<"Request.id", request_id>(),
       method<"Request.pathAfter", request_path_after>(),
       method<"Request.queryValue", request_query_value>(),
       method<"Request.header", request_header>(), method<"Request.read", request_read>(),
       method<"Request.bytes", request_bytes>(), method<"Request.text", request_text>(),
       method<"Request.json", request_json>(), method<"Request.refuse", request_refuse>()});
  define_class<serve::Response>(
      js, space, "Response",
      {getter<"Response.begun", response_begun>(), getter<"Response.finished", response_finished>(),
       method<"Response.addHeader", response_add_header>(),
       method<"Response.begin", response_begin>(), method<"Response.write", response_write>(),
       method<"Response.finish", response_finish>(), method<"Response.send", response_send>(),
       method<"Response.json", response_json>(), method<"Response.error", response_error>(),
       method<"Response.events", response_events>()});
  define_class<serve::EventStream>(
      js, space, "EventStream",
      {method<"EventStream.send", events_send>(), method<"EventStream.comment", events_comment>(),
       method<"EventStream.finish", events_finish>()});
}

}  // namespace quire::javascript
