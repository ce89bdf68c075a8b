// ColdPages beside the simplest model that could be right: for each policy, random operations, and
// after each victim the question whether the rules allowed it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/seeds.h"
#include "control/pages/cold_pages.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kSeedCount = 80;
constexpr std::uint32_t kEvictionCountMin = 200;  // Of each seed: a share may be one of them.

class Model {
 public:
  enum Tier { kDone, kPlain, kResume, kKept };
  struct Page {
    EntryId parent = kNoEntry;
    std::uint32_t tenant = 0;
    std::set<EntryId> children;
    bool is_cold = false;
    bool has_branched = false;
    bool is_shared_prefix = false;
    Tier tier = kPlain;
    std::uint64_t kept_until_s = 0;
  };

  explicit Model(std::uint32_t entry_count) : entry_count_(entry_count) {}

  std::map<EntryId, Page> pages;
  std::set<EntryId> fenced;
  std::map<std::uint32_t, std::uint32_t> weight{{0, 1}, {1, 1}, {2, 3}};
  std::uint64_t now_s = 0;

  void insert(EntryId entry, EntryId parent, std::uint32_t tenant) {
    pages[entry].parent = parent;
    pages[entry].tenant = tenant;
    if (parent == kNoEntry) return;
    Page& above = pages[parent];
    had_children_.insert(parent).second ? void() : void(above.has_branched = true);
    above.children.insert(entry);
  }
  void erase(EntryId entry) {
    const EntryId parent = pages[entry].parent;
    if (parent != kNoEntry) pages[parent].children.erase(entry);
    for (const EntryId child : pages[entry].children) pages[child].parent = kNoEntry;
    had_children_.erase(entry);
    pages.erase(entry);
  }
  std::uint32_t count_of(std::uint32_t tenant) const {
    return static_cast<std::uint32_t>(std::count_if(
        pages.begin(), pages.end(), [&](const auto& one) { return one.second.tenant == tenant; }));
  }
  std::uint32_t kept_of(std::uint32_t tenant) const {
    return static_cast<std::uint32_t>(
        std::count_if(pages.begin(), pages.end(), [&](const auto& one) {
          return one.second.tenant == tenant && one.second.is_cold && one.second.tier == kKept;
        }));
  }
  void go_cold(EntryId entry, const ColdHint& hint) {
    Page& page = pages[entry];
    if (hint.hint == EvictionHint::SharedPrefix) page.is_shared_prefix = true;
    page.tier = page.is_shared_prefix ? kResume : kPlain;
    if (hint.hint == EvictionHint::WillResume) page.tier = kResume;
    if (hint.hint == EvictionHint::Done && !page.is_shared_prefix && !page.has_branched) {
      page.tier = kDone;
    }
    if (hint.hint == EvictionHint::Keep) {
      std::uint32_t weights = 0;
      for (const auto& [tenant, one] : weight) weights += count_of(tenant) > 0 ? one : 0;
      const bool is_free = kept_of(page.tenant) * 2 * weights < weight[page.tenant] * entry_count_;
      page.tier = is_free ? kKept : kResume;
      page.kept_until_s = now_s + std::min(hint.keep_seconds, kKeepSecondsMax) + 1;
    }
    page.is_cold = true;
  }
  void end_keeps() {
    for (auto& [entry, page] : pages) {
      if (page.is_cold && page.tier == kKept && page.kept_until_s <= now_s) {
        page.tier = page.is_shared_prefix ? kResume : kPlain;
      }
    }
  }
  bool may_go(EntryId entry) const {
    const Page& page = pages.at(entry);
    return page.is_cold && !fenced.contains(entry) &&
           std::none_of(page.children.begin(), page.children.end(),
                        [&](EntryId child) { return pages.at(child).is_cold; });
  }
  static int phase_of(Tier tier) { return tier == kDone ? 0 : tier == kKept ? 2 : 1; }

  // Empty, or why this victim is wrong.
  std::string why_not(std::optional<EntryId> victim) const {
    if (victim && !may_go(*victim)) return "it is held, fenced, or has cold children";
    for (const auto& [entry, page] : pages) {
      if (!may_go(entry)) continue;
      if (!victim) return "there was one";
      const Page& chosen = pages.at(*victim);
      if (phase_of(page.tier) < phase_of(chosen.tier)) return "another's hint goes first";
      if (phase_of(page.tier) > phase_of(chosen.tier)) continue;
      if (page.tenant == chosen.tenant && page.tier < chosen.tier) return "the tier below has one";
      if (count_of(page.tenant) * weight.at(chosen.tenant) >
          count_of(chosen.tenant) * weight.at(page.tenant)) {
        return "another tenant is further above its share";
      }
    }
    return {};
  }

 private:
  std::uint32_t entry_count_;
  std::set<EntryId> had_children_;
};

class Program {
 public:
  Program(EvictionPolicyKind kind, std::uint32_t entry_count, std::uint64_t seed)
      : entry_count_(entry_count),
        random_(seed),
        model_(entry_count),
        pages_({.kind = kind, .entry_count = entry_count}) {
    pages_.set_weight(TenantId{2}, 3);
  }

