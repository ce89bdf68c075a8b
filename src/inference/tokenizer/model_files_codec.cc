// From a model's files to its codec: GGUF metadata, or the JSON files of a folder.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "inference/architectures/model_files.h"
#include "inference/tokenizer/engine_encoder.h"
#include "inference/tokenizer/model_codec.h"
#include "inference/tokenizer/pre_tokenizers.h"
#include "inference/tokenizer/template_files.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/tokenizer/utf8.h"
#include "inference/weights/gguf_file.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

Result<std::vector<std::string>> copy_texts(const GgufMetadata& metadata, std::string_view key) {
  const TextArray& texts = *TRY(metadata.texts(key));
  std::vector<std::string> copy;
  copy.reserve(texts.size());
  for (std::size_t index = 0; index < texts.size(); ++index) copy.emplace_back(texts[index]);
  return copy;
}

bool default_add_bos(const TokenizerParts& parts) {
  if (parts.model == "llama") return true;
  const Result<PreTokenizer> pre = find_pre_tokenizer(parts.pre);
  return pre.ok() && pre.value().adds_bos;
}

// The templates beside the default one: "tokenizer.chat_templates" lists their names.
Result<std::vector<ChatTemplateSource>> named_templates(const GgufMetadata& metadata) {
  std::vector<ChatTemplateSource> sources;
  if (!metadata.has("tokenizer.chat_templates")) return sources;
  const std::vector<std::string> names = TRY(copy_texts(metadata, "tokenizer.chat_templates"));
  for (const std::string& name : names) {
    const std::string key = "tokenizer.chat_template." + name;
    const std::optional<std::string_view> source = TRY(metadata.find_text(key));
    if (!source) {
      return Error(ErrorCode::Corrupted, "tokenizer.chat_templates lists " + in_quotes(name) +
                                             ", and " + key + " is missing");
    }
    sources.push_back({name, std::string(*source)});
  }
  return sources;
}

// Checks the tokens of the post-processor, which names them by ids of its own.
Result<void> check_prefix(const JsonTokenizer& tokenizer) {
  for (const TokenId token : tokenizer.prefix) {
    const auto id = static_cast<std::uint32_t>(token);
    if (id < tokenizer.vocabulary.size()) continue;
    return Error(ErrorCode::InvalidArgument,
                 "tokenizer.json: post_processor begins texts with token " + std::to_string(id) +
                     " of a vocabulary of " + std::to_string(tokenizer.vocabulary.size()));
  }
  return {};
}

Result<ModelTextCodec> codec_from_json(const TokenizerTexts& texts, UnixClock clock) {
  const Json config = texts.tokenizer_config_json.empty()
                          ? Json::object()
                          : TRY(parse_json(texts.tokenizer_config_json, "tokenizer_config.json"));
  if (!config.is_object()) {
    return Error(ErrorCode::InvalidArgument, "tokenizer_config.json: not an object");
  }
  JsonTokenizer tokenizer = TRY(make_json_tokenizer(texts.tokenizer_json));
  TRY(check_prefix(tokenizer));
  ModelCodecParts made;
  std::vector<SpecialToken> added;
  std::vector<SpecialToken> normalized;
  for (SpecialToken& token : tokenizer.added) {
    // A text that the normalizer takes away whole is never found.
    if (token.normalized && token.text.empty()) continue;
    (token.normalized ? normalized : added).push_back(std::move(token));
  }
  made.specials = TRY(SpecialTokens::create(std::move(added)));
  made.normalized_specials = TRY(SpecialTokens::create(std::move(normalized)));
  const Json variables = TRY(template_variables(texts, config));
  std::optional<TokenId> bos_id;
  if (variables.contains("bos_token")) {
    const std::string bos = variables["bos_token"].get<std::string>();
    bos_id = made.specials.find(bos);
    if (!bos_id) bos_id = made.normalized_specials.find_written(bos);
  }
  const bool adds_bos = !tokenizer.prefix.empty() && (!bos_id || tokenizer.prefix[0] == *bos_id);
  if (bos_id) {
    made.bos_id = static_cast<std::int32_t>(*bos_id);
  } else if (!tokenizer.prefix.empty()) {
    made.bos_id = static_cast<std::int32_t>(tokenizer.prefix[0]);
  }
  made.encoder = std::move(tokenizer.encoder);
  made.vocabulary = std::move(tokenizer.vocabulary);
  made.chat_templates = TRY(chat_template_sources(texts, config));
  made.template_variables = dump_json(variables);
  made.clock = std::move(clock);
  return ModelTextCodec{std::make_unique<ModelCodec>(std::move(made)), adds_bos};
}

// A model may have rows for more tokens than its tokenizer has texts: padding to a round number. It
// can give such an id, however rarely; its text is empty.
class PaddedCodec final : public TextCodec {
 public:
  PaddedCodec(std::unique_ptr<TextCodec> codec, std::uint32_t vocabulary_size)
      : codec_(std::move(codec)), vocabulary_size_(vocabulary_size) {}

