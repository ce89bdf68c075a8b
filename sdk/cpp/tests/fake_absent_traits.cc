// The traits that the fake's model lacks: adapters and images.
#include "fake_host.h"

namespace quire::abi {
namespace {

std::int32_t lacks(const char* trait) {
  return test::host.refuse(ErrorCode::NotSupported,
                           std::string("model fake lacks the trait ") + trait);
}

}  // namespace

namespace adapter {

std::int32_t available_adapters(std::int32_t, void*, std::uint32_t) {
  return lacks("adapter");
}
std::int32_t use_adapters(std::int32_t, const std::uint8_t*, std::uint32_t, const double*,
                          std::uint32_t) {
  return lacks("adapter");
}
std::int32_t forward_with_adapter(std::int32_t, const std::uint8_t*, std::uint32_t,
                                  const std::int32_t*, std::uint32_t, const std::int32_t*,
                                  std::uint32_t, const std::int32_t*, std::uint32_t,
                                  const std::int32_t*, std::uint32_t, const std::uint8_t*,
                                  std::uint32_t, std::uint32_t) {
  return lacks("adapter");
}

}  // namespace adapter

namespace input_image {

std::int32_t num_embs_needed(std::int32_t, std::uint32_t, std::uint32_t) {
  return lacks("input_image");
}
std::int32_t embed_img(std::int32_t, const std::int32_t*, std::uint32_t, const std::uint8_t*,
                       std::uint32_t, const std::uint32_t*, std::uint32_t) {
  return lacks("input_image");
}

}  // namespace input_image

}  // namespace quire::abi
