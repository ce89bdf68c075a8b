#pragma once
// Exceptions: an Error of C++ becomes an exception of the class QuireError, and an exception an
// Error. An exception that passes through C++ and comes back is the same object again.
//
// Owns     the last exceptions that became Errors.
// Thread   a program has one.
#include <quickjs.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "quire/quire.h"
#include "stack_lines.h"
#include "to_js.h"
#include "value.h"

namespace quire::javascript {

class Exceptions {
 public:
  explicit Exceptions(JSContext* js) : js_(js) {}
  Exceptions(const Exceptions&) = delete;
  Exceptions& operator=(const Exceptions&) = delete;

  JSContext* js() const { return js_; }
  // The class QuireError, which the SDK's JavaScript makes.
  void set_error_class(const Value& error_class) {
    error_prototype_ = error_class.member("prototype");
  }
  // The class Error, before a script can change it.
  void keep_error(Value plain_error) { plain_error_ = std::move(plain_error); }

  // The Error that an exception is. error_value gives the same exception for it.
  Error error_of(Value exception) {
    Error error{ErrorCode::Internal, described(exception)};
    const Value number = exception.member("number");
    if (is_quire_error(exception) && JS_IsNumber(number.get())) {
      std::int32_t code = 0;
      JS_ToInt32(js_, &code, number.get());
      error = Error{static_cast<ErrorCode>(code),
                    shown_text_of(js_, exception.member("message").get())};
    }
    thrown_.push_back({error.code, error.message, std::move(exception)});
    if (thrown_.size() > kThrownCountMax) thrown_.pop_front();
    return error;
  }

  // The exception for an Error. `stack` is where the call was made.
  Value error_value(const Error& error, const Value& stack) {
    for (auto each = thrown_.rbegin(); each != thrown_.rend(); ++each) {
      if (each->code == error.code && each->message == error.message) return each->exception;
    }
    // No JavaScript runs: a script may have changed what it would use.
    Value made(js_, JS_NewError(js_));
    if (made.is_exception()) return Value(js_, JS_GetException(js_));
    JS_SetPrototype(js_, made.get(), error_prototype_.get());
    const auto define = [&](const char* name, JSValue value) {
      JS_DefinePropertyValueStr(js_, made.get(), name, value,
                                JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    };
    const std::string message = message_of(error);
    define("message", to_js(js_, message));
    define("code", to_js(js_, abi::error_code_name(error.code)));
    define("number", JS_NewInt32(js_, static_cast<std::int32_t>(error.code)));
    define("stack", to_js(js_, "QuireError: " + message + "\n" +
                                   script_frames(shown_text_of(js_, stack.get()))));
    return made;
  }
  // Throws it: for functions that QuickJS calls.
  JSValue throw_error(const Error& error) {
    return JS_Throw(js_, error_value(error, stack_here()).release());
  }

  // The call of the SDK that was made last, for what follows.
  void note_call(const char* name) { call_ = name; }
  // From now on no call of the host is answered, because the options of the script are read.
  void expect_refusals() { is_reading_options_ = true; }
  bool was_refused() const { return was_refused_; }

  // The place in the script that threw it: "agent.ts:12"; "" if that is not known.
  std::string place_of(const Value& exception) {
    return place_in(shown_text_of(js_, exception.member("stack").get()));
  }
  // "TypeError: not a function", as a person reads it.
  std::string described(const Value& exception) {
    if (JS_IsError(exception.get())) {
      const std::string name = shown_text_of(js_, exception.member("name").get());
      const std::string message = shown_text_of(js_, exception.member("message").get());
      return name.empty() ? message : name + ": " + message;
    }
    // QuickJS throws null when there is no memory left for an Error.
    if (JS_IsNull(exception.get()) && is_memory_used_up()) return "InternalError: out of memory";
    return "an exception that is no Error was thrown: " + shown_text_of(js_, exception.get());
  }
  // The exception that an Error came from, or undefined.
  Value exception_of(const Error& error) {
    for (auto each = thrown_.rbegin(); each != thrown_.rend(); ++each) {
      if (each->code == error.code && each->message == error.message) return each->exception;
    }
    return {};
  }
  // How much memory the values of JavaScript may take.
  void limit_memory(std::size_t bytes) {
    memory_bytes_max_ = bytes;
    JS_SetMemoryLimit(JS_GetRuntime(js_), bytes);
  }
  bool is_quire_error(const Value& exception) {
    if (!JS_IsObject(exception.get())) return false;
    const Value prototype(js_, JS_GetPrototype(js_, exception.get()));
    return is_same(prototype.get(), error_prototype_.get());
  }

  // The stack of the JavaScript that is running, as an Error has it.
  Value stack_here() {
    const Value error(js_, JS_CallConstructor(js_, plain_error_.get(), 0, nullptr));
    if (error.is_exception()) {
      JS_FreeValue(js_, JS_GetException(js_));
      return {};
    }
    return error.member("stack");
  }

 private:
  struct Thrown {
    ErrorCode code;
    std::string message;
    Value exception;
  };

  static constexpr std::size_t kThrownCountMax = 16;

  std::string message_of(const Error& error) {
    if (!is_reading_options_ || error.code != ErrorCode::NotSupported) return error.message;
    was_refused_ = true;
    return std::string(call_) +
           "() is called while the module loads, so the options cannot be read: declare them "
           "before it, or call it in program()";
  }

  // All but a sixteenth.
  bool is_memory_used_up() const {
    const std::size_t bytes = __builtin_wasm_memory_size(0) * std::size_t{65'536};
    return bytes > memory_bytes_max_ / 16 * 15;
  }

  JSContext* js_;
  Value error_prototype_;
  Value plain_error_;
  std::deque<Thrown> thrown_;
  std::size_t memory_bytes_max_ = SIZE_MAX;
  const char* call_ = "";
  bool is_reading_options_ = false;
  bool was_refused_ = false;
};

}  // namespace quire::javascript
