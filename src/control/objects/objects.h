#pragma once
// The objects of an instance, and the operations that wait to act on them.
//
// Order. Each object knows the last operation that was issued on it. A new operation waits for
// those of all its objects, across queues, until they are placed: so what touches one object takes
// effect in the order in which it was issued, and what touches nothing in common may overtake.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/slab.h"
#include "control/api/command.h"
#include "control/api/control_port.h"
#include "control/objects/page_ledger.h"
#include "control/pages/slot_view.h"
#include "control/store/records.h"
#include "control/tiers/page_tiers.h"
#include "inference/api/batch.h"
#include "inference/api/draw_masks.h"

namespace quire::control {

struct FairShare;
struct Instance;
struct Operation;
struct Replica;

enum class ObjectKind : std::uint8_t { Queue, Page, Embed, Context, Matcher };

struct QueueObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  Priority priority = Priority::Normal;
  Operation* first = nullptr;  // Unfinished operations in order of issue.
  Operation* last = nullptr;
  std::uint32_t context_count = 0;  // Contexts that still run in it.
  bool is_destroyed = false;
  void recycle() {
    replica = nullptr;
    first = last = nullptr;
    priority = Priority::Normal;
    context_count = 0;
    is_destroyed = false;
  }
};

// A page that the guest handles itself; or a page of an export, which nobody's instance handles.
//
// One that is shared is never written: it is sealed, or committed and then has a node. All others
// are Working pages with this one holder (I8).
struct PageObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  inference::PageId page = inference::kNoPage;  // kNoPage: the allocation failed or is to come.
  std::uint32_t written = 0;                    // Bit for each slot that holds keys and values.
  std::uint32_t view = 0xffffffffu;             // Bit for each slot that mask_kvpage left visible.
  std::uint64_t writer_batch = 0;               // Batch of the last forward pass that wrote here,
  std::uint32_t writer_pass = 0;                // and the pass.
  std::uint64_t reader_batch = 0;               // Batch of the last forward pass that read it.
  bool is_shared = false;
  NodeId node = kNoNode;   // Of a committed page, held as a page.
  NodeId above = kNoNode;  // Of a sealed page whose content has a name: the page before it, held
  std::vector<inference::TokenId> tokens;    // by name, and the tokens.
  std::vector<std::uint32_t> positions;      // [page_size], of written slots.
  std::uint32_t position_min = 0xffffffffu;  // A lower bound of the positions written.
  std::uint64_t stamp = 0;                   // Finds an object named twice in one command,
  std::uint32_t table_index = 0;             // and where it lies in the table of that command.
  Ref<Operation> last_operation;
  void recycle() {
    replica = nullptr;
    page = inference::kNoPage;
    written = 0;
    view = 0xffffffffu;
    writer_batch = reader_batch = 0;
    is_shared = false;
    node = above = kNoNode;
    tokens.clear();
    positions.clear();
    position_min = 0xffffffffu;
    last_operation = {};
  }
};

enum class EmbedState : std::uint8_t { Empty, Token, Output, Failed };

struct alignas(64) EmbedObject {
  std::uint32_t generation = 0;
  EmbedState state = EmbedState::Empty;
  Replica* replica = nullptr;
  inference::EmbedSlot slot = inference::kNoEmbedSlot;  // Output: where the device keeps it,
  std::uint32_t row = 0;                                // its row in the batch that makes it,
  std::uint32_t pass = 0;                               // that row's pass,
  std::uint32_t position = 0;  // Of the token; of an output: that of the token to follow.
  std::uint64_t batch = 0;     // and that batch.
  std::optional<Error> error;  // Failed: why.
  Ref<Operation> last_operation;
  std::uint64_t stamp = 0;
  inference::TokenId token{};  // Token.
  Instance* instance = nullptr;
  void recycle() {
    replica = nullptr;
    instance = nullptr;
    state = EmbedState::Empty;
    slot = inference::kNoEmbedSlot;
    batch = 0;
    error.reset();
    last_operation = {};
  }
};

