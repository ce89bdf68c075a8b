#include "inference/tokenizer/model_codec.h"

#include <algorithm>

#include "inference/tokenizer/utf8.h"

namespace quire::inference {
namespace {

Result<std::unique_ptr<ChatTemplate>> compile(const ModelCodecParts& parts) {
  if (parts.chat_templates.empty()) {
    return Error(ErrorCode::NotSupported, "the model has no chat template");
  }
  return compile_chat_templates(parts.chat_templates, parts.template_variables);
}

std::vector<std::string> guarded_texts(const ModelCodecParts& parts) {
  std::vector<std::string> texts = parts.specials.guarded_texts();
  for (std::string& text : parts.normalized_specials.guarded_texts()) {
    texts.push_back(std::move(text));
  }
  return texts;
}

// The `offsets` that lie in a part of the text, counted from where it begins.
std::vector<std::size_t> offsets_inside(std::span<const std::size_t> offsets,
                                        const TextPiece& piece) {
  std::vector<std::size_t> inside;
  const auto first = std::lower_bound(offsets.begin(), offsets.end(), piece.begin);
  for (auto at = first; at != offsets.end() && *at < piece.end; ++at) {
    inside.push_back(*at - piece.begin);
  }
  return inside;
}

}  // namespace

ModelCodec::ModelCodec(ModelCodecParts parts)
    : parts_(std::move(parts)), guarded_texts_(guarded_texts(parts_)), template_(compile(parts_)) {}

Result<std::vector<TokenId>> ModelCodec::encode_pieces(std::string_view text,
                                                       SpecialTokens::CutOptions options) const {
  if (text.size() > kTextBytesMax) {
    return Error(ErrorCode::TooLarge, "text of " + std::to_string(text.size()) + " bytes (" +
                                          std::to_string(kTextBytesMax) + " at most)");
  }
  TRY(require_utf8(text, "the text"));
  const std::vector<TextPiece> pieces = parts_.specials.cut(text, options);
  if (parts_.encoder->has_normalizer() || !parts_.normalized_specials.empty()) {
    return encode_normalized(text, pieces, options);
  }
  return parts_.encoder->encode(text, pieces);
}

// Writes the text anew: what is plain normalized and cut once more, tokens as they were.
Result<std::vector<TokenId>> ModelCodec::encode_normalized(
    std::string_view text, const std::vector<TextPiece>& pieces,
    SpecialTokens::CutOptions options) const {
  const bool is_shielded = options.is_chat && !parts_.normalized_specials.empty();
  std::string all;
  std::vector<TextPiece> all_pieces;
  for (const TextPiece& piece : pieces) {
    const std::string_view part = text.substr(piece.begin, piece.end - piece.begin);
    const std::size_t begin = all.size();
    if (piece.token) {
      all += part;
      all_pieces.push_back({begin, all.size(), piece.token});
      continue;
    }
    NormalizedText normalized{.text = std::string(part), .origins = {}};
    SpecialTokens::CutOptions inside{
        .parse_guarded = options.parse_guarded, .shielded_offsets = {}, .is_chat = options.is_chat};
    std::vector<std::size_t> shielded;
    if (parts_.encoder->has_normalizer()) {
      normalized = TRY(parts_.encoder->normalize(part, is_shielded));
      if (is_shielded) inside.origins = &normalized.origins;
    }
    if (is_shielded) {
      shielded = offsets_inside(options.shielded_offsets, piece);
      inside.shielded_offsets = shielded;
    }
    for (const TextPiece& each : parts_.normalized_specials.cut(normalized.text, inside)) {
      all_pieces.push_back({begin + each.begin, begin + each.end, each.token});
    }
    all += normalized.text;
  }
  return parts_.encoder->encode(all, all_pieces);
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
  std::optional<TokenId> id = parts_.specials.find(text);
  if (!id) id = parts_.normalized_specials.find_written(text);
  if (!id) {
    return Error(ErrorCode::NotFound, "no special token \"" + std::string(text) + "\"");
  }
  return *id;
}

Result<RenderedChat> ModelCodec::render(std::string_view request,
                                        const std::vector<std::string>& shielded) const {
  if (!template_.ok()) return template_.error().copy();
  const ChatTemplate& compiled = *template_.value();
  const std::int64_t now = parts_.clock();
  const std::string moved = system_turns_.moved(request, compiled, parts_.chat_templates, now);
  return compiled.render(moved.empty() ? request : std::string_view(moved), shielded, now);
}

Result<std::string> ModelCodec::apply_chat_template(std::string_view request) const {
  RenderedChat chat = TRY(render(request, {}));
  return std::move(chat.text);
}

Result<std::vector<TokenId>> ModelCodec::encode_chat(std::string_view request) const {
  const RenderedChat chat = TRY(render(request, guarded_texts_));
  return encode_pieces(
      chat.text,
      {.parse_guarded = true, .shielded_offsets = chat.shielded_offsets, .is_chat = true});
}

}  // namespace quire::inference
