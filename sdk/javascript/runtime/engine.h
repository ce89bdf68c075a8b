#pragma once
// Engine: QuickJS-ng with the event loop of the C++ SDK. JavaScript has promises, the SDK has
// tasks; the engine makes one of the other, and runs both until the script's promise is settled.
//
//   engine.promise(context.append_text(text))     the promise of a task
//   co_await engine.call(function, {argument})    the value of a function, and of its promise
//
// When no job of JavaScript is pending, the loop waits for the host, with which the instance parks.
//
// Owns     the runtime of QuickJS, and a task for each promise that is not settled. It is never
//          destroyed: the memory of an instance goes as a whole.
// Thread   a program has one.
// Errors   An Error becomes an exception of the class QuireError. An exception that passes through
// C++
//          and comes back is the same object again.
//
// Invariants:
//   QE1  A task is destroyed only by sweep(), which no coroutine and no JavaScript calls. So
//        JavaScript may cancel the task that is calling it.
//   QE2  A rejected promise that nobody handled when the jobs ran dry ends the program.
#include <quickjs.h>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quire/quire.h"
#include "value.h"

namespace quire::javascript {

// Where a module's source comes from.
class Modules {
 public:
  virtual ~Modules() = default;
  // The full name of the module that `name` is in a module called `base`, or an Error.
  virtual Result<std::string> resolve(std::string_view base, std::string_view name) const = 0;
  // Null if there is none of that full name.
  virtual const std::string* source(const std::string& name) const = 0;
  // What Engine::byte_code() gave for its source; null if there is none, and the source is read.
  virtual const std::string* byte_code(const std::string&) const { return nullptr; }
};

class Engine {
 public:
  // Makes no call of the host.
  Engine() : runtime_(JS_NewRuntime()), js_(JS_NewContext(runtime_)) {
    JS_SetContextOpaque(js_, this);
    JS_SetMaxStackSize(runtime_, kStackBytesMax);
    JS_SetHostPromiseRejectionTracker(runtime_, &Engine::note_rejection, this);
    JS_SetModuleLoaderFunc(runtime_, &Engine::normalize, &Engine::load, this);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  static Engine& of(JSContext* context) {
    return *static_cast<Engine*>(JS_GetContextOpaque(context));
  }

  JSContext* js() const { return js_; }
  JSRuntime* runtime() const { return runtime_; }
  EventLoop& loop() { return loop_; }
  void use(const Modules& modules) { modules_ = &modules; }

  // Functions of the SDK's JavaScript that the engine calls: the class of errors, and what makes
  // JavaScript of TypeScript.
  void set_error_class(const Value& error_class) {
    error_prototype_ = error_class.member("prototype");
  }
  void set_type_stripper(Value strip) { strip_ = std::move(strip); }

  // The code of a module, without evaluating anything; an Error where it or one that it imports
  // cannot be compiled.
  Result<std::string> byte_code(const std::string& name);

  // A new reference to a promise that is settled as `task` ends. `held` is kept until then.
  template <typename T>
  JSValue promise(Task<T> task, std::shared_ptr<void> held = nullptr) {
    JSValue functions[2];
    Value promise(js_, JS_NewPromiseCapability(js_, functions));
    if (promise.is_exception()) return JS_EXCEPTION;
    Pending& pending = pending_.emplace_back();
    pending.promise = promise;
    pending.resolve = Value(js_, functions[0]);
    pending.reject = Value(js_, functions[1]);
    pending.stack = stack_here();
    pending.held = std::move(held);
    pending.task = settling(pending, std::move(task));
    pending.task.start(loop_);
    return promise.release();
  }

  // Drops the task of that promise, which is rejected with `reason`; without one it is never
  // settled. False: it is none of the engine's, or is settled.
  bool cancel(JSValueConst promise, Value reason) {
    for (Pending& each : pending_) {
      if (!is_same(each.promise.get(), promise) || each.state != State::Runs) continue;
      each.state = State::Cancelled;
      each.held.reset();
      if (!reason.is_undefined()) settle(each.reject, std::move(reason));
      needs_sweep_ = true;
      return true;
    }
    return false;
  }

  // The value of a promise; any other value as it is. The exception of a rejected one is an Error.
  Task<Value> settled(Value value) {
    if (!JS_IsPromise(value.get())) co_return value;
    JS_PromiseMarkAsHandled(js_, value.get());
    if (JS_PromiseState(js_, value.get()) == JS_PROMISE_PENDING) co_await PromiseWait{*this, value};
    Value result(js_, JS_PromiseResult(js_, value.get()));
    if (JS_PromiseState(js_, value.get()) == JS_PROMISE_REJECTED) {
      co_await fail(error_of(std::move(result)));
    }
    co_return result;
  }

  // Calls a function, and waits for the promise that it returns.
  Task<Value> call(Function function, std::vector<Value> arguments) {
    std::vector<JSValueConst> given;
    for (const Value& each : arguments) given.push_back(each.get());
    Value returned(js_, JS_Call(js_, function.value.get(), JS_UNDEFINED,
                                static_cast<int>(given.size()), given.data()));
    if (returned.is_exception()) co_await fail(error_of(Value(js_, JS_GetException(js_))));
    co_return co_await settled(then_as_promise(std::move(returned)));
  }

  // Objects with a method `then` that are no promises, such as a Generator, become promises.
  Value then_as_promise(Value value) {
    if (!JS_IsObject(value.get()) || JS_IsPromise(value.get())) return value;
    JSValueConst argument = value.get();
    Value promise(js_, JS_Call(js_, promise_resolve_.get(), promise_class_.get(), 1, &argument));
    if (promise.is_exception()) {
      JS_FreeValue(js_, JS_GetException(js_));
      return value;
    }
    return promise;
  }

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
    define("message", to_js(js_, error.message));
    define("code", to_js(js_, abi::error_code_name(error.code)));
    define("number", JS_NewInt32(js_, static_cast<std::int32_t>(error.code)));
    define("stack", to_js(js_, script_frames(shown_text_of(js_, stack.get()))));
    return made;
  }
  // Throws it: for functions that QuickJS calls.
  JSValue throw_error(const Error& error) {
    return JS_Throw(js_, error_value(error, stack_here()).release());
  }

