#pragma once
// Context.use of JavaScript takes the name of an adapter, or an object with a scale for each name.
#include <utility>
#include <vector>

#include "context_object.h"
#include "value.h"

namespace quire::javascript {

struct AdapterArgument {
  std::vector<AdapterUse> adapters;
};

template <>
struct FromJs<AdapterArgument> {
  static const char* read(JSContext* js, JSValueConst value, AdapterArgument& into) {
    if (JS_IsString(value)) {
      into.adapters.push_back({.name = text_of(js, value)});
      return nullptr;
    }
    if (!JS_IsObject(value) || JS_IsArray(value) || JS_IsFunction(js, value)) {
      return "the name of an adapter, or an object with a scale for each name";
    }
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (JS_GetOwnPropertyNames(js, &properties, &count, value,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
      return kThrown;
    }
    const char* wrong = nullptr;
    for (std::uint32_t i = 0; i < count && wrong == nullptr; ++i) {
      wrong = read_scale(js, value, properties[i].atom, into);
    }
    JS_FreePropertyEnum(js, properties, count);
    return wrong;
  }

 private:
  static const char* read_scale(JSContext* js, JSValueConst object, JSAtom atom,
                                AdapterArgument& into) {
    const Value key(js, JS_AtomToString(js, atom));
    const Value scale(js, JS_GetProperty(js, object, atom));
    if (key.is_exception() || scale.is_exception()) return kThrown;
    AdapterUse use{.name = text_of(js, key.get())};
    if (FromJs<double>::read(js, scale.get(), use.scale) != nullptr) {
      throw_with(js, JS_NewTypeError(js, "%s", ""),
                 "the scale of adapter " + use.name + " must be a number");
      return kThrown;
    }
    into.adapters.push_back(std::move(use));
    return nullptr;
  }
};

namespace calls {

inline Task<> context_use(Object<ContextObject> self, AdapterArgument argument) {
  const Turn::Hold hold = co_await self->turn.take();
  co_await self->context.use(std::move(argument.adapters));
}

}  // namespace calls
}  // namespace quire::javascript
