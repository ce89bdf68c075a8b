// NoFreePage for an operation that waited without success: the numbers, and the holders of the
// pages.
//
// The message is made once, when the wait is over, so it may walk every context: O(contexts + pages
// of the pool).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "control/room/page_room.h"

namespace quire::control {
namespace {

// A page that several have counts for the first of these.
enum class Holder : std::uint8_t { DroppedSlots, OpaquePages, Opening, Saving, Handles, AtWork };
constexpr std::array<const char*, 6> kHolderTexts{
    "by contexts that dropped slots", "by contexts with opaque pages", "by contexts being opened",
    "by contexts being saved",        "by page handles and exports",   "by contexts at work",
};
constexpr std::size_t kHolderCount = kHolderTexts.size();

constexpr std::size_t place_of(Holder holder) {
  return static_cast<std::size_t>(holder);
}

// The reason why a context cannot be suspended for other operations.
Holder holder_of(const Context& context) {
  if (context.is_opening()) return Holder::Opening;
  if (!context.view().is_plain()) return Holder::DroppedSlots;
  if (!context.is_plain()) return Holder::OpaquePages;
  return Holder::AtWork;
}

const char* advice(const ModelResources& resources) {
  if (resources.device.page_bytes == 0) return "this device moves no pages";
  return resources.tiers.is_on() ? "no tier has room for them: more --kv-host or --kv-disk gives it"
                                 : "no tier takes them: --kv-host or --kv-disk adds one";
}

// Counts each page once, for the first who names it.
class PageCensus {
 public:
  explicit PageCensus(const PageCache& cache)
      : cache_(cache), is_counted_(cache.page_count()), is_in_chain_(cache.page_count()) {}

  void count(PageId page, std::uint32_t& sum) {
    const auto index = static_cast<std::size_t>(page);
    sum += !is_counted_[index];
    is_counted_[index] = true;
  }
  // All pages whose bytes it holds.
  void count(const Context& context, std::uint32_t& sum) {
    if (context.chain().head() == kNoNode || context.is_suspended()) return;
    for (NodeId node = context.chain().anchor(); !cache_.is_root(node);
         node = cache_.parent(node)) {
      const auto index = static_cast<std::size_t>(cache_.page_of(node));
      if (is_in_chain_[index]) break;  // So are all above it.
      is_in_chain_[index] = true;
      count(cache_.page_of(node), sum);
    }
    for (const WindowPage& page : context.chain().window()) count(cache_.page_of(page.node), sum);
    for (const PageId page : context.working().pages()) count(page, sum);
  }

 private:
  const PageCache& cache_;
  std::vector<bool> is_counted_;
  std::vector<bool> is_in_chain_;
};

}  // namespace

Error PageRoom::explain(const Operation& operation) const {
  Error numbers = no_free_page(*operation.instance, operation.wanted_page_count);
  if (options_.when_full == WhenFull::FcfsKill) return numbers;  // That mode suspends no context.
  std::array<std::vector<const Context*>, kHolderCount> contexts;
  std::vector<const PageObject*> handles;
  for (const auto& [order, instance] : table_.instances) {
    instance->objects.for_each([&](std::uint32_t, const ObjectEntry& entry) {
      if (entry.kind == ObjectKind::Page) {
        handles.push_back(static_cast<const PageObject*>(entry.object));
      } else if (entry.kind == ObjectKind::Context) {
        auto* context = static_cast<Context*>(entry.object);
        if (context->replica() != &replica_) return;
        const bool is_kept = victim_of(operation, *context).has_value() &&
                             !context->can_suspend() && !context->can_swap();
        contexts[place_of(is_kept ? holder_of(*context) : Holder::AtWork)].push_back(context);
      }
    });
    for (const Operation* each = instance->unfinished.first; each != nullptr;
         each = each->instance_next) {
      if (each->replica != &replica_ || !is<ContextSave>(*each) || each->child == nullptr) continue;
      contexts[place_of(Holder::Saving)].push_back(each->child);
    }
  }
  table_.exports.for_each([&](const PageExport& each) {
    handles.insert(handles.end(), each.pages.begin(), each.pages.end());
  });
  PageCensus census(replica_.resources.cache);
  std::array<std::uint32_t, kHolderCount> counts{};
  for (std::size_t holder = 0; holder < kHolderCount; ++holder) {
    for (const Context* each : contexts[holder]) census.count(*each, counts[holder]);
    if (holder != place_of(Holder::Handles)) continue;
    for (const PageObject* each : handles) {
      if (each->replica != &replica_ || each->page == inference::kNoPage) continue;
      census.count(each->page, counts[holder]);
    }
  }
  std::string text;
  for (std::size_t holder = 0; holder < kHolderCount; ++holder) {
    if (counts[holder] == 0) continue;
    text += (text.empty() ? "; in use: " : ", ") + std::to_string(counts[holder]) + " " +
            kHolderTexts[holder];
  }
  if (counts[place_of(Holder::DroppedSlots)] + counts[place_of(Holder::OpaquePages)] > 0) {
    text += std::string(" (") + advice(replica_.resources) + ")";
  }
  return Error(ErrorCode::NoFreePage, std::string(numbers.message()) + text);
}

}  // namespace quire::control
