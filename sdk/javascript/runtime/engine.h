#pragma once
// Engine: QuickJS-ng with the event loop of the C++ SDK. JavaScript has promises, the SDK has
// tasks; the engine makes one of the other, and runs both until the script's promise is settled.
//
//   engine.promise(context.append_text(text))     the promise of a task
//   co_await engine.call(function, {argument})    the value of a function, and of its promise
//
// When no job of JavaScript is pending and nothing is due, the loop waits for the host, with which
// the instance parks.
//
// Owns     the runtime of QuickJS. It is never destroyed: the memory of an instance goes as a
//          whole.
// Thread   a program has one.
// Errors   those of Exceptions.
//
// Invariants:
//   QE1  A rejected promise that is not handled when the jobs run dry ends the program.
#include <quickjs.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modules.h"
#include "promise_wait.h"
#include "promised_tasks.h"
#include "quire/quire.h"
#include "to_js.h"
#include "value.h"

namespace quire::javascript {

class Engine : public PromisedTasks {
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
  void use(const Modules& modules) { modules_ = &modules; }

  // Makes JavaScript of TypeScript; a function of the SDK's JavaScript.
  void set_type_stripper(Value strip) { strip_ = std::move(strip); }

  // The code of a module, without evaluating anything; an Error where it or one that it imports
  // cannot be compiled.
  Result<std::string> byte_code(const std::string& name);
  Value exported_by_entry(const char* name);

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

  // The program ends with this exception when the jobs have run dry; the first one counts.
  void fail_with(Value exception) {
    if (!failure_) failure_ = std::move(exception);
  }

  // `handler` gets a rejected promise that is not handled, and its reason. If it returns true, the
  // program goes on.
  void set_rejection_handler(Value handler) { rejection_handler_ = std::move(handler); }

  // Runs everything until `promise` is settled, and gives its value. An Error: it was rejected, an
  // exception was not handled, or nothing can go on any more.
  Result<Value> wait_for(Value promise) {
    for (;;) {
      TRY(run_jobs());
      sweep();
      report_rejections();
      if (failure_) return error_of(*std::exchange(failure_, std::nullopt));
      if (JS_IsJobPending(runtime_)) continue;
      if (!JS_IsPromise(promise.get())) return promise;
      const JSPromiseStateEnum state = JS_PromiseState(js_, promise.get());
      Value result(js_, JS_PromiseResult(js_, promise.get()));
      if (state == JS_PROMISE_FULFILLED) return result;
      if (state == JS_PROMISE_REJECTED) return error_of(std::move(result));
      if (run_next_due()) continue;
      if (loop().is_idle()) {
        return Error{ErrorCode::Internal,
                     "the script waits for a promise that nothing will settle: no call is under "
                     "way, and no timer is set"};
      }
      loop().run_until([this] {
        return JS_IsJobPending(runtime_) || has_due() || needs_sweep() || loop().is_idle();
      });
    }
  }

  // Keeps what the engine needs of the global object, before a script can change it.
  void keep_intrinsics() {
    const Value global(js_, JS_GetGlobalObject(js_));
    keep_error(global.member("Error"));
    promise_class_ = global.member("Promise");
    promise_resolve_ = promise_class_.member("resolve");
  }

 private:
  explicit Engine(JSRuntime* runtime)
      : PromisedTasks(JS_NewContext(runtime)), runtime_(runtime), js_(js()) {}

  // The limit of the stack in memory. The build (tools/build_quickjs.sh) lets a call that takes
  // 1.4 KiB of the host's stack of 1 MiB take at least 1 KiB of this one. So a stack that is too
  // deep is an exception before it ends the instance.
  static constexpr std::size_t kStackBytesMax = std::size_t{700} << 10;

  Result<void> run_jobs() {
    JSContext* context = nullptr;
    for (;;) {
      const int ran = JS_ExecutePendingJob(runtime_, &context);
      if (ran == 0) return {};
      if (ran < 0) return error_of(Value(js_, JS_GetException(js_)));
    }
  }

  // The first rejected promise that neither the script nor its listeners handle ends the program.
  void report_rejections() {
    while (!unhandled_.empty()) {
      const Value promise = std::move(unhandled_.front());
      unhandled_.erase(unhandled_.begin());
      Value reason(js_, JS_PromiseResult(js_, promise.get()));
      JSValueConst arguments[] = {promise.get(), reason.get()};
      const Value handled(js_, JS_Call(js_, rejection_handler_.get(), JS_UNDEFINED, 2, arguments));
      if (handled.is_exception()) JS_FreeValue(js_, JS_GetException(js_));
      const bool is_handled = JS_IsBool(handled.get()) && JS_VALUE_GET_BOOL(handled.get()) != 0;
      if (!is_handled) fail_with(std::move(reason));
    }
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
  const Modules* modules_ = nullptr;
  JSModuleDef* entry_ = nullptr;  // Of the script.
  Value strip_;
  Value promise_class_, promise_resolve_;
  Value rejection_handler_;
  std::vector<Value> unhandled_;  // Rejected promises.
  std::optional<Value> failure_;  // What ends the program.
};

}  // namespace quire::javascript
