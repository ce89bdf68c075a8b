#pragma once
// Engine: QuickJS-ng with the event loop of the C++ SDK. JavaScript has promises, the SDK has
// tasks; the engine makes one of the other, and runs both until the script's promise is settled.
//
//   engine.promise(context.append_text(text))     the promise of a task
//   co_await engine.call(function, {argument})    the value of a function, and of its promise
//
// When no job of JavaScript is pending, the loop waits for the host, with which the instance parks.
// Owns     the runtime of QuickJS, and a task for each promise that is not settled. It is never
//          destroyed: the memory of an instance goes as a whole.
// Thread   a program has one.
// Errors   those of Exceptions.
//
// Invariants:
//   QE1  A task is destroyed only by sweep(), which no coroutine and no JavaScript calls. So
//        JavaScript may cancel the task that is calling it.
//   QE2  A rejected promise that is not handled when the jobs run dry ends the program.
#include <quickjs.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exceptions.h"
#include "modules.h"
#include "promise_wait.h"
#include "quire/quire.h"
#include "to_js.h"
#include "value.h"

namespace quire::javascript {

class Engine : public Exceptions {
 public:
  // Makes no call of the host.
  Engine() : Engine(JS_NewRuntime()) {
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

  JSRuntime* runtime() const { return runtime_; }
  EventLoop& loop() { return loop_; }
  void use(const Modules& modules) { modules_ = &modules; }

  // Makes JavaScript of TypeScript; a function of the SDK's JavaScript.
  void set_type_stripper(Value strip) { strip_ = std::move(strip); }

  // The code of a module, without evaluating anything; an Error where it or one that it imports
  // cannot be compiled.
  Result<std::string> byte_code(const std::string& name);
  Value exported_by_entry(const char* name);

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
    if (JS_PromiseState(js_, value.get()) == JS_PROMISE_PENDING) co_await PromiseWait{js_, value};
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

  // Objects with a method `then` that are not promises, such as a Generator, become promises.
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
  std::size_t pending_count() const { return pending_.size(); }  // Promises that are not settled.

  // Keeps what the engine needs of the global object, before a script can change it.
  void keep_intrinsics() {
    const Value global(js_, JS_GetGlobalObject(js_));
    keep_error(global.member("Error"));
    promise_class_ = global.member("Promise");
    promise_resolve_ = promise_class_.member("resolve");
  }

 private:
  explicit Engine(JSRuntime* runtime)
      : Exceptions(JS_NewContext(runtime)), runtime_(runtime), js_(js()) {}

  enum class State : std::uint8_t { Runs, Settled, Cancelled };
  struct Pending {
    Value promise, resolve, reject, stack;
    State state = State::Runs;
    std::shared_ptr<void> held;
    Task<> task;
  };
  // The limit of the stack in memory. The build (tools/build_quickjs.sh) lets each call take more
  // of it than of the host's 512 KiB. So a stack that is too deep is an exception before it ends
  // the instance.
  static constexpr std::size_t kStackBytesMax = std::size_t{700} << 10;

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

  static char* normalize(JSContext* context, const char* base, const char* name, void* opaque);
  static JSModuleDef* load(JSContext* context, const char* name, void* opaque);
  std::string place_of_import(const std::string& base, std::string_view name) const;
  // Sets `text` to the JavaScript that compiles as the module. False with an exception.
  bool script_of(const char* name, std::string& text);
  Value compiled(const char* name);

  JSRuntime* runtime_;
  JSContext* js_;
  EventLoop loop_;
  const Modules* modules_ = nullptr;
  JSModuleDef* entry_ = nullptr;  // Of the script.
  Value strip_;
  Value promise_class_, promise_resolve_;
  std::list<Pending> pending_;
  std::vector<Value> unhandled_;  // Rejected promises.
  bool needs_sweep_ = false;
};

}  // namespace quire::javascript
