// Random programs over pages by hand, against a naive model: a handle is the list of what was
// written to its slots, an export is a list of those. Instances of two tenants write, copy, mask,
// export, import, end and begin. Every answer is foretold, error by error. The visible content of a
// page depends on the model's content of it, and on nothing else. Pages and ledgers are recounted
// after each step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/seeds.h"
#include "control/page_guest.h"

namespace quire::control::page_handle_program_test {
namespace {

constexpr std::uint64_t kSeedCount = 512;
constexpr std::size_t kProgramsForCoverage = 60;  // With fewer, something may not come up.
constexpr std::uint32_t kPageCountMax = 7;
constexpr std::uint32_t kExportPagesMax = 6;
constexpr std::uint32_t kExportsMax = 3;
constexpr std::size_t kGuests = 4;

struct Knobs {
  std::uint32_t page_size = 0;
  std::uint32_t page_count = 0;
};
Knobs knobs_of(std::uint64_t seed) {
  constexpr std::uint32_t kPageSizes[] = {1, 2, 8, 16, 32};
  constexpr std::uint32_t kPages[] = {1, 2, 3, 7, 16, 16, 16, 64};
  std::mt19937_64 random(seed);
  return {.page_size = kPageSizes[random() % std::size(kPageSizes)],
          .page_count = kPages[random() % std::size(kPages)]};
}

// A number for each token ever written; 0: a slot that was not.
using Slots = std::vector<std::uint32_t>;

// A page of the pool, as far as the model goes: who shares it shares this.
struct Bytes {
  Slots slots;
  bool is_shared = false;
};
struct Handle {
  std::shared_ptr<Bytes> bytes;  // Null: it stands for no page.
  std::vector<bool> view;
};
struct Export {
  std::vector<std::shared_ptr<Bytes>> pages;
  bool is_public = false;
};

std::uint32_t fill_of(const Bytes& bytes) {
  auto fill = static_cast<std::uint32_t>(bytes.slots.size());
  while (fill > 0 && bytes.slots[fill - 1] == 0) --fill;
  return fill;
}
bool is_full(const Bytes& bytes) {
  return std::count(bytes.slots.begin(), bytes.slots.end(), 0u) == 0;
}

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : knobs_(knobs_of(seed)), random_(seed), harness_(options_of(knobs_)) {
    ++outcomes["page size " + std::to_string(knobs_.page_size)];
    ++outcomes["page count " + std::to_string(knobs_.page_count)];
    for (std::size_t index = 0; index < kGuests; ++index) begin(index);
  }

  void step() {
    using Step = void (Simulation::*)(std::size_t);
    static constexpr Step kSteps[] = {
        &Simulation::alloc,  &Simulation::dealloc,  &Simulation::write,  &Simulation::write,
        &Simulation::write,  &Simulation::copy,     &Simulation::copy,   &Simulation::copy,
        &Simulation::mask,   &Simulation::expose,   &Simulation::expose, &Simulation::import,
        &Simulation::import, &Simulation::unexport, &Simulation::list,   &Simulation::look,
        &Simulation::look,   &Simulation::look,     &Simulation::restart};
    const std::size_t guest = below(kGuests);
    (this->*kSteps[below(std::size(kSteps))])(guest);
    harness_.run();  // Verifies everything.
    check_counts();
  }

  // All goes at last.
  void finish() {
    for (std::size_t index = 0; index < kGuests; ++index) {
      harness_.controller->end_instance(guests_[index]->id);
      guests_[index].reset();
      handles_[index].clear();
    }
    for (const std::uint32_t tenant : {1u, 2u}) {
      PageGuest last(harness_, TenantId{tenant});
      for (const auto& [name, each] : exports_[tenant]) last.unexport(name);
      harness_.controller->end_instance(last.id);
    }
    harness_.run();
    EXPECT_EQ(harness_.free_page_count(), knobs_.page_count);
  }

  std::map<std::string, std::size_t> outcomes;

