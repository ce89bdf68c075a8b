#pragma once
// How the Engine finds the source of a module and compiles it. Part of engine.h.
#include "engine.h"

namespace quire::javascript {

inline char* Engine::normalize(JSContext* context, const char* base, const char* name,
                               void* opaque) {
  auto& engine = *static_cast<Engine*>(opaque);
  const Result<std::string> resolved = engine.modules_->resolve(base, name);
  if (resolved.ok()) return js_strdup(context, resolved.value().c_str());
  throw_with(context, JS_NewReferenceError(context, "%s", ""), resolved.error().message);
  return nullptr;
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
