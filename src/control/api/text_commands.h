#pragma once
// Commands on texts, grammars, matchers and values. Values only; see command.h.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/api/types.h"

namespace quire::inference {
class Grammar;  // inference/api/grammar.h
enum class GrammarKind : std::uint8_t;
}  // namespace quire::inference

namespace quire::control {

// clang-format off: a table, a line each where one is enough.
struct Tokenize {
  ModelIndex model{};
  std::string text;
  bool parse_special = true;
  bool add_bos = false;
};
struct Detokenize {
  ModelIndex model{};
  std::vector<std::uint32_t> tokens;
  bool keep_special = true;
};
struct ApplyChatTemplate { ModelIndex model{}; std::string request; bool tokens = false; };

// Tokens [first, first + count) of the model's vocabulary.
struct GetVocabulary { ModelIndex model{}; std::uint32_t first = 0; std::uint32_t count = 0; };

// Gets the kind of each of those tokens.
struct GetTokenKinds { ModelIndex model{}; std::uint32_t first = 0; std::uint32_t count = 0; };

struct CompileGrammar { ModelIndex model{}; inference::GrammarKind kind{}; std::string source; };
// Whether the text is one of the grammar's as a whole.
struct CheckText {
  ModelIndex model{};
  std::shared_ptr<const inference::Grammar> grammar;
  std::string text;
};
// Matchers: interface/constraint.wit. What acts on one takes effect in the order of issue, draws
// too.
struct CreateMatcher {
  ObjectId matcher{};
  ModelIndex model{};
  std::shared_ptr<const inference::Grammar> grammar;
};
struct ForkMatcher { ObjectId matcher{}; ObjectId child{}; };
struct AcceptTokens { ObjectId matcher{}; std::vector<std::uint32_t> tokens; };
struct RollBackMatcher { ObjectId matcher{}; std::uint32_t count = 0; };
struct GetTokenMask { ObjectId matcher{}; };
struct GetForcedTokens { ObjectId matcher{}; std::uint32_t count_max = 0; };
struct DropMatcher { ObjectId matcher{}; };

// Values of the tenant by key: interface/store.wit. `expected`: -1 any version or none, 0 none.
struct PutValue { std::string key; std::string value; std::int64_t expected = -1; };
struct GetValue { std::string key; };
struct DeleteValue { std::string key; std::int64_t expected = -1; };
struct ListKeys { std::string prefix; std::string after; std::uint32_t count = 0; };
// clang-format on

}  // namespace quire::control
