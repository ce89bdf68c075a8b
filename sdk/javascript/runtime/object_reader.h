#pragma once
// ObjectReader: the members of an object of options that a script gives.
//
// Thread   a program has one.
// Errors   a TypeError that names the option; finish() says what was wrong, as FromJs does.
#include <quickjs.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "from_js.h"
#include "to_js.h"

namespace quire::javascript {

// The members of an object of options. Each is asked for by its name. Any other name is an error,
// which names it.
class ObjectReader {
 public:
  // `what` has the members, for errors, as in "the option n"; without it they are options.
  ObjectReader(JSContext* js, JSValueConst object, std::string what = "")
      : js_(js), object_(object), what_(std::move(what)) {
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
      const std::string which = what_.empty() ? "the option " : what_ + ": ";
      throw_with(js_, JS_NewTypeError(js_, "%s", ""), which + name + " must be " + wanted);
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
        const std::string which = what_.empty() ? "there is no option " : what_ + " has no member ";
        throw_with(js_, JS_NewTypeError(js_, "%s", ""), which + name + "; there are: " + listed());
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
  const std::string what_;
  std::vector<const char*> names_;
  const char* wrong_ = nullptr;
};

}  // namespace quire::javascript
