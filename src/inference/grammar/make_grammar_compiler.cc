#include "inference/grammar/make_grammar_compiler.h"

#include <utility>

#ifdef QUIRE_ENGINES
#include <mutex>

#include "base/check.h"
#include "inference/grammar/encode_inside.h"
#include "inference/tokenizer/engine_calls.h"
#endif

namespace quire::inference {
namespace {

#ifdef QUIRE_ENGINES

using EngineVocabulary =
    std::unique_ptr<quire_grammar_vocabulary, EngineReleaser<quire_grammar_vocabulary_delete>>;
using EngineGrammarHandle = std::unique_ptr<quire_grammar, EngineReleaser<quire_grammar_delete>>;
using EngineMatcherHandle = std::unique_ptr<quire_matcher, EngineReleaser<quire_matcher_delete>>;

static_assert(sizeof(TokenId) == sizeof(std::uint32_t));

class EngineMatcher final : public Matcher {
 public:
  EngineMatcher(EngineMatcherHandle matcher, std::uint32_t accepted_count)
      : matcher_(std::move(matcher)), accepted_count_(accepted_count) {}

  Result<void> fill_mask(std::span<std::uint32_t> words) override {
    quire_text error{};
    return engine_result(quire_matcher_mask(matcher_.get(), words.data(), words.size(), &error),
                         error);
  }

  Result<void> accept(std::span<const TokenId> tokens) override {
    quire_text error{};
    const auto* ids = reinterpret_cast<const std::uint32_t*>(tokens.data());
    TRY(engine_result(quire_matcher_accept(matcher_.get(), ids, tokens.size(), &error), error));
    accepted_count_ += static_cast<std::uint32_t>(tokens.size());
    return {};
  }

  Result<void> roll_back(std::uint32_t count) override {
    if (count > accepted_count_) {
      return Error(ErrorCode::OutOfRange, std::to_string(count) +
                                              " tokens cannot be rolled back: the matcher has "
                                              "accepted " +
                                              std::to_string(accepted_count_));
    }
    quire_text error{};
    TRY(engine_result(quire_matcher_roll_back(matcher_.get(), count, &error), error));
    accepted_count_ -= count;
    return {};
  }

  std::vector<TokenId> forced(std::size_t most) override {
    quire_ids ids{};
    quire_text error{};
    // An error ends the matcher, and the next mask reports it.
    if (!engine_result(quire_matcher_forced(matcher_.get(), most, &ids, &error), error).ok()) {
      return {};
    }
    std::vector<TokenId> tokens;
    tokens.reserve(ids.count);
    for (std::size_t at = 0; at < ids.count; ++at) tokens.push_back(TokenId{ids.data[at]});
    quire_ids_delete(&ids);
    return tokens;
  }

  bool may_end() const override { return quire_matcher_may_end(matcher_.get()); }
  bool is_complete() const override { return quire_matcher_is_complete(matcher_.get()); }
  std::uint32_t accepted_count() const override { return accepted_count_; }
  std::size_t memory_bytes() const override { return quire_matcher_bytes(matcher_.get()); }

  std::unique_ptr<Matcher> fork() const override {
    quire_matcher* made = nullptr;
    quire_text error{};
    const quire_status status = quire_matcher_fork(matcher_.get(), &made, &error);
    QUIRE_CHECK(status == QUIRE_OK, "copying a matcher cannot fail");
    return std::make_unique<EngineMatcher>(EngineMatcherHandle(made), accepted_count_);
  }

 private:
  EngineMatcherHandle matcher_;
  std::uint32_t accepted_count_;
};

class EngineGrammar final : public Grammar {
 public:
  explicit EngineGrammar(EngineGrammarHandle grammar) : grammar_(std::move(grammar)) {}

  Result<std::unique_ptr<Matcher>> matcher() const override {
    quire_matcher* made = nullptr;
    quire_text error{};
    TRY(engine_result(quire_grammar_matcher(grammar_.get(), &made, &error), error));
    return std::unique_ptr<Matcher>(
        std::make_unique<EngineMatcher>(EngineMatcherHandle(made), std::uint32_t{0}));
  }

  Result<bool> fits(std::string_view text) const override {
    bool out = false;
    quire_text error{};
    TRY(engine_result(quire_grammar_fits(grammar_.get(), engine_bytes(text), &out, &error), error));
    return out;
  }

  std::size_t memory_bytes() const override { return quire_grammar_bytes(grammar_.get()); }

