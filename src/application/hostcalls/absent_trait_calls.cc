// adapter, input-image and constraint: traits of the contract that no model here has yet. Each call
// checks whose model it is asked of and says so.
#include <string>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Error lacks(const ModelView& model, const char* trait) {
  return Error(ErrorCode::NotSupported,
               "model " + model.description.name + " lacks the trait " + trait);
}

// Of calls that take what only a model with the trait could have given.
Error no_model_has(const char* trait) {
  return Error(ErrorCode::NotSupported, std::string("no model here has the trait ") + trait);
}

constexpr const char* kAdapter = "adapter";
constexpr const char* kImage = "input_image";
constexpr const char* kConstraint = "constraint";

}  // namespace

Result<std::int32_t> adapter_available_adapters(HostCall& call, GuestHandle model, GuestAddress,
                                                std::uint32_t) {
  return lacks(TRY(find_model(call, model, nullptr)), kAdapter);
}

Result<std::int32_t> adapter_forward_with_adapter(HostCall& call, GuestHandle queue,
                                                  GuestList<std::uint8_t>, GuestList<std::int32_t>,
                                                  GuestList<std::int32_t>, GuestList<std::int32_t>,
                                                  GuestList<std::int32_t>, GuestList<std::uint8_t>,
                                                  std::uint32_t) {
  return lacks(TRY(find_queue(call, queue, nullptr)), kAdapter);
}

Result<std::int32_t> input_image_num_embs_needed(HostCall& call, GuestHandle model, std::uint32_t,
                                                 std::uint32_t) {
  return lacks(TRY(find_model(call, model, nullptr)), kImage);
}

Result<std::int32_t> input_image_embed_img(HostCall& call, GuestHandle queue,
                                           GuestList<std::int32_t>, GuestList<std::uint8_t>,
                                           GuestList<std::uint32_t>) {
  return lacks(TRY(find_queue(call, queue, nullptr)), kImage);
}

Result<std::int32_t> constraint_compile_grammar(HostCall& call, GuestHandle model, std::uint32_t,
                                                GuestList<std::uint8_t>) {
  return lacks(TRY(find_model(call, model, nullptr)), kConstraint);
}

Result<std::int32_t> constraint_create_matcher(HostCall&, GuestHandle) {
  return no_model_has(kConstraint);
}

Result<std::int32_t> constraint_fork_matcher(HostCall&, GuestHandle) {
  return no_model_has(kConstraint);
}

Result<std::int32_t> constraint_token_mask(HostCall&, GuestHandle, GuestAddress, std::uint32_t) {
  return no_model_has(kConstraint);
}

Result<std::int32_t> constraint_accept_tokens(HostCall&, GuestHandle, GuestList<std::uint32_t>) {
  return no_model_has(kConstraint);
}

Result<std::int32_t> constraint_roll_back(HostCall&, GuestHandle, std::uint32_t) {
  return no_model_has(kConstraint);
}

Result<std::int32_t> constraint_forced_tokens(HostCall&, GuestHandle, GuestAddress, std::uint32_t) {
  return no_model_has(kConstraint);
}

}  // namespace quire::hostcalls
