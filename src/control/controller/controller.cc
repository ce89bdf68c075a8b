#include "control/controller/controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "base/sha256.h"
#include "control/contexts/away_pages.h"
#include "control/objects/give_back.h"
#include "control/objects/instance_objects.h"

namespace quire::control {
namespace {

static_assert(StoreJobs::kOnDiskCountMax +
                      2 * (SnapshotOpens::kOnDiskCountMax + SnapshotSaves::kCountMax +
                           TierTransfers::kReadJobCountMax + TierTransfers::kWriteJobCountMax) <
                  store::kDiskJobCountMax,
              "also with two models, no kind of job takes the disk's last place");

ModelDescription describe(const ServedModel& served) {
  const inference::ModelInfo& info = served.backend->model();
  const inference::BackendCapabilities& device = served.backend->capabilities();
  ModelDescription description{.name = served.name.empty() ? info.name : served.name,
                               .architecture = info.architecture,
                               .page_size = device.page_size,
                               .page_count = device.page_count,
                               .vocabulary_size = info.vocabulary_size,
                               .context_length = info.context_length,
                               .embedding_width = info.embedding_width,
                               .bos_id = info.bos_id,
                               .eos_id = info.eos_id,
                               .stop_ids = {},
                               .traits = {"allocate", "forward", "input_text", "output_text"},
                               .add_bos = served.add_bos.value_or(info.add_bos),
                               .has_chat_template = served.has_chat_template};
  for (const inference::TokenId id : info.stop_ids) {
    description.stop_ids.push_back(static_cast<std::uint32_t>(id));
  }
  if (served.codec != nullptr) description.traits.push_back("tokenize");
  if (served.grammars != nullptr) description.traits.push_back("constraint");
  if (served.adapters != nullptr && served.backend->capabilities().adapters) {
    description.traits.push_back("adapter");
  }
  if (device.state_count > 0) description.traits.push_back("states");
  return description;
}

// The key of the trie's hash: secret, so that no guest can aim its tokens at one chain.
std::uint64_t hash_key_of(const ControllerOptions& options) {
  constexpr std::string_view kDomain = "quire trie key";
  Sha256 hash;
  hash.add(std::as_bytes(std::span(kDomain.data(), kDomain.size())));
  hash.add(std::as_bytes(std::span(options.sharing_secret)));
  const Digest digest = hash.finish();
  std::uint64_t key = 0;
  for (std::size_t index = 0; index < sizeof(key); ++index) key = key << 8 | digest[index];
  return key;
}

PageCacheOptions cache_options(const inference::Backend& backend,
                               const ControllerOptions& options) {
  const inference::BackendCapabilities& device = backend.capabilities();
  PageCacheOptions cache;
  cache.page_count = device.page_count;
  cache.space.model = backend.model().digest;
  cache.space.numerics_id = device.numerics_id;
  cache.space.kv_format = device.kv_format;
  cache.space.page_size = device.page_size;
  cache.is_shared = options.shares_prefixes && device.kv_mode == inference::KvMode::Paged;
  cache.hash_key = hash_key_of(options);
  cache.hash_bits = options.hash_bits;
  cache.nonce = options.nonce;
  cache.eviction = options.eviction;
  cache.explains_misses = options.miss_count_max > 0;
  return cache;
}

void add_tiers(const Replica& replica, const TierTransfers& transfers, TierStatistics& sum) {
  const PageTiers& tiers = replica.resources.tiers;
  sum.host_page_count += tiers.host_page_count();
  sum.disk_page_count += tiers.disk_page_count();
  sum.kept_page_count += tiers.counts().kept_count;
  sum.restored_page_count += tiers.counts().restored_count;
  sum.lost_page_count += transfers.lost_count();
  sum.damaged_page_count += tiers.counts().damaged_count;
  sum.swap_count += replica.counts.swap_count;
}

ReplicaOptions replica_options(const ControllerOptions& options, const ServedModel& model,
                               std::size_t index, std::size_t count) {
  ReplicaOptions replica;
  replica.index = ModelIndex{static_cast<std::uint32_t>(index)};
  replica.disk = options.disk;
  replica.tiers.host_bytes_max = options.tiers.host_bytes_max / count;
  replica.tiers.disk_page_count_max =
      options.tiers.disk_page_count_max / static_cast<std::uint32_t>(count);
  replica.tiers.staged_bytes_max = options.tiers.staged_bytes_max / count;
  replica.miss_count_max = options.miss_count_max;
  replica.miss_scope = options.miss_scope;
  replica.adapters = model.adapters;
  return replica;
}

SchedulerOptions scheduler_options(const ControllerOptions& options) {
  SchedulerOptions scheduling;
  scheduling.dispatch = options.dispatch;
  scheduling.prefill_row_budget = options.prefill_row_budget;
  scheduling.aging_ns = options.aging_ns;
  scheduling.batch.rowless_count_max = options.rowless_count_max;
  scheduling.batch.answer_bytes_max = options.answer_bytes_max;
  scheduling.steps.room.page_wait_ns_max = options.page_wait_ns_max;
  scheduling.steps.room.when_full = options.when_full;
  scheduling.steps.costs = options.costs;
  return scheduling;
}

}  // namespace

Controller::Controller(std::vector<ServedModel> models, const ControllerOptions& options,
                       CompletionInbox& inbox, AnswerSink& answers, Wakeup& wakeup,
                       const Clock& clock)
    : options_(options),
      inbox_(inbox),
      dispatcher_(answers, options.walk),
      table_(dispatcher_, clock, wakeup, options.walk),
      models_(std::move(models)),
      matcher_jobs_(inbox, options.helpers.matchers),
      jobs_(inbox, options.helpers, dispatcher_),
      store_jobs_(options.disk, dispatcher_),
      issuer_{table_,        replicas_, schedulers_, models_,
              descriptions_, jobs_,     store_jobs_, options_.sharing_secret} {
  QUIRE_CHECK(models_.size() <= CompletionInbox::kBatchCountMax,
              "more models than the inbox has slots");
  table_.set_runner(*this);
  for (std::size_t index = 0; index < models_.size(); ++index) {
    inference::Backend& backend = *models_[index].backend;
    descriptions_.push_back(describe(models_[index]));
    replicas_.push_back(
        std::make_unique<Replica>(backend, cache_options(backend, options),
                                  replica_options(options, models_[index], index, models_.size())));
    schedulers_.push_back(std::make_unique<Scheduler>(*replicas_.back(), table_, matcher_jobs_,
                                                      scheduler_options(options)));
  }
}

Controller::~Controller() = default;

std::unique_ptr<Controller> make_controller(std::vector<ServedModel> models,
                                            const ControllerOptions& options,
                                            CompletionInbox& inbox, AnswerSink& answers,
                                            Wakeup& wakeup, const Clock& clock) {
  return std::make_unique<Controller>(std::move(models), options, inbox, answers, wakeup, clock);
}

Instance* Controller::find_instance(InstanceId id) const {
  const auto found = by_id_.find(static_cast<std::uint64_t>(id));
  return found == by_id_.end() ? nullptr : found->second;
}

void Controller::set_tenant(TenantId tenant, const TenantOptions& options) {
  QUIRE_CHECK(options.weight > 0, "a tenant without a share");
  Tenant& named = tenants_[static_cast<std::uint32_t>(tenant)];
  named.pages.options = options;
  named.is_named = true;
  if (options_.snapshots != nullptr && options.snapshot_bytes_max) {
    options_.snapshots->set_share(tenant_name(tenant), *options.snapshot_bytes_max);
  }
  for (const auto& replica : replicas_) {
    replica->shares.set_weight(tenant, options.weight);
    ModelResources& resources = replica->resources;
    resources.cache.set_weight(tenant, options.weight);
    if (resources.states) resources.states->set_weight(tenant, options.weight);
  }
}

void Controller::set_several_tenants(bool are_several) {
  if (options_.snapshots != nullptr) options_.snapshots->set_several(are_several);
}

void Controller::start_instance(InstanceId id, TenantId tenant, const InstanceLimits& limits) {
  QUIRE_CHECK(find_instance(id) == nullptr, "an instance starts once");
  auto made = std::make_unique<Instance>();
  made->id = id;
  made->tenant = tenant;
  made->order = ++next_order_;
  made->limits = limits;
  made->tenant_pages = &tenants_[static_cast<std::uint32_t>(tenant)].pages;
  made->tenant_pages->instance_count += 1;
  made->of_replica.resize(replicas_.size());
  for (const auto& replica : replicas_) {
    ReplicaShare& of = made->of_replica[replica->place];
    of.ledger.count_in(*made->tenant_pages);
    of.share = &replica->shares.join(tenant, made->tenant_pages->options.weight);
    of.misses_before = replica->misses.noted_count();
  }
  by_id_.emplace(static_cast<std::uint64_t>(id), made.get());
  table_.instances.emplace(made->order, std::move(made));
}

void Controller::set_limits(InstanceId id, const InstanceLimits& limits) {
  if (Instance* instance = find_instance(id)) instance->limits = limits;
}

void Controller::end_instance(InstanceId id) {
  Instance* instance = find_instance(id);
  if (instance == nullptr) return;
  jobs_.forget_all(id);
  store_jobs_.forget_all(id);
  drop_objects(*instance);
  for (const auto& replica : replicas_) replica->shares.leave(replica->share(*instance));
  const auto tenant = tenants_.find(static_cast<std::uint32_t>(instance->tenant));
  QUIRE_CHECK(tenant != tenants_.end(), "a tenant stays while it has instances");
  tenant->second.pages.instance_count -= 1;
  for (ReplicaShare& of : instance->of_replica) of.ledger.leave_tenant();
  by_id_.erase(static_cast<std::uint64_t>(id));
  table_.instances.erase(instance->order);
  if (tenant->second.pages.instance_count == 0 && !tenant->second.is_named) tenants_.erase(tenant);
  drain();
}

void Controller::drop_objects(Instance& instance) {
  const InstanceObjects all = objects_of(instance);
  const bool keeps_page =
      is_planted(Fault::PageKeptBehindEnd) && instance.unfinished.first != nullptr;
  while (Operation* operation = instance.unfinished.first) {
    if (operation->replica != nullptr) schedulers_[operation->replica->place]->abandon(*operation);
    table_.discard(*operation);
  }
  for (PageObject* page : all.pages) {
    if (keeps_page && page == all.pages.front()) continue;
    give_back(instance, *page);
    table_.pages.destroy(page);
  }
  for (EmbedObject* embed : all.embeds) {
    give_back(*embed);
    table_.embeds.destroy(embed);
  }
  // A queue whose name is gone lives as long as contexts run in it.
  std::set<QueueObject*> queues(all.queues.begin(), all.queues.end());
  for (Context* context : all.contexts) {
    queues.insert(context->queue());
    give_back(*context, table_.clock.now_ns());
    table_.contexts.destroy(context);
  }
  for (QueueObject* queue : queues) table_.queues.destroy(queue);
  for (MatcherObject* matcher : all.matchers) {
    matcher_jobs_.release(instance.tenant, std::move(matcher->state));
    table_.matchers.destroy(matcher);
  }
}

void Controller::lose(Instance& instance, Error error) {
  for (const Operation* each = instance.unfinished.first; each != nullptr;
       each = each->instance_next) {
    dispatcher_.answer(instance.id, each->future, error.copy());
  }
  drop_objects(instance);
  instance.objects = {};
  instance.contexts.clear();
  instance.held = {};
  dispatcher_.lost(instance.id, error);
  instance.lost = std::move(error);
  ++lost_instance_count_;
  drain();
}

void Controller::run(Operation& operation) {
  schedulers_[operation.replica->place]->run(operation);
}

void Controller::submit(Command command) {
  Instance* instance = find_instance(command.instance);
  if (instance == nullptr) return;  // It ended, and waits no more.
  report(options_.walk, WalkStop::Controller);
  const FutureId future = command.future;
  // A lost instance has no operation any more. What it asked of the disk and of the helper goes on,
  // and it may still drop the answer.
  if (instance->lost && !std::holds_alternative<DropFuture>(command.body)) {
    dispatcher_.answer(instance->id, future, instance->lost->copy());
    return;
  }
  // Refuse only commands that have a future, because only their sender gets the error. A command
  // without one has passed the sender's own limit (GuestState::check_pending). Its count is lower
  // than ours: it leaves out commands that give something back and dropped futures.
  const std::uint32_t pending = instance->unfinished.count();
  if (pending >= instance->limits.pending_command_count_max && future != kNoFuture &&
      !needs_any(command.body, needs::GivesBack)) {
    dispatcher_.answer(instance->id, future,
                       beyond("pending_command_count_max", 1, pending,
                              instance->limits.pending_command_count_max));
    return;
  }
  if (Result<void> issued = issue(issuer_, *instance, command); !issued.ok()) {
    dispatcher_.answer(instance->id, future, std::move(issued).take_error());
  }
  drain();
}

bool Controller::poll() {
  bool has_any = false;
  while (std::optional<inference::Completion> completion = inbox_.take_completion()) {
    has_any = true;
    const auto owner = std::find_if(schedulers_.begin(), schedulers_.end(), [&](const auto& each) {
      return each->has_batch(completion->id);
    });
    QUIRE_CHECK(owner != schedulers_.end(), "a completion of no batch under way");
    (*owner)->complete(std::move(*completion));
  }
  while (std::optional<TextOutcome> outcome = inbox_.take_text()) {
    has_any = true;
    jobs_.finish(std::move(*outcome));
  }
  while (std::optional<std::uint64_t> job = inbox_.take_matcher_job()) {
    has_any = true;
    matcher_jobs_.finish(*job);
    drain();
  }
  while (std::optional<store::DiskAnswer> answer = inbox_.take_disk()) {
    has_any = true;
    const std::uint64_t model = StoreLink::model_of(answer->id);
    if (model < schedulers_.size()) {
      schedulers_[model]->deliver(std::move(*answer));
      continue;
    }
    store_jobs_.finish(std::move(*answer));
  }
  return has_any;
}

bool Controller::is_device_busy() const {
  return std::any_of(schedulers_.begin(), schedulers_.end(),
                     [](const auto& each) { return each->is_in_flight(); });
}

// The models share one device: a batch at a time, and the model whose turn it is first.
bool Controller::dispatch() {
  if (is_device_busy()) return false;
  for (std::size_t tried = 0; tried < schedulers_.size(); ++tried) {
    Scheduler& scheduler = *schedulers_[turn_];
    turn_ = (turn_ + 1) % schedulers_.size();
    const bool is_submitted = scheduler.dispatch();
    if (std::optional<Loser> loser = scheduler.take_loser()) {
      lose(*find_instance(loser->instance), std::move(loser->error));
    }
    if (is_submitted) return true;
  }
  return false;
}

std::optional<std::uint64_t> Controller::next_dispatch_in_ns() const {
  if (is_device_busy()) return std::nullopt;
  std::optional<std::uint64_t> first;
  for (const auto& scheduler : schedulers_) {
    const std::optional<std::uint64_t> due = scheduler->next_dispatch_ns();
    if (due && (!first || *due < *first)) first = due;
  }
  if (!first) return std::nullopt;
  const std::uint64_t now_ns = table_.clock.now_ns();
  return *first > now_ns ? *first - now_ns : 0;
}

bool Controller::idle() const {
  return table_.operations.live_count() == 0 && jobs_.idle() && store_jobs_.idle() &&
         matcher_jobs_.idle() &&
         std::none_of(schedulers_.begin(), schedulers_.end(), [](const auto& each) {
           return each->is_in_flight() || each->waits_for_disk();
         });
}

namespace {

void add_states(const Replica& replica, StateStatistics& sum) {
  const StateCache* states = replica.resources.states.get();
  if (states == nullptr) return;
  sum.slot_count += states->slot_count();
  sum.kept_count += states->kept_count();
  sum.used_count += states->counts().used_count;
  sum.evicted_count += states->counts().evicted_count;
  sum.saved_count += states->counts().saved_count;
  sum.loaded_count += states->counts().loaded_count;
  sum.replayed_token_count += replica.counts.replayed_token_count;
}

}  // namespace

ControlStatistics Controller::statistics() const {
  ControlStatistics sum;
  sum.shortage.lost_instance_count = lost_instance_count_;
  sum.store.refused_count = store_jobs_.refused_count();
  if (options_.snapshots != nullptr) {
    const store::SnapshotFigures disk = options_.snapshots->figures();
    sum.store.snapshot_bytes = disk.bytes;
    sum.store.snapshot_bytes_max = disk.bytes_max;
    sum.store.disk_free_bytes = disk.free_bytes;
    sum.store.disk_reserve_bytes = disk.reserve_bytes;
  }
  for (const auto& replica : replicas_) {
    const ReplicaCounts& counts = replica->counts;
    const PageCache& cache = replica->resources.cache;
    sum.batch_count += counts.batch_count;
    sum.row_count += counts.row_count;
    sum.pass_count += counts.pass_count;
    sum.found_token_count += counts.found_token_count;
    sum.prompt_token_count += counts.prompt_token_count;
    sum.found_prompt_token_count += counts.found_prompt_token_count;
    sum.generated_token_count += counts.generated_token_count;
    sum.device_ns += counts.device_ns;
    sum.suspension_count += counts.suspension_count;
    sum.shortage.search_count += counts.shortage.search_count;
    sum.lost_token_count += counts.lost_token_count;
    sum.draws.late_mask_count += counts.draws.late_mask_count;
    sum.draws.draft_count += counts.draws.draft_count;
    sum.draws.accepted_draft_count += counts.draws.accepted_draft_count;
    sum.scheduler_ns += counts.build_ns;
    sum.committed_page_count += cache.committed_count();
    sum.page_count += cache.page_count();
    sum.page_count_free += cache.pool().free_count() + cache.pool().cold_count();
    sum.page_count_cold += cache.pool().cold_count();
    sum.store.refused_count += replica->store.refused_count();
    sum.page_count_held_max += cache.pool().held_count_max();
    add_states(*replica, sum.states);
  }
  return sum;
}

ControlHistograms Controller::histograms() const {
  ControlHistograms sum;
  for (const auto& replica : replicas_) {
    const ControlHistograms& each = replica->histograms;
    sum.step_ns += each.step_ns;
    sum.batch_rows += each.batch_rows;
    sum.inter_token_ns += each.inter_token_ns;
  }
  return sum;
}

TierStatistics Controller::tier_statistics() const {
  TierStatistics sum;
  for (std::size_t index = 0; index < replicas_.size(); ++index) {
    add_tiers(*replicas_[index], schedulers_[index]->tiers(), sum);
  }
  if (schedulers_.empty()) return sum;
  const CostFigures& figures = schedulers_.front()->tiers().costs().figures();
  sum.compute_ns_per_token = figures.compute_ns_per_token;
  sum.load_ns_per_page = figures.load_ns_per_page;
  sum.read_ns = figures.read_ns;
  sum.read_ns_per_page = figures.read_ns_per_page;
  return sum;
}

InstanceStatistics Controller::statistics(InstanceId id) const {
  Instance* instance = find_instance(id);
  if (instance == nullptr) return {};
  InstanceStatistics statistics = instance->statistics;
  statistics.tenant_page_count = instance->tenant_pages->page_count;
  if (instance->matcher_memory != nullptr) {
    statistics.matcher_bytes = instance->matcher_memory->bytes;
  }
  const ExportTable::Figures exported = table_.exports.figures(instance->tenant);
  statistics.tenant_export_count = exported.export_count;
  statistics.tenant_export_page_count = exported.page_count;
  for (std::size_t model = 0; model < replicas_.size(); ++model) {
    PageLedger& ledger = instance->of_replica[model].ledger;
    statistics.page_count_max += ledger.page_count_max();
    statistics.page_count += ledger.page_count();
    if (ledger.away().empty()) continue;
    const PageCharge charge = charge_of(ledger, replicas_[model]->resources, 0);
    statistics.page_count_away += charge.page_count - ledger.page_count();
  }
  return statistics;
}

std::optional<std::vector<InstanceMiss>> Controller::misses(InstanceId id) const {
  const bool is_told = options_.miss_count_max > 0 && options_.miss_scope == MissScope::OwnDomain;
  if (!is_told) return std::nullopt;
  std::vector<InstanceMiss> all;
  const Instance* instance = find_instance(id);
  if (instance == nullptr) return all;
  for (std::size_t model = 0; model < replicas_.size(); ++model) {
    const auto note = [&](const MissRecord& record) {
      if (record.instance != id || record.token_count == 0) return;
      if (all.size() == kInstanceMissCountMax) all.erase(all.begin());
      all.push_back({.reason = record.why.reason,
                     .field = record.why.field,
                     .position = record.position,
                     .token_count = record.token_count,
                     .slot = record.why.slot,
                     .here = record.why.here,
                     .there = record.why.there,
                     .gone_ns = record.why.gone_ns});
    };
    replicas_[model]->misses.for_each(note, instance->of_replica[model].misses_before);
  }
  return all;
}

PendingCommands Controller::pending(InstanceId id) const {
  const Instance* instance = find_instance(id);
  if (instance == nullptr) return {};
  return {.count = instance->unfinished.count(), .bytes = instance->unfinished.argument_bytes};
}

const PageCache& Controller::pages(ModelIndex model) const {
  return replicas_[static_cast<std::size_t>(model)]->resources.cache;
}

const PageTiers& Controller::page_tiers(ModelIndex model) const {
  return replicas_[static_cast<std::size_t>(model)]->resources.tiers;
}

const MissLog& Controller::miss_log(ModelIndex model) const {
  return replicas_[static_cast<std::size_t>(model)]->misses;
}

}  // namespace quire::control
