// The full audit: holds of pages and ledgers, recounted from every object (I1, I2, I4; S3).
#include <map>
#include <set>
#include <vector>

#include "base/check.h"
#include "control/contexts/away_pages.h"
#include "control/controller/controller.h"
#include "control/objects/instance_objects.h"

namespace quire::control {
namespace {

// O5: the contexts that it lists are those among its objects.
void audit_contexts(const Instance& instance) {
  std::size_t count = 0;
  instance.objects.for_each([&](std::uint32_t, const ObjectEntry& entry) {
    if (entry.kind != ObjectKind::Context) return;
    auto* context = static_cast<Context*>(entry.object);
    QUIRE_CHECK(instance.contexts.at(context->index()) == context, "O5");
    ++count;
  });
  QUIRE_CHECK(instance.contexts.size() == count, "O5");
}

// The hold of a handle or of an export, and what a shared page may be.
void audit_page(const PageObject& page, const PageCache& cache, std::vector<std::uint32_t>& holds,
                std::map<NodeId, std::uint32_t>& name_holds) {
  const PageState state = cache.pool().state(page.page);
  const PageState wanted = page.node != kNoNode ? PageState::Committed
                           : page.is_shared     ? PageState::Sealed
                                                : PageState::Working;
  QUIRE_CHECK(state == wanted, "I8");
  QUIRE_CHECK(page.is_shared || cache.pool().hold_count(page.page) == 1, "I8");
  QUIRE_CHECK(page.node == kNoNode || (page.is_shared && cache.page_of(page.node) == page.page),
              "I8");
  ++holds[static_cast<std::uint32_t>(page.page)];
  if (page.above != kNoNode) ++name_holds[page.above];
}

// Adds the holds of one instance in one model to the holds of each page.
void audit_instance(const Instance& instance, const Replica& replica,
                    std::vector<std::uint32_t>& holds, std::map<NodeId, std::uint32_t>& name_holds,
                    std::map<const FairShare*, std::uint32_t>& output_counts) {
  const ModelResources& resources = replica.resources;
  const PageCache& cache = resources.cache;
  const PageLedger& ledger = replica.ledger(instance);
  std::set<PageId> held;
  std::size_t away_count = 0;
  audit_contexts(instance);
  const InstanceObjects objects = objects_of(instance);
  for (const PageObject* page : objects.pages) {
    if (page->replica != &replica || page->page == inference::kNoPage) continue;
    audit_page(*page, cache, holds, name_holds);
    held.insert(page->page);
  }
  std::uint32_t output_count = 0;
  for (const EmbedObject* embed : objects.embeds) {
    QUIRE_CHECK(embed->instance == &instance, "S4");
    output_count += embed->replica == &replica && embed->state == EmbedState::Output;
  }
  QUIRE_CHECK(ledger.output_count() == output_count, "S4");
  output_counts[&replica.share(instance)] += output_count;
  for (const Context* context : objects.contexts) {
    if (context->replica() != &replica || context->chain().head() == kNoNode) continue;
    context->verify();
    away_count += context->away().index != kNotAway;
    if (context->away().head != kNoNode) ++name_holds[context->away().head];
    for (const PageId page : context->working().pages()) {
      ++holds[static_cast<std::uint32_t>(page)];
      held.insert(page);
    }
    for (const WindowPage& page : context->chain().window()) {
      ++holds[static_cast<std::uint32_t>(cache.page_of(page.node))];
      held.insert(cache.page_of(page.node));
    }
    ++name_holds[context->chain().head()];
    if (context->is_suspended()) continue;
    if (!cache.is_root(context->chain().anchor())) {
      ++holds[static_cast<std::uint32_t>(cache.page_of(context->chain().anchor()))];
    }
    for (NodeId node = context->chain().anchor(); !cache.is_root(node); node = cache.parent(node)) {
      held.insert(cache.page_of(node));
    }
  }
  QUIRE_CHECK(ledger.away().size() == away_count, "A1");
  QUIRE_CHECK(ledger.page_count() == held.size(), "S3: a ledger differs from what is held");
  for (const PageId page : held) QUIRE_CHECK(ledger.holds(page), "S3: a ledger lacks a page");
}

// The slots for states: held by passes and transfers under way alone; each kept state's page is
// there.
void audit_states(const ModelResources& resources, const std::vector<const Context*>& contexts,
                  const std::vector<StateSlot>& in_transfer) {
  const StateCache& states = *resources.states;
  states.verify();
  states.for_each_kept([&](NodeId node) {
    QUIRE_CHECK(resources.cache.is_resident(node), "R1: a state is kept after a page that is gone");
  });
  std::vector<std::uint32_t> holds(states.slot_count(), 0);
  for (const Context* context : contexts) {
    for (const StateSlot slot : context->parts().states()->held()) {
      ++holds[static_cast<std::uint32_t>(slot)];
    }
  }
  for (const StateSlot slot : in_transfer) ++holds[static_cast<std::uint32_t>(slot)];
  for (std::uint32_t index = 0; index < states.slot_count(); ++index) {
    QUIRE_CHECK(states.slots().hold_count(PageId{index}) == holds[index],
                "N1: the holds of a slot differ from a recount");
  }
}

// The contexts of the replica's model that have a content.
std::vector<const Context*> contexts_of(const Replica& replica, const OperationTable& table) {
  std::vector<const Context*> all;
  for (const auto& [order, instance] : table.instances) {
    for (const Context* context : objects_of(*instance).contexts) {
      if (context->replica() != &replica || context->chain().head() == kNoNode) continue;
      all.push_back(context);
    }
  }
  return all;
}

}  // namespace

void Controller::verify_weights(const Replica& replica) const {
  const ColdPages& cold_pages = replica.resources.cache.cold_pages();
  for (const auto& [id, tenant] : tenants_) {
    QUIRE_CHECK(cold_pages.weight_of(TenantId{id}) == tenant.pages.options.weight, "S6");
  }
  for (const auto& [order, instance] : table_.instances) {
    QUIRE_CHECK(replica.share(*instance).weight == instance->tenant_pages->options.weight, "S6");
  }
}

void Controller::verify() const {
  table_.verify();
  jobs_.verify();
  store_jobs_.verify();
  std::map<const TenantPages*, TenantPages> tenants;
  for (const auto& [order, instance] : table_.instances) {
    const PendingCommands texts = jobs_.count_of(instance->id);
    const PendingCommands values = store_jobs_.count_of(instance->id);
    std::uint64_t bytes = texts.bytes + values.bytes;
    for (const Operation* each = instance->unfinished.first; each != nullptr;
         each = each->instance_next) {
      bytes += each->argument_bytes;
    }
    QUIRE_CHECK(instance->unfinished.job_count == texts.count + values.count, "J3");
    QUIRE_CHECK(instance->unfinished.argument_bytes == bytes, "J3, O3");
    TenantPages& sum = tenants[instance->tenant_pages];
    sum.instance_count += 1;
    std::uint64_t page_count = 0;
    for (const ReplicaShare& of : instance->of_replica) page_count += of.ledger.page_count();
    QUIRE_CHECK(page_count <= instance->limits.page_count_max, "S5");
    sum.page_count += page_count;
  }
  for (const auto& [id, tenant] : tenants_) {
    const TenantPages& sum = tenants[&tenant.pages];
    QUIRE_CHECK(tenant.pages.page_count == sum.page_count &&
                    tenant.pages.instance_count == sum.instance_count,
                "S3: what a tenant holds differs from a recount");
  }
  for (const auto& scheduler : schedulers_) scheduler->verify();
  for (const auto& replica : replicas_) {
    verify_weights(*replica);
    verify_replica(*replica);
  }
}

// Holds of its pages and names, and its embed slots, equal a recount.
void Controller::verify_replica(const Replica& replica) const {
  const PageCache& cache = replica.resources.cache;
  std::vector<std::uint32_t> holds(cache.page_count(), 0);
  std::map<NodeId, std::uint32_t> name_holds;
  std::map<const FairShare*, std::uint32_t> output_counts;
  for (const auto& [order, instance] : table_.instances) {
    audit_instance(*instance, replica, holds, name_holds, output_counts);
  }
  std::uint32_t embed_slot_count = 0;
  for (const auto& [share, count] : output_counts) {
    QUIRE_CHECK(share->output_count == count, "S4");
    embed_slot_count += count;
  }
  table_.exports.for_each([&](const PageExport& each) {
    if (each.replica != &replica) return;
    for (const PageObject* page : each.pages) audit_page(*page, cache, holds, name_holds);
  });
  for (const PageId page : schedulers_[replica.place]->scratch_pages())
    ++holds[static_cast<std::uint32_t>(page)];
  replica.resources.tiers.for_each([&](NodeId node) { ++name_holds[node]; });
  cache.trie().for_each([&](NodeId node) {
    QUIRE_CHECK(cache.trie().name_hold_count(node) == name_holds[node],
                "I2: the holds of a name differ from a recount");
    if (cache.is_root(node) || cache.trie().chain_hold_count(node) == 0) return;
    const NodeId parent = cache.parent(node);
    if (!cache.is_root(parent)) ++holds[static_cast<std::uint32_t>(cache.page_of(parent))];
  });
  for (std::uint32_t index = 0; index < cache.page_count(); ++index) {
    QUIRE_CHECK(cache.pool().hold_count(PageId{index}) == holds[index],
                "I2: the holds of a page differ from a recount");
  }
  if (replica.resources.states) {
    audit_states(replica.resources, contexts_of(replica, table_),
                 schedulers_[replica.place]->states_in_transfer());
  }
  QUIRE_CHECK(replica.resources.embed_slots.taken_count() == embed_slot_count,
              "S3: embed slots differ from a recount");
}

}  // namespace quire::control
