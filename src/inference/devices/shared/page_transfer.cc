#include "inference/devices/shared/page_transfer.h"

#include <string>
#include <utility>

namespace quire::inference {
namespace {

// The page or the state that is moved.
struct Place {
  PageId page{};
  StateSlot state = kNoState;
  bool is_state() const { return state != kNoState; }
  std::uint64_t bytes(const BackendCapabilities& device) const {
    return is_state() ? device.state_bytes : device.page_bytes;
  }
};

Result<void> check(const char* what, const Place& place, std::size_t byte_count,
                   const BackendCapabilities& device) {
  const std::uint64_t wanted = place.bytes(device);
  if (wanted == 0) {
    return Error(ErrorCode::NotSupported, place.is_state()
                                              ? "this model has no states to load or save"
                                              : "this KV memory has no pages to load or save");
  }
  if (byte_count == wanted) return {};
  const std::string kind = place.is_state() ? "state" : "page";
  const auto number = place.is_state() ? static_cast<std::uint32_t>(place.state)
                                       : static_cast<std::uint32_t>(place.page);
  return Error(ErrorCode::InvalidArgument, what + kind + " " + std::to_string(number) + " has " +
                                               std::to_string(byte_count) + " bytes; a " + kind +
                                               " has " + std::to_string(wanted));
}

}  // namespace

Result<void> check_load(const PageLoad& load, const BackendCapabilities& device) {
  return check("what is to be loaded into ", {load.page, load.state}, load.bytes.byte_count(),
               device);
}

Result<PageBytes> take_memory(PageSave& save, const BackendCapabilities& device) {
  const Place place{save.page, save.state};
  if (save.memory.byte_count() == 0) save.memory = PageBytes::uninitialised(place.bytes(device));
  TRY(check("the memory for ", place, save.memory.byte_count(), device));
  return std::move(save.memory);
}

}  // namespace quire::inference
