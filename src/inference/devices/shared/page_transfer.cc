#include "inference/devices/shared/page_transfer.h"

#include <string>
#include <utility>

namespace quire::inference {
namespace {

Result<void> check(const char* what, PageId page, std::size_t byte_count,
                   std::uint64_t page_bytes) {
  if (page_bytes == 0) {
    return Error(ErrorCode::NotSupported, "this KV memory has no pages to load or save");
  }
  if (byte_count != page_bytes) {
    return Error(ErrorCode::InvalidArgument,
                 std::string(what) + " " + std::to_string(static_cast<std::uint32_t>(page)) +
                     " has " + std::to_string(byte_count) + " bytes; a page has " +
                     std::to_string(page_bytes));
  }
  return {};
}

}  // namespace

Result<void> check_load(const PageLoad& load, std::uint64_t page_bytes) {
  return check("what is to be loaded into page", load.page, load.bytes.byte_count(), page_bytes);
}

Result<PageBytes> take_memory(PageSave& save, std::uint64_t page_bytes) {
  if (save.memory.byte_count() == 0) save.memory = PageBytes::uninitialised(page_bytes);
  TRY(check("the memory for page", save.page, save.memory.byte_count(), page_bytes));
  return std::move(save.memory);
}

}  // namespace quire::inference
