#pragma once
// Operations on pages that are handled one by one: copied slot by slot, shared, let go.
//
// A handle is the one owner of a working page, or one of several readers of a shared page. A shared
// page is sealed (of an export, or the tail of a context) or committed.
//
// Copies are placed in the batch that is being built. A copy cannot fail on the device, and a batch
// copies before anything in it reads, so the copied slots exist from then on.
//
// Ledgers are the caller's: an export has no instance.
//
// Thread   engine thread only.
// Errors   of check_copy() and check_readable(); nothing has changed then.
#include <vector>

#include "base/result.h"
#include "control/contexts/model_resources.h"
#include "control/objects/instance.h"
#include "inference/api/batch.h"

namespace quire::control {

inline bool is_full(const PageObject& page, std::uint32_t page_size) {
  return page.written == slot_bits(0, page_size);
}

// NoFreePage: the page, which is argument `index` of the list `name`, was never allocated.
Result<void> check_readable(const PageObject& page, const char* name, std::size_t index);
// OutOfRange: slots beyond the page. PageCommitted: `to` is shared. PageNotFull: a slot of `from`
// that was not written.
Result<void> check_copy(const PageObject& from, const PageObject& to, const CopyPage& copy,
                        std::uint32_t page_size);
// The slots keep their positions; what either handle leaves out of its view stays as it was.
// Requires: check_copy(). `from` and `to` may be one page.
inference::PageCopy copy_slots(const PageObject& from, PageObject& to, const CopyPage& copy);

// A working page is sealed: it can be shared, and is never written again.
void seal_handle(PageObject& page, ModelResources& resources);
// `to` becomes a second handle on the shared page of `from`, with a view of its own.
void share_handle(const PageObject& from, PageObject& to, ModelResources& resources);
// `to` becomes a sealed copy of `from`, in `page`, which was taken for it.
void copy_sealed(const PageObject& from, PageObject& to, PageId page, ModelResources& resources,
                 std::vector<inference::PageCopy>& copies);
// The written slots of `from`, one run after the other.
void append_copies(PageId from, PageId to, std::uint32_t written,
                   std::vector<inference::PageCopy>& copies);
// Gives the handle's hold back; it holds nothing then.
void release_handle(PageObject& page, ModelResources& resources);

}  // namespace quire::control
