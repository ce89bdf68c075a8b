#include <chrono>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/json.h"
#include "inference/tokenizer/engine_encoder.h"
#include "inference/tokenizer/model_codec.h"
#include "inference/tokenizer/pre_tokenizers.h"
#include "inference/tokenizer/sentence_piece.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/tokenizer/utf8.h"

namespace quire::inference {
namespace {

Error invalid(std::string message) {
  return Error(ErrorCode::InvalidArgument, "tokenizer: " + std::move(message));
}

TokenType type_of(const TokenizerParts& parts, std::size_t id) {
  return parts.token_types.empty() ? TokenType::Normal : TokenType(parts.token_types[id]);
}

// Tokens that only templates and models may write. A text never becomes one by merging.
bool is_control(const TokenizerParts& parts, std::size_t id) {
  const TokenType type = type_of(parts, id);
  return type == TokenType::Control || type == TokenType::Unknown;
}

Result<void> check_id(std::string_view name, std::int32_t id, std::size_t count) {
  if (id >= 0 && static_cast<std::size_t>(id) >= count) {
    return invalid(std::string(name) + " " + std::to_string(id) + " of a vocabulary of " +
                   std::to_string(count));
  }
  return {};
}

Result<void> check_parts(const TokenizerParts& parts) {
  const std::size_t count = parts.tokens.size();
  if (count == 0) return invalid("the vocabulary is empty");
  if (count > kVocabularySizeMax) {
    return Error(ErrorCode::TooLarge, "tokenizer: a vocabulary of " + std::to_string(count) + " (" +
                                          std::to_string(kVocabularySizeMax) + " at most)");
  }
  if (!parts.token_types.empty() && parts.token_types.size() != count) {
    return invalid(std::to_string(parts.token_types.size()) + " token types for " +
                   std::to_string(count) + " tokens");
  }
  TRY(check_id("bos_token_id", parts.bos_id, count));
  TRY(check_id("eos_token_id", parts.eos_id, count));
  TRY(check_id("unknown_token_id", parts.unknown_id, count));
  for (const auto& [name, id] : parts.further_special_ids) TRY(check_id(name, id, count));
  std::unordered_map<std::string_view, std::size_t> seen;
  seen.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    const std::string_view text = parts.tokens[id];
    TRY(require_utf8(text, "tokenizer: token " + std::to_string(id)));
    if (text.empty()) continue;  // A hole that some files have; nothing encodes to it.
    const auto [first, added] = seen.try_emplace(text, id);
    if (!added) {
      return invalid("tokens " + std::to_string(first->second) + " and " + std::to_string(id) +
                     " are both \"" + std::string(text) + "\"");
    }
  }
  return {};
}

std::vector<SpecialToken> specials_of(const TokenizerParts& parts, const PreTokenizer& pre) {
  std::vector<SpecialToken> specials;
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    const std::string& text = parts.tokens[id];
    const bool control = is_control(parts, id);
    if (text.empty() || (!control && type_of(parts, id) != TokenType::UserDefined)) continue;
    // Some converters write turn markers as user-defined.
    specials.push_back({.text = text,
                        .id = TokenId(static_cast<std::uint32_t>(id)),
                        .guarded = control || looks_like_control(text),
                        .strip_left = pre.mask_takes_spaces && text == "<mask>"});
  }
  return specials;
}

TokenKind kind_of(const TokenizerParts& parts, std::size_t id) {
  if (is_control(parts, id)) return TokenKind::Special;
  const TokenType type = type_of(parts, id);
  if (type == TokenType::Unused) return TokenKind::Unused;
  if (type != TokenType::UserDefined) return TokenKind::Text;
  return looks_like_control(parts.tokens[id]) ? TokenKind::Special : TokenKind::UserDefined;
}

Vocabulary vocabulary_of(const TokenizerParts& parts, Alphabet alphabet) {
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    const bool control = is_control(parts, id);
    const bool literal = control || type_of(parts, id) == TokenType::UserDefined;
    vocabulary.append(parts.tokens[id], alphabet,
                      {.kind = kind_of(parts, id), .literal = literal, .control = control});
  }
  return vocabulary;
}

Result<std::unique_ptr<PlainEncoder>> encoder_of(const TokenizerParts& parts,
                                                 const PreTokenizer& pre) {
  if (parts.model == "llama") {
    std::unique_ptr<PlainEncoder> encoder = TRY(SentencePiece::create(parts));
    return encoder;
  }
  BytePairParts pairs{.tokens = {}, .merges = {}, .pre = pre};
  pairs.tokens.reserve(parts.tokens.size());
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    pairs.tokens.push_back(is_control(parts, id) ? std::string_view() : parts.tokens[id]);
  }
  pairs.merges.assign(parts.merges.begin(), parts.merges.end());
  return make_byte_pair_encoder(pairs);
}

std::string variables_of(const TokenizerParts& parts) {
  nlohmann::json variables = nlohmann::json::object();
  const auto add = [&](const char* name, std::int32_t id) {
    if (id >= 0) variables[name] = parts.tokens[static_cast<std::size_t>(id)];
  };
  add("bos_token", parts.bos_id);
  add("eos_token", parts.eos_id);
  add("unk_token", parts.unknown_id);
  for (const auto& [name, id] : parts.further_special_ids) add(name.c_str(), id);
  return dump_json(variables);
}

}  // namespace

std::int64_t system_unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<std::unique_ptr<TextCodec>> make_text_codec(TokenizerParts parts, UnixClock clock) {
  if (parts.model != "gpt2" && parts.model != "llama") {
    return Error(ErrorCode::NotSupported, "tokenizer: unknown model \"" + parts.model +
                                              "\" (supported: gpt2, llama, gemma4)");
  }
  TRY(check_parts(parts));
  PreTokenizer pre;
  if (parts.model == "gpt2") pre = TRY(find_pre_tokenizer(parts.pre));
  const Alphabet alphabet =
      parts.model == "gpt2" && !pre.is_raw ? Alphabet::ByteLevel : Alphabet::SentencePiece;
  ModelCodecParts made;
  made.encoder = TRY(encoder_of(parts, pre));
  made.vocabulary = vocabulary_of(parts, alphabet);
  made.specials = TRY(SpecialTokens::create(specials_of(parts, pre)));
  made.bos_id = parts.bos_id;
  made.template_variables = variables_of(parts);
  if (!parts.chat_template.empty()) {
    made.chat_templates.push_back({std::string(kDefaultTemplate), std::move(parts.chat_template)});
  }
  for (ChatTemplateSource& each : parts.named_chat_templates) {
    made.chat_templates.push_back(std::move(each));
  }
  made.clock = std::move(clock);
  return std::unique_ptr<TextCodec>(std::make_unique<ModelCodec>(std::move(made)));
}

}  // namespace quire::inference
