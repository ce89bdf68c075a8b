#pragma once
// The options that a script declares, read from its command line by the reader that programs in C++
// have (options.h of the SDK):
//
//   export const options = {
//     prompt: { type: "string", description: "The question", words: true },
//     count: { type: "integer", default: 4, minimum: 1, maximum: 64 },
//     generate: { type: "generation", default: { temperature: 0.8 } },
//   };
//
// Types are string, integer, number, boolean, strings and generation. A script that declares none
// gets what its command line says (undeclared_options.h).
//
// Errors   a declaration that cannot be used is a TypeError: a member that its type does not have,
//          a default that is not of the type or out of range, a name that is there twice. Errors of
//          the command line are those of OptionReader.
#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "bind.h"
#include "generate_options.h"
#include "option_names.h"

namespace quire::javascript {

class ScriptOptions {
 public:
  // Null, or what was thrown (FromJs).
  const char* declare(JSContext* js, JSValueConst declared) {
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (!JS_IsObject(declared) || JS_IsArray(declared) || JS_IsFunction(js, declared)) {
      JS_ThrowTypeError(js, "options must be an object with a member for each option");
      return kThrown;
    }
    if (JS_GetOwnPropertyNames(js, &properties, &count, declared,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
      return kThrown;
    }
    const char* failed = nullptr;
    for (std::uint32_t i = 0; i < count && failed == nullptr; ++i) {
      const Value name(js, JS_AtomToString(js, properties[i].atom));
      const Value option(js, JS_GetProperty(js, declared, properties[i].atom));
      failed = option.is_exception() ? kThrown : declare_one(js, text_of(js, name.get()), option);
    }
    JS_FreePropertyEnum(js, properties, count);
    return failed;
  }

  Result<void> parse(const std::vector<std::string>& words) { return reader_.parse(words); }
  std::string schema() const { return reader_.schema(); }

  // An object with a member for each option.
  JSValue values(JSContext* js) const {
    ObjectMaker out(js);
    for (const Held& each : held_) {
      const char* name = each.member.c_str();
      if (each.type == "string" && each.text) out.set(name, *each.text);
      if (each.type == "integer") out.set(name, each.whole);
      if (each.type == "number") out.set(name, each.real);
      if (each.type == "boolean") out.set(name, each.flag);
      if (each.type == "strings") out.set(name, each.texts);
      if (each.type == "generation") out.put(name, generation(js, each));
    }
    return out.take();
  }

 private:
  struct Held {
    std::string member;  // As the script calls it,
    std::string option;  // as the command line does,
    std::string what;    // and as errors do: "the option maxTokens".
    std::string type, description;
    std::optional<std::string> text;
    std::int64_t whole = 0;
    double real = 0.0;
    bool flag = false;
    std::vector<std::string> texts;
    GenerateOptions generate;
    Value generate_default;
  };

  static const char* wrong(JSContext* js, const Held& held, const std::string& why) {
    throw_with(js, JS_NewTypeError(js, "%s", ""), held.what + " " + why);
    return kThrown;
  }

  const char* declare_one(JSContext* js, const std::string& name, const Value& option) {
    Held& held = held_.emplace_back();
    held.member = name;
    held.option = dashed(name);
    held.what = "the option " + name;
    if (!JS_IsObject(option.get())) return wrong(js, held, "must be an object with a type");
    ObjectReader in(js, option.get(), held.what);
    in.read("type", held.type);
    const char* failed =
        held.type == "generation" ? add_generation(js, in, held) : add_named(js, in, held);
    return failed != nullptr ? failed : in.finish();
  }

  // Whether another option has that name on the command line.
  const char* check_name(JSContext* js, const Held& held) {
    if (!may_be_option(held.option)) {
      return wrong(js, held,
                   "must have a name of letters, digits and _, that begins with a small "
                   "letter");
    }
    for (const Held& each : held_) {
      if (&each == &held) continue;
      const bool is_taken = each.option == held.option ||
                            (each.type == "generation" && is_of_generation(held.option));
      if (is_taken) {
        return wrong(js, held, "is there twice: " + each.member + " has --" + held.option + " too");
      }
    }
    return nullptr;
  }

  const char* add_named(JSContext* js, ObjectReader& in, Held& held) {
    in.read("description", held.description);
    if (const char* failed = check_name(js, held)) return failed;
    if (held.type == "string") return add_string(js, in, held);
    if (held.type == "integer") {
      return add_number(js, in, held, held.whole, Range<std::int64_t>{-kWholeMax, kWholeMax});
    }
    if (held.type == "number") return add_number(js, in, held, held.real, Range<double>{});
    if (held.type == "boolean") {
      in.read("default", held.flag);
      reader_.flag(held.option.c_str(), held.flag, held.description.c_str());
      return nullptr;
    }
    if (held.type == "strings") {
      const Required required = read_required(in);
      in.read("default", held.texts);
      reader_.texts(held.option.c_str(), held.texts, held.description.c_str(), required);
      return check_default(js, in, held, required);
    }
    return wrong(js, held,
                 "must have a type: \"string\", \"integer\", \"number\", \"boolean\", "
                 "\"strings\" or \"generation\"");
  }

  static Required read_required(ObjectReader& in) {
    bool required = false;
    in.read("required", required);
    return required ? Required::Yes : Required::No;
  }
  static const char* check_default(JSContext* js, ObjectReader& in, const Held& held,
                                   Required required) {
    if (required == Required::No || !in.has("default")) return nullptr;
    return wrong(js, held, "is required, so that its default is never used");
  }

  const char* add_string(JSContext* js, ObjectReader& in, Held& held) {
    const char* name = held.option.c_str();
    const char* meaning = held.description.c_str();
    const Required required = read_required(in);
    bool takes_words = false;
    in.read("words", takes_words).read("default", held.text);
    if (takes_words) {
      if (words_of_ != nullptr) {
        return wrong(js, held, "cannot take the words: " + words_of_->member + " takes them");
      }
      words_of_ = &held;
      if (!held.text) held.text.emplace();
      reader_.words(name, *held.text, meaning, required);
    } else if (held.text) {
      reader_.text(name, *held.text, meaning, required);
    } else {
      reader_.text(name, held.text, meaning, required);
    }
    return check_default(js, in, held, required);
  }

  template <typename T>
  const char* add_number(JSContext* js, ObjectReader& in, Held& held, T& into, Range<T> range) {
    const Required required = read_required(in);
    in.read("minimum", range.min).read("maximum", range.max).read("default", into);
    if (range.min > range.max) return wrong(js, held, "has a minimum over its maximum");
    const bool has_default = in.has("default");
    if (has_default && (into < range.min || into > range.max)) {
      return wrong(js, held,
                   "has a default of " + json_number(into) + ", which is not from " +
                       json_number(range.min) + " to " + json_number(range.max));
    }
    if (!has_default && required == Required::No) into = std::clamp(T{}, range.min, range.max);
    reader_.number(held.option.c_str(), into, held.description.c_str(), range, required);
    return check_default(js, in, held, required);
  }

  const char* add_generation(JSContext* js, ObjectReader& in, Held& held) {
    for (const Held& each : held_) {
      if (&each != &held && each.type == "generation") {
        return wrong(js, held, "is a second generation: one at most");
      }
      if (&each != &held && is_of_generation(each.option)) {
        return wrong(js, held, "has --" + each.option + ", and so has the option " + each.member);
      }
    }
    GenerateArguments arguments;
    held.generate_default = in.member("default");
    const char* failed = read_generate(js, held.generate_default.get(), JS_UNDEFINED, arguments);
    if (failed == kThrown) return kThrown;
    if (failed != nullptr) return wrong(js, held, "has a default that is not an object");
    held.generate = std::move(arguments.options);
    reader_.generation(held.generate);
    return nullptr;
  }

  // The members that a command line can set, and the others of the default.
  static JSValue generation(JSContext* js, const Held& held) {
    const GenerateOptions& options = held.generate;
    const Value made(js, ObjectMaker(js)
                             .set("maxTokens", options.max_tokens)
                             .set("temperature", options.temperature)
                             .set("topK", options.top_k)
                             .set("topP", options.top_p)
                             .set("minP", options.min_p)
                             .set("seed", options.seed)
                             .set("stop", options.stop)
                             .set("ignoreStopTokens", options.ignore_stop_tokens)
                             .take());
    const JSValueConst given = held.generate_default.get();
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (JS_IsObject(given) && JS_GetOwnPropertyNames(js, &properties, &count, given,
                                                     JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
      return JS_EXCEPTION;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const JSAtom name = properties[i].atom;
      if (JS_GetOwnProperty(js, nullptr, made.get(), name) != 0) continue;
      JS_DefinePropertyValue(js, made.get(), name, JS_GetProperty(js, given, name), JS_PROP_C_W_E);
    }
    JS_FreePropertyEnum(js, properties, count);
    return JS_DupValue(js, made.get());
  }

  static constexpr std::int64_t kWholeMax = (std::int64_t{1} << 53) - 1;

  std::list<Held> held_;  // The reader refers to them.
  const Held* words_of_ = nullptr;
  OptionReader reader_;
};

}  // namespace quire::javascript
