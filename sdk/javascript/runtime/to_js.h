#pragma once
// to_js(engine, value) makes a value of JavaScript, a new reference; overloaded beside the types
// that it takes.
//
// Thread   a program has one.
// Errors   JS_EXCEPTION when memory runs out; the exception is pending then.
#include <quickjs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "value.h"

namespace quire::javascript {

inline JSValue to_js(JSContext*, Unit) {
  return JS_UNDEFINED;
}
inline JSValue to_js(JSContext* js, bool value) {
  return JS_NewBool(js, value);
}
template <typename T>
  requires((std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_floating_point_v<T>)
JSValue to_js(JSContext* js, T value) {
  constexpr auto kLargest = std::uint64_t{1} << 53;
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > kLargest) return JS_NewBigUint64(js, value);
  }
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (value > static_cast<std::int64_t>(kLargest)) return JS_NewBigInt64(js, value);
  }
  return JS_NewNumber(js, static_cast<double>(value));
}
// Bytes that are not UTF-8 become U+FFFD: QuickJS alone would make half of a surrogate pair of
// ED A0 80.
inline JSValue to_js(JSContext* js, std::string_view text) {
  if (valid_utf8_bytes(text) == text.size()) return JS_NewStringLen(js, text.data(), text.size());
  const std::string valid = valid_utf8(text);
  return JS_NewStringLen(js, valid.data(), valid.size());
}
inline JSValue to_js(JSContext* js, const std::string& text) {
  return to_js(js, std::string_view(text));
}
inline JSValue to_js(JSContext* js, const char* text) {
  return to_js(js, std::string_view(text));
}
inline JSValue to_js(JSContext* js, const Bytes& value) {
  return JS_NewUint8ArrayCopy(js, reinterpret_cast<const std::uint8_t*>(value.bytes.data()),
                              value.bytes.size());
}
inline JSValue to_js(JSContext*, Value value) {
  return value.release();
}

template <typename T>
JSValue to_js(JSContext* js, Object<T> object) {
  Value made(js, JS_NewObjectClass(js, ClassOf<T>::id));
  if (!made.is_exception()) JS_SetOpaque(made.get(), new Object<T>(std::move(object)));
  return made.release();
}
template <typename T>
JSValue to_js(JSContext* js, const std::vector<T>& list) {
  Value array(js, JS_NewArray(js));
  for (std::uint32_t i = 0; i < list.size() && !array.is_exception(); ++i) {
    const JSValue element = to_js(Js{js}, list[i]);
    if (JS_IsException(element) ||
        JS_DefinePropertyValueUint32(js, array.get(), i, element, JS_PROP_C_W_E) < 0) {
      return JS_EXCEPTION;
    }
  }
  return array.release();
}
template <typename T>
JSValue to_js(JSContext* js, const std::optional<T>& value) {
  if (!value) return JS_UNDEFINED;
  return to_js(Js{js}, *value);
}

// Throws `error`, which is new, with a message of any length: QuickJS's own functions cut one at
// 255 bytes.
inline JSValue throw_with(JSContext* js, JSValue error, std::string_view message) {
  JS_DefinePropertyValueStr(js, error, "message",
                            JS_NewStringLen(js, message.data(), message.size()),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  // The stack was written before the error had this message: "TypeError", and the frames.
  const Value thrown = Value::copy(js, error);
  std::string stack = shown_text_of(js, thrown.member("stack").get());
  const std::size_t line = stack.find('\n');
  if (!message.empty() && line != std::string::npos && !stack.starts_with(' ')) {
    stack.insert(line, ": " + std::string(message));
  }
  JS_DefinePropertyValueStr(js, error, "stack", JS_NewStringLen(js, stack.data(), stack.size()),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  return JS_Throw(js, error);
}

// Makes an object member by member: ObjectMaker(js).set("a", 1).take().
class ObjectMaker {
 public:
  explicit ObjectMaker(JSContext* js) : js_(js), object_(js, JS_NewObject(js)) {}
  template <typename T>
  ObjectMaker& set(const char* name, const T& value) {
    return put(name, to_js(Js{js_}, value));
  }
  ObjectMaker& put(const char* name, JSValue value) {
    if (object_.is_exception() || JS_IsException(value) ||
        JS_DefinePropertyValueStr(js_, object_.get(), name, value, JS_PROP_C_W_E) < 0) {
      object_ = Value(js_, JS_EXCEPTION);
    }
    return *this;
  }
  JSValue take() { return object_.release(); }

 private:
  JSContext* js_;
  Value object_;
};

// A typed array with a copy of `values`.
template <typename T>
JSValue typed_array(JSContext* js, const std::vector<T>& values, JSTypedArrayEnum type) {
  const Value buffer(js,
                     JS_NewArrayBufferCopy(js, reinterpret_cast<const std::uint8_t*>(values.data()),
                                           values.size() * sizeof(T)));
  if (buffer.is_exception()) return JS_EXCEPTION;
  JSValueConst argument = buffer.get();
  return JS_NewTypedArray(js, 1, &argument, type);
}

}  // namespace quire::javascript
