#pragma once
// Value owns one reference to a value of JavaScript. from_js.h and to_js.h convert between the
// values of JavaScript and of C++.
//
// Thread   a program has one.
#include <quickjs.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
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

inline bool is_same(JSValueConst left, JSValueConst right) {
  return JS_IsObject(left) && JS_IsObject(right) &&
         JS_VALUE_GET_PTR(left) == JS_VALUE_GET_PTR(right);
}

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

// The class of JavaScript whose objects hold a T; made once, by define_class (bind.h).
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

// Replaces each half of a surrogate pair by U+FFFD. QuickJS gives one as the three bytes that UTF-8
// has no character for, ED A0 80 to ED BF BF; all else that it gives is UTF-8.
inline void replace_surrogates(std::string& text) {
  for (std::size_t at = text.find('\xED'); at != std::string::npos;
       at = text.find('\xED', at + 3)) {
    if (static_cast<std::uint8_t>(text[at + 1]) >= 0xA0) text.replace(at, 3, "\xEF\xBF\xBD");
  }
}

// Whether there is memory for so many bytes of C++; if not, InternalError "out of memory" is
// thrown. C++ that gets no memory ends the instance, so what a script makes as large as it likes is
// copied after this.
inline bool has_memory(JSContext* context, std::size_t bytes) {
  void* volatile tried = std::malloc(bytes);
  std::free(tried);
  if (tried == nullptr && bytes > 0) JS_ThrowOutOfMemory(context);
  return tried != nullptr || bytes == 0;
}

// Sets `into` to the text of a value, as valid UTF-8. If the value has no text, or there is no
// memory for it, an exception is pending and the result is false.
inline bool read_text(JSContext* context, JSValueConst value, std::string& into) {
  std::size_t bytes = 0;
  const char* text = JS_ToCStringLen(context, &bytes, value);
  if (text == nullptr) return false;
  const bool fits = has_memory(context, bytes + 1);
  if (fits) into.assign(text, bytes);
  JS_FreeCString(context, text);
  replace_surrogates(into);
  return fits;
}
// The same; "" and an exception if it has none.
inline std::string text_of(JSContext* context, JSValueConst value) {
  std::string out;
  read_text(context, value, out);
  return out;
}

// The same for a value whose conversion may throw; what it throws is thrown away.
inline std::string shown_text_of(JSContext* context, JSValueConst value) {
  std::string out = text_of(context, value);
  if (JS_HasException(context)) JS_FreeValue(context, JS_GetException(context));
  return out;
}

}  // namespace quire::javascript