 private:
  static Harness::Options options_of(const Knobs& knobs) {
    Harness::Options options;
    options.device.page_size = knobs.page_size;
    options.device.page_count = knobs.page_count;
    return options;
  }
  static TenantId tenant_of(std::size_t guest) {
    return TenantId{1 + static_cast<std::uint32_t>(guest % 2)};
  }
  static bool is_granted(std::size_t guest) { return guest < 2; }
  std::map<std::string, Export>& exports_of(std::size_t guest) {
    return exports_[static_cast<std::uint32_t>(tenant_of(guest))];
  }
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void begin(std::size_t index) {
    guests_[index].emplace(harness_, tenant_of(index),
                           InstanceLimits{.page_count_max = kPageCountMax,
                                          .export_count_max = kExportsMax,
                                          .export_page_count_max = kExportPagesMax,
                                          .may_export_publicly = is_granted(index)});
  }
  void restart(std::size_t index) {
    if (below(4) != 0) return;
    harness_.controller->end_instance(guests_[index]->id);
    handles_[index].clear();
    begin(index);
    ++outcomes["restart done"];
  }

  // The page's bytes, everywhere in the model: what is there once counts once.
  std::set<const Bytes*> live() const {
    std::set<const Bytes*> all;
    for (const auto& handles : handles_) {
      for (const auto& [id, handle] : handles) all.insert(handle.bytes.get());
    }
    for (const auto& [tenant, exports] : exports_) {
      for (const auto& [name, each] : exports) {
        for (const auto& page : each.pages) all.insert(page.get());
      }
    }
    all.erase(nullptr);
    return all;
  }
  std::uint32_t free_count() const {
    return knobs_.page_count - static_cast<std::uint32_t>(live().size());
  }
  std::set<const Bytes*> held_by(std::size_t guest) const {
    std::set<const Bytes*> held;
    for (const auto& [id, handle] : handles_[guest]) held.insert(handle.bytes.get());
    held.erase(nullptr);
    return held;
  }
  void check_counts() { ASSERT_EQ(harness_.free_page_count(), free_count()); }

  // Compares the outcome of a step with that of the model: empty, or an error.
  void expect(std::size_t guest, FutureId future, std::optional<ErrorCode> wanted,
              const char* what) {
    harness_.run();
    const std::optional<ErrorCode> given = harness_.error(guests_[guest]->id, future);
    const auto name = [](std::optional<ErrorCode> code) {
      return code ? std::string(error_code_name(*code)) : std::string("done");
    };
    ++outcomes[std::string(what) + " " + name(wanted)];
    ASSERT_EQ(name(given), name(wanted)) << what;
  }

  // A handle of the guest; now and then one that it does not have.
  ObjectId some(std::size_t guest) {
    auto& handles = handles_[guest];
    if (below(16) == 0) {
      const auto& others = handles_[below(kGuests)];
      if (&others != &handles && !others.empty()) return others.begin()->first;
      return ObjectId{1'000'000};
    }
    if (handles.empty()) return ObjectId{1'000'000};
    // In most cases it stands for a page.
    auto chosen = handles.begin();
    for (int each = 0; each < 4; ++each) {
      chosen = std::next(handles.begin(), static_cast<std::ptrdiff_t>(below(handles.size())));
      if (chosen->second.bytes != nullptr) break;
    }
    return chosen->first;
  }
  Handle* find(std::size_t guest, ObjectId id) {
    const auto found = handles_[guest].find(id);
    return found == handles_[guest].end() ? nullptr : &found->second;
  }
  // In most cases it is a name that the guest's tenant has exported.
  std::string some_name(std::size_t guest) {
    const auto& exports = exports_of(guest);
    if (!exports.empty() && below(4) != 0) {
      return std::next(exports.begin(), static_cast<std::ptrdiff_t>(below(exports.size())))->first;
    }
    return "name " + std::to_string(below(5));
  }

  Handle handle_of(std::shared_ptr<Bytes> bytes) const {
    return {.bytes = std::move(bytes), .view = std::vector<bool>(knobs_.page_size, true)};
  }
  std::shared_ptr<Bytes> new_bytes() const {
    return std::make_shared<Bytes>(Bytes{.slots = Slots(knobs_.page_size)});
  }

  void alloc(std::size_t guest) {
    const std::size_t count = 1 + below(3);
    const auto ids = harness_.new_objects(count);
    const FutureId future = guests_[guest]->send(AllocPages{guests_[guest]->queue, ids});
    if (handles_[guest].size() + count > kPageCountMax) {
      return expect(guest, future, ErrorCode::QuotaExceeded, "alloc");
    }
    const bool is_full = free_count() < count;
    const auto held = static_cast<std::uint32_t>(held_by(guest).size());
    const std::optional<ErrorCode> wanted =
        held + count > kPageCountMax
            ? std::optional(ErrorCode::QuotaExceeded)
            : (is_full ? std::optional(ErrorCode::NoFreePage) : std::nullopt);
    for (const ObjectId id : ids) {
      handles_[guest][id] = handle_of(wanted ? nullptr : new_bytes());
    }
    // A program that waits for pages gives up once no other program can give any; here, after the
    // limit.
    if (wanted == ErrorCode::NoFreePage) give_up();
    expect(guest, future, wanted, "alloc");
  }

