#pragma once
// share_pages() and adopt_pages() go between a context and handles of its pages.
//
// Out: a handle on each page that holds tokens. Committed pages are shared as they are; the partly
// filled one is sealed, as by a fork: the next writer copies it. Slots that the context dropped are
// not in the handle.
//
// Back: a page is shared if it has, at its place, the name of its handle: its parent is the page
// before it, from this tenant's root on. From the first page without that name, or written under a
// mask, pages are copied. The copies are opaque, because their dependencies are unknown.
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
// Makes the pages from `first` on into `pages`, new objects, and returns what they are. Commits
// full pages. Requires: as many pages, the context neither in flight nor suspended.
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
