#pragma once
// Controller is the control layer behind its front door: stop 5 of the walk.
//
// It resolves the handles of each Command once, answers at once what needs no device, and gives the
// rest to the Scheduler of the model that it is for.
//
// Owns     instances, their objects and operations; a Scheduler with the pages of each model.
// Thread   engine thread only; see CompletionInbox for what comes from others.
// Errors   every error is the answer to a command's future. Nothing that a guest sends stops the
//          process.
//
// dispatch() must be called at least once a second while idle() is false and it returns false: an
// operation that waits for a page gives up after ControllerOptions::page_wait_ns_max, in the first
// turn after a tenth of that in which nothing went on: while others go on, what they give back is
// waited for.
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/wakeup.h"
#include "base/walk.h"
#include "control/api/control_port.h"
#include "control/api/tier_statistics.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/store_jobs.h"
#include "control/controller/text_jobs.h"
#include "control/scheduler/scheduler.h"
#include "control/steps/matcher_jobs.h"
#include "inference/api/backend.h"
#include "inference/api/grammar.h"
#include "inference/api/text_codec.h"

namespace quire::control {

// The models run on one device, in turns.
struct ServedModel {
  std::string name{};  // By which programs open it; empty: as the backend has it.
  inference::Backend* backend = nullptr;
  const inference::TextCodec* codec = nullptr;  // Null: the model has no tokenizer.
  bool has_chat_template = false;
  inference::GrammarCompiler* grammars = nullptr;  // Null: the model takes none.
  std::optional<bool> add_bos{};  // As the tokenizer's files say; empty: as the backend has it.
};

struct ControllerOptions {
  DispatchPolicy dispatch{};
  std::uint32_t prefill_row_budget = 0;    // Of a batch that also decodes; 0: measured.
  std::uint64_t aging_ns = 1'000'000'000;  // As of BatchOrder.
  std::uint64_t page_wait_ns_max = 10'000'000'000;
  std::uint32_t rowless_count_max = 32;        // As of the scheduler.
  std::uint64_t answer_bytes_max = 64u << 20;  // Likewise.
  EvictionPolicyKind eviction = EvictionPolicyKind::Default;
  WhenFull when_full = WhenFull::Suspend;
  // Misses of look-ups that each model remembers with their reasons; 0: none, and nothing is spent
  // on them (docs/paged_kv.md). A program may ask for its own if the scope is its own domain.
  std::uint32_t miss_count_max = 0;
  MissScope miss_scope = MissScope::Everything;
  bool shares_prefixes = true;  // False: nothing is looked up; for comparisons.
  Digest sharing_secret{};      // Keys the sharing domain of each tenant, and the trie.
  Digest nonce{};               // New with each start, so that no opaque name comes again.
  store::Disk* disk = nullptr;  // Null: snapshots are not-supported.
  // Where pages go that the device has no room for; each model has an equal part.
  std::uint64_t host_tier_bytes = 0;       // 0: no pages in host memory.
  std::uint32_t disk_tier_page_count = 0;  // Of the disk's cached pages; 0: none there.
  std::uint64_t staged_tier_bytes =
      PageTierOptions{}.staged_bytes_max;  // On the way to and from it.
  TierChoice tier_choice = TierChoice::Measured;
  double copy_ns_per_byte = 0.2;       // What CostModel takes memory to cost at first.
  std::uint32_t hash_bits = 64;        // Fewer only in tests.
  HelperExecutor* helper = nullptr;    // Null: text jobs run on the engine's thread.
  HelperExecutor* grammars = nullptr;  // The same of what compiles grammars.
  HelperExecutor* matchers = nullptr;  // Null: what matchers do runs there too.
  WalkSink* walk = nullptr;
};

class Controller final : public ControlPort {
 public:
  Controller(std::vector<ServedModel> models, const ControllerOptions& options,
             CompletionInbox& inbox, AnswerSink& answers, Wakeup& wakeup, const Clock& clock);
  ~Controller() override;

  const std::vector<ModelDescription>& models() const override { return descriptions_; }
  void set_tenant(TenantId tenant, const TenantOptions& options) override;
  void start_instance(InstanceId instance, TenantId tenant, const InstanceLimits& limits) override;
  void set_limits(InstanceId instance, const InstanceLimits& limits) override;
  void end_instance(InstanceId instance) override;
  void submit(Command command) override;
  bool poll() override;
  bool dispatch() override;
  std::optional<std::uint64_t> next_dispatch_in_ns() const override;
  bool idle() const override;
  ControlStatistics statistics() const override;
  ControlHistograms histograms() const override;
  InstanceStatistics statistics(InstanceId instance) const override;
  std::optional<std::vector<InstanceMiss>> misses(InstanceId instance) const override;
  PendingCommands pending(InstanceId instance) const override;
  TierStatistics tier_statistics() const;

