#include "inference/tokenizer/template_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::string_view kConfigFile = "tokenizer_config.json";
constexpr std::array<std::string_view, 7> kStandardTokens = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

Error invalid(std::string_view file, const std::string& why) {
  return Error(ErrorCode::InvalidArgument, std::string(file) + ": " + why);
}

bool is_standard(std::string_view key) {
  return std::find(kStandardTokens.begin(), kStandardTokens.end(), key) != kStandardTokens.end();
}

// A token is a text, or an object with its text as "content".
std::optional<std::string> token_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return std::nullopt;
  return content->get<std::string>();
}

// Default tokens of a tokenizer class, if no file names any.
struct ClassTokens {
  std::string_view name;  // Without "Fast".
  std::string_view bos, eos, unk, pad;
};
constexpr std::array<ClassTokens, 4> kClasses = {{
    {"LlamaTokenizer", "<s>", "</s>", "<unk>", ""},
    {"GemmaTokenizer", "<bos>", "<eos>", "<unk>", "<pad>"},
    {"GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", ""},
    {"Qwen2Tokenizer", "", "<|endoftext|>", "<|endoftext|>", "<|endoftext|>"},
}};

Json class_tokens(const Json& config) {
  Json variables = Json::object();
  const auto at = config.find("tokenizer_class");
  if (at == config.end() || !at->is_string()) return variables;
  std::string name = at->get<std::string>();
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  for (const ClassTokens& each : kClasses) {
    if (each.name != name) continue;
    if (!each.bos.empty()) variables["bos_token"] = each.bos;
    if (!each.eos.empty()) variables["eos_token"] = each.eos;
    if (!each.unk.empty()) variables["unk_token"] = each.unk;
    if (!each.pad.empty()) variables["pad_token"] = each.pad;
  }
  return variables;
}

// The tokens that one file names, over those that `variables` has. A null takes one away.
Result<void> add_tokens(std::string_view file, const Json& object, Json& variables) {
  for (const auto& [key, value] : object.items()) {
    const bool standard = is_standard(key);
    if (!standard && !key.ends_with("_token")) continue;
    if (value.is_null()) {
      variables.erase(key);
    } else if (const std::optional<std::string> text = token_text(value)) {
      variables[key] = *text;
    } else if (standard) {
      return invalid(file, in_quotes(key) + " is a " + value.type_name() +
                               "; a text or an object with \"content\" is expected");
    }
  }
  for (const char* name : {"extra_special_tokens", "model_specific_special_tokens"}) {
    const auto extra = object.find(name);
    if (extra == object.end() || !extra->is_object()) continue;
    for (const auto& [key, value] : extra->items()) {
      if (const std::optional<std::string> text = token_text(value)) variables[key] = *text;
    }
  }
  return {};
}

Result<Json> parse_object(std::string_view text, const std::string& file) {
  Json object = TRY(parse_json(text, file));
  if (!object.is_object()) return invalid(file, "not an object");
  return object;
}

// A text, a list of objects with "name" and "template", or an object of texts by name.
Result<std::vector<ChatTemplateSource>> sources_in(std::string_view file, const Json& value) {
  std::vector<ChatTemplateSource> sources;
  const auto add = [&](const std::string& name, const std::string& source) {
    const auto same = [&](const ChatTemplateSource& each) { return each.name == name; };
    std::erase_if(sources, same);  // Of two with one name the later counts.
    sources.push_back({name, source});
  };
  if (value.is_string()) {
    add(std::string(kDefaultTemplate), value.get<std::string>());
  } else if (value.is_object()) {
    for (const auto& [name, source] : value.items()) {
      if (!source.is_string()) {
        return invalid(file, "the chat template " + in_quotes(name) + " is not a text");
      }
      add(name, source.get<std::string>());
    }
  } else if (value.is_array()) {
    for (std::size_t index = 0; index < value.size(); ++index) {
      const Json& each = value[index];
      const auto text = [&](const char* key) -> std::optional<std::string> {
        if (!each.is_object() || !each.contains(key) || !each[key].is_string()) return {};
        return each[key].get<std::string>();
      };
      const std::optional<std::string> name = text("name");
      const std::optional<std::string> source = text("template");
      if (!name || !source) {
        return invalid(file, "chat_template " + std::to_string(index) +
                                 " has no text \"name\" or no text \"template\"");
      }
      add(*name, *source);
    }
  } else if (!value.is_null()) {
    return invalid(file, std::string("chat_template is a ") + value.type_name() +
                             "; a text or a list of named templates is expected");
  }
  return sources;
}

}  // namespace

Result<std::vector<ChatTemplateSource>> chat_template_sources(const TokenizerTexts& texts,
                                                              const Json& config) {
  std::vector<ChatTemplateSource> sources;
  if (!texts.chat_template.empty()) {
    sources.push_back({std::string(kDefaultTemplate), texts.chat_template});
  }
  for (const TokenizerTexts::Named& each : texts.additional_chat_templates) {
    sources.push_back({each.name, each.text});
  }
  if (!sources.empty()) return sources;
  if (const auto at = config.find("chat_template"); at != config.end()) {
    sources = TRY(sources_in(kConfigFile, *at));
  }
  if (sources.empty() && !texts.chat_template_json.empty()) {
    const std::string file = "chat_template.json";
    const Json object = TRY(parse_object(texts.chat_template_json, file));
    if (const auto at = object.find("chat_template"); at != object.end()) {
      sources = TRY(sources_in(file, *at));
    }
  }
  std::erase_if(sources, [](const ChatTemplateSource& each) { return each.source.empty(); });
  return sources;
}

Result<Json> template_variables(const TokenizerTexts& texts, const Json& config) {
  Json variables = class_tokens(config);
  TRY(add_tokens(kConfigFile, config, variables));
  if (!texts.special_tokens_map_json.empty() && !config.contains("added_tokens_decoder")) {
    const std::string file = "special_tokens_map.json";
    const Json object = TRY(parse_object(texts.special_tokens_map_json, file));
    TRY(add_tokens(file, object, variables));
  }
  return variables;
}

}  // namespace quire::inference