  // Other programs hold pages and may let them go, so the wait goes on to its limit.
  void give_up() {
    harness_.run();
    harness_.clock.advance_ns(ControllerOptions{}.page_wait_ns_max);
  }

  void dealloc(std::size_t guest) {
    ObjectId id = some(guest);
    for (const auto& [empty, handle] : handles_[guest]) {
      if (handle.bytes == nullptr && below(2) == 0) id = empty;
    }
    const FutureId future = guests_[guest]->dealloc({id});
    const bool is_known = handles_[guest].erase(id) > 0;
    expect(guest, future, is_known ? std::nullopt : std::optional(ErrorCode::NotFound), "dealloc");
  }

  void write(std::size_t guest) {
    const ObjectId id = some(guest);
    const std::size_t count = 1 + below(std::max(knobs_.page_size / 2, 2u));
    std::vector<std::uint32_t> tokens;
    for (std::size_t each = 0; each < count; ++each) {
      tokens.push_back(static_cast<std::uint32_t>(below(512)));
    }
    // Each at a position of its own, so that no two writes are equal by chance.
    const std::uint32_t first = next_write_;
    next_write_ += static_cast<std::uint32_t>(count);
    const FutureId future = guests_[guest]->write({id}, tokens, first);
    Handle* handle = find(guest, id);
    if (handle == nullptr) return expect(guest, future, ErrorCode::NotFound, "write");
    if (handle->bytes == nullptr) return expect(guest, future, ErrorCode::NoFreePage, "write");
    Bytes& bytes = *handle->bytes;
    if (bytes.is_shared) return expect(guest, future, ErrorCode::PageCommitted, "write");
    const std::uint32_t fill = fill_of(bytes);
    if (knobs_.page_size - fill < count)
      return expect(guest, future, ErrorCode::OutOfRange, "write");
    for (std::size_t each = 0; each < count; ++each) {
      bytes.slots[fill + each] = first + static_cast<std::uint32_t>(each);
    }
    expect(guest, future, std::nullopt, "write");
  }

  void copy(std::size_t guest) {
    const ObjectId from = some(guest);
    const ObjectId to = some(guest);
    const auto from_slot = static_cast<std::uint32_t>(below((knobs_.page_size + 1) / 2));
    const auto to_slot = static_cast<std::uint32_t>(below(knobs_.page_size));
    const auto count = static_cast<std::uint32_t>(below(4));
    const FutureId future = guests_[guest]->copy(from, to, from_slot, to_slot, count);
    Handle* source = find(guest, from);
    Handle* target = find(guest, to);
    std::optional<ErrorCode> wanted;
    if (source == nullptr || target == nullptr) {
      wanted = ErrorCode::NotFound;
    } else if (source->bytes == nullptr || target->bytes == nullptr) {
      wanted = ErrorCode::NoFreePage;
    } else if (std::max(from_slot, to_slot) + count > knobs_.page_size) {
      wanted = ErrorCode::OutOfRange;
    } else if (target->bytes->is_shared) {
      wanted = ErrorCode::PageCommitted;
    } else {
      const Slots slots = source->bytes->slots;
      for (std::uint32_t each = 0; each < count; ++each) {
        if (slots[from_slot + each] == 0) wanted = ErrorCode::PageNotFull;
      }
      for (std::uint32_t each = 0; !wanted && each < count; ++each) {
        target->bytes->slots[to_slot + each] = slots[from_slot + each];
      }
    }
    expect(guest, future, wanted, "copy");
  }

  void mask(std::size_t guest) {
    const ObjectId id = some(guest);
    std::vector<std::uint8_t> visible;
    for (std::uint32_t slot = 0; slot < knobs_.page_size; ++slot) visible.push_back(below(4) != 0);
    const FutureId future = guests_[guest]->mask(id, visible);
    Handle* handle = find(guest, id);
    if (handle == nullptr) return expect(guest, future, ErrorCode::NotFound, "mask");
    std::copy(visible.begin(), visible.end(), handle->view.begin());
    expect(guest, future, std::nullopt, "mask");
  }