  // Walks everything and stops the process on the first broken invariant; for tests.
  void verify() const;
  // For tests: the state of a model's pages.
  const PageCache& pages(ModelIndex model) const;
  const PageTiers& page_tiers(ModelIndex model) const;
  // For the operator alone: reasons can tell what other tenants hold.
  const MissLog& miss_log(ModelIndex model) const;

 private:
  // issue.cc, and issue_pages.cc for pages by hand: one for each command.
  Result<void> issue(Instance& instance, Command& command, const CreateQueue& body);
  Result<void> issue(Instance& instance, Command& command, const DestroyQueue& body);
  Result<void> issue(Instance& instance, Command& command, const SetQueuePriority& body);
  Result<void> issue(Instance& instance, Command& command, const Synchronize& body);
  Result<void> issue(Instance& instance, Command& command, const AllocPages& body);
  Result<void> issue(Instance& instance, Command& command, const DeallocPages& body);
  Result<void> issue(Instance& instance, Command& command, const AllocEmbeds& body);
  Result<void> issue(Instance& instance, Command& command, const DeallocEmbeds& body);
  Result<void> issue(Instance& instance, Command& command, const EmbedText& body);
  Result<void> issue(Instance& instance, Command& command, const Forward& body);
  Result<void> issue(Instance& instance, Command& command, const MaskPage& body);
  Result<void> issue(Instance& instance, Command& command, const CopyPage& body);
  Result<void> issue(Instance& instance, Command& command, const ExportPages& body);
  Result<void> issue(Instance& instance, Command& command, const ImportPages& body);
  Result<void> issue(Instance& instance, Command& command, const UnexportPages& body);
  Result<void> issue(Instance& instance, Command& command, const ListExports& body);
  Result<void> issue(Instance& instance, Command& command, const ContextPages& body);
  Result<void> issue(Instance& instance, Command& command, const ContextFromPages& body);
  Result<void> issue(Instance& instance, Command& command, const GetNextDist& body);
  Result<void> issue(Instance& instance, Command& command, const GetLogits& body);
  Result<void> issue(Instance& instance, Command& command, const GetLogprobs& body);
  Result<void> issue(Instance& instance, Command& command, const GetEntropy& body);
  Result<void> issue(Instance& instance, Command& command, const GetEmbedding& body);
  Result<void> issue(Instance& instance, Command& command, const GetNextDists& body);
  Result<void> issue(Instance& instance, Command& command, const GetLogprobsOf& body);
  Result<void> issue(Instance& instance, Command& command, const DrawTokens& body);
  Result<void> issue(Instance& instance, Command& command, const ContextCreate& body);
  Result<void> issue(Instance& instance, Command& command, const ContextAppend& body);
  Result<void> issue(Instance& instance, Command& command, const ContextFlush& body);
  Result<void> issue(Instance& instance, Command& command, const ContextForward& body);
  Result<void> issue(Instance& instance, Command& command, const ContextDraw& body);
  Result<void> issue(Instance& instance, Command& command, const ContextFork& body);
  Result<void> issue(Instance& instance, Command& command, const ContextEdit& body);
  Result<void> issue(Instance& instance, Command& command, const ContextDropRange& body);
  Result<void> issue(Instance& instance, Command& command, const ContextSplice& body);
  Result<void> issue(Instance& instance, Command& command, const ContextHint& body);
  Result<void> issue(Instance& instance, Command& command, const ContextBeyond& body);
  Result<void> issue(Instance& instance, Command& command, const ContextSave& body);
  Result<void> issue(Instance& instance, Command& command, const ContextOpen& body);
  Result<void> issue(Instance& instance, Command& command, const ContextKeep& body);
  Result<void> issue(Instance& instance, Command& command, const SnapshotDelete& body);
  Result<void> issue(Instance& instance, Command& command, const SnapshotList& body);
  Result<void> issue(Instance& instance, Command& command, const ContextDrop& body);
  Result<void> issue(Instance& instance, Command& command, const Tokenize& body);
  Result<void> issue(Instance& instance, Command& command, const Detokenize& body);
  Result<void> issue(Instance& instance, Command& command, const ApplyChatTemplate& body);
  Result<void> issue(Instance& instance, Command& command, const GetVocabulary& body);
  Result<void> issue(Instance& instance, Command& command, const GetTokenKinds& body);
  Result<void> issue(Instance& instance, Command& command, const CompileGrammar& body);
  Result<void> issue(Instance& instance, Command& command, const CheckText& body);
  // issue_draws.cc: matchers.
  Result<void> issue(Instance& instance, Command& command, const CreateMatcher& body);
  Result<void> issue(Instance& instance, Command& command, const ForkMatcher& body);
  Result<void> issue(Instance& instance, Command& command, const AcceptTokens& body);
  Result<void> issue(Instance& instance, Command& command, const RollBackMatcher& body);
  Result<void> issue(Instance& instance, Command& command, const GetTokenMask& body);
  Result<void> issue(Instance& instance, Command& command, const GetForcedTokens& body);
  Result<void> issue(Instance& instance, Command& command, const DropMatcher& body);
  Result<void> issue(Instance& instance, Command& command, const PutValue& body);
  Result<void> issue(Instance& instance, Command& command, const GetValue& body);
  Result<void> issue(Instance& instance, Command& command, const DeleteValue& body);
  Result<void> issue(Instance& instance, Command& command, const ListKeys& body);
  Result<void> issue(Instance& instance, Command& command, const DropFuture& body);

