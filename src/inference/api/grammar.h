#pragma once
// Grammars that say which tokens may come next: a JSON schema, a regular expression or a Lark
// grammar, compiled for one model's vocabulary.
//
// Thread   GrammarCompiler and Grammar: any, many at once. A Matcher: one thread at a time, which may
//          be another one for each call. What matchers share is guarded below: fill_mask, accept,
//          roll_back, forced and Grammar::matcher wait for such a call of another matcher of the same
//          grammar, so each may take twice mask_us_max. They belong on a thread that may be late. The
//          other functions of a Matcher, fork among them, neither wait nor compute.
// Errors   compile: InvalidArgument with the place and the reason; NotSupported names what is not
//          supported; TooLarge and Timeout name the limit. A Matcher: InvalidArgument and OutOfRange
//          leave it as it was; Timeout (a mask takes too long) and any other code end it, and all
//          further calls give the same error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

enum class GrammarKind : std::uint8_t { JsonSchema, Regex, Lark };

struct GrammarLimits {
  std::size_t source_bytes_max = std::size_t{256} << 10;
  std::size_t grammar_bytes_max = std::size_t{64} << 20;
  std::size_t matcher_bytes_max = std::size_t{64} << 20;
  // Time that the thread of a compilation computes. A compilation also ends with Timeout after ten
  // times as long by the clock.
  std::uint64_t compile_us_max = 1'000'000;
  std::uint64_t mask_us_max = 20'000;  // Of any call of a matcher; time that its thread computes.
  std::size_t text_bytes_max = std::size_t{1}
                               << 20;  // Of a text that Grammar::fits is asked about,
  std::uint64_t fits_us_max =
      100'000;  // and how long that may take; time that the thread computes.
};

// A place in a grammar.
class Matcher {
 public:
  virtual ~Matcher() = default;

  // Sets bit i % 32 of word i / 32 for each token i that may come next; all other bits are cleared.
  // Stop tokens of the model are in the mask where the text may end. The mask is empty where no token
  // can follow: after a stop token, or where the vocabulary cannot spell what the grammar asks for.
  // InvalidArgument if the vocabulary needs more words.
  virtual Result<void> fill_mask(std::span<std::uint32_t> words) = 0;

  // All of the tokens or none; InvalidArgument names the first that may not follow, and its index.
  virtual Result<void> accept(std::span<const TokenId> tokens) = 0;

  // Takes back the last `count` tokens. OutOfRange if fewer were accepted.
  virtual Result<void> roll_back(std::uint32_t count) = 0;

  // At most `most` tokens that must come next, spelled as the model's tokenizer spells their text.
  virtual std::vector<TokenId> forced(std::size_t most) = 0;

  // Whether a stop token may come next.
  virtual bool may_end() const = 0;
  // Whether no text can follow: only a stop token may come next, or one was accepted.
  virtual bool is_complete() const = 0;

  virtual std::uint32_t accepted_count() const = 0;
  // Bytes that this matcher has added to what the process holds.
  virtual std::size_t memory_bytes() const = 0;

  // A matcher that has accepted the same tokens.
  virtual std::unique_ptr<Matcher> fork() const = 0;
};

// A compiled source.
class Grammar {
 public:
  virtual ~Grammar() = default;
  virtual Result<std::unique_ptr<Matcher>> matcher() const = 0;  // It has accepted nothing.
  // Whether `text` is a whole text of the grammar, even if no matcher allowed its tokens. A text
  // fits a JSON schema if it is an instance of the schema itself, with its members in any order,
  // and any blanks, escapes and spellings of numbers. TooLarge or Timeout if the text is beyond
  // GrammarLimits or nested too deep. The grammar stays as it was. This call waits for no matcher,
  // and no matcher waits for it.
  virtual Result<bool> fits(std::string_view text) const = 0;
  virtual std::size_t memory_bytes() const = 0;  // Once compiled, without matchers.
};

// For one model.
class GrammarCompiler {
 public:
  virtual ~GrammarCompiler() = default;
  // Takes up to a second, and the first call more: it sorts the vocabulary.
  virtual Result<std::shared_ptr<const Grammar>> compile(GrammarKind kind,
                                                         std::string_view source) = 0;
};

}  // namespace quire::inference