  std::optional<ErrorCode> check_export(std::size_t guest, const std::vector<ObjectId>& ids,
                                        const std::string& name, bool is_public) {
    std::size_t copies = 0;
    bool has_unallocated = false;
    std::set<ObjectId> named;
    for (const ObjectId id : ids) {
      const Handle* handle = find(guest, id);
      if (handle == nullptr) return ErrorCode::NotFound;
      if (!named.insert(id).second) return ErrorCode::InvalidArgument;
      has_unallocated |= handle->bytes == nullptr;
      copies += handle->bytes != nullptr && !handle->bytes->is_shared && !is_full(*handle->bytes);
    }
    if (is_public && !is_granted(guest)) return ErrorCode::PermissionDenied;
    if (has_unallocated) return ErrorCode::NoFreePage;
    if (exports_of(guest).contains(name)) return ErrorCode::AlreadyExists;
    if (is_public && find_public(name) != nullptr) return ErrorCode::AlreadyExists;
    std::size_t own_pages = 0;
    for (const auto& [each, exported] : exports_of(guest)) own_pages += exported.pages.size();
    if (exports_of(guest).size() >= kExportsMax) return ErrorCode::QuotaExceeded;
    if (own_pages + ids.size() > kExportPagesMax) return ErrorCode::QuotaExceeded;
    std::size_t other_pages = 0;
    for (const auto& [tenant, exports] : exports_) {
      for (const auto& [each, exported] : exports) other_pages += exported.pages.size();
    }
    other_pages -= own_pages;
    // A tenant may have as much of half the pool as it leaves for the others.
    const std::size_t all_max = std::max(knobs_.page_count / 2, 2u);
    if (own_pages + ids.size() > (all_max - other_pages) / 2) return ErrorCode::QuotaExceeded;
    if (copies > free_count()) return ErrorCode::NoFreePage;
    return std::nullopt;
  }
  const Export* find_public(const std::string& name) {
    for (auto& [tenant, exports] : exports_) {
      const auto found = exports.find(name);
      if (found != exports.end() && found->second.is_public) return &found->second;
    }
    return nullptr;
  }

  void expose(std::size_t guest) {
    std::vector<ObjectId> ids;
    for (std::size_t count = 1 + below(4) / 2; count > 0; --count) ids.push_back(some(guest));
    const std::string name = "name " + std::to_string(below(5));
    const bool is_public = below(3) == 0;
    const std::optional<ErrorCode> wanted = check_export(guest, ids, name, is_public);
    const FutureId future = guests_[guest]->export_pages(ids, name, is_public);
    if (wanted == ErrorCode::NoFreePage) give_up();
    if (!wanted) {
      Export made{.pages = {}, .is_public = is_public};
      for (const ObjectId id : ids) {
        std::shared_ptr<Bytes> bytes = find(guest, id)->bytes;
        if (!bytes->is_shared && !is_full(*bytes)) bytes = std::make_shared<Bytes>(*bytes);
        bytes->is_shared = true;
        made.pages.push_back(std::move(bytes));
      }
      exports_of(guest)[name] = std::move(made);
    }
    expect(guest, future, wanted, "export");
  }

  void import(std::size_t guest) {
    const std::string name = some_name(guest);
    const auto ids = harness_.new_objects(1 + below(4) / 2);
    const FutureId future = guests_[guest]->import_pages(name, ids);
    if (handles_[guest].size() + ids.size() > kPageCountMax) {
      return expect(guest, future, ErrorCode::QuotaExceeded, "import");
    }
    const auto own = exports_of(guest).find(name);
    const Export* found = own != exports_of(guest).end() ? &own->second : find_public(name);
    std::optional<ErrorCode> wanted;
    if (found == nullptr) {
      wanted = ErrorCode::NotFound;
    } else if (found->pages.size() < ids.size()) {
      wanted = ErrorCode::OutOfRange;
    }
    for (std::size_t each = 0; each < ids.size(); ++each) {
      handles_[guest][ids[each]] = handle_of(wanted ? nullptr : found->pages[each]);
    }
    expect(guest, future, wanted, "import");
  }

  void unexport(std::size_t guest) {
    const std::string name = some_name(guest);
    const FutureId future = guests_[guest]->unexport(name);
    const bool is_known = exports_of(guest).erase(name) > 0;
    expect(guest, future, is_known ? std::nullopt : std::optional(ErrorCode::NotFound), "unexport");
  }

