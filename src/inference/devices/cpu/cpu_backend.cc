#include "inference/devices/cpu/cpu_backend.h"

#include <atomic>
#include <cmath>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/start_thread.h"
#include "inference/devices/cpu/batch_plan.h"
#include "inference/devices/cpu/memory_plan.h"
#include "inference/devices/cpu/pack.h"
#include "inference/devices/shared/batch_check.h"
#include "inference/devices/shared/output_forms.h"
#include "inference/devices/shared/page_transfer.h"
#include "inference/models/body.h"
#include "inference/weights/adapter_base.h"

namespace quire::inference {
namespace {

// The revision of the body: changes whenever its order of operations does.
constexpr const char* kBodyRevision = "body-1";
constexpr const char* kExpertsRevision = "/experts-1";  // That of experts, for models with some.
constexpr const char* kRecurrentRevision = "/recurrent-1";  // That of layers with states, likewise.
constexpr std::uint32_t kThreadsMax = 256;
constexpr std::uint32_t kRowCountMax = 65536;

Result<void> check_options(const DeviceOptions& options) {
  const auto refuse = [](const char* name, std::uint64_t value, std::uint64_t max) {
    return Error(ErrorCode::InvalidArgument, std::string(name) + " " + std::to_string(value) +
                                                 " is not in 1.." + std::to_string(max));
  };
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return refuse("threads", options.threads, kThreadsMax);
  }
  if (options.row_count_max < 1 || options.row_count_max > kRowCountMax) {
    return refuse("row_count_max", options.row_count_max, kRowCountMax);
  }
  if (options.inflight_max < 1 || options.inflight_max > 64) {
    return refuse("inflight_max", options.inflight_max, 64);
  }
  return {};
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const KernelTable& kernels, std::unique_ptr<PackedWeights> weights,
             std::unique_ptr<Body> body, DeviceStores stores, BackendCapabilities capabilities,
             const DeviceOptions& options, std::unique_ptr<WorkerPool> pool, CompletionSink& sink)
      : kernels_(kernels),
        weights_(std::move(weights)),
        body_(std::move(body)),
        stores_(std::move(stores)),
        capabilities_(std::move(capabilities)),
        model_(model_info(weights_->spec, weights_->digest)),
        options_(options),
        pool_(std::move(pool)),
        sink_(sink),
        adapter_base_(adapter_base(weights_->spec)),
        plan_(model_.embedding_width, sliding_windows(weights_->spec),
              {.page_size = options.page_size,
               .kv_head_count = model_.kv_head_count,
               .worker_count = options.threads,
               .partial_count_max = options.uses_partials ? kPartialCountMax : 0}),
        scratch_(options.threads),
        logits_(std::size_t{kLogitsRowsMax} * model_.vocabulary_size) {
    for (OutputScratch& each : scratch_)
      each.fast_draw.sum_of_powers = kernels_.elementwise.sum_of_powers;
  }

  Result<void> start() {
    device_ = TRY(start_thread("the device", [this] { serve(); }));
    return {};
  }

  ~CpuBackend() override {
    stopping_.store(true, std::memory_order_release);
    submitted_.fetch_add(1, std::memory_order_release);
    submitted_.notify_all();
    if (device_.joinable()) device_.join();
  }

  const BackendCapabilities& capabilities() const override { return capabilities_; }
  const ModelInfo& model() const override { return model_; }

  void submit(Batch batch) override {
    {
      std::lock_guard lock(mutex_);
      QUIRE_CHECK(waiting_.size() + running_ < capabilities_.inflight_max, "batches under way");
      waiting_.push_back(std::move(batch));
    }
    submitted_.fetch_add(1, std::memory_order_release);
    submitted_.notify_one();
  }

 private:
  // The device thread.
  void serve() {
    WorkerPool& pool = *pool_;
    pool.settle_caller();
    std::uint32_t seen = 0;
    while (true) {
      std::optional<Batch> batch = take();
      if (batch) {
        execute(pool, *batch);
        continue;
      }
      if (stopping_.load(std::memory_order_acquire)) return;
      wait_for_change(submitted_, seen);
      seen = submitted_.load(std::memory_order_acquire);
    }
  }

  std::optional<Batch> take() {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    std::optional<Batch> batch(std::move(waiting_.front()));
    waiting_.pop_front();
    running_ = 1;
    return batch;
  }

