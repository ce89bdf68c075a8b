#include "control/objects/context_pages.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/contexts/context_builder.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/tail_page.h"

namespace quire::control {

using inference::TokenId;

namespace {

// `visible`: slots that the context did not drop. The others may never have been written, so their
// bytes may be those of any earlier page: the handle does not have them, and no mask adds them.
void describe(PageObject& page, std::vector<std::uint32_t> positions, std::uint32_t written_count,
              std::uint32_t visible) {
  page.is_shared = true;
  page.written = slot_bits(0, written_count) & visible;
  page.positions = std::move(positions);
  page.position_min = *std::min_element(page.positions.begin(), page.positions.end());
}

void share_node(PageObject& page, ModelResources& resources, NodeId node,
                std::uint32_t written_count, std::uint32_t visible) {
  PageCache& cache = resources.cache;
  cache.hold_page(node);
  page.page = cache.page_of(node);
  page.node = node;
  describe(page, cache.trie().positions(node), written_count, visible);
}

void describe_adapters(const Context& context, PageObject& page, std::uint32_t slot_first) {
  if (context.adapters().of_slots.is_empty()) return;
  for (std::uint32_t slot = 0; slot < page.positions.size(); ++slot) {
    page.set_adapters(slot, context.adapters().of_slots.at(slot_first + slot));
  }
}

// The partly filled page that the next token goes to.
void share_tail(Context& context, PageObject& page, ModelResources& resources,
                std::uint32_t visible) {
  PageCache& cache = resources.cache;
  const std::uint32_t page_size = resources.cache.page_size();
  if (context.working().boundary() != kNoNode) {
    share_node(page, resources, context.working().boundary(), context.tokens().written_count(),
               visible);
    return;
  }
  page.page = context.working().pages().front();
  cache.seal(page.page);
  cache.retain(page.page);
  std::vector<std::uint32_t> positions(page_size);
  std::iota(positions.begin(), positions.end(), context.chain().page_count() * page_size);
  describe(page, std::move(positions), context.tokens().written_count(), visible);
  if (context.working().has_unnamed_start() || !context.view().is_plain()) return;
  page.above = context.chain().head();
  cache.hold_name(page.above);
  const auto written = context.tokens().written();
  page.tokens.assign(written.begin(), written.end());
}

// The tokens that the handle knows its page to hold; none where it does not know.
std::span<const TokenId> known_tokens(const PageObject& page, const PageCache& cache) {
  if (page.node == kNoNode) return page.tokens;
  return cache.trie().tokens(page.node).first(
      static_cast<std::size_t>(std::popcount(page.written)));
}

Error bad_page(std::size_t index, ErrorCode code, const std::string& what) {
  return Error(code, "pages[" + std::to_string(index) + "] " + what);
}

// How many tokens page `index` of `count` holds.
Result<std::uint32_t> check_page(const PageObject& page, std::size_t index, std::size_t count,
                                 std::uint32_t page_size) {
  if (page.page == inference::kNoPage) {
    return bad_page(index, ErrorCode::NoFreePage, "was never allocated");
  }
  const auto written = static_cast<std::uint32_t>(std::countr_one(page.written));
  const bool is_last = index + 1 == count;
  if (written == 0 || (written < page_size && !is_last)) {
    return bad_page(index, ErrorCode::PageNotFull,
                    "holds " + std::to_string(written) + " of " + std::to_string(page_size) +
                        " tokens" + (written == 0 ? "" : ", and others follow"));
  }
  if (page.written != slot_bits(0, written)) {
    return bad_page(index, ErrorCode::PageNotFull,
                    "has a slot that was not written before one that was");
  }
  for (std::uint32_t slot = 0; slot < written; ++slot) {
    const std::uint64_t position = std::uint64_t{index} * page_size + slot;
    if (page.positions[slot] == position) continue;
    return bad_page(index, ErrorCode::InvalidArgument,
                    "holds position " + std::to_string(page.positions[slot]) + " in slot " +
                        std::to_string(slot) + "; in a context it would be " +
                        std::to_string(position));
  }
  return written;
}

Result<void> check_known(std::span<const TokenId> known, std::span<const std::uint32_t> given,
                         std::uint32_t token_first) {
  for (std::size_t each = 0; each < known.size(); ++each) {
    if (static_cast<std::uint32_t>(known[each]) == given[each]) continue;
    return Error(ErrorCode::InvalidArgument,
                 "tokens[" + std::to_string(token_first + each) + "]: the page holds another one");
  }
  return {};
}

// Pages from the first on that are what comes next below the page before them, and whose tokens
// alone say what they hold. One written under a mask would need a view that says so: a context that
// could be suspended would compute it without.
std::uint32_t attachable_count(std::span<PageObject* const> pages, NodeId above,
                               const PageCache& cache) {
  std::uint32_t count = 0;
  for (const PageObject* page : pages) {
    const bool is_committed = page->node != kNoNode && cache.parent(page->node) == above &&
                              cache.trie().mask(page->node).empty();
    const bool is_next = page->node == kNoNode && page->above == above && !page->tokens.empty();
    if (!is_committed && !is_next) break;
    above = page->node;
    ++count;
  }
  return count;
}

// Builds a context page by page.
class Adoption {
 public:
  Adoption(Context& context, std::vector<inference::PageCopy>& copies)
      : context_(context),
        builder_(context),
        resources_(*context.owner().resources),
        copies_(copies) {}

  void attach(const PageObject& page, std::span<const TokenId> tokens) {
    take_adapters(page, tokens.size());
    if (tokens.size() == resources_.cache.page_size()) {
      builder_.attach(page.node);
      return;
    }
    PageCache& cache = resources_.cache;
    if (page.node != kNoNode) {
      cache.hold_page(page.node);
    } else {
      cache.retain(page.page);
    }
    builder_.begin_tail(page.page, page.node, tokens,
                        page.node != kNoNode && cache.trie().is_opaque(page.node));
  }

