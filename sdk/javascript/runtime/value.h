#pragma once
// Value owns one reference to a value of JavaScript; and the conversions between the values of
// JavaScript and of C++.
//
// FromJs<T>::read(engine, value, into) fills `into`, or returns what was expected, as in "a
// string". kThrown means that JavaScript has thrown, and its exception is pending.
// to_js(engine, value) gives a new reference. Both are overloaded beside the types they convert.
//
// Thread   a program has one.
// Errors   to_js gives JS_EXCEPTION when memory runs out; the exception is pending then.
#include <quickjs.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/quire.h"

namespace quire::javascript {

class Engine;

class Value {
 public:
  Value() = default;  // undefined
  // Takes the reference.
  Value(JSContext* context, JSValue value) : context_(context), value_(value) {}
  static Value copy(JSContext* context, JSValueConst value) {
    return {context, JS_DupValue(context, value)};
  }
  Value(const Value& other) : Value() {
    if (other.context_ != nullptr) *this = copy(other.context_, other.value_);
  }
  Value(Value&& other) noexcept
      : context_(other.context_), value_(std::exchange(other.value_, JS_UNDEFINED)) {}
  Value& operator=(Value other) noexcept {
    std::swap(context_, other.context_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value() {
    if (context_ != nullptr) JS_FreeValue(context_, value_);
  }

  JSValueConst get() const { return value_; }
  JSValue release() { return std::exchange(value_, JS_UNDEFINED); }
  JSContext* context() const { return context_; }
  bool is_undefined() const { return JS_IsUndefined(value_); }
  bool is_exception() const { return JS_IsException(value_); }
  bool is_function() const { return context_ != nullptr && JS_IsFunction(context_, value_); }
  // The member of that name. What a getter throws is undefined here, and is thrown away.
  Value member(const char* name) const {
    Value found(context_, JS_GetPropertyStr(context_, value_, name));
    if (!found.is_exception()) return found;
    JS_FreeValue(context_, JS_GetException(context_));
    return {};
  }

 private:
  JSContext* context_ = nullptr;
  JSValue value_ = JS_UNDEFINED;
};

// A function of the script.
struct Function {
  Value value;
};

// Bytes, as a Uint8Array; read from any view of bytes, from an ArrayBuffer, or from a string.
struct Bytes {
  std::string bytes;
};

// An object of the SDK's, which is alive as long as someone refers to it.
template <typename T>
using Object = std::shared_ptr<T>;

// The class of JavaScript that T is behind; made once, by define_class (bind.h).
template <typename T>
struct ClassOf {
  static inline JSClassID id = 0;
  static inline const char* name = "";
};

inline constexpr const char* kThrown = "";

// The context of JavaScript, in a type of this namespace: to_js(Js{js}, value) finds the to_js of
// every header, also one that is included later.
struct Js {
  JSContext* context;
  operator JSContext*() const { return context; }
};

// The text of a value, as valid UTF-8; "" and an exception if it has none.
inline std::string text_of(JSContext* context, JSValueConst value) {
  std::size_t bytes = 0;
  const char* text = JS_ToCStringLen(context, &bytes, value);
  if (text == nullptr) return "";
  std::string out = valid_utf8(std::string_view(text, bytes));
  JS_FreeCString(context, text);
  return out;
}

// The same for a value whose conversion may throw; what it throws is thrown away.
inline std::string shown_text_of(JSContext* context, JSValueConst value) {
  std::string out = text_of(context, value);
  if (JS_HasException(context)) JS_FreeValue(context, JS_GetException(context));
  return out;
}

template <typename T>
struct FromJs;

template <>
struct FromJs<Value> {
  static const char* read(JSContext* js, JSValueConst value, Value& into) {
    into = Value::copy(js, value);
    return nullptr;
  }
};

template <>
struct FromJs<std::string> {
  static const char* read(JSContext* js, JSValueConst value, std::string& into) {
    if (!JS_IsString(value)) return "a string";
    into = text_of(js, value);
    return nullptr;
  }
};

template <>
struct FromJs<bool> {
  static const char* read(JSContext*, JSValueConst value, bool& into) {
    if (!JS_IsBool(value)) return "true or false";
    into = JS_VALUE_GET_BOOL(value) != 0;
    return nullptr;
  }
};

template <>
struct FromJs<double> {
  static const char* read(JSContext* js, JSValueConst value, double& into) {
    if (!JS_IsNumber(value)) return "a number";
    JS_ToFloat64(js, &into, value);
    return nullptr;
  }
};

template <>
struct FromJs<std::uint32_t> {
  static const char* read(JSContext* js, JSValueConst value, std::uint32_t& into) {
    double number = -1.0;
    if (JS_IsNumber(value)) JS_ToFloat64(js, &number, value);
    if (!(number >= 0.0 && number <= 4294967295.0) || std::trunc(number) != number) {
      return "a whole number from 0 to 4294967295";
    }
    into = static_cast<std::uint32_t>(number);
    return nullptr;
  }
};

template <>
struct FromJs<std::int32_t> {
  static const char* read(JSContext* js, JSValueConst value, std::int32_t& into) {
    double number = 0.5;
    if (JS_IsNumber(value)) JS_ToFloat64(js, &number, value);
    if (!(number >= -2147483648.0 && number <= 2147483647.0) || std::trunc(number) != number) {
      return "a whole number from -2147483648 to 2147483647";
    }
    into = static_cast<std::int32_t>(number);
    return nullptr;
  }
};

// A whole number that a double holds, or a BigInt.
template <>
struct FromJs<std::int64_t> {
  static const char* read(JSContext* js, JSValueConst value, std::int64_t& into) {
    if (JS_IsBigInt(value)) {
      JS_ToBigInt64(js, &into, value);
      return nullptr;
    }
    double number = 0.5;
    if (JS_IsNumber(value)) JS_ToFloat64(js, &number, value);
    if (!(std::fabs(number) <= 9007199254740991.0) || std::trunc(number) != number) {
      return "a whole number or a BigInt";
    }
    into = static_cast<std::int64_t>(number);
    return nullptr;
  }
};
template <>
struct FromJs<std::uint64_t> {
  static const char* read(JSContext* js, JSValueConst value, std::uint64_t& into) {
    if (JS_IsBigInt(value)) {
      JS_ToBigUint64(js, &into, value);
      return nullptr;
    }
    std::int64_t whole = -1;
    if (FromJs<std::int64_t>::read(js, value, whole) != nullptr || whole < 0) {
      return "a whole number that is not negative, or a BigInt";
    }
    into = static_cast<std::uint64_t>(whole);
    return nullptr;
  }
};

template <>
struct FromJs<Function> {
  static const char* read(JSContext* js, JSValueConst value, Function& into) {
    if (!JS_IsFunction(js, value)) return "a function";
    into.value = Value::copy(js, value);
    return nullptr;
  }
};

// A view of the bytes of a typed array or an ArrayBuffer: {nullptr, 0} for any other value.
// Whatever runs JavaScript may end it.
struct ByteView {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
  bool is_view = false;
};
inline ByteView byte_view(JSContext* js, JSValueConst value) {
  ByteView view;
  if (JS_GetTypedArrayType(value) >= 0) {
    std::size_t offset = 0;
    const Value buffer(
        js, JS_GetTypedArrayBuffer(js, value, &offset, &view.bytes, &view.element_bytes));
    std::size_t all = 0;
    std::uint8_t* data =
        buffer.is_exception() ? nullptr : JS_GetArrayBuffer(js, &all, buffer.get());
    view.is_view = !buffer.is_exception() && offset <= all && view.bytes <= all - offset;
    if (view.is_view && data != nullptr) view.data = data + offset;
  } else if (JS_IsObject(value)) {
    view.data = JS_GetArrayBuffer(js, &view.bytes, value);
    view.is_view = view.data != nullptr;
  }
  if (!view.is_view) view = {};
  if (JS_HasException(js)) JS_FreeValue(js, JS_GetException(js));
  return view;
}

template <>
struct FromJs<Bytes> {
  static const char* read(JSContext* js, JSValueConst value, Bytes& into) {
    if (JS_IsString(value)) return FromJs<std::string>::read(js, value, into.bytes);
    const ByteView view = byte_view(js, value);
    if (!view.is_view) return "a string, a Uint8Array or an ArrayBuffer";
    into.bytes.assign(reinterpret_cast<const char*>(view.data), view.bytes);
    return nullptr;
  }
};

// Arrays and typed arrays of T.
template <typename T>
struct FromJs<std::vector<T>> {
  static const char* expected() {
    if constexpr (std::is_same_v<T, std::uint32_t>) return "an array of token ids";
    if constexpr (std::is_same_v<T, std::string>) return "an array of strings";
    return "an array";
  }
  static const char* read(JSContext* js, JSValueConst value, std::vector<T>& into) {
    std::int64_t count = 0;
    if (!JS_IsArray(value) && JS_GetTypedArrayType(value) < 0) return expected();
    if (JS_GetLength(js, value, &count) < 0) return kThrown;
    into.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const Value element(js, JS_GetPropertyInt64(js, value, i));
      if (element.is_exception()) return kThrown;
      T one{};
      const char* wrong = FromJs<T>::read(js, element.get(), one);
      if (wrong == kThrown) return kThrown;
      if (wrong != nullptr) return expected();
      into.push_back(std::move(one));
    }
    return nullptr;
  }
};

template <typename T>
struct FromJs<std::optional<T>> {
  static const char* read(JSContext* js, JSValueConst value, std::optional<T>& into) {
    into.reset();
    if (JS_IsUndefined(value)) return nullptr;
    return FromJs<T>::read(js, value, into.emplace());
  }
};

template <typename T>
struct FromJs<Object<T>> {
  static const char* read(JSContext*, JSValueConst value, Object<T>& into) {
    auto* held = static_cast<Object<T>*>(JS_GetOpaque(value, ClassOf<T>::id));
    if (held == nullptr) return ClassOf<T>::name;
    into = *held;
    return nullptr;
  }
};

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
inline JSValue to_js(JSContext* js, std::string_view text) {
  return JS_NewStringLen(js, text.data(), text.size());
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

// The members of an object of options: each is asked for by its name, and a name that nobody asked
// for is an error, which names it.
class ObjectReader {
 public:
  // `what` is the call, for errors.
  ObjectReader(JSContext* js, JSValueConst object) : js_(js), object_(object) {
    if (JS_IsUndefined(object)) return;
    if (!JS_IsObject(object)) wrong_ = "an object of options";
  }

  bool has(const char* name) { return !member(name).is_undefined(); }
  Value member(const char* name) {
    names_.push_back(name);
    if (wrong_ != nullptr || JS_IsUndefined(object_)) return {};
    Value found(js_, JS_GetPropertyStr(js_, object_, name));
    if (!found.is_exception()) return found;
    wrong_ = kThrown;
    return {};
  }
  template <typename T>
  ObjectReader& read(const char* name, T& into) {
    const Value found = member(name);
    if (wrong_ != nullptr || found.is_undefined()) return *this;
    const char* wrong = FromJs<T>::read(js_, found.get(), into);
    if (wrong != nullptr) refuse(name, wrong);
    return *this;
  }
  void refuse(const char* name, const char* wanted) {
    if (wanted != kThrown) {
      JS_ThrowTypeError(js_, "the option %s must be %s", name, wanted);
    }
    wrong_ = kThrown;
  }
  // Null if all was well, as FromJs says.
  const char* finish() {
    if (wrong_ != nullptr || JS_IsUndefined(object_)) return wrong_;
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (JS_GetOwnPropertyNames(js_, &properties, &count, object_,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
      return kThrown;
    }
    for (std::uint32_t i = 0; i < count && wrong_ == nullptr; ++i) {
      const char* name = JS_AtomToCString(js_, properties[i].atom);
      if (name != nullptr && !knows(name)) {
        throw_with(js_, JS_NewTypeError(js_, "%s", ""),
                   "there is no option " + std::string(name) + "; there are: " + listed());
        wrong_ = kThrown;
      }
      JS_FreeCString(js_, name);
    }
    JS_FreePropertyEnum(js_, properties, count);
    return wrong_;
  }

 private:
  bool knows(std::string_view name) const {
    for (const char* each : names_) {
      if (name == each) return true;
    }
    return false;
  }
  std::string listed() const {
    std::string out;
    for (const char* each : names_) out += (out.empty() ? "" : ", ") + std::string(each);
    return out;
  }

  JSContext* js_;
  JSValueConst object_;
  std::vector<const char*> names_;
  const char* wrong_ = nullptr;
};

}  // namespace quire::javascript