  template <typename T>
  Result<T*> find(Instance& instance, ObjectId id, ObjectKind kind);
  // `List` is a vector of pointers to objects of that kind.
  template <typename List>
  Result<void> collect(Instance& instance, std::span<const ObjectId> ids, ObjectKind kind,
                       const Scheduler* model, bool once, List& objects);
  Result<void> check_new(Instance& instance, const std::vector<ObjectId>& ids);
  Result<void> check_new_pages(Instance& instance, const std::vector<ObjectId>& ids);
  // New pages of those ids, which the operation is to bring.
  void make_pages(Operation& operation, const std::vector<ObjectId>& ids);
  // A command on exports, in no queue.
  Result<void> issue_by_name(Instance& instance, Command& command);
  Result<void> start_text_job(Instance& instance, Command& command, ModelIndex model);
  // An empty context of that id.
  Result<Context*> make_context(Instance& instance, ObjectId id, QueueObject& queue);
  // A command on one context and nothing else.
  Operation* issue_on_context(Instance& instance, Command& command, Context& context);
  Result<void> issue_alone(Instance& instance, Command& command, Context& context);
  Result<void> issue_output(Instance& instance, Command& command, ObjectId queue, ObjectId embed);
  // A list that is read at once.
  Result<Operation*> make_reads(Instance& instance, Command& command, ObjectId queue,
                                std::span<const ObjectId> embeds);
  Result<void> use_matchers(Instance& instance, Operation& operation,
                            const std::vector<ObjectId>& matchers);
  Result<void> issue_on_matcher(Instance& instance, Command& command, ObjectId matcher);
  Result<MatcherObject*> make_matcher(Instance& instance, ObjectId id, Scheduler& model,
                                      std::shared_ptr<const inference::Grammar> grammar);
  void drain();
  bool is_device_busy() const;
  Instance* find_instance(InstanceId id) const;
  // What the instance has but no name points to any more.
  void drop_objects(Instance& instance);
  void verify_weights(const Scheduler& scheduler) const;
  // All it has goes to others, now.
  void lose(Instance& instance, Error error);

  const ControllerOptions options_;
  CompletionInbox& inbox_;
  Dispatcher dispatcher_;
  OperationTable table_;
  std::vector<ServedModel> models_;
  std::vector<ModelDescription> descriptions_;
  MatcherJobs matcher_jobs_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;  // By model.
  TextJobs jobs_;
  StoreJobs store_jobs_;
  std::unordered_map<std::uint64_t, Instance*> by_id_;
  struct Tenant {
    TenantPages pages;
    bool is_named = false;  // By the operator: stays when its last instance has ended.
  };
  std::unordered_map<std::uint32_t, Tenant> tenants_;  // References stay valid.
  std::size_t turn_ = 0;                               // Index of who may dispatch first.
  std::uint64_t next_order_ = 0;
  std::uint64_t lost_instance_count_ = 0;
};

std::unique_ptr<Controller> make_controller(std::vector<ServedModel> models,
                                            const ControllerOptions& options,
                                            CompletionInbox& inbox, AnswerSink& answers,
                                            Wakeup& wakeup, const Clock& clock);

}  // namespace quire::control
