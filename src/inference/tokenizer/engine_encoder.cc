#include "inference/tokenizer/engine_encoder.h"

#ifdef QUIRE_ENGINES
#include "inference/tokenizer/engine_calls.h"
#endif

namespace quire::inference {

bool looks_like_control(std::string_view text) {
  const auto wrapped = [&](std::string_view open, std::string_view close) {
    return text.size() > open.size() + close.size() && text.substr(0, open.size()) == open &&
           text.substr(text.size() - close.size()) == close;
  };
  return wrapped("<|", "|>") || wrapped("<\uff5c", "\uff5c>") || text == "<s>" || text == "</s>" ||
         text == "<start_of_turn>" || text == "<end_of_turn>" || text == "<turn|>" ||
         text == "<|turn>";
}

#ifdef QUIRE_ENGINES
namespace {

std::vector<TokenId> take_ids(quire_ids ids) {
  std::vector<TokenId> copy;
  copy.reserve(ids.count);
  for (std::size_t index = 0; index < ids.count; ++index) copy.push_back(TokenId(ids.data[index]));
  quire_ids_delete(&ids);
  return copy;
}

class EngineEncoder final : public PlainEncoder {
 public:
  explicit EngineEncoder(EngineTokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  bool has_normalizer() const override { return quire_tokenizer_normalizes(tokenizer_.get()); }

  Result<NormalizedText> normalize(std::string_view text, bool with_origins) const override {
    quire_text normalized{};
    quire_offsets begins{};
    quire_offsets ends{};
    quire_text error{};
    TRY(engine_result(quire_tokenizer_normalize(tokenizer_.get(), engine_bytes(text), &normalized,
                                                with_origins ? &begins : nullptr,
                                                with_origins ? &ends : nullptr, &error),
                      error));
    return NormalizedText{.text = take_engine_text(normalized),
                          .origins = {.text = text,
                                      .begins = take_engine_offsets(begins),
                                      .ends = take_engine_offsets(ends)}};
  }

  Result<std::vector<TokenId>> encode(std::string_view text,
                                      const std::vector<TextPiece>& pieces) const override {
    std::vector<quire_piece> list;
    list.reserve(pieces.size());
    for (const TextPiece& piece : pieces) {
      list.push_back({.begin = piece.begin,
                      .end = piece.end,
                      .token = piece.token ? std::int64_t{static_cast<std::uint32_t>(*piece.token)}
                                           : std::int64_t{-1}});
    }
    quire_ids ids{};
    quire_text error{};
    TRY(engine_result(quire_tokenizer_encode(tokenizer_.get(), engine_bytes(text), list.data(),
                                             list.size(), &ids, &error),
                      error));
    return take_ids(ids);
  }

 private:
  EngineTokenizer tokenizer_;
};

Result<std::vector<SpecialToken>> read_added(const quire_tokenizer* tokenizer) {
  std::vector<SpecialToken> added;
  const std::size_t count = quire_tokenizer_added_count(tokenizer);
  for (std::size_t index = 0; index < count; ++index) {
    quire_added_token token{};
    quire_text error{};
    TRY(engine_result(quire_tokenizer_added(tokenizer, index, &token, &error), error));
    const std::string_view text = engine_view(token.text);
    const std::string_view looked_for =
        token.normalized ? engine_view(token.normalized_text) : text;
    added.push_back({.text = std::string(looked_for),
                     .id = TokenId(token.id),
                     .guarded = token.special || looks_like_control(text),
                     .single_word = token.single_word,
                     .strip_left = token.strip_left,
                     .strip_right = token.strip_right,
                     .normalized = token.normalized,
                     .written = std::string(text)});
  }
  return added;
}

Result<Vocabulary> read_vocabulary(const quire_tokenizer* tokenizer,
                                   const std::vector<SpecialToken>& added) {
  const Alphabet alphabet = quire_tokenizer_alphabet(tokenizer) == QUIRE_ALPHABET_BYTE_LEVEL
                                ? Alphabet::ByteLevel
                                : Alphabet::SentencePiece;
  const std::uint32_t count = quire_tokenizer_id_end(tokenizer);
  Vocabulary vocabulary;
  auto special = added.begin();  // Ascending by id, as the vocabulary is.
  for (std::uint32_t id = 0; id < count; ++id) {
    while (special != added.end() && static_cast<std::uint32_t>(special->id) < id) ++special;
    const bool is_added = special != added.end() && special->id == TokenId(id);
    quire_text text{};
    quire_text error{};
    TRY(engine_result(quire_tokenizer_token(tokenizer, id, &text, &error), error));
    const bool is_control = is_added && special->guarded;
    const TokenKind kind = is_control ? TokenKind::Special
                           : is_added ? TokenKind::UserDefined
                                      : TokenKind::Text;
    vocabulary.append(take_engine_text(text), alphabet,
                      {.kind = kind, .literal = is_added, .control = is_control});
  }
  return vocabulary;
}

}  // namespace

Result<std::unique_ptr<PlainEncoder>> make_byte_pair_encoder(const BytePairParts& parts) {
  const std::vector<quire_bytes> tokens = engine_list(parts.tokens);
  const std::vector<quire_bytes> merges = engine_list(parts.merges);
  const std::vector<quire_bytes> patterns =
      engine_list({parts.pre.patterns.begin(), parts.pre.patterns.end()});
  const quire_bpe_parts call{.tokens = tokens.data(),
                             .token_count = tokens.size(),
                             .merges = merges.data(),
                             .merge_count = merges.size(),
                             .patterns = patterns.data(),
                             .pattern_count = patterns.size(),
                             .ignore_merges = parts.pre.ignore_merges,
                             .is_raw = parts.pre.is_raw,
                             .escapes_spaces = parts.pre.escapes_spaces,
                             .whole_line_ends = parts.pre.whole_line_ends};
  quire_tokenizer* made = nullptr;
  quire_text error{};
  TRY(engine_result(quire_tokenizer_from_parts(&call, &made, &error), error));
  return std::unique_ptr<PlainEncoder>(new EngineEncoder(EngineTokenizer(made)));
}

Result<JsonTokenizer> make_json_tokenizer(std::string_view json) {
  quire_tokenizer* made = nullptr;
  quire_text error{};
  TRY(engine_result(quire_tokenizer_from_json(engine_bytes(json), &made, &error), error));
  EngineTokenizer tokenizer(made);
  JsonTokenizer result;
  result.added = TRY(read_added(made));
  result.vocabulary = TRY(read_vocabulary(made, result.added));
  quire_ids prefix{};
  TRY(engine_result(quire_tokenizer_prefix(made, &prefix, &error), error));
  result.prefix = take_ids(prefix);
  result.encoder = std::make_unique<EngineEncoder>(std::move(tokenizer));
  return result;
}

#else

Result<std::unique_ptr<PlainEncoder>> make_byte_pair_encoder(const BytePairParts&) {
  return Error(ErrorCode::NotSupported, "this build has no engines/: no byte-level tokenizer");
}

Result<JsonTokenizer> make_json_tokenizer(std::string_view) {
  return Error(ErrorCode::NotSupported, "this build has no engines/: tokenizer.json is not read");
}

#endif

}  // namespace quire::inference
