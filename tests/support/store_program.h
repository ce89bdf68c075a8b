#pragma once
// Random operations, crashes and faults on a SnapshotStore beside the simplest model: a map from
// name to snapshot. Fails through GoogleTest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/store/record_codec.h"
#include "control/store/snapshot_store.h"
#include "support/snapshot_harness.h"

namespace quire::test {

using store::BegunSave;
using store::CallKind;
using store::CrashKeep;
using store::Damage;
using store::GcReport;
using store::kNever;
using store::kSnapshotRowBytes;
using store::OpenedSnapshot;
using store::SaveOptions;
using store::SimulatedCall;
using store::SimulatedFault;
using store::SimulatedFileSystem;
using store::SnapshotInfo;
using store::TailPage;
using store::TicketId;

class StoreProgram {
 public:
  explicit StoreProgram(std::uint64_t seed) : random_(seed) {}

  void run(std::map<std::string, std::uint64_t>& coverage) {
    simulated_.options.tenant_bytes_max = kQuota;
    simulated_.options.cached_slot_count_max = 2;
    reopen();
    for (int step = 0; step < kStepCount && !testing::Test::HasFailure(); ++step) {
      const std::string what = act();
      SCOPED_TRACE("step " + std::to_string(step) + ": " + what);
      check();
    }
    if (!testing::Test::HasFailure()) ++done_[damage()];
    for (const auto& [what, count] : done_) coverage[what] += count;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // Tenant and name.
  static constexpr int kStepCount = 60;
  static constexpr std::uint64_t kSlotBytes = 8192;
  static constexpr std::uint64_t kQuota = 7 * kSlotBytes;
  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  SnapshotStore& store() { return *simulated_.store; }

  void reopen() {
    const Result<void> opened = simulated_.open();
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    tickets_.clear();
    takes_.clear();
  }

  // Few beginnings, so that prefixes meet.
  TestSnapshot some_snapshot() {
    std::vector<std::uint32_t> tokens(below(18));
    for (std::uint32_t& token : tokens) token = below(12) == 0 ? 7 : 1;
    TestSnapshot made =
        make_snapshot(below(3) == 0 ? "b" : "a", std::string(1, "xyz"[below(3)]), tokens);
    if (below(6) == 0) made.record.expires_unix_ms = simulated_.clock.now_unix_ms() + 1 + below(50);
    if (below(3) == 0) {
      ++done_["a note"];
      made.record.note.assign(1 + below(3000), static_cast<char>('a' + below(26)));
    }
    return made;
  }

  void expire() {
    const std::uint64_t now = simulated_.clock.now_unix_ms();
    std::erase_if(model_, [this, now](const auto& each) {
      const std::uint64_t expires = each.second.record.expires_unix_ms;
      const bool is_over = expires != kNever && expires <= now;
      if (is_over) forget_take(each.first);
      return is_over;
    });
  }

  std::uint64_t model_bytes(const std::string& tenant, const Key* except,
                            const TestSnapshot* with) const {
    std::set<PageName> pages;
    std::uint64_t bytes = 0;
    const auto add = [&](const TestSnapshot& each) {
      for (const PageRecord& page : each.pages) pages.insert(page.name);
      PageName parent = each.record.head;
      for (const TailPage& tail : each.record.tail) {
        parent = tail_name(tail, parent, space_digest(each.record.space));
        pages.insert(parent);
      }
      bytes += kSnapshotRowBytes + encode_record(each.record).size();
    };
    for (const auto& [key, each] : model_) {
      if (key.first == tenant && (except == nullptr || key != *except)) add(each);
    }
    if (with != nullptr) add(*with);
    return bytes + pages.size() * kSlotBytes;
  }

  // Restarts after a loss of power in the middle of an operation.
  void restart_if_crashed() {
    simulated_.files.inject = nullptr;
    simulated_.files.crash_at.reset();
    if (!simulated_.files.crashed()) return;
    ++done_["crash within an operation"];
    crash();
  }

  void forget_take(const Key& key) {
    std::erase_if(takes_, [&key](const auto& take) { return take.second == key; });
  }

  // Settles the result of an operation that failed for reasons of the disk: one of two states.
  void settle(const Key& key, std::optional<TestSnapshot> after) {
    restart_if_crashed();
    for (const auto& [ticket, of] : takes_) {
      if (of == key) store().release(ticket);
    }
    forget_take(key);
    if (after.has_value() && load(store(), *after).loaded == Loaded::Equal) {
      model_[key] = *after;
    } else if (!after.has_value()) {
      const Result<OpenedSnapshot> opened = store().open_snapshot(key.first, key.second, nullptr);
      if (opened.ok()) store().release(opened.value().ticket);
      if (!opened.ok() && opened.error().code() == ErrorCode::NotFound) model_.erase(key);
    }
  }

  template <typename R>
  bool failed_by_fault(const R& result) const {
    if (result.ok()) return false;
    return simulated_.files.crashed() || (result.error().code() == ErrorCode::Io && will_fail_);
  }

  std::string act() {
    will_fail_ = below(8) == 0;
    const std::uint64_t failing = simulated_.files.call_count() + 1 + below(40);
    if (will_fail_) {
      simulated_.files.inject = [failing](const SimulatedCall& call) {
        return SimulatedFault{.error_number = call.number == failing ? EIO : 0};
      };
    }
    const bool may_crash = !will_fail_ && below(10) == 0;
    if (may_crash) simulated_.files.crash_at = failing;
    const std::string what = operate();
    if (will_fail_) ++done_["with a fault armed"];
    restart_if_crashed();
    ++done_[what];
    return what;
  }

  std::string operate() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return save(false);
      case 3:
        return save(true);
      case 4:
        return remove();
      case 5:
        return take();
      case 6:
        return cache();
      case 7:
        return collect();
      case 8:
        return tick();
      case 9:
        return will_fail_ ? save(true) : crash();
      case 10:
        return end_ticket();
      default:
        return read();
    }
  }