  std::uint32_t vocabulary_size() const override { return vocabulary_size_; }
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const override {
    return codec_->encode(text, options);
  }
  Result<std::string> decode(const std::vector<TokenId>& tokens, bool keep_special) const override {
    const auto is_padding = [this](TokenId token) { return this->is_padding(token); };
    if (std::none_of(tokens.begin(), tokens.end(), is_padding)) {
      return codec_->decode(tokens, keep_special);
    }
    std::vector<TokenId> known = tokens;
    std::erase_if(known, is_padding);
    return codec_->decode(known, keep_special);
  }
  Result<TokenView> token(TokenId id) const override {
    if (is_padding(id)) return TokenView{};
    return codec_->token(id);
  }
  Result<TokenId> special(std::string_view text) const override { return codec_->special(text); }
  Result<std::string> apply_chat_template(std::string_view request) const override {
    return codec_->apply_chat_template(request);
  }
  Result<std::vector<TokenId>> encode_chat(std::string_view request) const override {
    return codec_->encode_chat(request);
  }

 private:
  bool is_padding(TokenId token) const {
    const auto id = static_cast<std::uint32_t>(token);
    return id >= codec_->vocabulary_size() && id < vocabulary_size_;
  }

  std::unique_ptr<TextCodec> codec_;
  std::uint32_t vocabulary_size_;
};

}  // namespace

Result<TokenizerParts> tokenizer_parts_from_gguf(const GgufMetadata& metadata) {
  const auto text = [&](std::string_view key) -> Result<std::string> {
    return std::string(TRY(metadata.find_text(key)).value_or(std::string_view()));
  };
  TokenizerParts parts;
  parts.model = TRY(metadata.text("tokenizer.ggml.model"));
  parts.pre = TRY(text("tokenizer.ggml.pre"));
  if (parts.model == "gemma4") {  // The same as byte-level BPE but for what this name says.
    parts.model = "gpt2";
    parts.pre = "gemma4";
  }
  parts.tokens = TRY(copy_texts(metadata, "tokenizer.ggml.tokens"));
  if (metadata.has("tokenizer.ggml.scores")) {
    parts.scores = TRY(metadata.reals("tokenizer.ggml.scores"));
  }
  if (metadata.has("tokenizer.ggml.token_type")) {
    parts.token_types = TRY(metadata.integers("tokenizer.ggml.token_type"));
  }
  if (metadata.has("tokenizer.ggml.merges")) {
    parts.merges = TRY(copy_texts(metadata, "tokenizer.ggml.merges"));
  }
  parts.bos_id = TRY(metadata.find_i32("tokenizer.ggml.bos_token_id")).value_or(-1);
  parts.eos_id = TRY(metadata.find_i32("tokenizer.ggml.eos_token_id")).value_or(-1);
  parts.unknown_id = TRY(metadata.find_i32("tokenizer.ggml.unknown_token_id")).value_or(-1);
  parts.add_bos = TRY(metadata.find_bool("tokenizer.ggml.add_bos_token"));
  parts.add_space_prefix = TRY(metadata.find_bool("tokenizer.ggml.add_space_prefix"));
  parts.chat_template = TRY(text("tokenizer.chat_template"));
  parts.named_chat_templates = TRY(named_templates(metadata));
  // "seperator" is how the format spells it.
  for (const auto& [name, key] : {std::pair("pad_token", "tokenizer.ggml.padding_token_id"),
                                  std::pair("sep_token", "tokenizer.ggml.seperator_token_id"),
                                  std::pair("cls_token", "tokenizer.ggml.cls_token_id"),
                                  std::pair("mask_token", "tokenizer.ggml.mask_token_id")}) {
    const std::optional<std::int32_t> id = TRY(metadata.find_i32(key));
    if (id) parts.further_special_ids.emplace_back(name, *id);
  }
  return parts;
}

Result<std::unique_ptr<TextCodec>> make_text_codec_from_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json,
                                                             std::string_view chat_template,
                                                             UnixClock clock) {
  TokenizerTexts texts;
  texts.tokenizer_json = tokenizer_json;
  texts.tokenizer_config_json = tokenizer_config_json;
  texts.chat_template = chat_template;
  ModelTextCodec made = TRY(codec_from_json(texts, std::move(clock)));
  return std::move(made.codec);
}

Result<ModelTextCodec> open_text_codec(const ModelFiles& model, UnixClock clock) {
  ModelTextCodec made;
  if (model.gguf_metadata() != nullptr) {
    TokenizerParts parts = TRY(tokenizer_parts_from_gguf(*model.gguf_metadata()));
    made.add_bos = default_add_bos(parts);
    made.codec = TRY(make_text_codec(std::move(parts), std::move(clock)));
  } else {
    const TokenizerTexts& texts = model.tokenizer_texts();
    if (texts.tokenizer_json.empty()) {
      return Error(ErrorCode::NotFound, model.path() + ": tokenizer.json is missing");
    }
    made = TRY(codec_from_json(texts, std::move(clock)));
  }
  made.add_bos = model.spec().add_bos.value_or(made.add_bos);
  if (made.codec->vocabulary_size() < model.spec().vocabulary_size) {
    made.codec = std::make_unique<PaddedCodec>(std::move(made.codec), model.spec().vocabulary_size);
  }
  return made;
}

}  // namespace quire::inference
