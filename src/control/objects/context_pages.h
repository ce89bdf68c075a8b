#pragma once
// Between a context and handles of its pages, both ways.
//
// Out: a handle on each page that holds tokens. Committed pages are shared as they are; the partly
// filled one is sealed, as by a fork: whoever writes next copies it. Slots that the context dropped
// are none of the handle's.
//
// Back: a page that has, at its place, the name that its handle says (its parent is the page before
// it, from this tenant's root on) is shared. From the first that has not, or that was written under
// a mask, pages are copied, and the copies are opaque: nobody can tell what they depend on.
//
// Thread   engine thread only.
// Errors   nothing has changed when one is returned.
#include <cstdint>
#include <span>
#include <vector>

#include "control/contexts/context.h"
#include "control/objects/page_handles.h"

namespace quire::control {

// Pages that hold tokens and are held: committed ones, then the tail's.
std::uint32_t shareable_page_count(const Context& context);
// Those from `first` on become `pages`, new objects; says what they are. Commits what is full.
// Requires: as many pages, the context neither in flight nor suspended.
SharedPages share_pages(Context& context, std::uint32_t first, std::span<PageObject* const> pages);

// Whether a context can be made of what the pages hold. NoFreePage, PageNotFull and InvalidArgument
// name the page or the token.
Result<void> check_pages(std::span<PageObject* const> pages, std::span<const std::uint32_t> tokens,
                         const ModelResources& resources);
// Pages that must be copied for a context below `root`.
std::uint32_t pages_to_copy(std::span<PageObject* const> pages, NodeId root,
                            const ModelResources& resources);
// `context`, which is empty, becomes what the pages hold; slots that a handle leaves out are
// dropped. Requires: check_pages(), and that pages_to_copy() can be taken.
void adopt_pages(Context& context, std::span<PageObject* const> pages,
                 std::span<const std::uint32_t> tokens, std::vector<inference::PageCopy>& copies);

}  // namespace quire::control