// Where a program is in a grammar. What it holds is its thread's: see matcher_jobs.h.
struct MatcherMemory;
struct MatcherState;
struct MatcherObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  std::shared_ptr<MatcherState> state;
  // What must follow the tokens it has accepted, as far as the latest draw saw it.
  std::vector<inference::TokenId> forced_run;
  std::uint64_t stamp = 0;
  Ref<Operation> last_operation;
  void recycle() {
    replica = nullptr;
    state.reset();
    forced_run.clear();
    last_operation = {};
  }
};

// A committed page that a context holds alone, because it dropped one before it.
struct WindowPage {
  std::uint32_t index = 0;  // In the context, from 0.
  NodeId node = kNoNode;
};

// The bytes of a page of a tail, as they were written. Forks share them, and nobody changes bytes
// that are shared.
using TailBytes = std::shared_ptr<inference::PageBytes>;

// What a context has besides its tokens while its pages are on a tier: see context_swap.h.
struct SwappedContext {
  std::vector<WindowPage> pages;   // Committed ones that it held, root first,
  std::vector<PinId> pins;         // each pinned.
  std::uint32_t anchor_count = 0;  // Of these, from the first, held as a chain.
  std::uint32_t written_count = 0;
  std::uint32_t reserved_count = 0;
  std::vector<TailBytes> tail;  // Of its working pages; null: not come yet, or being loaded.
  std::optional<Error> error;   // Why one of these never will come.
};

inline constexpr inference::SequenceId kNoSequence{0xffffffffu};
inline constexpr std::uint32_t kNotAway = 0xffffffffu;

// A context: committed pages, then a working tail, then tokens not yet computed. Its behaviour is
// in context.h. What each step looks at lies together, as in an Operation.
struct alignas(64) Context {
  std::uint32_t generation = 0;
  bool is_in_flight = false;
  bool is_opening = false;         // Of a snapshot: its pages come one by one.
  bool is_suspended = false;       // Holds no page: see context_suspend.h.
  bool is_beyond_context = false;  // The model's context length does not bound it.
  bool gave_output = false;        // When it was last computed, the program got outputs.
  // The tail's first page has slots that were never written, or whose content has no name.
  bool has_unnamed_start = false;
  bool has_opaque_page = false;       // Among those committed, now or once.
  std::uint32_t committed_count = 0;  // Pages from the root to the head, dropped ones included.
  std::uint32_t written_count = 0;    // In the tail.
  std::uint32_t flight_count = 0;     // Being computed by a batch.
  std::uint32_t claim_count = 0;      // Pages of the tail, from the first, claimed in the trie.
  // Tokens that were written and whose pages went: the first of those in `tokens` that are neither
  // written nor in flight.
  std::uint32_t lost_count = 0;
  // Pages of the tail, from the first, that stay though empty. After a suspension the tail may lack
  // some of them until something needs them; while pages are lost, they count as pages of the tail.
  std::uint32_t reserved_count = 0;
  // tokens[token_first ..): written ones of the tail, those in flight, those queued.
  std::uint32_t token_first = 0;
  std::vector<inference::TokenId> tokens;
  std::vector<PageId> tail;  // Pages behind the head, the first partly written.
  // Where a rewind ended within a committed page: the tail's first page is that node's, held as a
  // page, until the first who writes copies it.
  NodeId boundary = kNoNode;
  NodeId head = kNoNode;  // The last committed page, or the root; held by name.
  // The device's copy of the table.
  inference::SequenceId sequence = kNoSequence;
  std::uint32_t table_clean_count = 0;      // Entries that the device has, except for
  std::vector<SlotRange> table_dirty;       // these, by index of entry.
  std::unique_ptr<SwappedContext> swapped;  // Suspended, and its bytes are on a tier.
  std::uint64_t overflow_count = 0;         // Appended beyond what is kept; only counted.
  std::uint64_t used_batch = 0;             // The last batch that computed it.
  std::uint64_t drawn_at_ns = 0;  // When its last token was drawn, if nothing was appended since.
  std::uint32_t drawn_queued_count = 0;  // Of the tokens queued, those that the host drew.
  std::uint64_t miss = 0;  // Why tokens are computed since the last one found; MissLog.
  SlotView view;           // Which slots were dropped, and when.
  // Up to the first page that was dropped whole, the chain is held at its end. Behind that, each
  // page that is left is held alone.
  NodeId anchor = kNoNode;  // Held as a chain; the head, where no page was dropped.
  std::uint32_t anchor_count = 0;
  std::vector<WindowPage> window;  // By rising index.
  Replica* replica = nullptr;
  Instance* instance = nullptr;
  QueueObject* queue = nullptr;
  std::uint32_t found_token_count = 0;
  // What a suspension took, for the quota: see away_pages.h.
  std::uint32_t away_index = kNotAway;  // In its ledger.
  NodeId away_head = kNoNode;           // The last full page of what it had, held by name,
  std::uint32_t away_head_count = 0;    // and the pages from the root to there.
  // Of a snapshot that it was taken from, until its program is known to have it.
  store::TicketId taken_ticket = store::kNoTicket;
  ContextHintKind hint = ContextHintKind::None;
  std::uint32_t hint_seconds = 0;
  std::uint32_t index = 0;  // Among its instance's contexts.
  Ref<Operation> last_operation;
  void recycle() {
    const std::uint32_t kept = generation;
    *this = Context();
    generation = kept;
  }
};

