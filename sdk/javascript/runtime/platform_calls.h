#pragma once
// The C++ that the SDK's own JavaScript needs: the engine itself, random numbers, UTF-8.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind.h"
#include "encoding_indexes.h"

namespace quire::javascript {

// The state that the functions of `engine` work on; an instance has one.
struct Platform {
  sampling::Random random{0};  // Of Math.random; seeded at launch.
  Value native;                // The module "quire:native".
  Value on_begin;              // Called at launch.
  Value endpoint_maker;        // Makes serve(request, response, options) of an object with fetch().
  Value on_end;                // Called at the end; returns how many timers are still set.
};

// A text that comes in cuts. If it is fatal, bytes that are not UTF-8 end it.
class TextDecoderObject {
 public:
  explicit TextDecoderObject(bool is_fatal) : is_fatal_(is_fatal) {}

  std::optional<std::string> push(std::string_view bytes) {
    if (!is_fatal_) return stream_.push(bytes);
    held_ += bytes;
    const std::size_t whole = valid_utf8_bytes(held_);
    Utf8Stream rest;
    if (!rest.push(std::string_view(held_).substr(whole)).empty()) return std::nullopt;
    std::string text = held_.substr(0, whole);
    held_.erase(0, whole);
    return text;
  }
  std::optional<std::string> finish() {
    if (is_fatal_ && !held_.empty()) return std::nullopt;
    return stream_.finish();
  }

