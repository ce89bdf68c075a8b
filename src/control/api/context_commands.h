#pragma once
// Commands on contexts, what is drawn from them, and snapshots. Values only; see command.h.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/api/page_commands.h"
#include "control/api/types.h"

namespace quire {
struct DrawRule;  // quire/draw_rule.h
}

namespace quire::control {

// clang-format off: a table, a line each where one is enough.
// How tokens are drawn: interface/draw.wit. `rule` and `more` are shared, since they are the same
// for many commands.
struct DrawExtras {
  std::vector<ObjectId> matchers;
  TokenMask mask;
  std::uint32_t top_count = 0;
  bool forces_tokens = true;
  // The stop tokens are of ContextDraw alone: tokens are drawn until one of these, and so many at
  // most (0: any number).
  std::vector<std::uint32_t> stop_tokens;
};
struct DrawSpec {
  std::shared_ptr<const DrawRule> rule{};         // Checked.
  std::shared_ptr<const DrawExtras> more{};       // Null: none of it.
};
struct Drafts {
  std::vector<std::uint32_t> tokens;
  std::vector<double> randoms;                    // As many.
  bool are_counted = false;                       // The answer states how many were computed.
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
// The program's hint for the context's pages once they are no longer held; the latest hint counts.
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
  std::string note = {};                      // Kept with it, at most kNoteBytesMax; empty: none.
};
// A new context with the saved content. `takes`: no other open can take the snapshot. It is deleted
// with ContextKeep, and stays if the context ends without.
struct ContextOpen { ObjectId context{}; ObjectId queue{}; std::string name; bool takes = false; };
struct ContextKeep { ObjectId context{}; };       // The program has what it took.
struct SnapshotDelete { std::string name; };
struct SnapshotList {};
// Pages [first, first + pages) of those that hold tokens of the context become `pages`, new
// objects.
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
// Tokens that are appended from now on are computed under `set`; null: under none.
struct ContextUseAdapters { ObjectId context{}; ChosenAdaptersRef set{}; };
// The program will come back to the end of the tokens that the context has, those queued included.
struct ContextMark { ObjectId context{}; };
struct ContextDrop { ObjectId context{}; };
// clang-format on

}  // namespace quire::control