  // Runs everything until `promise` is settled, and gives its value. An Error: it was rejected, an
  // exception was not handled, or nothing can go on any more.
  Result<Value> wait_for(Value promise) {
    for (;;) {
      TRY(run_jobs());
      sweep();
      if (!unhandled_.empty()) {
        Value reason(js_, JS_PromiseResult(js_, unhandled_.front().get()));
        unhandled_.clear();
        return error_of(std::move(reason));
      }
      if (!JS_IsPromise(promise.get())) return promise;
      const JSPromiseStateEnum state = JS_PromiseState(js_, promise.get());
      Value result(js_, JS_PromiseResult(js_, promise.get()));
      if (state == JS_PROMISE_FULFILLED) return result;
      if (state == JS_PROMISE_REJECTED) return error_of(std::move(result));
      if (loop_.is_idle()) {
        return Error{ErrorCode::Internal,
                     "the script waits for a promise that nothing will settle: no call is under "
                     "way, and no timer is set"};
      }
      loop_.run_until(
          [this] { return JS_IsJobPending(runtime_) || loop_.is_idle() || needs_sweep_; });
    }
  }
  // How many calls are under way whose promises are not settled.
  std::size_t pending_count() const { return pending_.size(); }

  // Where it was thrown, in the script: "agent.ts:12"; "" if that is not known.
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
    JS_SetMemoryLimit(runtime_, bytes);
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
  // Keeps what the engine needs of the global object, before a script can change it.
  void keep_intrinsics() {
    const Value global(js_, JS_GetGlobalObject(js_));
    plain_error_ = global.member("Error");
    promise_class_ = global.member("Promise");
    promise_resolve_ = promise_class_.member("resolve");
  }

  // The place of the first line of a stack that is in the script.
  static std::string place_in(std::string_view stack);
  // The lines of a stack that are in the script.
  static std::string script_frames(std::string_view stack);

 private:
  enum class State : std::uint8_t { Runs, Settled, Cancelled };
  struct Pending {
    Value promise, resolve, reject, stack;
    State state = State::Runs;
    std::shared_ptr<void> held;
    Task<> task;
  };
  struct Thrown {
    ErrorCode code;
    std::string message;
    Value exception;
  };
  // A coroutine that waits for a promise.
  struct PromiseWait {
    Engine& engine;
    Value promise;

    struct Shared {
      detail::Resumable* waiting = nullptr;
      EventLoop* loop = nullptr;
    };
    struct Awaiter {
      Engine& engine;
      Value promise;
      std::shared_ptr<Shared> shared = std::make_shared<Shared>();

      ~Awaiter() { shared->waiting = nullptr; }
      bool await_ready() const { return false; }
      template <typename Promise>
      void await_suspend(std::coroutine_handle<Promise> waiting) {
        shared->waiting = &waiting.promise();
        shared->loop = waiting.promise().loop;
        engine.tell(promise, shared);
      }
      void await_resume() const {}
    };
    Awaiter operator co_await() const { return Awaiter{engine, promise}; }
  };