// Of one operation: mostly one, which then lies within the operation.
using EmbedList = boost::container::small_vector<EmbedObject*, 1>;

enum class OperationState : std::uint8_t {
  Waiting,  // For operations issued before on the same objects.
  Ready,    // To be placed in a batch.
  Placed,   // In a batch that is not complete; what was issued behind it may join.
  Running,  // In a batch that is not complete; what was issued behind it waits for the end.
};

// What an operation has besides, when it reads or draws more than one token's distribution, or
// under masks.
struct ReadProgress {
  std::vector<MatcherObject*> matchers;
  std::shared_ptr<inference::DrawMasks> masks;  // Of the matchers, once they are asked for.
  std::vector<inference::TokenId> drafts;       // Behind what is queued, in the batch with its end.
  std::vector<std::optional<Result<inference::Distribution>>> results;  // One for each request.
  std::uint32_t wanted_count = 0;                                       // Of these, not there yet.
  bool is_prepared = false;      // Drafts are chosen, masks asked for.
  bool is_late = false;          // Its masks were not ready when the device wanted them.
  bool waits_for_masks = false;  // It goes on when they are.
};

// A Command on its way: arguments with handles resolved. What each step looks at lies together, in
// the first four lines, the beginning of `body` among them, and in that of output_tokens; a batch
// of hundreds is bound by how many of them it must fetch.
struct alignas(64) Operation {
  std::uint32_t generation = 0;
  OperationState state = OperationState::Waiting;
  std::uint8_t type = 0;  // body.index(), which lies lines behind.
  bool is_started = false;
  bool is_checked = false;  // Its outputs were in range when it first started.
  Instance* instance = nullptr;
  Context* context = nullptr;
  QueueObject* queue = nullptr;
  Replica* replica = nullptr;
  std::uint64_t age = 0;       // Order of issue over all instances.
  std::optional<Error> error;  // Found wrong when it was submitted: fails when its turn comes.

  // Progress of flush and forward of a context, in tokens; of a forward, in rows.
  std::uint32_t total_count = 0;        // Queued when it started.
  std::uint32_t done_count = 0;         // Found or placed.
  std::uint32_t position_first = 0;     // Of the first token queued.
  std::uint32_t wanted_page_count = 0;  // Waits for so many pages.
  std::uint64_t ready_since_ns = 0;     // It waits for rows since then; 0: nobody looked yet.
  std::uint32_t wait_count = 0;         // Operations to be placed before this one.
  FutureId future = kNoFuture;
  EmbedList output_embeds;
  boost::container::small_vector<Ref<Operation>, 1> successors;
  struct Requery {
    inference::TokenId token;
    std::uint32_t position;
    std::uint32_t output;  // Index into output_embeds.
  };
  std::vector<Requery> requeries;  // Found tokens whose outputs are wanted.
  EmbedList input_embeds;
  CommandBody body;
  bool is_whole = false;                // A forward whose rows must be in one batch.
  bool has_waited = false;              // For pages that another was computing.
  std::uint32_t argument_bytes = 0;     // Of its command, counted by its instance.
  std::uint32_t prompt_left_count = 0;  // Of what was queued: prompt that was not found yet.
  Context* child = nullptr;             // Of a fork; the source of a splice.
  std::unique_ptr<ReadProgress> read;
  boost::container::small_vector<inference::TokenId, 2> output_tokens;  // Whose outputs are wanted.

