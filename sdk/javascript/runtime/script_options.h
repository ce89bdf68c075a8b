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
// gets what its command line says: --name VALUE, --flag, and `words`, the words of no option.
//
// Errors   a declaration that cannot be used is a TypeError; the command line is as OptionReader
// says.
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "bind.h"
#include "generate_options.h"

namespace quire::javascript {

class ScriptOptions {
 public:
  // Null, or what was thrown (FromJs).
  const char* declare(JSContext* js, JSValueConst declared) {
    JSPropertyEnum* properties = nullptr;
    std::uint32_t count = 0;
    if (!JS_IsObject(declared)) return wrong(js, "options", "must be an object");
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
      if (each.type == "generation") out.put(name, generation(js, each.generate));
    }
    return out.take();
  }

 private:
  struct Held {
    std::string member;  // As the script calls it,
    std::string option;  // as the command line does,
    std::string type, description;
    std::optional<std::string> text;
    std::int64_t whole = 0;
    double real = 0.0;
    bool flag = false;
    std::vector<std::string> texts;
    GenerateOptions generate;
  };

  static const char* wrong(JSContext* js, const std::string& name, const char* why) {
    JS_ThrowTypeError(js, "the option %s %s", name.c_str(), why);
    return kThrown;
  }

  // "maxTokens" is --max-tokens.
  static std::string dashed(const std::string& name) {
    std::string out;
    for (const char each : name) {
      if (each >= 'A' && each <= 'Z') {
        out += '-';
        out += static_cast<char>(each + ('a' - 'A'));
      } else {
        out += each == '_' ? '-' : each;
      }
    }
    return out;
  }

  const char* declare_one(JSContext* js, const std::string& name, const Value& option) {
    Held& held = held_.emplace_back();
    held.member = name;
    held.option = dashed(name);
    for (const Held& each : held_) {
      if (&each != &held && each.option == held.option) return wrong(js, name, "is there twice");
    }
    ObjectReader in(js, option.get());
    bool required = false;
    bool takes_words = false;
    in.read("type", held.type).read("description", held.description);
    in.read("required", required).read("words", takes_words);
    const char* failed = add(js, in, held, required ? Required::Yes : Required::No, takes_words);
    return failed != nullptr ? failed : in.finish();
  }

  const char* add(JSContext* js, ObjectReader& in, Held& held, Required required,
                  bool takes_words) {
    const char* name = held.option.c_str();
    const char* meaning = held.description.c_str();
    Range<std::int64_t> whole = {-kWholeMax, kWholeMax};
    Range<double> real;
    if (held.type == "string") {
      in.read("default", held.text);
      if (takes_words) {
        if (!held.text) held.text.emplace();
        reader_.words(name, *held.text, meaning, required);
      } else if (held.text) {
        reader_.text(name, *held.text, meaning, required);
      } else {
        reader_.text(name, held.text, meaning, required);
      }
    } else if (held.type == "integer") {
      in.read("default", held.whole).read("minimum", whole.min).read("maximum", whole.max);
      reader_.number(name, held.whole, meaning, whole);
    } else if (held.type == "number") {
      in.read("default", held.real).read("minimum", real.min).read("maximum", real.max);
      reader_.number(name, held.real, meaning, real);
    } else if (held.type == "boolean") {
      in.read("default", held.flag);
      reader_.flag(name, held.flag, meaning);
    } else if (held.type == "strings") {
      in.read("default", held.texts);
      reader_.texts(name, held.texts, meaning, required);
    } else if (held.type == "generation") {
      return add_generation(js, in, held);
    } else {
      return wrong(js, held.member,
                   "must have a type: \"string\", \"integer\", \"number\", \"boolean\", "
                   "\"strings\" or \"generation\"");
    }
    return nullptr;
  }

  const char* add_generation(JSContext* js, ObjectReader& in, Held& held) {
    for (const Held& each : held_) {
      if (&each != &held && each.type == "generation") {
        return wrong(js, held.member, "is a second generation: one at most");
      }
    }
    GenerateArguments arguments;
    const Value given = in.member("default");
    const char* failed = read_generate(js, given.get(), JS_UNDEFINED, arguments);
    if (failed == kThrown) return kThrown;
    if (failed != nullptr) return wrong(js, held.member, "has a default that is not an object");
    held.generate = std::move(arguments.options);
    reader_.generation(held.generate);
    return nullptr;
  }

  static JSValue generation(JSContext* js, const GenerateOptions& options) {
    return ObjectMaker(js)
        .set("maxTokens", options.max_tokens)
        .set("temperature", options.temperature)
        .set("topK", options.top_k)
        .set("topP", options.top_p)
        .set("minP", options.min_p)
        .set("seed", options.seed)
        .set("stop", options.stop)
        .set("ignoreStopTokens", options.ignore_stop_tokens)
        .take();
  }

  static constexpr std::int64_t kWholeMax = (std::int64_t{1} << 53) - 1;

  std::list<Held> held_;  // The reader refers to them.
  OptionReader reader_;
};

// The options of a command line if the script declares none.
inline JSValue undeclared_options(JSContext* js, const std::vector<std::string>& words) {
  ObjectMaker out(js);
  std::vector<std::string> loose;
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_ended || !word.starts_with("--")) {
      loose.push_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name;
    for (std::size_t at = 2; at < equals; ++at) {
      const bool is_dash = word[at] == '-' && at + 1 < equals;
      const char each = is_dash ? word[++at] : word[at];
      name += is_dash && each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
    }
    if (equals < word.size()) {
      out.set(name.c_str(), word.substr(equals + 1));
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      out.set(name.c_str(), words[++i]);
    } else {
      out.set(name.c_str(), true);
    }
  }
  return out.set("words", loose).take();
}

}  // namespace quire::javascript