  void copy(const PageObject& page, std::span<const TokenId> tokens) {
    take_adapters(page, tokens.size());
    PageCache& cache = resources_.cache;
    const std::uint32_t page_size = resources_.cache.page_size();
    std::vector<PageId> own;
    QUIRE_CHECK(cache.take(1, own), "adopted without room");
    append_copies(page.page, own.front(), page.written, copies_);
    if (tokens.size() < page_size) {
      builder_.begin_tail(own.front(), kNoNode, tokens, true);
      return;
    }
    const std::uint32_t slot_first = context_.chain().page_count() * page_size;
    const std::vector<AdapterRun> adapters =
        adapter_runs(context_.adapters().of_slots, slot_first, slot_first + page_size);
    const PageContent content{.tokens = tokens, .positions = page.positions, .adapters = adapters};
    builder_.push(cache.commit(own.front(), context_.chain().head(), content, HoldKind::Chain,
                               /*is_opaque=*/true));
  }

 private:
  void take_adapters(const PageObject& page, std::size_t slot_count) {
    const std::uint32_t first = context_.chain().page_count() * context_.page_size();
    for (std::uint32_t slot = 0; slot < slot_count; ++slot) {
      builder_.extend_adapters(first + slot, page.adapters_of(slot));
    }
  }

  const Context& context_;
  ContextBuilder builder_;
  ModelResources& resources_;
  std::vector<inference::PageCopy>& copies_;
};

// Drops the slots that handles leave out of their view.
void drop_masked(Context& context, std::span<PageObject* const> pages) {
  const std::uint32_t page_size = context.page_size();
  SlotSet slots;
  for (std::size_t index = 0; index < pages.size(); ++index) {
    std::uint32_t masked = pages[index]->written & ~pages[index]->view;
    while (masked != 0) {
      const auto first = static_cast<std::uint32_t>(std::countr_zero(masked));
      const auto count = static_cast<std::uint32_t>(std::countr_one(masked >> first));
      const std::uint32_t begin = static_cast<std::uint32_t>(index) * page_size + first;
      slots.add({begin, begin + count});
      masked &= ~slot_bits(first, count);
    }
  }
  context.parts().drop_slots(slots);
}

}  // namespace

std::uint32_t shareable_page_count(const Context& context) {
  return context.chain().held_count() + written_tail_count(context.parts());
}

SharedPages share_pages(Context& context, std::uint32_t first, std::span<PageObject* const> pages) {
  ModelResources& resources = *context.owner().resources;
  QUIRE_CHECK(!context.is_in_flight() && !context.is_suspended(), "shared under a batch");
  const std::uint32_t page_size = resources.cache.page_size();
  context.parts().commit_full();
  const std::vector<WindowPage> held = context.chain().held_pages(resources.cache, first);
  const SlotSet& dropped = context.view().dropped();
  SharedPages shared;
  for (std::size_t each = 0; each < pages.size(); ++each) {
    PageObject& page = *pages[each];
    const std::uint32_t index =
        each < held.size() ? held[each].index : context.chain().page_count();
    const std::uint32_t visible = dropped.visible_bits(index * page_size, page_size);
    if (each < held.size()) {
      share_node(page, resources, held[each].node, page_size, visible);
    } else {
      share_tail(context, page, resources, visible);
    }
    describe_adapters(context, page, index * page_size);
    context.owner().ledger->acquire(page.page);
    shared.all.push_back({.index = index, .written = page.written});
  }
  return shared;
}

Result<void> check_pages(std::span<PageObject* const> pages, std::span<const std::uint32_t> tokens,
                         const ModelResources& resources) {
  const std::uint32_t page_size = resources.cache.page_size();
  std::uint64_t count = 0;
  for (std::size_t index = 0; index < pages.size(); ++index) {
    count += TRY(check_page(*pages[index], index, pages.size(), page_size));
  }
  if (count != tokens.size()) {
    return Error(ErrorCode::InvalidArgument, "the pages hold " + std::to_string(count) +
                                                 " tokens; " + std::to_string(tokens.size()) +
                                                 " are given");
  }
  std::uint32_t first = 0;
  for (const PageObject* page : pages) {
    const std::span<const TokenId> known = known_tokens(*page, resources.cache);
    TRY(check_known(known, tokens.subspan(first), first));
    first += page_size;
  }
  return {};
}

std::uint32_t pages_to_copy(std::span<PageObject* const> pages, NodeId root,
                            const ModelResources& resources) {
  return static_cast<std::uint32_t>(pages.size()) - attachable_count(pages, root, resources.cache);
}

void adopt_pages(Context& context, std::span<PageObject* const> pages,
                 std::span<const std::uint32_t> tokens, std::vector<inference::PageCopy>& copies) {
  const std::uint32_t page_size = context.page_size();
  QUIRE_CHECK(context.chain().page_count() == 0 && context.tokens().is_empty(), "adopted twice");
  const std::uint32_t attachable =
      attachable_count(pages, context.chain().head(), context.owner().resources->cache);
  Adoption adoption(context, copies);
  std::vector<TokenId> held;
  for (std::size_t index = 0; index < pages.size(); ++index) {
    const std::size_t first = index * page_size;
    const std::size_t count = std::min<std::size_t>(page_size, tokens.size() - first);
    held.clear();
    for (const std::uint32_t token : tokens.subspan(first, count)) held.push_back(TokenId{token});
    if (index < attachable) {
      adoption.attach(*pages[index], held);
    } else {
      adoption.copy(*pages[index], held);
    }
  }
  drop_masked(context, pages);
}

}  // namespace quire::control
