#pragma once
// Functions and classes of C++ for JavaScript. A function takes and returns values of C++; what it
// takes is checked, and what it returns becomes a value, an exception, or a promise:
//
//   Task<> append_text(Object<ContextObject> self, std::string text);
//   method<"Context.appendText", append_text>()      context.appendText("Once") is a promise
//
// A Task and a Future become promises, a Result its value or an exception. A parameter JSContext*
// is the engine's, and no argument. std::optional is an argument that may be left out.
//
// Errors   A wrong argument is a TypeError that names the function, the argument, and what was
// wanted.
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine.h"
#include "engine_modules.h"
#include "from_js.h"
#include "object_reader.h"
#include "to_js.h"
#include "value.h"

namespace quire::javascript {

template <std::size_t kCount>
struct Name {
  consteval Name(const char (&given)[kCount]) {
    for (std::size_t i = 0; i < kCount; ++i) text[i] = given[i];
  }
  char text[kCount];
};

// "undefined", "a string", ...: for errors.
inline const char* kind_of(JSContext* js, JSValueConst value) {
  if (JS_IsUndefined(value)) return "undefined";
  if (JS_IsNull(value)) return "null";
  if (JS_IsString(value)) return "a string";
  if (JS_IsBool(value)) return "true or false";
  if (JS_IsNumber(value)) return "this number";
  if (JS_IsBigInt(value)) return "this BigInt";
  if (JS_IsFunction(js, value)) return "a function";
  if (JS_IsArray(value)) return "this array";
  return JS_IsObject(value) ? "this object" : "this value";
}

// The arguments of a call, in turn.
class Arguments {
 public:
  Arguments(JSContext* js, const char* name, JSValueConst self, int count, JSValueConst* values,
            bool is_method)
      : js_(js),
        name_(name),
        self_(self),
        count_(count),
        values_(values),
        at_(is_method ? -1 : 0) {}

  bool read(JSContext*& into) {
    into = js_;
    return true;
  }
  template <typename T>
  bool read(T& into) {
    const int at = at_++;
    const JSValueConst value = at < 0 ? self_ : at < count_ ? values_[at] : JS_UNDEFINED;
    const char* wrong = FromJs<T>::read(js_, value, into);
    return wrong == nullptr || refuse(at, value, wrong);
  }

 private:
  [[gnu::noinline]] bool refuse(int at, JSValueConst value, const char* wanted) {
    if (wanted == kThrown) return false;
    if (at < 0) {
      JS_ThrowTypeError(js_, "%s was called on %s, which is not a %s", name_, kind_of(js_, value),
                        wanted);
    } else if (wanted == wrong_element.c_str()) {
      JS_ThrowTypeError(js_, "%s: argument %d must be %s", name_, at + 1, wanted);
    } else {
      JS_ThrowTypeError(js_, "%s: argument %d must be %s, not %s", name_, at + 1, wanted,
                        kind_of(js_, value));
    }
    return false;
  }

  JSContext* js_;
  const char* name_;
  JSValueConst self_;
  int count_;
  JSValueConst* values_;
  int at_;
};

template <typename T>
inline constexpr bool is_future = false;
template <typename T>
inline constexpr bool is_future<Future<T>> = true;

// HeldByCall is what a call keeps of an argument while it is under way. Objects that count their
// calls specialize it.
template <typename T>
struct HeldByCall {
  static std::shared_ptr<void> of(const T&) { return nullptr; }
};

// Makes a value of JavaScript of what a function of C++ returned.
template <typename T>
JSValue returned(JSContext* js, T value, std::shared_ptr<void> held = nullptr) {
  Engine& engine = Engine::of(js);
  if constexpr (std::is_same_v<T, JSValue>) {
    return value;
  } else if constexpr (detail::is_task<T> || is_future<T>) {
    return engine.promise(task_of(std::move(value)), std::move(held));
  } else if constexpr (detail::is_result<T>) {
    if (!value.ok()) return engine.throw_error(value.error());
    if constexpr (std::is_same_v<T, Result<void>>) {
      return JS_UNDEFINED;
    } else {
      return to_js(Js{js}, std::move(value).take());
    }
  } else {
    return to_js(Js{js}, std::move(value));
  }
}

template <typename R, typename... Parameters>
JSValue call_bound(JSContext* js, R (*function)(Parameters...), Arguments arguments) {
  std::tuple<std::remove_cvref_t<Parameters>...> given;
  const bool is_right =
      std::apply([&](auto&... each) { return (arguments.read(each) && ...); }, given);
  if (!is_right) return JS_EXCEPTION;
  std::shared_ptr<void> held;
  if constexpr (detail::is_task<R>) {
    const auto hold = [&](const auto& each) {
      using Given = std::remove_cvref_t<decltype(each)>;
      if (held == nullptr) held = HeldByCall<Given>::of(each);
    };
    std::apply([&](const auto&... each) { (hold(each), ...); }, given);
  }
  const auto run = [&](auto&... each) { return function(std::move(each)...); };
  if constexpr (std::is_void_v<R>) {
    std::apply(run, given);
    return JS_UNDEFINED;
  } else {
    return returned(js, std::apply(run, given), std::move(held));
  }
}

// A member of a class, or a function by itself, for tables.
struct Member {
  enum class Kind : std::uint8_t { Method, Getter, Static };
  const char* name;  // With its class: "Context.fork".
  Kind kind;
  JSCFunction* function;
  int length;

