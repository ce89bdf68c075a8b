#pragma once
// Instance: what one running program owns, by handle, and what is counted of it.
//
// Thread   engine thread only.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/flat_map.h"
#include "base/result.h"
#include "control/api/control_port.h"
#include "control/contexts/page_ledger.h"
#include "control/objects/operation.h"

namespace quire::control {

struct FairShare;

enum class ObjectKind : std::uint8_t { Queue, Page, Embed, Context, Matcher };

// The order among operations on names, which have no object: exports, imports and unexports of one
// instance take effect in the order in which they were issued.
struct NameOrder {
  Ref<Operation> last_operation;
};

struct ObjectEntry {
  ObjectKind kind = ObjectKind::Page;
  void* object = nullptr;  // QueueObject, PageObject, EmbedObject, Context or MatcherObject.
};

// The requests of an instance that were not answered yet.
struct UnfinishedWork {
  Operation* first = nullptr;  // Operations in order of issue.
  Operation* last = nullptr;
  std::uint64_t argument_bytes = 0;  // Of the operations and jobs counted here.
  std::uint32_t operation_count = 0;
  std::uint32_t job_count = 0;  // Of text and of the store.

  std::uint32_t count() const { return operation_count + job_count; }
};

// Objects that its program may name.
struct HeldCounts {
  std::uint32_t queues = 0;
  std::uint32_t contexts = 0;
  std::uint32_t embeds = 0;
  std::uint32_t pages = 0;  // Low-level handles, allocated or to come.
};

// An instance's parts of a batch that have no row: reads and copies.
struct RowlessParts {
  std::uint32_t batch = 0;  // The latest that took one,
  std::uint32_t count = 0;  // and how many it took.
};

// An instance's part of one replica.
struct ReplicaShare {
  PageLedger ledger;
  FairShare* share = nullptr;       // Its tenant's.
  std::uint64_t misses_before = 0;  // That the replica had noted when the instance started.
};

struct alignas(64) Instance {
  void add_context(ObjectId name, Context& context) {
    context.set_index(static_cast<std::uint32_t>(contexts.size()));
    contexts.push_back(&context);
    objects[static_cast<std::uint32_t>(name)] = {ObjectKind::Context, &context};
  }
  void remove_context(ObjectId name, Context& context) {
    objects.erase(static_cast<std::uint32_t>(name));
    contexts[context.index()] = contexts.back();
    contexts[context.index()]->set_index(context.index());
    contexts.pop_back();
  }

  InstanceId id{};
  TenantId tenant{};
  std::uint64_t order = 0;                        // Of start: the smallest is the oldest.
  std::vector<ReplicaShare> of_replica;           // By index of the replica.
  TenantPages* tenant_pages = nullptr;            // Of its tenant; the controller's.
  std::shared_ptr<MatcherMemory> matcher_memory;  // Null: it never had a matcher.
  InstanceLimits limits;
  InstanceStatistics statistics;
  FlatMap<ObjectEntry> objects;     // By ObjectId.
  FlatMap<Ref<Operation>> futures;  // By FutureId; of unfinished operations.
  UnfinishedWork unfinished;
  HeldCounts held;
  RowlessParts rowless;
  std::vector<Context*> contexts;  // Of its objects, in any order.
  NameOrder exports;
  std::optional<Error> lost;  // Why it has nothing any more and gets nothing.
};

}  // namespace quire::control