  void step() {
    switch (random_() % 9) {
      case 0:
      case 1:
      case 2:
        return open_chain();
      case 3:
        return pick_up();
      case 4:
        return let_go();
      case 5:
        return evict();
      case 6:
        return time_or_fences();
      case 7:
        return weigh();
      default:
        return remove();
    }
  }
  void verify() {
    pages_.verify();
    const auto cold = std::count_if(model_.pages.begin(), model_.pages.end(),
                                    [](const auto& one) { return one.second.is_cold; });
    ASSERT_EQ(pages_.cold_count(), cold);
    for (const std::uint32_t tenant : {0u, 1u, 2u}) {
      ASSERT_EQ(pages_.page_count_of(TenantId{tenant}), model_.count_of(tenant));
      ASSERT_EQ(pages_.weight_of(TenantId{tenant}), model_.weight.at(tenant));
    }
  }
  std::uint32_t eviction_count() const { return eviction_count_; }

 private:
  bool is_held(EntryId entry) const { return !model_.pages.at(entry).is_cold; }
  bool is_one_in(std::uint32_t count) { return random_() % count == 0; }
  std::optional<EntryId> any(auto&& wanted) {
    std::vector<EntryId> found;
    for (const auto& [entry, page] : model_.pages) {
      if (wanted(entry, page)) found.push_back(entry);
    }
    if (found.empty()) return std::nullopt;
    return found[random_() % found.size()];
  }
  std::uint64_t now_ns() const { return model_.now_s * kSecond; }

  // A new page, held, below nothing or any page.
  void open_chain() {
    EntryId free = kNoEntry;
    for (std::uint32_t index = 0; index < entry_count_ && free == kNoEntry; ++index) {
      if (!model_.pages.contains(EntryId{index})) free = EntryId{index};
    }
    if (free == kNoEntry) return evict();
    const bool is_alone = is_one_in(4);
    const auto above = any([&](EntryId entry, const auto&) { return is_alone || is_held(entry); });
    const EntryId parent = above && random_() % 4 != 0 ? *above : kNoEntry;
    const auto tenant = static_cast<std::uint32_t>(random_() % 3);
    pages_.insert(free,
                  {.parent = parent, .tenant = TenantId{tenant}, .content_hash = random_() % 64});
    model_.insert(free, parent, tenant);
  }
  // A cold page is held again, and mostly all above it.
  void pick_up() {
    const auto entry = any([](EntryId, const auto&) { return true; });
    if (!entry) return;
    for (EntryId at = *entry; at != kNoEntry; at = model_.pages[at].parent) {
      if (is_held(at)) {
        pages_.hit(at);
        break;
      }
      pages_.revive(at);
      model_.pages[at].is_cold = false;
      if (is_one_in(4)) break;
    }
  }
  // A held page turns cold, mostly one without held children.
  void let_go() {
    const bool is_alone = is_one_in(4);
    const auto entry = any([&](EntryId one, const auto& page) {
      return is_held(one) &&
             (is_alone || std::none_of(page.children.begin(), page.children.end(),
                                       [&](EntryId child) { return is_held(child); }));
    });
    if (!entry) return;
    const ColdHint hint{.hint = static_cast<EvictionHint>(random_() % 5),
                        .keep_seconds = random_() % 3 == 0 ? 10'000 : random_() % 20};
    if (random_() % 3 == 0) model_.fenced.insert(*entry);
    if (hint.hint == EvictionHint::Keep) model_.end_keeps();
    pages_.go_cold(*entry, hint, now_ns());
    model_.go_cold(*entry, hint);
  }
  void evict() {
    model_.end_keeps();
    const auto victim =
        pages_.evict([&](EntryId entry) { return model_.fenced.contains(entry); }, now_ns());
    ASSERT_EQ(model_.why_not(victim), "");
    if (!victim) return;
    ++eviction_count_;
    model_.erase(*victim);
  }
  void time_or_fences() {
    if (random_() % 2 == 0) {
      model_.now_s += random_() % 8 == 0 ? 5'000 : random_() % 10;
      return;
    }
    model_.fenced.clear();
    pages_.lift_fences();
  }
  // The operator changes a weight, whether the tenant has pages or not.
  void weigh() {
    if (!is_one_in(4)) return;
    const auto tenant = static_cast<std::uint32_t>(random_() % 3);
    const auto weight = static_cast<std::uint32_t>(1 + random_() % 4);
    pages_.set_weight(TenantId{tenant}, weight);
    model_.weight[tenant] = weight;
  }
  void remove() {
    const auto entry = any([](EntryId, const auto&) { return true; });
    if (!entry || random_() % 4 != 0) return;
    pages_.remove(*entry);
    model_.fenced.erase(*entry);
    model_.erase(*entry);
  }

  const std::uint32_t entry_count_;
  std::mt19937_64 random_;
  Model model_;
  ColdPages pages_;
  std::uint32_t eviction_count_ = 0;
};

TEST(ColdPagesModel, EveryVictimIsOneThatTheRulesAllow) {
  const std::vector<std::uint64_t> seeds = campaign_seeds(kSeedCount);
  std::map<std::uint64_t, std::uint32_t> eviction_counts;  // By seed.
  for (const EvictionPolicyKind kind :
       {EvictionPolicyKind::Default, EvictionPolicyKind::Lru, EvictionPolicyKind::S3Fifo}) {
    for (const std::uint32_t entry_count : {1u, 2u, 3u, 7u, 40u}) {
      for (const std::uint64_t seed : seeds) {
        SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::to_string(entry_count) +
                     " pages, seed " + std::to_string(seed));
        Program program(kind, entry_count, seed);
        for (int step = 0; step < 300; ++step) {
          program.step();
          ASSERT_NO_FATAL_FAILURE(program.verify());
          if (testing::Test::HasFailure()) return;
        }
        eviction_counts[seed] += program.eviction_count();
      }
    }
  }
  for (const auto& [seed, count] : eviction_counts) {
    EXPECT_GT(count, kEvictionCountMin) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quire::control
