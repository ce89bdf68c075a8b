#pragma once
// FromJs<T>::read(engine, value, into) fills `into` from a value of JavaScript, or returns what was
// expected, as in "a string". kThrown means that JavaScript has thrown, and its exception is
// pending. It is specialised beside the types that it makes.
//
// Thread   a program has one.
#include <quickjs.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "value.h"

namespace quire::javascript {

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
    return read_text(js, value, into) ? nullptr : kThrown;
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
    if (!has_memory(js, view.bytes + 1)) return kThrown;
    into.bytes.assign(reinterpret_cast<const char*>(view.data), view.bytes);
    return nullptr;
  }
};

// The description of a wrong element of an array, for the error of the call: "an array of token
// ids, and tokens[0] is -1".
inline std::string wrong_element;

inline std::string shown_element(JSContext* js, JSValueConst value) {
  constexpr std::size_t kShownBytes = 32;
  if (JS_IsString(value)) {
    const std::string text = text_of(js, value);
    if (text.size() <= kShownBytes) return json_string(text);
    return "a string of " + std::to_string(text.size()) + " bytes";
  }
  if (JS_IsObject(value) || JS_IsSymbol(value)) return JS_IsArray(value) ? "an array" : "an object";
  return shown_text_of(js, value);
}

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
      if (wrong != nullptr) {
        constexpr bool kAreTokens = std::is_same_v<T, std::uint32_t>;
        wrong_element = std::string(expected()) + ", and " + (kAreTokens ? "tokens" : "element ") +
                        "[" + std::to_string(i) + "] is " + shown_element(js, element.get());
        return wrong_element.c_str();
      }
      // The list grows to twice its size.
      if (into.size() == into.capacity() && !has_memory(js, 2 * into.size() * sizeof(T))) {
        return kThrown;
      }
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

}  // namespace quire::javascript