  Operation* instance_next = nullptr;  // In its instance.
  Operation* instance_previous = nullptr;
  Operation* queue_next = nullptr;  // In its queue.
  Operation* queue_previous = nullptr;
  std::vector<PageObject*> input_pages;  // Null: a hole.
  std::vector<PageObject*> output_pages;
  std::uint64_t wait_since_ns = 0;  // For pages.

  // Its context was suspended: what it had done is lost.
  void begin_anew() {
    is_started = false;
    done_count = 0;
    requeries.clear();
    output_tokens.clear();
  }
  void recycle() {
    instance = nullptr;
    replica = nullptr;
    future = kNoFuture;
    body = CommandBody{};
    type = 0;
    state = OperationState::Waiting;
    is_started = is_checked = is_whole = false;
    error.reset();
    queue = nullptr;
    context = child = nullptr;
    input_pages.clear();
    output_pages.clear();
    input_embeds.clear();
    output_embeds.clear();
    total_count = done_count = 0;
    position_first = 0;
    output_tokens.clear();
    requeries.clear();
    ready_since_ns = 0;
    wait_since_ns = 0;
    wanted_page_count = 0;
    has_waited = false;
    read.reset();
    argument_bytes = 0;
    prompt_left_count = 0;
    wait_count = 0;
    successors.clear();
    queue_next = queue_previous = instance_next = instance_previous = nullptr;
  }
};

// What goes by name has no object: exports, imports and unexports of one instance take effect in
// the order in which they were issued.
struct NameOrder {
  Ref<Operation> last_operation;
};

struct ObjectEntry {
  ObjectKind kind = ObjectKind::Page;
  void* object = nullptr;  // QueueObject, PageObject, EmbedObject, Context or MatcherObject.
};

struct alignas(64) Instance {
  void add_context(ObjectId name, Context& context) {
    context.index = static_cast<std::uint32_t>(contexts.size());
    contexts.push_back(&context);
    objects[static_cast<std::uint32_t>(name)] = {ObjectKind::Context, &context};
  }
  void remove_context(ObjectId name, Context& context) {
    objects.erase(static_cast<std::uint32_t>(name));
    contexts[context.index] = contexts.back();
    contexts[context.index]->index = context.index;
    contexts.pop_back();
  }

  std::uint32_t generation = 0;
  InstanceId id{};
  TenantId tenant{};
  std::uint64_t order = 0;  // Of start: the smallest is the oldest.
  // How many misses each model had noted when it started.
  boost::container::small_vector<std::uint64_t, 1> misses_before;
  boost::container::small_vector<FairShare*, 1> shares;  // Its tenant's, of each model's device.
  std::vector<PageLedger> ledgers;                       // By model.
  TenantPages* tenant_pages = nullptr;                   // Of its tenant; the controller's.
  std::shared_ptr<MatcherMemory> matcher_memory;         // Null: it never had a matcher.
  std::uint32_t rowless_batch = 0;                       // That latest took a read or a copy,
  std::uint32_t rowless_count = 0;                       // and how many it took.
  InstanceLimits limits;
  InstanceStatistics statistics;
  FlatMap<ObjectEntry> objects;     // By ObjectId.
  FlatMap<Ref<Operation>> futures;  // By FutureId; of unfinished operations.
  Operation* first = nullptr;       // Unfinished operations in order of issue.
  Operation* last = nullptr;
  std::uint64_t argument_bytes = 0;  // Of the operations and jobs counted here.
  std::uint32_t operation_count = 0;
  std::uint32_t job_count = 0;  // Of text and of the store, not yet answered.
  std::uint32_t queue_count = 0;
  std::uint32_t context_count = 0;
  std::uint32_t embed_count = 0;
  std::uint32_t page_object_count = 0;  // Low-level handles, allocated or to come.
  std::vector<Context*> contexts;       // Of its objects, in any order.
  NameOrder exports;
  std::optional<Error> lost;  // Why it has nothing any more and gets nothing.
  void recycle() {
    const std::uint32_t kept = generation;
    *this = Instance();
    generation = kept;
  }
};

}  // namespace quire::control
