#pragma once
// How the Engine finds the source of a module and compiles it. Part of engine.h.
#include "engine.h"
#include "quire/script_imports.h"

namespace quire::javascript {

inline char* Engine::normalize(JSContext* context, const char* base, const char* name,
                               void* opaque) {
  auto& engine = *static_cast<Engine*>(opaque);
  const Result<std::string> resolved = engine.modules_->resolve(base, name);
  if (resolved.ok()) return js_strdup(context, resolved.value().c_str());
  const JSValue error = JS_NewReferenceError(context, "%s", "");
  const std::string place = engine.place_of_import(base, name);
  if (!place.empty()) {
    JS_DefinePropertyValueStr(context, error, "stack", to_js(context, "ReferenceError\n" + place),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  }
  throw_with(context, error, resolved.error().message);
  return nullptr;
}

// The line of a stack where a module of the script imports another; "" if that is not found.
inline std::string Engine::place_of_import(const std::string& base, std::string_view name) const {
  const std::string* source = modules_->source(base);
  if (source == nullptr || base.starts_with("quire:")) return "";
  for (const script::Import& each : script::imports_of(*source)) {
    if (each.specifier != name || each.kind == script::ImportKind::Types) continue;
    return "    at " + base + ":" + std::to_string(each.line) + ":1\n";
  }
  return "";
}

inline bool Engine::script_of(const char* name, std::string& text) {
  const std::string* source = modules_->source(name);
  if (source == nullptr) {
    JS_ThrowReferenceError(js_, "there is no module \"%s\"", name);
    return false;
  }
  const std::string_view path = name;
  std::string_view written = *source;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (written.starts_with(kByteOrderMark)) written.remove_prefix(kByteOrderMark.size());
  if (path.ends_with(".json")) {
    // Parsed here, an error names the place in this file.
    text = written;
    const Value parsed(js_, JS_ParseJSON(js_, text.c_str(), text.size(), name));
    if (parsed.is_exception()) return false;
    text = "export default JSON.parse(" + json_string(written) + ");";
  } else if (path.ends_with(".ts") || path.ends_with(".mts")) {
    if (strip_.is_undefined()) {
      JS_ThrowTypeError(js_,
                        "%s: this server's runtime was built without TypeScript: run "
                        "tools/fetch_npm.sh sucrase, and build it again",
                        name);
      return false;
    }
    const Value given[] = {Value(js_, to_js(js_, written)), Value(js_, to_js(js_, path))};
    JSValueConst arguments[] = {given[0].get(), given[1].get()};
    const Value stripped(js_, JS_Call(js_, strip_.get(), JS_UNDEFINED, 2, arguments));
    if (stripped.is_exception()) return false;
    text = text_of(js_, stripped.get());
  } else {
    text = written;
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
  auto* made = static_cast<JSModuleDef*>(JS_VALUE_GET_PTR(module.get()));
  if (engine.modules_->is_entry(name)) engine.entry_ = made;
  return made;
}

// The export of the entry by that name, though its evaluation has failed. An exception: that was
// not evaluated before.
inline Value Engine::exported_by_entry(const char* name) {
  if (entry_ == nullptr) return {};
  const Value space(js_, JS_GetModuleNamespace(js_, entry_));
  if (space.is_exception()) return Value(js_, JS_EXCEPTION);
  return Value(js_, JS_GetPropertyStr(js_, space.get(), name));
}

}  // namespace quire::javascript