  void execute(WorkerPool& pool, Batch& batch) {
    const std::uint64_t begin_ns = clock_.now_ns();
    Completion completion;
    completion.id = batch.id;
    for (const TableChange& change : batch.table_changes) stores_.kv.apply(change);
    check_batch(batch, capabilities_, model_, stores_.kv.tables());
    check_adapters(batch);
    load_pages(pool, batch, completion);
    for (const PageCopy& copy : batch.copies) stores_.kv.copy(copy);
    report(options_.walk, WalkStop::Devices);
    plan_.fill(batch, stores_, completion);
    if (!plan_.forward().rows.empty()) report(options_.walk, WalkStop::Models);
    if (!plan_.hidden().empty() || !plan_.forward().rows.empty() ||
        !plan_.distributions().empty() || !plan_.vectors().empty()) {
      pool.run([&](Worker& worker) { run(worker, batch, completion); });
    }
    save_pages(pool, batch, completion);
    for (PageLoad& load : batch.loads) completion.load_bytes.push_back(std::move(load.bytes));
    completion.device_ns = clock_.now_ns() - begin_ns;
    completion.batch = std::move(batch);
    {
      // This comes before the completion: its receiver may submit the next batch at once.
      std::lock_guard lock(mutex_);
      running_ = 0;
    }
    sink_.complete(std::move(completion));
  }

  // Checks widths that check_batch cannot check, because ModelInfo does not have them.
  void check_adapters(const Batch& batch) const {
    for (const AdapterSet& set : batch.adapter_sets) {
      for (const AdapterUse& use : *set) {
        QUIRE_CHECK(use.adapter->base() == adapter_base_, "an adapter's widths");
      }
    }
  }

  // A page is a tile. Measured with 128 pages of SmolLM2 (47 MB, F16) on a 2-core EPYC (AVX2): at
  // best 8.9 GB/s by one worker and 14.2 by two. While other programs kept both cores busy, the
  // medians were 4.9 and 4.2.
  template <typename Work>
  static void spread(WorkerPool& pool, std::size_t page_count, const Work& work) {
    if (page_count == 1) {
      work(0);
    } else if (page_count > 1) {
      const auto tile_count = static_cast<std::uint32_t>(page_count);
      pool.run([&](Worker& worker) { worker.phase(tile_count, work); });
    }
  }

  void load_pages(WorkerPool& pool, const Batch& batch, Completion& completion) {
    completion.loads.resize(batch.loads.size());
    spread(pool, batch.loads.size(), [&](std::uint32_t i) {
      const PageLoad& load = batch.loads[i];
      completion.loads[i] = check_load(load, capabilities_);
      if (!completion.loads[i].ok()) return;
      if (load.state != kNoState) {
        stores_.states.load(load.state, load.bytes.span());
      } else {
        stores_.kv.load(load.page, load.bytes.span());
      }
    });
  }

  // New memory comes from this thread alone. Taken by two workers in turn it made saves six times
  // slower (0.6 against 3.9 GB/s), as if glibc's arenas gave every block back to the system.
  void save_pages(WorkerPool& pool, Batch& batch, Completion& completion) {
    for (PageSave& save : batch.saves) {
      completion.saves.push_back(take_memory(save, capabilities_));
    }
    spread(pool, batch.saves.size(), [&](std::uint32_t i) {
      const PageSave& save = batch.saves[i];
      Result<PageBytes>& memory = completion.saves[i];
      if (!memory.ok()) return;
      if (save.state != kNoState) {
        stores_.states.save(save.state, memory.value().span());
      } else {
        stores_.kv.save(save.page, save.slots, memory.value().span());
      }
    });
  }