  std::string save(bool with_ticket) {
    expire();
    const TestSnapshot snapshot = some_snapshot();
    const Key key{snapshot.record.tenant, snapshot.record.name};
    const bool overwrite = below(2) == 0;
    SaveOptions options{.overwrite = overwrite};
    if (with_ticket) {
      std::vector<PageName> names;
      for (const PageRecord& page : snapshot.pages) names.push_back(page.name);
      const Result<BegunSave> begun = store().begin_save(snapshot.record.space, names);
      if (failed_by_fault(begun)) return "begin fails";
      EXPECT_TRUE(begun.ok()) << begun.error().message();
      if (!begun.ok()) return "begin";
      options.ticket = begun.value().ticket;
      std::vector<PageRecord> missing;
      for (const PageRecord& page : snapshot.pages) {
        const auto& wanted = begun.value().missing;
        if (std::ranges::find(wanted, page.name) != wanted.end()) missing.push_back(page);
      }
      const Result<void> added = store().add_pages(options.ticket, missing);
      if (!added.ok() || below(4) == 0) {
        EXPECT_TRUE(added.ok() || failed_by_fault(added)) << added.error().message();
        tickets_.push_back(options.ticket);
        return "save abandoned";
      }
      if (below(3) == 0) collect();
    }
    const bool exists = model_.contains(key);
    const bool fits = model_bytes(key.first, exists ? &key : nullptr, &snapshot) <= kQuota;
    const Result<SnapshotInfo> saved = store().save(
        snapshot.record, with_ticket ? std::vector<PageRecord>() : snapshot.pages, options);
    if (!saved.ok()) store().release(options.ticket);
    if (failed_by_fault(saved)) {
      settle(key, snapshot);
      return "save fails";
    }
    if (!saved.ok() && will_fail_ && with_ticket && saved.error().code() == ErrorCode::NotFound) {
      return "save lost its pages";  // The fault came before, in collect().
    }
    if (exists && !overwrite) {
      EXPECT_EQ(saved.ok() ? ErrorCode::Internal : saved.error().code(), ErrorCode::AlreadyExists);
      return "save already-exists";
    }
    if (!fits) {
      EXPECT_EQ(saved.ok() ? ErrorCode::Internal : saved.error().code(), ErrorCode::QuotaExceeded);
      return "save quota-exceeded";
    }
    EXPECT_TRUE(saved.ok()) << saved.error().message();
    forget_take(key);
    model_[key] = snapshot;
    return exists ? "save overwrites" : "save";
  }

  Key some_key() { return {below(3) == 0 ? "b" : "a", std::string(1, "xyz"[below(3)])}; }

  std::string remove() {
    expire();
    const Key key = some_key();
    const Result<void> removed = store().remove(key.first, key.second);
    if (failed_by_fault(removed)) {
      settle(key, std::nullopt);
      return "remove fails";
    }
    EXPECT_EQ(removed.ok(), model_.erase(key) > 0);
    forget_take(key);
    if (removed.ok()) return "remove";
    EXPECT_EQ(removed.error().code(), ErrorCode::NotFound);
    return "remove not-found";
  }

  std::string take() {
    expire();
    const Key key = some_key();
    const Result<OpenedSnapshot> taken = store().take(key.first, key.second, nullptr);
    if (failed_by_fault(taken)) {
      restart_if_crashed();
      return "take fails";
    }
    const bool is_taken =
        std::ranges::any_of(takes_, [&key](const auto& take) { return take.second == key; });
    EXPECT_EQ(taken.ok(), model_.contains(key) && !is_taken);
    if (!taken.ok()) {
      EXPECT_EQ(taken.error().code(), is_taken ? ErrorCode::Unavailable : ErrorCode::NotFound);
      return is_taken ? "take unavailable" : "take not-found";
    }
    EXPECT_EQ(record_difference(taken.value().record, model_[key].record), "");
    tickets_.push_back(taken.value().ticket);
    takes_.emplace(taken.value().ticket, key);
    return "take";
  }

