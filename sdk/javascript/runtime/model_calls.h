#pragma once
// Classes Model and Grammar of JavaScript.
#include "bind.h"
#include "generate_options.h"

namespace quire::javascript {

// A model, or the name of one; the server's first if it is left out.
struct ModelArgument {
  std::optional<Model> model;
  std::string name;
  Result<Model> open() const {
    if (model) return *model;
    return Model::open(name);
  }
};
template <>
struct FromJs<ModelArgument> {
  static const char* read(JSContext* js, JSValueConst value, ModelArgument& into) {
    if (JS_IsUndefined(value)) return nullptr;
    if (JS_IsString(value)) return FromJs<std::string>::read(js, value, into.name);
    Object<Model> model;
    if (FromJs<Object<Model>>::read(js, value, model) != nullptr) {
      return "a Model, or the name of one";
    }
    into.model = *model;
    return nullptr;
  }
};

template <>
struct FromJs<ChatMessage> {
  static const char* read(JSContext* js, JSValueConst value, ChatMessage& into) {
    // More members go to the template as they are.
    if (!JS_IsObject(value)) return "a message";
    const Value object = Value::copy(js, value);
    if (FromJs<std::string>::read(js, object.member("role").get(), into.role) != nullptr ||
        FromJs<std::string>::read(js, object.member("content").get(), into.content) != nullptr) {
      return "a message {role, content}";
    }
    const Value text(js, JS_JSONStringify(js, value, JS_UNDEFINED, JS_UNDEFINED));
    std::string written;
    if (text.is_exception() || !read_text(js, text.get(), written)) return kThrown;
    const Result<Json> json = Json::parse(std::move(written));
    if (!json.ok()) return "a message {role, content}";
    JsonWriter more;
    more.begin_object();
    for (const auto& [name, member] : json.value().members()) {
      if (name != "role" && name != "content") more.key(name).raw(member.str());
    }
    const std::string members = more.end_object().str();
    into.more = members.substr(1, members.size() - 2);
    return nullptr;
  }
};

inline JSValue to_js(JSContext* js, const ChatMessage& message) {
  const std::string more = message.more.empty() ? "" : "," + message.more;
  const std::string text = "{\"role\":" + json_string(message.role) +
                           ",\"content\":" + json_string(message.content) + more + "}";
  return JS_ParseJSON(js, text.c_str(), text.size(), "message");
}

namespace calls {

inline Result<Object<Model>> model_open(ModelArgument which) {
  return std::make_shared<Model>(TRY(which.open()));
}
inline Result<std::vector<std::string>> model_available() {
  return Model::available();
}
inline Result<std::string> model_name(Object<Model> self) {
  return self->name();
}
inline Result<std::vector<std::string>> model_traits(Object<Model> self) {
  return self->traits();
}
inline Result<std::vector<std::string>> model_adapters(Object<Model> self) {
  return self->adapters();
}
inline Result<std::uint32_t> model_trait_version(Object<Model> self, std::string trait) {
  return self->trait_version(trait);
}
inline std::uint32_t model_page_size(Object<Model> self) {
  return self->info().page_size;
}
inline std::uint32_t model_context_length(Object<Model> self) {
  return self->info().context_length;
}
inline std::uint32_t model_vocabulary_size(Object<Model> self) {
  return self->info().vocabulary_size;
}
inline std::uint32_t model_embedding_width(Object<Model> self) {
  return self->info().embedding_width;
}
inline std::int32_t model_begin_of_text(Object<Model> self) {
  return self->info().begin_of_text;
}
inline std::int32_t model_end_of_text(Object<Model> self) {
  return self->info().end_of_text;
}
inline std::vector<std::uint32_t> model_stop_tokens(Object<Model> self) {
  return self->info().stop_tokens;
}
inline std::int32_t model_handle(Object<Model> self) {
  return self->handle();
}

struct TokenizeArguments {
  Model::TokenizeOptions options;
};
inline Task<std::vector<std::uint32_t>> model_tokenize(Object<Model> self, std::string text,
                                                       TokenizeArguments arguments) {
  co_return co_await self->tokenize(text, arguments.options);
}
inline Task<Bytes> model_detokenize_bytes(Object<Model> self, std::vector<std::uint32_t> tokens,
                                          std::optional<bool> keep_special) {
  co_return Bytes{co_await self->detokenize(tokens, keep_special.value_or(false))};
}
inline Task<std::string> model_detokenize(Object<Model> self, std::vector<std::uint32_t> tokens,
                                          std::optional<bool> keep_special) {
  const std::string bytes = co_await self->detokenize(tokens, keep_special.value_or(false));
  co_return valid_utf8(bytes);
}
inline Task<std::vector<Bytes>> model_vocabulary(Object<Model> self) {
  std::vector<Bytes> out;
  for (std::string& each : co_await self->vocabulary()) out.push_back({std::move(each)});
  co_return out;
}
inline Task<std::vector<std::uint8_t>> model_token_kinds(Object<Model> self, std::uint32_t first,
                                                         std::uint32_t count) {
  co_return co_await self->token_kinds(first, count);
}
inline Task<std::vector<std::uint32_t>> model_tokenize_chat(Object<Model> self,
                                                            std::vector<ChatMessage> messages,
                                                            std::optional<bool> answer_next) {
  co_return co_await self->tokenize_chat(messages, answer_next.value_or(true));
}
inline Task<std::string> model_apply_chat_template(Object<Model> self,
                                                   std::vector<ChatMessage> messages,
                                                   std::optional<bool> answer_next) {
  co_return co_await self->apply_chat_template(messages, answer_next.value_or(true));
}

struct SchemaText {
  std::string text;
};
inline Task<Object<Grammar>> grammar_of(Object<Model> model, GrammarSource source) {
  co_return std::make_shared<Grammar>(co_await compiled(*model, source));
}
inline Task<Object<Grammar>> grammar_json_schema(Object<Model> model, SchemaText schema) {
  return grammar_of(std::move(model), {GrammarSource::Kind::JsonSchema, std::move(schema.text)});
}
inline Task<Object<Grammar>> grammar_regex(Object<Model> model, std::string expression) {
  return grammar_of(std::move(model), {GrammarSource::Kind::Regex, std::move(expression)});
}
inline Task<Object<Grammar>> grammar_lark(Object<Model> model, std::string source) {
  return grammar_of(std::move(model), {GrammarSource::Kind::Lark, std::move(source)});
}
inline Result<Object<Matcher>> grammar_matcher(Object<Grammar> self) {
  return std::make_shared<Matcher>(TRY(self->matcher()));
}
inline Task<bool> grammar_fits(Object<Grammar> self, std::string text) {
  co_return co_await self->fits(text);
}

}  // namespace calls

template <>
struct FromJs<calls::TokenizeArguments> {
  static const char* read(JSContext* js, JSValueConst value, calls::TokenizeArguments& into) {
    ObjectReader in(js, value);
    in.read("parseSpecial", into.options.parse_special);
    in.read("beginOfText", into.options.begin_of_text);
    return in.finish();
  }
};
template <>
struct FromJs<calls::SchemaText> {
  static const char* read(JSContext* js, JSValueConst value, calls::SchemaText& into) {
    return read_schema(js, value, into.text);
  }
};

inline void define_models(JSContext* js, JSValueConst space) {
  define_class<Model>(js, space, "Model",
                      {function<"Model.open", calls::model_open>(),
                       function<"Model.available", calls::model_available>(),
                       getter<"Model.name", calls::model_name>(),
                       getter<"Model.traits", calls::model_traits>(),
                       method<"Model.adapters", calls::model_adapters>(),
                       method<"Model.traitVersion", calls::model_trait_version>(),
                       getter<"Model.pageSize", calls::model_page_size>(),
                       getter<"Model.contextLength", calls::model_context_length>(),
                       getter<"Model.vocabularySize", calls::model_vocabulary_size>(),
                       getter<"Model.embeddingWidth", calls::model_embedding_width>(),
                       getter<"Model.beginOfText", calls::model_begin_of_text>(),
                       getter<"Model.endOfText", calls::model_end_of_text>(),
                       getter<"Model.stopTokens", calls::model_stop_tokens>(),
                       getter<"Model.handle", calls::model_handle>(),
                       method<"Model.tokenize", calls::model_tokenize>(),
                       method<"Model.detokenize", calls::model_detokenize>(),
                       method<"Model.detokenizeBytes", calls::model_detokenize_bytes>(),
                       method<"Model.vocabulary", calls::model_vocabulary>(),
                       method<"Model.tokenKinds", calls::model_token_kinds>(),
                       method<"Model.tokenizeChat", calls::model_tokenize_chat>(),
                       method<"Model.applyChatTemplate", calls::model_apply_chat_template>()});
  define_class<Grammar>(js, space, "Grammar",
                        {function<"Grammar.jsonSchema", calls::grammar_json_schema>(),
                         function<"Grammar.regex", calls::grammar_regex>(),
                         function<"Grammar.lark", calls::grammar_lark>(),
                         method<"Grammar.matcher", calls::grammar_matcher>(),
                         method<"Grammar.fits", calls::grammar_fits>()});
}

}  // namespace quire::javascript
