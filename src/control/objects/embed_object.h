#pragma once
// EmbedObject: an input token, or what a pass put out, by its handle.
//
// Thread   engine thread only.
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/slab.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Instance;
struct Operation;
struct Replica;

enum class EmbedState : std::uint8_t { Empty, Token, Output, Failed };

struct alignas(64) EmbedObject {
  std::uint32_t generation = 0;
  EmbedState state = EmbedState::Empty;
  Replica* replica = nullptr;
  inference::EmbedSlot slot = inference::kNoEmbedSlot;  // Output: where the device keeps it,
  std::uint32_t row = 0;                                // its row in the batch that makes it,
  std::uint32_t pass = 0;                               // that row's pass,
  std::uint32_t position = 0;  // Of the token; of an output: that of the token to follow.
  std::uint64_t batch = 0;     // and that batch.
  std::optional<Error> error;  // Failed: why.
  Ref<Operation> last_operation;
  std::uint64_t stamp = 0;
  inference::TokenId token{};  // Token.
  Instance* instance = nullptr;
  void recycle() {
    replica = nullptr;
    instance = nullptr;
    state = EmbedState::Empty;
    slot = inference::kNoEmbedSlot;
    batch = 0;
    error.reset();
    last_operation = {};
  }
};

}  // namespace quire::control