  const char* own_name() const {
    const char* point = std::strrchr(name, '.');
    return point == nullptr ? name : point + 1;
  }
};

template <typename R, typename... Parameters>
constexpr int parameter_count(R (*)(Parameters...)) {
  return (0 + ... + (std::is_same_v<Parameters, JSContext*> ? 0 : 1));
}

template <Name kName, auto kFunction, bool kIsMethod>
JSValue bound(JSContext* js, JSValueConst self, int count, JSValueConst* values) {
  Engine::of(js).note_call(kName.text);
  return call_bound(js, kFunction, Arguments(js, kName.text, self, count, values, kIsMethod));
}

template <Name kName, auto kFunction>
Member method() {
  return {kName.text, Member::Kind::Method, bound<kName, kFunction, true>,
          parameter_count(kFunction) - 1};
}
template <Name kName, auto kFunction>
Member getter() {
  return {kName.text, Member::Kind::Getter, bound<kName, kFunction, true>, 0};
}
template <Name kName, auto kFunction>
Member function() {
  return {kName.text, Member::Kind::Static, bound<kName, kFunction, false>,
          parameter_count(kFunction)};
}

inline void define_members(JSContext* js, JSValueConst on_class, JSValueConst on_object,
                           const std::vector<Member>& members) {
  for (const Member& each : members) {
    const char* name = each.own_name();
    JSValue made = JS_NewCFunction2(js, each.function, name, each.length, JS_CFUNC_generic, 0);
    if (each.kind == Member::Kind::Getter) {
      const JSAtom atom = JS_NewAtom(js, name);
      JS_DefinePropertyGetSet(js, on_object, atom, made, JS_UNDEFINED, JS_PROP_CONFIGURABLE);
      JS_FreeAtom(js, atom);
    } else {
      const bool is_static = each.kind == Member::Kind::Static;
      JS_DefinePropertyValueStr(js, is_static ? on_class : on_object, name, made,
                                JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    }
  }
}

// Makes the class `name`, a member of `space`, whose objects are Object<T>. Only C++ makes them.
template <typename T>
void define_class(JSContext* js, JSValueConst space, const char* name,
                  const std::vector<Member>& members) {
  using Class = ClassOf<T>;
  JS_NewClassID(JS_GetRuntime(js), &Class::id);
  Class::name = name;
  const auto release = [](JSRuntime*, JSValueConst value) {
    delete static_cast<Object<T>*>(JS_GetOpaque(value, Class::id));
  };
  const JSClassDef definition = {name, release, nullptr, nullptr, nullptr};
  JS_NewClass(JS_GetRuntime(js), Class::id, &definition);
  const auto refuse = [](JSContext* context, JSValueConst, int, JSValueConst*) {
    return JS_ThrowTypeError(context, "new %s: the SDK makes objects of this class", Class::name);
  };
  const Value prototype(js, JS_NewObject(js));
  const Value constructor(js,
                          JS_NewCFunction2(js, refuse, name, 0, JS_CFUNC_constructor_or_func, 0));
  JS_SetConstructor(js, constructor.get(), prototype.get());
  define_members(js, constructor.get(), prototype.get(), members);
  JS_SetClassProto(js, Class::id, JS_DupValue(js, prototype.get()));
  JS_DefinePropertyValueStr(js, space, name, JS_DupValue(js, constructor.get()), JS_PROP_C_W_E);
}

// Makes `name` in `space`, an object with functions.
inline void define_namespace(JSContext* js, JSValueConst space, const char* name,
                             const std::vector<Member>& members) {
  const Value made(js, JS_NewObject(js));
  define_members(js, made.get(), made.get(), members);
  JS_DefinePropertyValueStr(js, space, name, JS_DupValue(js, made.get()), JS_PROP_C_W_E);
}

}  // namespace quire::javascript
