// input-image: a trait of the contract that no model here has yet. Each call checks whose model it
// is asked of and says so.
#include <string>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Error lacks(const ModelView& model, const char* trait) {
  return Error(ErrorCode::NotSupported,
               "model " + model.description.name + " lacks the trait " + trait);
}

constexpr const char* kImage = "input_image";

}  // namespace

Result<std::int32_t> input_image_num_embs_needed(HostCall& call, GuestHandle model, std::uint32_t,
                                                 std::uint32_t) {
  return lacks(TRY(find_model(call, model, nullptr)), kImage);
}

Result<std::int32_t> input_image_embed_img(HostCall& call, GuestHandle queue,
                                           GuestList<std::int32_t>, GuestList<std::uint8_t>,
                                           GuestList<std::uint32_t>) {
  return lacks(TRY(find_queue(call, queue, nullptr)), kImage);
}

}  // namespace quire::hostcalls