  void list(std::size_t guest) {
    const FutureId future = guests_[guest]->send(ListExports{});
    harness_.run();
    std::map<std::pair<bool, std::string>, std::size_t> wanted;
    for (const auto& [tenant, exports] : exports_) {
      const bool is_own = TenantId{tenant} == tenant_of(guest);
      for (const auto& [name, each] : exports) {
        if (is_own || each.is_public) wanted[{is_own, name}] = each.pages.size();
      }
    }
    std::map<std::pair<bool, std::string>, std::size_t> given;
    for (const auto& each : harness_.get<Exports>(guests_[guest]->id, future).all) {
      given[{each.is_own, each.name}] = each.page_count;
    }
    ASSERT_EQ(given, wanted);
    ++outcomes["list done"];
  }

  // Equal content looks equal, and other content other, from every guest and in every page.
  void look(std::size_t guest) {
    const ObjectId id = some(guest);
    const Handle* handle = find(guest, id);
    const std::string seen = guests_[guest]->probe({id}, knobs_.page_size);
    if (handle == nullptr || handle->bytes == nullptr) {
      ASSERT_EQ(seen, handle == nullptr ? "not-found" : "no-free-page");
      return;
    }
    Slots visible = handle->bytes->slots;
    for (std::uint32_t slot = 0; slot < knobs_.page_size; ++slot) {
      if (!handle->view[slot]) visible[slot] = 0;
    }
    const auto [by_content, is_new] = seen_.try_emplace(visible, seen);
    ASSERT_EQ(by_content->second, seen) << "equal content";
    ++outcomes[is_new ? "look new" : "look again"];
    if (!is_new) return;
    // Attention is a sum over what is seen: which slot it lies in is not.
    std::multiset<std::uint32_t> tokens(visible.begin(), visible.end());
    tokens.erase(0);
    const auto [by_look, is_first] = content_.try_emplace(seen, tokens);
    ASSERT_TRUE(is_first || by_look->second == tokens) << "other content";
  }

  const Knobs knobs_;
  std::mt19937_64 random_;
  Harness harness_;
  std::array<std::optional<PageGuest>, kGuests> guests_;
  std::array<std::map<ObjectId, Handle>, kGuests> handles_;
  std::map<std::uint32_t, std::map<std::string, Export>> exports_;
  std::uint32_t next_write_ = 1;
  std::map<Slots, std::string> seen_;
  std::map<std::string, std::multiset<std::uint32_t>> content_;
};

TEST(PageHandlePrograms, DoWhatANaiveModelSaysErrorByError) {
  const std::vector<std::uint64_t> seeds = campaign_seeds(kSeedCount);
  std::map<std::string, std::size_t> outcomes;
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("QUIRE_SEED_SHARE=" + std::to_string(seed) + "/" + std::to_string(kSeedCount));
    Simulation simulation(seed);
    for (int step = 0; step < 200; ++step) {
      simulation.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    simulation.finish();
    for (const auto& [outcome, count] : simulation.outcomes) outcomes[outcome] += count;
  }
  for (const auto& [outcome, count] : outcomes) std::cout << count << " " << outcome << "\n";
  if (seeds.size() < kProgramsForCoverage) return;
  const std::map<std::string, std::vector<std::string>> wanted{
      {"alloc", {"done", "no-free-page", "quota-exceeded"}},
      {"dealloc", {"done", "not-found"}},
      {"write", {"done", "not-found", "no-free-page", "out-of-range", "page-committed"}},
      {"copy",
       {"done", "not-found", "no-free-page", "out-of-range", "page-committed", "page-not-full"}},
      {"mask", {"done", "not-found"}},
      {"export",
       {"done", "already-exists", "invalid-argument", "no-free-page", "not-found",
        "permission-denied", "quota-exceeded"}},
      {"import", {"done", "not-found", "out-of-range", "quota-exceeded"}},
      {"unexport", {"done", "not-found"}},
      {"list", {"done"}},
      {"look", {"new", "again"}},
      {"restart", {"done"}},
      {"page size", {"1", "2", "8", "16", "32"}},
      {"page count", {"1", "2", "3", "7", "16", "64"}}};
  for (const auto& [what, all] : wanted) {
    for (const std::string& outcome : all) {
      EXPECT_GT(outcomes[what + " " + outcome], 0u) << what << " " << outcome;
    }
  }
}

}  // namespace
}  // namespace quire::control::page_handle_program_test
