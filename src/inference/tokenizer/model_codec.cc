#include "inference/tokenizer/model_codec.h"

#include "inference/tokenizer/utf8.h"

namespace quire::inference {
namespace {

Result<std::unique_ptr<ChatTemplate>> compile(const ModelCodecParts& parts) {
  if (parts.chat_templates.empty()) {
    return Error(ErrorCode::NotSupported, "the model has no chat template");
  }
  return compile_chat_templates(parts.chat_templates, parts.template_variables);
}

}  // namespace

ModelCodec::ModelCodec(ModelCodecParts parts)
    : parts_(std::move(parts)),
      guarded_texts_(parts_.specials.guarded_texts()),
      template_(compile(parts_)) {}

Result<std::vector<TokenId>> ModelCodec::encode_pieces(std::string_view text,
                                                       SpecialTokens::CutOptions options) const {
  if (text.size() > kTextBytesMax) {
    return Error(ErrorCode::TooLarge, "text of " + std::to_string(text.size()) + " bytes (" +
                                          std::to_string(kTextBytesMax) + " at most)");
  }
  TRY(require_utf8(text, "the text"));
  return parts_.encoder->encode(text, parts_.specials.cut(text, options));
}

Result<std::vector<TokenId>> ModelCodec::encode(std::string_view text,
                                                EncodeOptions options) const {
  std::vector<TokenId> ids =
      TRY(encode_pieces(text, {.parse_guarded = options.parse_special, .shielded_offsets = {}}));
  if (options.add_bos && parts_.bos_id >= 0) {
    ids.insert(ids.begin(), TokenId(static_cast<std::uint32_t>(parts_.bos_id)));
  }
  return ids;
}

Result<std::string> ModelCodec::decode(const std::vector<TokenId>& tokens,
                                       bool keep_special) const {
  return parts_.vocabulary.decode(tokens, keep_special);
}

Result<TokenId> ModelCodec::special(std::string_view text) const {
  const std::optional<TokenId> id = parts_.specials.find(text);
  if (!id) {
    return Error(ErrorCode::NotFound, "no special token \"" + std::string(text) + "\"");
  }
  return *id;
}

Result<RenderedChat> ModelCodec::render(std::string_view request,
                                        const std::vector<std::string>& shielded) const {
  if (!template_.ok()) return template_.error().copy();
  return template_.value()->render(request, shielded, parts_.clock());
}

Result<std::string> ModelCodec::apply_chat_template(std::string_view request) const {
  RenderedChat chat = TRY(render(request, {}));
  return std::move(chat.text);
}

Result<std::vector<TokenId>> ModelCodec::encode_chat(std::string_view request) const {
  const RenderedChat chat = TRY(render(request, guarded_texts_));
  return encode_pieces(chat.text,
                       {.parse_guarded = true, .shielded_offsets = chat.shielded_offsets});
}

}  // namespace quire::inference