  // Of the stack in memory, of which tools/build_quickjs.sh lets each call take more than it takes
  // of the host's 512 KiB: a stack that is too deep is an exception before it ends the instance.
  static constexpr std::size_t kStackBytesMax = std::size_t{700} << 10;
  static constexpr std::size_t kThrownCountMax = 16;

  // All but a sixteenth.
  bool is_memory_used_up() const {
    const std::size_t bytes = __builtin_wasm_memory_size(0) * std::size_t{65'536};
    return bytes > memory_bytes_max_ / 16 * 15;
  }

  template <typename T>
  Task<> settling(Pending& pending, Task<T> task) {
    Result<T> result = co_await attempt(std::move(task));
    if (pending.state != State::Runs) co_return;
    pending.state = State::Settled;
    pending.held.reset();
    needs_sweep_ = true;
    if (!result.ok()) {
      settle(pending.reject, error_value(result.error(), pending.stack));
      co_return;
    }
    Value value;
    if constexpr (!std::is_void_v<T>) {
      value = Value(js_, to_js(Js{js_}, std::move(result).take()));
    }
    if (value.is_exception()) {
      settle(pending.reject, Value(js_, JS_GetException(js_)));
    } else {
      settle(pending.resolve, std::move(value));
    }
  }
  void settle(const Value& function, Value value) {
    JSValueConst argument = value.get();
    const Value returned(js_, JS_Call(js_, function.get(), JS_UNDEFINED, 1, &argument));
    if (returned.is_exception()) JS_FreeValue(js_, JS_GetException(js_));
  }

  // `shared->waiting` goes on when the promise is settled.
  void tell(const Value& promise, std::shared_ptr<PromiseWait::Shared> shared) {
    using Held = Object<PromiseWait::Shared>;
    using Class = ClassOf<PromiseWait::Shared>;
    if (Class::id == 0) {
      JS_NewClassID(runtime_, &Class::id);
      const auto release = [](JSRuntime*, JSValueConst value) {
        delete static_cast<Held*>(JS_GetOpaque(value, Class::id));
      };
      const JSClassDef definition = {"Waiter", release, nullptr, nullptr, nullptr};
      JS_NewClass(runtime_, Class::id, &definition);
    }
    Value holder(js_, JS_NewObjectClass(js_, static_cast<int>(Class::id)));
    JS_SetOpaque(holder.get(), new Held(std::move(shared)));
    const auto wake = [](JSContext*, JSValueConst, int, JSValueConst*, int, JSValueConst* data) {
      auto* held = static_cast<Held*>(JS_GetOpaque(data[0], Class::id));
      if ((*held)->waiting != nullptr) (*held)->loop->make_ready(*(*held)->waiting);
      return JS_UNDEFINED;
    };
    JSValueConst data = holder.get();
    const Value woken(js_, JS_NewCFunctionData(js_, wake, 0, 0, 1, &data));
    const Value after(js_, JS_PromiseThen(js_, promise.get(), woken.get(), woken.get()));
    if (after.is_exception()) JS_FreeValue(js_, JS_GetException(js_));
  }

  Result<void> run_jobs() {
    JSContext* context = nullptr;
    for (;;) {
      const int ran = JS_ExecutePendingJob(runtime_, &context);
      if (ran == 0) return {};
      if (ran < 0) return error_of(Value(js_, JS_GetException(js_)));
    }
  }

  void sweep() {
    if (!std::exchange(needs_sweep_, false)) return;
    pending_.remove_if([](const Pending& each) { return each.state != State::Runs; });
  }

  static bool is_same(JSValueConst left, JSValueConst right) {
    return JS_IsObject(left) && JS_IsObject(right) &&
           JS_VALUE_GET_PTR(left) == JS_VALUE_GET_PTR(right);
  }

  static void note_rejection(JSContext* context, JSValueConst promise, JSValueConst,
                             bool is_handled, void* opaque) {
    auto& engine = *static_cast<Engine*>(opaque);
    if (!is_handled) {
      engine.unhandled_.push_back(Value::copy(context, promise));
      return;
    }
    std::erase_if(engine.unhandled_,
                  [&](const Value& each) { return is_same(each.get(), promise); });
  }

  static char* normalize(JSContext* context, const char* base, const char* name, void* opaque) {
    auto& engine = *static_cast<Engine*>(opaque);
    const Result<std::string> resolved = engine.modules_->resolve(base, name);
    if (resolved.ok()) return js_strdup(context, resolved.value().c_str());
    throw_with(context, JS_NewReferenceError(context, "%s", ""), resolved.error().message);
    return nullptr;
  }
  static JSModuleDef* load(JSContext* context, const char* name, void* opaque);
  // What compiles as the module: JavaScript. False with an exception.
  bool script_of(const char* name, std::string& text);
  Value compiled(const char* name);

  JSRuntime* runtime_;
  JSContext* js_;
  EventLoop loop_;
  const Modules* modules_ = nullptr;
  Value error_prototype_;
  Value strip_;
  Value plain_error_;
  Value promise_class_;
  Value promise_resolve_;
  std::list<Pending> pending_;
  std::deque<Thrown> thrown_;
  std::vector<Value> unhandled_;  // Rejected promises.
  bool needs_sweep_ = false;
  std::size_t memory_bytes_max_ = SIZE_MAX;
};

// A line of a stack is "    at f (agent.ts:12:5)" or "    at agent.ts:12:5". Those of the SDK's own
// modules, and of functions of the host, are passed over.
inline std::string Engine::place_in(std::string_view stack) {
  while (!stack.empty()) {
    std::string_view line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    const std::size_t bracket = line.rfind('(');
    const std::size_t at = line.find("at ");
    if (at == std::string_view::npos) continue;
    line = bracket != std::string_view::npos ? line.substr(bracket + 1) : line.substr(at + 3);
    if (line.ends_with(")")) line.remove_suffix(1);
    const std::size_t column = line.rfind(':');
    if (column == std::string_view::npos || line.starts_with("quire")) continue;
    line = line.substr(0, column);
    if (line.rfind(':') == std::string_view::npos) continue;
    return std::string(line);
  }
  return "";
}

inline std::string Engine::script_frames(std::string_view stack) {
  std::string out;
  while (!stack.empty()) {
    const std::string_view line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    if (place_in(line).empty()) continue;
    out += line;
    out += '\n';
  }
  return out;
}

inline bool Engine::script_of(const char* name, std::string& text) {
  const std::string* source = modules_->source(name);
  if (source == nullptr) {
    JS_ThrowReferenceError(js_, "there is no module \"%s\"", name);
    return false;
  }
  const std::string_view path = name;
  if (path.ends_with(".json")) {
    text = "export default JSON.parse(" + json_string(*source) + ");";
  } else if (path.ends_with(".ts") || path.ends_with(".mts")) {
    if (strip_.is_undefined()) {
      JS_ThrowTypeError(js_,
                        "%s: this server's runtime was built without TypeScript: run "
                        "tools/fetch_npm.sh sucrase, and build it again",
                        name);
      return false;
    }
    const Value given[] = {Value(js_, to_js(js_, *source)), Value(js_, to_js(js_, path))};
    JSValueConst arguments[] = {given[0].get(), given[1].get()};
    const Value stripped(js_, JS_Call(js_, strip_.get(), JS_UNDEFINED, 2, arguments));
    if (stripped.is_exception()) return false;
    text = text_of(js_, stripped.get());
  } else {
    text = *source;
  }
  return true;
}

// The module, or an exception.
inline Value Engine::compiled(const char* name) {
  std::string text;
  if (!script_of(name, text)) return Value(js_, JS_EXCEPTION);
  return Value(js_, JS_Eval(js_, text.c_str(), text.size(), name,
                            JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY));
}

inline Result<std::string> Engine::byte_code(const std::string& name) {
  const Value module = compiled(name.c_str());
  if (module.is_exception()) return error_of(Value(js_, JS_GetException(js_)));
  std::size_t bytes = 0;
  std::uint8_t* code = JS_WriteObject(js_, &bytes, module.get(), JS_WRITE_OBJ_BYTECODE);
  if (code == nullptr) return error_of(Value(js_, JS_GetException(js_)));
  std::string kept(reinterpret_cast<const char*>(code), bytes);
  js_free(js_, code);
  return kept;
}

inline JSModuleDef* Engine::load(JSContext* context, const char* name, void* opaque) {
  auto& engine = *static_cast<Engine*>(opaque);
  const std::string* code = engine.modules_->byte_code(name);
  const Value module =
      code == nullptr
          ? engine.compiled(name)
          : Value(context,
                  JS_ReadObject(context, reinterpret_cast<const std::uint8_t*>(code->data()),
                                code->size(), JS_READ_OBJ_BYTECODE));
  if (module.is_exception()) return nullptr;
  return static_cast<JSModuleDef*>(JS_VALUE_GET_PTR(module.get()));
}

}  // namespace quire::javascript
