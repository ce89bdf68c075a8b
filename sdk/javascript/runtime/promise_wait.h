#pragma once
// PromiseWait: a coroutine waits for a promise of JavaScript, whose value it does not look at.
//
// Thread   a program has one.
#include <quickjs.h>

#include <coroutine>
#include <memory>
#include <utility>

#include "quire/quire.h"
#include "value.h"

namespace quire::javascript {

struct PromiseWait {
  JSContext* js;
  Value promise;

  struct Shared {
    detail::Resumable* waiting = nullptr;
    EventLoop* loop = nullptr;
  };
  // `shared->waiting` goes on when the promise is settled.
  static void wake_when_settled(JSContext* js, const Value& promise,
                                std::shared_ptr<Shared> shared);

  struct Awaiter {
    JSContext* js;
    Value promise;
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();

    ~Awaiter() { shared->waiting = nullptr; }
    bool await_ready() const { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
      shared->waiting = &waiting.promise();
      shared->loop = waiting.promise().loop;
      wake_when_settled(js, promise, shared);
    }
    void await_resume() const {}
  };
  Awaiter operator co_await() const { return Awaiter{js, promise}; }
};

inline void PromiseWait::wake_when_settled(JSContext* js, const Value& promise,
                                           std::shared_ptr<Shared> shared) {
  using Held = Object<Shared>;
  using Class = ClassOf<Shared>;
  if (Class::id == 0) {
    JS_NewClassID(JS_GetRuntime(js), &Class::id);
    const auto release = [](JSRuntime*, JSValueConst value) {
      delete static_cast<Held*>(JS_GetOpaque(value, Class::id));
    };
    const JSClassDef definition = {"Waiter", release, nullptr, nullptr, nullptr};
    JS_NewClass(JS_GetRuntime(js), Class::id, &definition);
  }
  Value holder(js, JS_NewObjectClass(js, static_cast<int>(Class::id)));
  JS_SetOpaque(holder.get(), new Held(std::move(shared)));
  const auto wake = [](JSContext*, JSValueConst, int, JSValueConst*, int, JSValueConst* data) {
    auto* held = static_cast<Held*>(JS_GetOpaque(data[0], Class::id));
    if ((*held)->waiting != nullptr) (*held)->loop->make_ready(*(*held)->waiting);
    return JS_UNDEFINED;
  };
  JSValueConst data = holder.get();
  const Value woken(js, JS_NewCFunctionData(js, wake, 0, 0, 1, &data));
  const Value after(js, JS_PromiseThen(js, promise.get(), woken.get(), woken.get()));
  if (after.is_exception()) JS_FreeValue(js, JS_GetException(js));
}

}  // namespace quire::javascript
