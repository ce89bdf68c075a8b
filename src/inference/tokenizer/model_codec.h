#pragma once
// ModelCodec: the one TextCodec, over whichever encoder a model's files call for.
//
// Owns     its parts. Built once, then immutable.
// Thread   any.
#include <memory>
#include <string>

#include "inference/api/text_codec.h"
#include "inference/tokenizer/chat_template.h"
#include "inference/tokenizer/plain_encoder.h"
#include "inference/tokenizer/special_tokens.h"
#include "inference/tokenizer/system_turns.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/tokenizer/vocabulary.h"

namespace quire::inference {

struct ModelCodecParts {
  std::unique_ptr<PlainEncoder> encoder;
  Vocabulary vocabulary;
  SpecialTokens specials;             // Looked for in the text as it is,
  SpecialTokens normalized_specials;  // and in what the normalizer makes of the rest.
  std::int32_t bos_id = -1;
  std::vector<ChatTemplateSource> chat_templates;  // Empty: the model has none.
  std::string template_variables;                  // JSON object.
  UnixClock clock;
};

class ModelCodec final : public TextCodec {
 public:
  explicit ModelCodec(ModelCodecParts parts);

  std::uint32_t vocabulary_size() const override { return parts_.vocabulary.size(); }
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const override;
  Result<std::string> decode(const std::vector<TokenId>& tokens, bool keep_special) const override;
  Result<TokenView> token(TokenId id) const override { return parts_.vocabulary.token(id); }
  Result<TokenId> special(std::string_view text) const override;
  Result<std::string> apply_chat_template(std::string_view request) const override;
  Result<std::vector<TokenId>> encode_chat(std::string_view request) const override;

 private:
  Result<RenderedChat> render(std::string_view request,
                              const std::vector<std::string>& shielded) const;
  Result<std::vector<TokenId>> encode_pieces(std::string_view text,
                                             SpecialTokens::CutOptions options) const;
  Result<std::vector<TokenId>> encode_normalized(std::string_view text,
                                                 const std::vector<TextPiece>& pieces,
                                                 SpecialTokens::CutOptions options) const;

  ModelCodecParts parts_;
  std::vector<std::string> guarded_texts_;
  // A template that does not compile fails those who ask for it, not the model.
  Result<std::unique_ptr<ChatTemplate>> template_;
  SystemTurns system_turns_;
};

}  // namespace quire::inference