 private:
  EngineGrammarHandle grammar_;
};

std::size_t encode_for_engine(const void* context, quire_bytes text, std::uint32_t* ids,
                              std::size_t capacity) {
  const auto* codec = static_cast<const TextCodec*>(context);
  const std::vector<TokenId> tokens = encode_inside(*codec, engine_view(text));
  for (std::size_t at = 0; at < tokens.size() && at < capacity; ++at) {
    ids[at] = static_cast<std::uint32_t>(tokens[at]);
  }
  return tokens.size();
}

bool is_text(TokenKind kind) {
  return kind == TokenKind::Text || kind == TokenKind::Byte || kind == TokenKind::UserDefined;
}

Result<EngineVocabulary> make_vocabulary(const TextCodec& codec,
                                         const std::vector<TokenId>& stop_ids) {
  std::vector<quire_bytes> tokens(codec.vocabulary_size());
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    const TokenView token = TRY(codec.token(TokenId{id}));
    if (is_text(token.kind)) tokens[id] = engine_bytes(token.bytes);
  }
  const quire_grammar_vocabulary_parts parts{
      .tokens = tokens.data(),
      .token_count = tokens.size(),
      .stop_ids = reinterpret_cast<const std::uint32_t*>(stop_ids.data()),
      .stop_count = stop_ids.size(),
      .encode = encode_for_engine,
      .encode_context = &codec};
  quire_grammar_vocabulary* made = nullptr;
  quire_text error{};
  TRY(engine_result(quire_grammar_vocabulary_create(&parts, &made, &error), error));
  return EngineVocabulary(made);
}

quire_grammar_kind engine_kind(GrammarKind kind) {
  switch (kind) {
    case GrammarKind::JsonSchema:
      return QUIRE_GRAMMAR_JSON_SCHEMA;
    case GrammarKind::Regex:
      return QUIRE_GRAMMAR_REGEX;
    case GrammarKind::Lark:
      return QUIRE_GRAMMAR_LARK;
  }
  return ~quire_grammar_kind{0};  // The engine refuses it.
}

class EngineGrammarCompiler final : public GrammarCompiler {
 public:
  EngineGrammarCompiler(const TextCodec& codec, std::vector<TokenId> stop_ids, GrammarLimits limits)
      : codec_(codec),
        stop_ids_(std::move(stop_ids)),
        limits_{.source_bytes_max = limits.source_bytes_max,
                .grammar_bytes_max = limits.grammar_bytes_max,
                .matcher_bytes_max = limits.matcher_bytes_max,
                .compile_us_max = limits.compile_us_max,
                .mask_us_max = limits.mask_us_max,
                .text_bytes_max = limits.text_bytes_max,
                .fits_us_max = limits.fits_us_max} {}

  Result<std::shared_ptr<const Grammar>> compile(GrammarKind kind,
                                                 std::string_view source) override {
    const quire_grammar_vocabulary* vocabulary = TRY(this->vocabulary());
    quire_grammar* made = nullptr;
    quire_text error{};
    TRY(engine_result(quire_grammar_compile(vocabulary, engine_kind(kind), engine_bytes(source),
                                            &limits_, &made, &error),
                      error));
    return std::shared_ptr<const Grammar>(
        std::make_shared<EngineGrammar>(EngineGrammarHandle(made)));
  }

 private:
  Result<const quire_grammar_vocabulary*> vocabulary() {
    const std::lock_guard lock(mutex_);
    if (vocabulary_ == nullptr) vocabulary_ = TRY(make_vocabulary(codec_, stop_ids_));
    return vocabulary_.get();
  }

  const TextCodec& codec_;
  const std::vector<TokenId> stop_ids_;
  const quire_grammar_limits limits_;
  std::mutex mutex_;  // Of what follows, which is made once.
  EngineVocabulary vocabulary_;
};

#else

class AbsentGrammarCompiler final : public GrammarCompiler {
 public:
  Result<std::shared_ptr<const Grammar>> compile(GrammarKind, std::string_view) override {
    return Error(ErrorCode::NotSupported, "this build has no engines/: no grammars");
  }
};

#endif

}  // namespace

std::unique_ptr<GrammarCompiler> make_grammar_compiler(const TextCodec& codec,
                                                       std::vector<TokenId> stop_ids,
                                                       GrammarLimits limits) {
#ifdef QUIRE_ENGINES
  return std::make_unique<EngineGrammarCompiler>(codec, std::move(stop_ids), limits);
#else
  static_cast<void>(codec);
  static_cast<void>(stop_ids);
  static_cast<void>(limits);
  return std::make_unique<AbsentGrammarCompiler>();
#endif
}

}  // namespace quire::inference
