#pragma once
// Operation: a Command on its way, with its handles resolved.
//
// Order. Each object knows the last operation that was issued on it. A new operation waits until
// those of all its objects are placed, across queues. Operations on one object therefore take
// effect in the order of issue, and operations without a common object may overtake.
//
// Thread   engine thread only.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/kept_list.h"
#include "base/result.h"
#include "base/slab.h"
#include "control/api/command.h"
#include "control/contexts/context.h"
#include "control/objects/embed_object.h"
#include "control/objects/matcher_object.h"
#include "control/objects/page_object.h"
#include "control/objects/queue_object.h"
#include "inference/api/draw_masks.h"

namespace quire::control {

struct Instance;
struct Replica;

// The embeds of one operation: mostly one, which then lies within the operation.
using EmbedList = boost::container::small_vector<EmbedObject*, 1>;

enum class OperationState : std::uint8_t {
  Waiting,  // For operations issued before on the same objects.
  Ready,    // To be placed in a batch.
  Placed,   // In a batch that is not complete; operations issued after it may join.
  Running,  // In a batch that is not complete; operations issued after it wait for the end.
};

// The further state of an operation that reads or draws more than one token's distribution, or
// under masks.
struct ReadProgress {
  std::vector<MatcherObject*> matchers;
  std::shared_ptr<inference::DrawMasks> masks;  // Of the matchers, once they are asked for.
  // After the queued tokens, in the batch with their end.
  std::vector<inference::TokenId> drafts;
  std::vector<std::optional<Result<inference::Distribution>>> results;  // One for each request.
  std::uint32_t wanted_count = 0;                                       // Of these, not there yet.
  bool is_prepared = false;      // Drafts are chosen, masks asked for.
  bool is_late = false;          // Its masks were not ready when the device wanted them.
  bool waits_for_masks = false;  // It goes on when they are.
};

inline constexpr std::uint64_t kNotSeen = 0;
inline constexpr std::uint64_t kNotOrdered = ~std::uint64_t{0};

// The place of an operation in the order of a batch depends on this.
struct WaitingState {
  std::uint64_t since_ns = kNotSeen;  // It is ready and has got no rows since then.
  // FairShare::overtaking_row_count when BatchOrder first saw it.
  std::uint64_t overtaken_from = kNotOrdered;
  std::uint32_t computed_row_count = 0;  // Rows that it got before.
};

// Operation is a Command on its way: arguments with handles resolved. The fields that every
// step reads lie together in the first four lines, with the beginning of `body`, and in that of
// output_tokens. The speed of a batch of hundreds depends on how many lines it must fetch. Before
// and after `body`, the fields come by how long they keep their value.
struct alignas(64) Operation {
  struct Requery {
    inference::TokenId token;
    std::uint32_t position;
    std::uint32_t output;  // Index into output_embeds.
  };
  template <typename T, std::size_t kWithinCount>
  using ShortList = KeptList<boost::container::small_vector<T, kWithinCount>>;

  // Each step reads these five, which take one word.
  std::uint32_t generation = 0;
  OperationState state = OperationState::Waiting;
  std::uint8_t type = 0;  // The same as body.index(), which lies lines further.
  bool is_started = false;
  bool is_checked = false;  // Its outputs were in range when it first started.

  // Set when it is issued.
  Instance* instance = nullptr;
  Context* context = nullptr;
  QueueObject* queue = nullptr;
  Replica* replica = nullptr;
  std::uint64_t age = 0;       // Order of issue over all instances.
  std::optional<Error> error;  // Found wrong when it was submitted: fails when its turn comes.
  KeptList<EmbedList> output_embeds;
  KeptList<EmbedList> input_embeds;
  FutureId future = kNoFuture;

  // The operation's place among those on its objects, until it is placed in a batch.
  std::uint32_t wait_count = 0;  // Operations to be placed before this one.
  ShortList<Ref<Operation>, 1> successors;

  // Progress of flush and forward of a context, in tokens; of a forward, in rows. begin_anew()
  // resets it in part.
  std::uint32_t total_count = 0;        // Queued when it started.
  std::uint32_t done_count = 0;         // Found or placed.
  std::uint32_t position_first = 0;     // Of the first token queued.
  std::uint32_t wanted_page_count = 0;  // Waits for so many pages.
  WaitingState waiting;
  KeptList<std::vector<Requery>> requeries;  // Found tokens whose outputs are wanted.

  CommandBody body;

  // Progress.
  // What was found of the tokens that were queued.
  struct Finding {
    bool has_waited = false;              // For pages that another was computing.
    std::uint32_t prompt_left_count = 0;  // Prompt that was not found yet.
    std::uint32_t replayed_count = 0;  // To be computed again for their states, as far as is known.
  } finding;
  std::uint64_t wait_since_ns = 0;  // For pages.
  std::unique_ptr<ReadProgress> read;
  ShortList<inference::TokenId, 2> output_tokens;  // Whose outputs are wanted.

  // Set when it is issued, or saved.
  bool is_whole = false;                           // A forward whose rows must be in one batch.
  std::uint32_t argument_bytes = 0;                // Of its command, counted by its instance.
  Context* child = nullptr;                        // Of a fork or a save; the source of a splice.
  KeptList<std::vector<PageObject*>> input_pages;  // Null: a hole.
  KeptList<std::vector<PageObject*>> output_pages;

  // The operation's place among the unfinished ones of its instance and its queue, until it ends.
  Operation* instance_next = nullptr;
  Operation* instance_previous = nullptr;
  Operation* queue_next = nullptr;
  Operation* queue_previous = nullptr;

  // Starts anew, because its context was suspended and its work is lost.
  void begin_anew() {
    is_started = false;
    done_count = 0;
    requeries.clear();
    output_tokens.clear();
  }
  // Makes it as new, but for the generation. Its lists keep their memory.
  void recycle() {
    const std::uint32_t kept = generation;
    *this = Operation();
    generation = kept;
  }
};

}  // namespace quire::control
