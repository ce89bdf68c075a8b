// Pools of the control layer: pages, snapshots, grammars, and turns on its helpers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/adapters/adapter_registry.h"
#include "control/contexts/model_resources.h"
#include "control/controller/grammar_cache.h"
#include "control/controller/job_turns.h"
#include "control/controller/store_jobs.h"
#include "control/controller/text_jobs.h"
#include "control/objects/export_table.h"
#include "control/objects/store_link.h"
#include "control/page_guest.h"
#include "control/steps/matcher_jobs.h"
#include "control/transfers/snapshot_opens.h"
#include "control/transfers/snapshot_saves.h"
#include "inference/devices/simulated/simulated_backend.h"
#include "limits/proofs.h"
#include "support/small_adapter.h"
#include "support/tier_fixture.h"

namespace quire::limits_test {
namespace {

using namespace quire::control;  // NOLINT(google-build-using-namespace): the tests' own folder.

// A tenant with a thousand jobs delays another's by those that run and one.
void prove_turns(std::size_t running_count_max) {
  JobTurns<int> turns;
  Instance many;
  many.id = InstanceId{1};
  many.tenant = TenantId{1};
  Instance other;
  other.id = InstanceId{2};
  other.tenant = TenantId{2};
  std::vector<std::uint64_t> running;
  for (std::uint32_t each = 0; each < 1'000; ++each) turns.add(many, FutureId{each + 1}, 0, 1);
  while (turns.running_count() < running_count_max) running.push_back(turns.take_next()->id);
  for (std::uint32_t each = 0; each < 2; ++each) turns.add(other, FutureId{each + 1}, 0, 2);
  std::string order;
  for (const std::uint64_t each : running) {
    turns.finish(each);
    order += std::to_string(turns.take_next()->work);
    if (order.size() == 4) break;
  }
  while (order.size() < 4) order += std::to_string(turns.take_next()->work);
  EXPECT_EQ(order, "2121");
}

void prove_grammar_jobs() {
  prove_turns(TextJobs::kGrammarsOnHelperCountMax);
}
void prove_text_jobs() {
  prove_turns(TextJobs::kOnHelperCountMax);
}
void prove_store_jobs() {
  prove_turns(StoreJobs::kOnDiskCountMax);
}

// An executor that runs a job when the proof calls it.
class Stage final : public HelperExecutor, public MatcherJobSink {
 public:
  void run(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void matcher_job_done(std::uint64_t job) override { done.push_back(job); }
  void run_one(MatcherJobs& of) {
    jobs.front()();
    jobs.pop_front();
    of.finish(done.front());
    done.pop_front();
  }
  std::deque<std::function<void()>> jobs;
  std::deque<std::uint64_t> done;
};

void prove_matcher_jobs() {
  Stage stage;
  MatcherJobs jobs(stage, &stage);
  for (int each = 0; each < 1'000; ++each) jobs.start(TenantId{1}, [] {}, [] {});
  bool is_done = false;
  jobs.start(TenantId{2}, [&] { is_done = true; }, [] {});
  EXPECT_EQ(stage.jobs.size(), MatcherJobs::kRunningCountMax);
  for (std::size_t each = 0; each < MatcherJobs::kRunningCountMax + 1; ++each) stage.run_one(jobs);
  EXPECT_TRUE(is_done) << "it waited for more than those that were there";
  while (!stage.jobs.empty()) stage.run_one(jobs);
}

class SizedGrammar final : public inference::Grammar {
 public:
  explicit SizedGrammar(std::size_t bytes) : bytes_(bytes) {}
  Result<std::unique_ptr<inference::Matcher>> matcher() const override {
    return Error(ErrorCode::NotSupported, "not in this test");
  }
  Result<bool> fits(std::string_view) const override {
    return Error(ErrorCode::NotSupported, "not in this test");
  }
  std::size_t memory_bytes() const override { return bytes_; }

 private:
  const std::size_t bytes_;
};

// Grammars give way to newer ones, so none is refused: a tenant's grammars stay while another
// compiles more.
void prove_kept_grammars(std::size_t other_count, std::size_t other_bytes,
                         std::size_t flood_bytes) {
  GrammarCache cache;
  const auto insert = [&](TenantId tenant, std::size_t number, std::size_t bytes) {
    const CompileGrammar source{
        .model = {}, .kind = inference::GrammarKind::Regex, .source = std::to_string(number)};
    cache.insert(tenant, GrammarCache::key_of(tenant, source),
                 std::make_shared<const SizedGrammar>(bytes));
    return GrammarCache::key_of(tenant, source);
  };
  std::vector<Digest> others;
  for (std::size_t each = 0; each < other_count; ++each)
    others.push_back(insert(TenantId{2}, each, other_bytes));
  for (std::size_t each = 0; each < 4 * GrammarCache::kCountMax; ++each)
    insert(TenantId{1}, each, flood_bytes);
  const auto is_there = [&](const Digest& each) { return cache.find(each) != nullptr; };
  EXPECT_EQ(std::ranges::count_if(others, is_there), static_cast<std::ptrdiff_t>(other_count))
      << "forgotten for the other tenant's";
}

void prove_kept_grammar_count() {
  prove_kept_grammars(GrammarCache::kCountMax / 2 - 1, 1, 1);
}

// Many small grammars, beside few large ones.
void prove_kept_grammar_bytes() {
  prove_kept_grammars(GrammarCache::kCountMax / 4, 1u << 20, GrammarCache::kBytesMax / 5);
}

// On a disk that answers one job at a time.
class Disk {
 public:
  Disk() : harness(options()), many_(harness, TenantId{1}), other_(harness, TenantId{2}) {
    many_context_ = context_of(many_, "it");
    other_context_ = context_of(other_, "its");
  }
  // Tenant 1 asks for so many at once; tenant 2's is answered among the first of them.
  void prove(bool opens, std::size_t count_max) {
    for (std::size_t each = 0; each < 4 * count_max; ++each) ask(many_, many_context_, "it", opens);
    run_without_disk();
    const FutureId wanted = ask(other_, other_context_, "its", opens);
    std::size_t job_count = 0;
    for (; !harness.has(other_.id, wanted) && job_count < 4 * count_max; ++job_count) {
      run_without_disk();
      if (!harness.disk->run_one()) break;
    }
    ASSERT_TRUE(harness.has(other_.id, wanted)) << "behind " << job_count << " jobs of the disk";
    EXPECT_FALSE(harness.error(other_.id, wanted));
    harness.run();
  }

 private:
  Harness::Options options() {
    Harness::Options options;
    options.device.page_count = 8;
    options.files = &files_;
    return options;
  }
  ObjectId context_of(PageGuest& guest, const std::string& name) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    guest.send(ContextAppend{context, count_tokens(16, 1)});
    guest.send(ContextFlush{context});
    harness.run();
    const FutureId saved = guest.send(ContextSave{context, name, false, {}});
    harness.run_until(guest.id, saved);
    EXPECT_FALSE(harness.error(guest.id, saved));
    return context;
  }
  FutureId ask(PageGuest& guest, ObjectId context, const std::string& name, bool opens) {
    if (opens) return guest.send(ContextOpen{harness.new_object(), guest.queue, name, false});
    return guest.send(ContextSave{context, name, true, {}});
  }
  void run_without_disk() {
    for (int turn = 0; turn < 8; ++turn) {
      harness.begin_step();
      while (harness.device.inflight_count() > 0) harness.device.complete_next();
    }
  }

  store::SimulatedFileSystem files_;
  Harness harness;
  PageGuest many_;
  PageGuest other_;
  ObjectId many_context_{};
  ObjectId other_context_{};
};

void prove_snapshot_saves() {
  Disk().prove(false, SnapshotSaves::kCountMax);
}
void prove_snapshot_opens() {
  Disk().prove(true, SnapshotOpens::kOnDiskCountMax);
}

void prove_swapped_tails() {
  Harness harness;
  PageCacheOptions options;
  options.page_count = 8;
  options.space.page_size = 16;
  ModelResources resources(harness.device, options);
  expect_halves(kSwappedTailPageCountMax, [&](TenantId tenant) {
    if (!resources.swapped_tails.may_take(tenant, 1)) return false;
    resources.swapped_tails.take(tenant, 1);
    return true;
  });
}

void prove_pins() {
  constexpr std::uint32_t kPlaceCount = 16;
  TierFixture fixture(kPlaceCount);
  std::uint32_t token = 0;
  expect_halves(kPlaceCount, [&](TenantId tenant) {
    const NodeId node = fixture.node(++token);
    if (!fixture.tiers.can_pin(tenant, {node})) return false;
    EXPECT_TRUE(fixture.keep(node, token));
    fixture.tiers.pin(tenant, node);
    return true;
  });
}

// The limit is the half of the pool that exports may hold.
void prove_exports() {
  constexpr std::uint32_t kPoolPageCount = 128;
  ExportTable exports;
  std::uint64_t name = 0;
  expect_halves(kPoolPageCount / ExportTable::kPoolPartMax, [&](TenantId tenant) {
    PageExport wanted{.tenant = tenant, .name = std::to_string(++name), .pages = {nullptr}};
    if (!exports.check_new(wanted, 1, {}, kPoolPageCount).ok()) return false;
    exports.add(std::move(wanted), kPoolPageCount);
    return true;
  });
}

void prove_outputs() {
  constexpr std::uint32_t kSlotCount = 64;
  Harness::Options options;
  options.device.embed_slot_count = kSlotCount;
  Harness harness(options);
  struct Guest {
    InstanceId id{};
    ObjectId queue{};
  };
  // Each instance also leaves half of what the others leave, so each output is of an instance of
  // its own.
  std::map<TenantId, std::vector<Guest>> guests;
  for (const std::uint32_t tenant : {1u, 2u, 3u}) {
    const InstanceId id = harness.start(TenantId{tenant});
    guests[TenantId{tenant}].push_back({id, harness.queue(id)});
  }
  std::uint32_t first = 0;
  expect_halves(kSlotCount, [&](TenantId tenant) {
    const InstanceId id = harness.start(tenant);
    const ObjectId queue = harness.queue(id);
    const ObjectId context = harness.context(id, queue);
    harness.send(id, ContextAppend{context, count_tokens(1, ++first)}, false);
    const FutureId future = harness.send(id, ContextForward{context, harness.embeds(id, queue, 1)});
    harness.run();
    return !harness.error(id, future);
  });
}

}  // namespace

namespace {

// A path is the seed of an adapter.
class SeedReader final : public inference::AdapterReader {
 public:
  Result<std::shared_ptr<const inference::Adapter>> read(
      const inference::AdapterSource& source, const inference::AdapterLimits&) const override {
    return inference::small_adapter(inference::simulated_model(),
                                    static_cast<std::uint32_t>(std::stoul(source.path)));
  }
  Result<std::shared_ptr<const inference::Adapter>> read(
      std::vector<inference::AdapterFile>, const inference::AdapterLimits&) const override {
    return Error(ErrorCode::Internal, "nobody uploads here");
  }
  Result<std::uint64_t> bytes_of(const inference::AdapterSource&) const override { return 1; }
};

void prove_adapters(std::uint64_t count_max, const AdapterRegistryOptions& options) {
  const SeedReader reader;
  AdapterRegistry registry({{.name = "base", .reader = &reader}}, options);
  std::uint32_t seed = 0;
  expect_halves(count_max, [&](TenantId tenant) {
    const std::string number = std::to_string(++seed);
    return registry.add(tenant, ModelIndex{0}, "a" + number, AdapterPath{number, ""}).ok();
  });
}
void prove_adapter_count() {
  prove_adapters(AdapterRegistryOptions{}.count_max, {});
}
void prove_adapter_bytes() {
  constexpr std::uint64_t kCount = 64;
  const std::uint64_t bytes = inference::small_adapter(inference::simulated_model(), 1)->bytes();
  prove_adapters(kCount, {.bytes_max = kCount * bytes});
}

void prove_snapshots() {
  constexpr std::uint64_t kTotal = 64;
  store::SnapshotShares shares;
  shares.set_several(true);
  std::map<TenantId, std::uint64_t> counts;
  std::uint64_t all = 0;
  expect_halves(kTotal, [&](TenantId tenant) {
    std::uint64_t& own = counts[tenant];
    if (own >= shares.share_of(tenant_name(tenant), kTotal, all - own)) return false;
    ++own;
    ++all;
    return true;
  });
}

}  // namespace

Proofs control_proofs() {
  return {{ServerLimit::GrammarJobCountMax, prove_grammar_jobs},
          {ServerLimit::TextJobCountMax, prove_text_jobs},
          {ServerLimit::StoreJobCountMax, prove_store_jobs},
          {ServerLimit::MatcherJobCountMax, prove_matcher_jobs},
          {ServerLimit::KeptGrammarCountMax, prove_kept_grammar_count},
          {ServerLimit::KeptGrammarBytesMax, prove_kept_grammar_bytes},
          {ServerLimit::SnapshotSaveCountMax, prove_snapshot_saves},
          {ServerLimit::SnapshotOpenCountMax, prove_snapshot_opens},
          {ServerLimit::SnapshotBytesTotalMax, prove_snapshots},
          {ServerLimit::SwappedTailPageCountMax, prove_swapped_tails},
          {ServerLimit::PinnedPageCountMax, prove_pins},
          {ServerLimit::ExportPoolPageCountMax, prove_exports},
          {ServerLimit::OutputEmbedCountMax, prove_outputs},
          {ServerLimit::AdapterCountMax, prove_adapter_count},
          {ServerLimit::AdapterBytesMax, prove_adapter_bytes}};
}

}  // namespace quire::limits_test
