#pragma once
// Values of what is around a model: of the store, children, requests, and options of their calls.
#include "bind.h"

namespace quire::javascript {

inline JSValue to_js(JSContext* js, const store::Value& value) {
  return ObjectMaker(js)
      .set("version", value.version)
      .set("bytes", Bytes{value.bytes})
      .set("text", valid_utf8(value.bytes))
      .take();
}
inline JSValue to_js(JSContext* js, const store::Key& key) {
  return ObjectMaker(js)
      .set("name", key.name)
      .set("version", key.version)
      .set("valueBytes", key.value_bytes)
      .take();
}
inline JSValue to_js(JSContext* js, const store::KeyList& list) {
  return ObjectMaker(js).set("keys", list.keys).set("hasMore", list.has_more).take();
}
inline JSValue to_js(JSContext* js, const ChildEnd& end) {
  constexpr const char* kKinds[] = {"finished", "trapped", "limit-exceeded", "killed",
                                    "not-started"};
  return ObjectMaker(js)
      .set("kind", kKinds[static_cast<std::uint32_t>(end.kind)])
      .set("exitCode", end.exit_code)
      .set("result", end.result)
      .set("message", end.message)
      .take();
}
inline JSValue to_js(JSContext* js, const Miss& miss) {
  return ObjectMaker(js)
      .set("reason", static_cast<std::uint32_t>(miss.reason))
      .set("field", static_cast<std::uint32_t>(miss.field))
      .set("position", miss.position)
      .set("tokenCount", miss.token_count)
      .set("slot", miss.slot)
      .set("here", miss.here)
      .set("there", miss.there)
      .set("goneMs", miss.gone_ms)
      .take();
}
inline JSValue to_js(JSContext* js, const http::Header& header) {
  return to_js(js, std::vector<std::string>{header.name, header.value});
}
inline JSValue to_js(JSContext* js, const http::Head& head) {
  return ObjectMaker(js).set("status", head.status).set("headers", head.headers).take();
}

// Pairs of a name and a value.
template <>
struct FromJs<http::Header> {
  static const char* read(JSContext* js, JSValueConst value, http::Header& into) {
    std::vector<std::string> pair;
    const char* wrong = FromJs<std::vector<std::string>>::read(js, value, pair);
    if (wrong == kThrown) return kThrown;
    if (wrong != nullptr || pair.size() != 2) return "a header";
    into = {std::move(pair[0]), std::move(pair[1])};
    return nullptr;
  }
};

// The version that a change of the store expects: {version: 7}, or "none".
struct Expectation {
  store::Expected expected = store::Expected::any();
};
template <>
struct FromJs<Expectation> {
  static const char* read(JSContext* js, JSValueConst value, Expectation& into) {
    if (JS_IsUndefined(value)) return nullptr;
    if (JS_IsString(value) && text_of(js, value) == "none") {
      into.expected = store::Expected::none();
      return nullptr;
    }
    std::uint64_t version = 0;
    if (!JS_IsObject(value)) return "{version} or \"none\"";
    const Value member = Value::copy(js, value).member("version");
    if (FromJs<std::uint64_t>::read(js, member.get(), version) != nullptr) {
      return "{version} or \"none\"";
    }
    into.expected = store::Expected::version(version);
    return nullptr;
  }
};

struct ListOptions {
  std::string after;
  std::uint32_t count = store::kListedKeyCountMax;
};
template <>
struct FromJs<ListOptions> {
  static const char* read(JSContext* js, JSValueConst value, ListOptions& into) {
    ObjectReader in(js, value);
    in.read("after", into.after).read("count", into.count);
    return in.finish();
  }
};
template <>
struct FromJs<ChildOptions> {
  static const char* read(JSContext* js, JSValueConst value, ChildOptions& into) {
    ObjectReader in(js, value);
    in.read("program", into.program).read("arguments", into.arguments);
    in.read("sharePercent", into.share_percent);
    return in.finish();
  }
};
template <>
struct FromJs<LogLevel> {
  static const char* read(JSContext* js, JSValueConst value, LogLevel& into) {
    constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
    const std::string name = JS_IsString(value) ? text_of(js, value) : "";
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (name != kNames[i]) continue;
      into = LogLevel{i};
      return nullptr;
    }
    return "\"debug\", \"info\", \"warning\" or \"error\"";
  }
};

}  // namespace quire::javascript
