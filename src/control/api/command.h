#pragma once
// Command: what a guest wants. Answer: what the guest gets. Two of the four nouns; values only.
//
// Arguments were checked by the host call (sizes of lists, token ids below the vocabulary, handles
// of the right kind, numbers finite); the controller resolves ObjectIds and answers NotFound for
// one that no longer exists. Commands of one queue take effect in the order they were submitted.
// A command with a future is answered exactly once, unless its instance ends first.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "control/api/types.h"

namespace quire {
struct DrawRule;  // quire/draw_rule.h
}
namespace quire::inference {
class Grammar;  // inference/api/grammar.h
enum class GrammarKind : std::uint8_t;
}  // namespace quire::inference

namespace quire::control {

// clang-format off: a table of commands, a line each where one is enough.
struct CreateQueue {
  ObjectId queue{};
  ModelIndex model{};
  Priority priority = Priority::Normal;
};
struct DestroyQueue { ObjectId queue{}; };        // Takes effect behind the queue's commands.
struct SetQueuePriority { ObjectId queue{}; Priority priority = Priority::Normal; };
struct Synchronize { ObjectId queue{}; };

struct AllocPages { ObjectId queue{}; std::vector<ObjectId> pages; };
struct DeallocPages { ObjectId queue{}; std::vector<ObjectId> pages; };
struct AllocEmbeds { ObjectId queue{}; std::vector<ObjectId> embeds; };
struct DeallocEmbeds { ObjectId queue{}; std::vector<ObjectId> embeds; };

struct EmbedText {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  std::vector<std::uint32_t> tokens;              // As many as embeds.
  std::vector<std::uint32_t> positions;           // As many as embeds.
};

// interface/forward.wit says what a forward pass means.
struct Forward {
  ObjectId queue{};
  std::vector<ObjectId> input_pages;              // kNoObject is a hole.
  std::vector<ObjectId> input_embeds;
  std::vector<ObjectId> output_pages;
  std::vector<ObjectId> output_embeds;            // At most as many as input_embeds.
  std::vector<std::uint8_t> mask;                 // Empty, or [input_embeds][page_size * (both lists)].
  bool beyond_context = false;
};

struct MaskPage {
  ObjectId queue{};
  ObjectId page{};
  std::vector<std::uint8_t> visible;              // [page_size], 0 or 1.
};

// The four below are of interface/allocate.wit: `copy_kvpage` and what goes by name.
struct CopyPage {
  ObjectId queue{};
  ObjectId from{};
  ObjectId to{};
  std::uint32_t from_slot = 0;
  std::uint32_t to_slot = 0;
  std::uint32_t slot_count = 0;
};
struct ExportPages {
  ObjectId queue{};
  std::vector<ObjectId> pages;
  std::string name;                               // See base/guest_name.h.
  bool is_public = false;                         // Needs InstanceLimits::may_export_publicly.
};
// The first of the export's pages become `pages`, which are new objects.
struct ImportPages { ObjectId queue{}; std::string name; std::vector<ObjectId> pages; };
struct UnexportPages { std::string name; };
struct ListExports {};

// Bit i % 32 of word i / 32: token i may come. Null: every token.
using TokenMask = std::shared_ptr<const std::vector<std::uint32_t>>;

struct GetNextDist {
  ObjectId queue{};
  ObjectId embed{};
  std::uint32_t top_k = 256;
  float temperature = 1.0f;                       // Divides logits before the softmax.
};
// Other forms of the same: interface/output.wit.
struct GetLogits { ObjectId queue{}; ObjectId embed{}; };
struct GetLogprobs { ObjectId queue{}; ObjectId embed{}; std::vector<std::uint32_t> tokens; };
// One read for a list. Of the first, probabilities are over the tokens of the mask alone.
struct GetNextDists {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  TokenMask mask;
  std::uint32_t top_k = 256;
};
struct GetLogprobsOf {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  std::vector<std::uint32_t> tokens;              // tokens[i] at embeds[i].
};
struct GetEntropy { ObjectId queue{}; ObjectId embed{}; };
struct GetEmbedding { ObjectId queue{}; ObjectId embed{}; };

// How tokens are drawn: interface/draw.wit. `rule` and `more` are shared, since they are the same for
// many commands.
struct DrawExtras {
  std::vector<ObjectId> matchers;
  TokenMask mask;
  std::uint32_t top_count = 0;
  bool forces_tokens = true;
  // Of ContextDraw alone: tokens are drawn until one of these, and so many at most (0: any number).
  std::vector<std::uint32_t> stop_tokens;
};
struct DrawSpec {
  std::shared_ptr<const DrawRule> rule{};         // Checked.
  std::shared_ptr<const DrawExtras> more{};       // Null: none of it.
};
struct Drafts {
  std::vector<std::uint32_t> tokens;
  std::vector<double> randoms;                    // As many.
};
struct DrawTokens {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  DrawSpec draw{};
  std::vector<double> randoms;                    // One for each embed, in [0, 1).
};
// Computes what is queued, and drafts after it, and draws a token at each place in the same step.
struct ContextDraw {
  ObjectId context{};
  bool queues_token = false;                      // In the context, before what is issued after it.
  DrawSpec draw{};
  std::uint32_t count_max = 0;                    // Tokens to be drawn; 0: any number.
  double random = 0.0;                            // Of the first token that is not forced,
  std::shared_ptr<const Drafts> drafts{};         // and of those after it. Null: none.
};

struct ContextCreate { ObjectId context{}; ObjectId queue{}; };
struct ContextAppend { ObjectId context{}; std::vector<std::uint32_t> tokens; };
struct ContextFlush { ObjectId context{}; };
struct ContextForward { ObjectId context{}; std::vector<ObjectId> output_embeds; };
struct ContextFork { ObjectId context{}; ObjectId child{}; };
// Truncate: the last `count` tokens of queue and tail go. Rewind: the context ends at `count`
// tokens. The others are the published operations on working pages.
enum class ContextEditKind : std::uint8_t {
  Truncate, Rewind, ReservePages, CommitPages, ReleasePages, TruncatePageTokens
};
struct ContextEdit {
  ObjectId context{};
  ContextEditKind kind = ContextEditKind::Truncate;
  std::uint32_t count = 0;
};
// Slots [begin, end) are not seen by tokens to come.
struct ContextDropRange { ObjectId context{}; std::uint32_t begin = 0; std::uint32_t end = 0; };
// Queues the tokens of slots [begin, end) of `source`, another context of the same model.
struct ContextSplice {
  ObjectId context{};
  ObjectId source{};
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
// What the program says about the context's pages once nobody holds them; the last word counts.
enum class ContextHintKind : std::uint8_t { None, WillResume, Done, Keep, SharedPrefix };
struct ContextHint {
  ObjectId context{};
  ContextHintKind kind = ContextHintKind::None;
  std::uint32_t seconds = 0;                      // Of Keep.
};
// The context as it is when its turn comes, kept under `name`; AlreadyExists unless it overwrites.
struct ContextSave {
  ObjectId context{};
  std::string name;                               // See control/store/snapshot_name.h.
  bool overwrites = false;
  std::uint64_t expires_unix_ms = 0;              // 0: never.
  std::string note = {};                          // Kept with it, at most kNoteBytesMax; empty: none.
};
// A new context with what was saved. `takes`: nobody else can take the snapshot, which is deleted with
// ContextKeep, and stays where the context ends without.
struct ContextOpen { ObjectId context{}; ObjectId queue{}; std::string name; bool takes = false; };
struct ContextKeep { ObjectId context{}; };       // The program has what it took.
struct SnapshotDelete { std::string name; };
struct SnapshotList {};
// Pages [first, first + pages) of those that hold tokens of the context become `pages`, new objects.
struct ContextPages {
  ObjectId context{};
  std::uint32_t first = 0;
  std::vector<ObjectId> pages;
};
// A new context with what the pages hold, which is `tokens`.
struct ContextFromPages {
  ObjectId context{};
  ObjectId queue{};
  std::vector<ObjectId> pages;
  std::vector<std::uint32_t> tokens;
};
// Whether tokens may be further from their oldest visible key than the model's context length.
struct ContextBeyond { ObjectId context{}; bool is_allowed = false; };
struct ContextDrop { ObjectId context{}; };

struct Tokenize { ModelIndex model{}; std::string text; bool parse_special = true; bool add_bos = false; };
struct Detokenize { ModelIndex model{}; std::vector<std::uint32_t> tokens; bool keep_special = true; };
struct ApplyChatTemplate { ModelIndex model{}; std::string request; bool tokens = false; };

// Tokens [first, first + count) of the model's vocabulary.
struct GetVocabulary { ModelIndex model{}; std::uint32_t first = 0; std::uint32_t count = 0; };

// What each of those tokens is.
struct GetTokenKinds { ModelIndex model{}; std::uint32_t first = 0; std::uint32_t count = 0; };

struct CompileGrammar { ModelIndex model{}; inference::GrammarKind kind{}; std::string source; };
// Whether the text is one of the grammar's as a whole.
struct CheckText {
  ModelIndex model{};
  std::shared_ptr<const inference::Grammar> grammar;
  std::string text;
};
// Matchers: interface/constraint.wit. What acts on one takes effect in the order of issue, draws too.
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

// Nobody will take the answer. Work not yet placed in a batch is taken back where it leaves no
// trace; anything else finishes unseen.
struct DropFuture { FutureId dropped{}; };

template <typename, typename... Commands>
struct VariantOf { using type = std::variant<Commands...>; };
using CommandVariant = VariantOf<void
#define QUIRE_COMMAND(name, steps, wanted) , name
#include "control/api/command_kinds.inc"
                                 >::type;

// Copied, moved and destroyed in command.cc: what the compiler makes of sixty alternatives for these
// takes it two seconds in each file that includes this one otherwise.
struct CommandBody : CommandVariant {
  using CommandVariant::CommandVariant;
  CommandBody();
  CommandBody(const CommandBody&);
  CommandBody(CommandBody&&) noexcept;
  CommandBody& operator=(const CommandBody&);
  CommandBody& operator=(CommandBody&&) noexcept;
  ~CommandBody();
};

struct Command {
  InstanceId instance{};
  FutureId future = kNoFuture;                    // kNoFuture: nobody waits.
  CommandBody body;
  std::uint32_t argument_bytes = 0;               // As the sender counts them: ControlPort::pending().
};

struct Done {};
struct NextDistribution {
  std::vector<std::uint32_t> tokens;              // Falling probability, ties by rising id.
  std::vector<float> probabilities;               // Of the full softmax, not renormalised.
};
// GetLogits [vocabulary_size], GetLogprobs [tokens], GetEntropy [1], GetEmbedding [embedding_width].
struct Values { std::vector<float> all; };
struct NextDistributions { std::vector<NextDistribution> all; };         // GetNextDists.
struct Drawn {
  std::uint32_t token = 0;
  float probability = 0;                          // Of the full softmax.
  bool is_forced = false;                         // It used no random number.
};
enum class DrawEnd : std::uint32_t { None = 0, StopToken = 1, GrammarComplete = 4, NoTokenAllowed = 5 };
struct Draws {                                    // DrawTokens, ContextDraw.
  boost::container::small_vector<Drawn, 1> all;
  DrawEnd end = DrawEnd::None;
  // `top_count` for each token drawn, one after the other.
  std::vector<std::uint32_t> top_tokens;
  std::vector<float> top_probabilities;
  // Of ContextDraw alone.
  std::uint32_t random_count = 0;                 // Random numbers that were used.
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

using AnswerVariant = std::variant<Done, NextDistribution, NextDistributions, Values, Draws, CompiledGrammar, TextChecked, TokenMaskWords, Accepted, TokenKinds, Tokens, Text, ContextState, Forked, Opened,
                                   Snapshots, SharedPages, Exports, TokenBytes, ValueVersion, StoredValue,
                                   ListedKeys>;
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
