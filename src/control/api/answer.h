#pragma once
// Answer: what the guest gets. One of the four nouns; values only. A command with a future is
// answered exactly once, unless its instance ends first.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "control/api/types.h"

namespace quire::inference {
class Grammar;
}

namespace quire::control {

// clang-format off: a table of answers, a line each where one is enough.
struct Done {};
struct NextDistribution {
  std::vector<std::uint32_t> tokens;              // Falling probability, ties by rising id.
  std::vector<float> probabilities;               // Of the full softmax, not renormalised.
};
// GetLogits [vocabulary_size], GetLogprobs [tokens], GetEntropy [1], GetEmbedding
// [embedding_width].
struct Values { std::vector<float> all; };
struct NextDistributions { std::vector<NextDistribution> all; };         // GetNextDists.
struct Drawn {
  std::uint32_t token = 0;
  float probability = 0;                          // Of the full softmax.
  bool is_forced = false;                         // It used no random number.
};
enum class DrawEnd : std::uint32_t {
  None = 0, StopToken = 1, GrammarComplete = 4, NoTokenAllowed = 5
};
struct Draws {                                    // DrawTokens, ContextDraw.
  boost::container::small_vector<Drawn, 1> all;
  DrawEnd end = DrawEnd::None;
  // `top_count` for each token drawn, one after the other.
  std::vector<std::uint32_t> top_tokens;
  std::vector<float> top_probabilities;
  // The further members are of ContextDraw alone.
  std::uint32_t random_count = 0;                 // Random numbers that were used.
  std::uint32_t draft_count = 0;                  // Drafts that were computed, if they are counted.
  ContextCounters counters{};
  bool is_full = false;  // The last token was queued, and does not fit: it cannot be computed.
};
struct CompiledGrammar {                          // CompileGrammar.
  std::shared_ptr<const inference::Grammar> grammar;
  std::uint64_t bytes = 0;                        // Of memory, without matchers.
};
struct TextChecked { bool fits = false; };                               // CheckText.
struct TokenMaskWords { std::vector<std::uint32_t> words; };             // GetTokenMask.
struct Accepted { bool is_complete = false; };                           // AcceptTokens.
struct TokenKinds { std::vector<std::uint8_t> all; };                    // GetTokenKinds.
struct Tokens { std::vector<std::uint32_t> ids; };
struct Text { std::string bytes; };
struct ContextState { ObjectId context{}; ContextCounters counters; };   // flush, forward, edits.
struct Forked { ObjectId child{}; ContextCounters counters; };           // fork, from_pages.
struct Opened { ObjectId context{}; ContextCounters counters; std::string note; };  // open, take.
// What new handles stand for: of ImportPages and ContextPages, in the order of their objects.
struct SharedPages {
  struct Page {
    std::uint32_t index = 0;                      // In the export; of a context: in its page table.
    std::uint32_t written = 0;                    // Bit for each slot that holds keys and values.
  };
  std::vector<Page> all;
};
struct ExportDescription {
  std::string name;
  std::uint32_t page_count = 0;
  std::uint32_t token_count = 0;                  // Slots written.
  bool is_public = false;
  bool is_own = false;                            // Of the asker's tenant.
};
struct Exports { std::vector<ExportDescription> all; };

struct SnapshotDescription {
  std::string name;
  std::uint64_t created_unix_ms = 0;
  std::uint64_t expires_unix_ms = 0;              // 0: never.
  std::uint64_t token_count = 0;
  std::uint64_t bytes = 0;                        // On disk, if nothing shared its pages.
};
struct Snapshots { std::vector<SnapshotDescription> all; std::uint64_t bytes = 0; };  // List.

struct TokenBytes { std::vector<std::string> all; };                     // GetVocabulary.

struct ValueVersion { std::uint64_t version = 0; };                      // PutValue.
struct StoredValue { std::uint64_t version = 0; std::string bytes; };
struct ListedKeys {
  struct Key { std::string name; std::uint64_t version = 0; std::uint32_t value_bytes = 0; };
  std::vector<Key> all;
  bool has_more = false;
};

using AnswerVariant =
    std::variant<Done, NextDistribution, NextDistributions, Values, Draws, CompiledGrammar,
                 TextChecked, TokenMaskWords, Accepted, TokenKinds, Tokens, Text, ContextState,
                 Forked, Opened, Snapshots, SharedPages, Exports, TokenBytes, ValueVersion,
                 StoredValue, ListedKeys>;
struct AnswerBody : AnswerVariant {               // As CommandBody.
  using AnswerVariant::AnswerVariant;
  AnswerBody();
  AnswerBody(const AnswerBody&);
  AnswerBody(AnswerBody&&) noexcept;
  AnswerBody& operator=(const AnswerBody&);
  AnswerBody& operator=(AnswerBody&&) noexcept;
  ~AnswerBody();
};

struct Answer {
  InstanceId instance{};
  FutureId future{};
  Result<AnswerBody> body;
};
// clang-format on

}  // namespace quire::control