  // On every worker.
  void run(Worker& worker, const Batch& batch, Completion& completion) {
    body_->forward(worker, plan_.forward());
    const std::vector<HiddenWanted>& hidden = plan_.hidden();
    worker.phase(static_cast<std::uint32_t>(hidden.size()), [&](std::uint32_t i) {
      const HiddenWanted& wanted = hidden[i];
      if (wanted.kept != nullptr) {
        std::copy_n(wanted.kept, model_.embedding_width, wanted.out);
      } else {
        body_->hidden(wanted.plan_row, wanted.out);
      }
    });
    const std::vector<DistributionWanted>& wanted = plan_.distributions();
    for (std::size_t first = 0; first < wanted.size(); first += kLogitsRowsMax) {
      const auto count =
          static_cast<std::uint32_t>(std::min<std::size_t>(kLogitsRowsMax, wanted.size() - first));
      const float* vectors[kLogitsRowsMax];
      for (std::uint32_t i = 0; i < count; ++i) vectors[i] = wanted[first + i].hidden;
      body_->logits(worker, std::span(vectors, count), logits_.data());
      worker.phase(count, [&](std::uint32_t i) {
        const std::uint32_t index = wanted[first + i].index;
        const std::span logits(logits_.data() + std::size_t{i} * model_.vocabulary_size,
                               model_.vocabulary_size);
        completion.distributions[index] =
            output_form(batch.distributions[index], logits, kernels_.elementwise.softmax_numerators,
                        scratch_[worker.index()]);
      });
    }
    const std::vector<DistributionWanted>& vectors = plan_.vectors();
    worker.phase(static_cast<std::uint32_t>(vectors.size()), [&](std::uint32_t i) {
      const float* vector = vectors[i].hidden;
      completion.distributions[vectors[i].index].value().values.assign(
          vector, vector + model_.embedding_width);
    });
  }

  const KernelTable& kernels_;
  std::unique_ptr<PackedWeights> weights_;
  std::unique_ptr<Body> body_;
  DeviceStores stores_;
  const BackendCapabilities capabilities_;
  const ModelInfo model_;
  const DeviceOptions options_;
  const std::unique_ptr<WorkerPool> pool_;
  CompletionSink& sink_;
  const AdapterBase adapter_base_;
  const SteadyClock clock_;  // Only for Completion::device_ns.
  BatchPlan plan_;
  std::vector<OutputScratch> scratch_;  // One for each worker.
  std::vector<float> logits_;           // [kLogitsRowsMax][vocabulary_size]

  std::mutex mutex_;
  std::deque<Batch> waiting_;  // Guarded by mutex_, as running_.
  std::uint32_t running_ = 0;
  std::atomic<std::uint32_t> submitted_{0};
  std::atomic<bool> stopping_{false};
  std::thread device_;  // Last: it uses all of the above.
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const ModelFiles& files,
                                                  const DeviceOptions& options,
                                                  CompletionSink& sink) {
  TRY(check_options(options));
  const KernelTable* kernels = TRY(choose_kernels(options.name));
  const MemoryPlan memory = TRY(plan_memory(files.spec(), options));
  auto weights = std::make_unique<PackedWeights>(
      TRY(pack_weights(files, kernels->matmul, options.threads, options.on_load)));
  std::unique_ptr<Body> body = TRY(Body::create(
      *weights, *kernels,
      {.kv = memory.kv, .row_count_max = options.row_count_max, .worker_count = options.threads}));
  KvStore kv = TRY(KvStore::create({.layout = memory.kv,
                                    .mode = options.kv_mode,
                                    .page_count = memory.page_count,
                                    .sequence_count = options.sequence_count}));
  EmbedStore embeds =
      TRY(EmbedStore::create(options.embed_slot_count, files.spec().embedding_width));
  StateStore states = TRY(StateStore::create(memory.states, memory.state_count));
  BackendCapabilities capabilities;
  capabilities.name = kernels->name;
  capabilities.numerics_id = std::string(kernels->numerics_id) + "/" + kBodyRevision;
  if (has_experts(files.spec())) capabilities.numerics_id += kExpertsRevision;
  if (has_states(files.spec())) capabilities.numerics_id += kRecurrentRevision;
  capabilities.batch_invariant = true;
  capabilities.page_size = options.page_size;
  capabilities.page_count = memory.page_count;
  capabilities.page_bytes = kv.page_bytes();
  capabilities.sequence_count = options.sequence_count;
  capabilities.embed_slot_count = options.embed_slot_count;
  capabilities.state_count = memory.state_count;
  capabilities.state_bytes = memory.states.bytes();
  capabilities.row_count_max = options.row_count_max;
  capabilities.inflight_max = options.inflight_max;
  capabilities.kv_format = options.kv_format;
  capabilities.kv_mode = options.kv_mode;
  capabilities.adapters = true;
  DeviceStores stores{std::move(kv), std::move(embeds), std::move(states)};
  std::unique_ptr<WorkerPool> pool =
      TRY(WorkerPool::create(options.threads, options.worker_niceness));
  auto backend =
      std::make_unique<CpuBackend>(*kernels, std::move(weights), std::move(body), std::move(stores),
                                   std::move(capabilities), options, std::move(pool), sink);
  TRY(backend->start());
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace quire::inference