 private:
  bool is_fatal_;
  Utf8Stream stream_;
  std::string held_;  // Of an incomplete character.
};

namespace calls {

inline void set_error_class(JSContext* js, Function error_class) {
  Engine::of(js).set_error_class(error_class.value);
}
inline void set_type_stripper(JSContext* js, Function strip) {
  Engine::of(js).set_type_stripper(std::move(strip.value));
}
// Drops the work of a promise that a call gave; it is rejected with `reason`, if there is one.
inline bool cancel(JSContext* js, Value promise, Value reason) {
  return Engine::of(js).cancel(promise.get(), std::move(reason));
}
// The program ends with this exception, unless it ends with another one before.
inline void fail(JSContext* js, Value exception) {
  Engine::of(js).fail_with(std::move(exception));
}
inline void set_rejection_handler(JSContext* js, Function handler) {
  Engine::of(js).set_rejection_handler(std::move(handler.value));
}
inline void queue_task(JSContext* js, Function work) {
  Engine::of(js).queue_task(std::move(work));
}

// The engine knows more of a value than a script can change: the number of its class, the target of
// a proxy (null: it was revoked), the state and the result of a promise.
inline std::uint32_t class_id(Value value) {
  return JS_GetClassID(value.get());
}
inline Value proxy_target(JSContext* js, Value value) {
  Value target(js, JS_GetProxyTarget(js, value.get()));
  if (!target.is_exception() && JS_IsObject(target.get())) return target;
  if (target.is_exception()) JS_FreeValue(js, JS_GetException(js));
  return {js, JS_NULL};
}
inline std::vector<Value> promise_state(JSContext* js, Value promise) {
  const JSPromiseStateEnum state = JS_PromiseState(js, promise.get());
  const char* name = state == JS_PROMISE_PENDING     ? "pending"
                     : state == JS_PROMISE_FULFILLED ? "fulfilled"
                                                     : "rejected";
  Value result;
  if (state != JS_PROMISE_PENDING) result = Value(js, JS_PromiseResult(js, promise.get()));
  return {Value(js, JS_NewString(js, name)), std::move(result)};
}

inline Bytes utf8_encode(std::string text) {
  return {std::move(text)};
}
inline std::string utf8_decode(Bytes bytes) {
  return valid_utf8(bytes.bytes);
}
inline bool utf8_is_valid(Bytes bytes) {
  return valid_utf8_bytes(bytes.bytes) == bytes.bytes.size();
}
// The text of an index of encoding_indexes.h; "" if there is none.
inline std::string encoding_index(std::string name) {
  for (const EncodingIndex& each : kEncodingIndexes) {
    if (each.name == name) return std::string(each.text);
  }
  return "";
}
inline Object<TextDecoderObject> decoder_create(bool is_fatal) {
  return std::make_shared<TextDecoderObject>(is_fatal);
}
// undefined: the bytes are not UTF-8.
inline std::optional<std::string> decoder_push(Object<TextDecoderObject> self, Bytes bytes) {
  return self->push(bytes.bytes);
}
inline std::optional<std::string> decoder_finish(Object<TextDecoderObject> self) {
  return self->finish();
}

}  // namespace calls

// The functions get `platform` as the data of an object that they are members of.
inline void define_platform(JSContext* js, JSValueConst space, Platform& platform) {
  using namespace calls;
  define_namespace(
      js, space, "engine",
      {function<"setErrorClass", set_error_class>(),
       function<"setTypeStripper", set_type_stripper>(), function<"cancel", cancel>(),
       function<"fail", fail>(), function<"setRejectionHandler", set_rejection_handler>(),
       function<"queueTask", queue_task>(), function<"classId", class_id>(),
       function<"proxyTarget", proxy_target>(), function<"promiseState", promise_state>()});
  const Value engine = Value::copy(js, space).member("engine");
  const auto random = [](JSContext* context, JSValueConst, int, JSValueConst*, int, void* opaque) {
    return JS_NewFloat64(context, static_cast<Platform*>(opaque)->random.uniform());
  };
  const auto begin = [](JSContext* context, JSValueConst, int count, JSValueConst* values, int,
                        void* opaque) {
    if (count > 0) static_cast<Platform*>(opaque)->on_begin = Value::copy(context, values[0]);
    return JS_UNDEFINED;
  };
  const auto endpoint = [](JSContext* context, JSValueConst, int count, JSValueConst* values, int,
                           void* opaque) {
    if (count > 0) static_cast<Platform*>(opaque)->endpoint_maker = Value::copy(context, values[0]);
    return JS_UNDEFINED;
  };
  JS_DefinePropertyValueStr(
      js, engine.get(), "setEndpointMaker",
      JS_NewCClosure(js, endpoint, "setEndpointMaker", nullptr, 1, 0, &platform), JS_PROP_C_W_E);
  const auto end = [](JSContext* context, JSValueConst, int count, JSValueConst* values, int,
                      void* opaque) {
    if (count > 0) static_cast<Platform*>(opaque)->on_end = Value::copy(context, values[0]);
    return JS_UNDEFINED;
  };
  JS_DefinePropertyValueStr(js, engine.get(), "random",
                            JS_NewCClosure(js, random, "random", nullptr, 0, 0, &platform),
                            JS_PROP_C_W_E);
  JS_DefinePropertyValueStr(js, engine.get(), "setBegin",
                            JS_NewCClosure(js, begin, "setBegin", nullptr, 1, 0, &platform),
                            JS_PROP_C_W_E);
  JS_DefinePropertyValueStr(js, engine.get(), "setEnd",
                            JS_NewCClosure(js, end, "setEnd", nullptr, 1, 0, &platform),
                            JS_PROP_C_W_E);
  const Value utf8(js, JS_NewObject(js));
  define_members(js, utf8.get(), utf8.get(),
                 {function<"utf8.encode", utf8_encode>(), function<"utf8.decode", utf8_decode>(),
                  function<"utf8.isValid", utf8_is_valid>(),
                  function<"utf8.encodingIndex", encoding_index>()});
  define_class<TextDecoderObject>(
      js, utf8.get(), "Decoder",
      {function<"Decoder.create", decoder_create>(), method<"Decoder.push", decoder_push>(),
       method<"Decoder.finish", decoder_finish>()});
  JS_DefinePropertyValueStr(js, space, "utf8", JS_DupValue(js, utf8.get()), JS_PROP_C_W_E);
}

}  // namespace quire::javascript