  std::string cache() {
    const TestSnapshot snapshot = some_snapshot();
    for (const PageRecord& page : snapshot.pages) {
      const Result<void> put = store().put_cached(snapshot.record.space, page);
      if (failed_by_fault(put)) return "cache fails";
      if (!put.ok()) {
        EXPECT_EQ(put.error().code(), ErrorCode::Unavailable) << put.error().message();
        return "cache is full of pinned pages";
      }
      const Result<PageRecord> read = store().read_page(snapshot.record.space, page.name);
      if (failed_by_fault(read)) return "cache fails";
      EXPECT_TRUE(read.ok() && same_page(read.value(), page));
      if (below(4) == 0) store().drop_cached(snapshot.record.space, {&page.name, 1});
    }
    return "cache";
  }

  std::string collect() {
    const Result<GcReport> report = store().gc();
    if (failed_by_fault(report)) return "gc fails";
    EXPECT_TRUE(report.ok()) << report.error().message();
    return "gc";
  }

  std::string tick() {
    simulated_.clock.set_unix_ms(simulated_.clock.now_unix_ms() + below(30));
    return "time passes";
  }

  std::string crash() {
    const auto keep = static_cast<CrashKeep>(below(3));
    simulated_.crash(keep, random_.next());
    reopen();
    return "crash";
  }

  std::string end_ticket() {
    if (tickets_.empty()) return "no ticket";
    const TicketId ticket = tickets_.back();
    tickets_.pop_back();
    if (below(2) == 0) store().end_reading(ticket);
    const auto take = takes_.extract(ticket);
    if (below(2) == 0) {
      store().release(ticket);
      return take.empty() ? "ticket ends" : "take given up";
    }
    const Result<void> finished = store().finish_take(ticket);
    if (failed_by_fault(finished)) {
      if (!take.empty()) settle(take.mapped(), std::nullopt);
      return "finish fails";
    }
    EXPECT_TRUE(finished.ok()) << finished.error().message();
    if (take.empty()) return "ticket ends";
    model_.erase(take.mapped());
    return "take finished";
  }

  std::string read() {
    expire();
    for (const auto& [key, snapshot] : model_) {
      const LoadResult loaded = load(store(), snapshot);
      if (loaded.code == ErrorCode::Io && will_fail_) return "open fails";
      if (loaded.loaded == Loaded::Refused && simulated_.files.crashed()) return "open fails";
      EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
    }
    return "open all";
  }

  // The bytes of the page files change between two runs: a loaded page is right or refused.
  std::string damage() {
    simulated_.crash(CrashKeep::Everything, 0);
    SimulatedFileSystem::Image image = simulated_.files.visible();
    for (auto& [path, bytes] : image) {
      if (!path.ends_with(".quire")) continue;
      for (std::uint64_t count = 1 + below(20); count > 0; --count) {
        bytes[below(bytes.size())] ^= std::byte{static_cast<std::uint8_t>(1 + below(255))};
      }
    }
    SimulatedStore damaged(image);
    damaged.clock.set_unix_ms(simulated_.clock.now_unix_ms());
    if (!damaged.open().ok()) return "damage refused at once";
    expire();
    bool is_seen = false;
    for (const auto& [key, snapshot] : model_) {
      const LoadResult loaded = load(*damaged.store, snapshot);
      EXPECT_NE(loaded.loaded, Loaded::Wrong) << loaded.why;
      is_seen |= loaded.loaded == Loaded::Refused;
    }
    return is_seen ? "damage refused" : "damage elsewhere";
  }

  void check() {
    expire();
    const Result<std::vector<Damage>> damages = store().verify();
    ASSERT_TRUE(damages.ok()) << damages.error().message();
    for (const Damage& each : damages.value()) ADD_FAILURE() << each.where << ": " << each.what;
    for (const char* tenant : {"a", "b"}) {
      std::vector<std::string> names;
      for (const auto& [key, snapshot] : model_) {
        if (key.first == tenant) names.push_back(key.second);
      }
      const Result<std::vector<SnapshotInfo>> list = store().list(tenant);
      ASSERT_TRUE(list.ok());
      std::vector<std::string> listed;
      for (const SnapshotInfo& info : list.value()) listed.push_back(info.name);
      EXPECT_EQ(listed, names);
    }
    if (done_["gc"] > gc_seen_) {  // Then nothing expired is left to be counted.
      gc_seen_ = done_["gc"];
      EXPECT_EQ(store().tenant_bytes("a").value(), model_bytes("a", nullptr, nullptr));
    }
  }

  SeededRandom random_;
  SimulatedStore simulated_;
  std::map<Key, TestSnapshot> model_;
  std::vector<TicketId> tickets_;
  std::map<TicketId, Key> takes_;  // Of those, takes of snapshots that are still what was taken.
  std::map<std::string, std::uint64_t> done_;
  std::uint64_t gc_seen_ = 0;
  bool will_fail_ = false;
};

}  // namespace quire::test
