#pragma once
// The C++ that the SDK's own JavaScript needs: the engine itself, random numbers, UTF-8.
#include "bind.h"

namespace quire::javascript {

// The state that the functions of `engine` work on; an instance has one.
struct Platform {
  sampling::Random random{0};  // Of Math.random; seeded at launch.
  Value native;                // The module "quire:native".
  Value on_begin;              // Called at launch.
  Value endpoint_maker;        // Makes serve(request, response, options) of an object with fetch().
};

// A text that comes in cuts.
struct TextDecoderObject {
  Utf8Stream stream;
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
inline bool is_native(Value value) {
  JSClassID id = 0;
  return JS_GetAnyOpaque(value.get(), &id) != nullptr;
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
inline Object<TextDecoderObject> decoder_create() {
  return std::make_shared<TextDecoderObject>();
}
inline std::string decoder_push(Object<TextDecoderObject> self, Bytes bytes) {
  return self->stream.push(bytes.bytes);
}
inline std::string decoder_finish(Object<TextDecoderObject> self) {
  return self->stream.finish();
}

}  // namespace calls

// The functions get `platform` as the data of an object that they are members of.
inline void define_platform(JSContext* js, JSValueConst space, Platform& platform) {
  using namespace calls;
  define_namespace(js, space, "engine",
                   {function<"setErrorClass", set_error_class>(),
                    function<"setTypeStripper", set_type_stripper>(), function<"cancel", cancel>(),
                    function<"isNative", is_native>()});
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
  JS_DefinePropertyValueStr(js, engine.get(), "random",
                            JS_NewCClosure(js, random, "random", nullptr, 0, 0, &platform),
                            JS_PROP_C_W_E);
  JS_DefinePropertyValueStr(js, engine.get(), "setBegin",
                            JS_NewCClosure(js, begin, "setBegin", nullptr, 1, 0, &platform),
                            JS_PROP_C_W_E);
  const Value utf8(js, JS_NewObject(js));
  define_members(js, utf8.get(), utf8.get(),
                 {function<"utf8.encode", utf8_encode>(), function<"utf8.decode", utf8_decode>(),
                  function<"utf8.isValid", utf8_is_valid>()});
  define_class<TextDecoderObject>(
      js, utf8.get(), "Decoder",
      {function<"Decoder.create", decoder_create>(), method<"Decoder.push", decoder_push>(),
       method<"Decoder.finish", decoder_finish>()});
  JS_DefinePropertyValueStr(js, space, "utf8", JS_DupValue(js, utf8.get()), JS_PROP_C_W_E);
}

}  // namespace quire::javascript
