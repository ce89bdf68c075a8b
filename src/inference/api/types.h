#pragma once
// The words that the inference layer and those above it share. Plain values; no pointers.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sha256.h"

namespace quire::inference {

enum class TokenId : std::uint32_t {};
enum class PageId : std::uint32_t {};      // A physical page of one pool.
enum class SequenceId : std::uint32_t {};  // A page table on the device's side.
enum class EmbedSlot : std::uint32_t {};   // One embedding vector kept by the device.
enum class StateSlot : std::uint32_t {};   // A state kept by the device (batch.h).
enum class ModelId : std::uint32_t {};     // Index of a served model.
enum class BatchId : std::uint64_t {};

inline constexpr PageId kNoPage{0xffffffffu};  // A hole in a page table.
inline constexpr EmbedSlot kNoEmbedSlot{0xffffffffu};
inline constexpr StateSlot kNoState{0xffffffffu};
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;  // A row that writes no keys and values.
inline constexpr std::uint32_t kPageSizeMax = 32;
inline constexpr std::uint32_t kAllSlots = 0xffffffffu;  // Of a page, whatever its size.
inline constexpr std::uint32_t kSpanSlots =
    256;  // Attention folds partials over spans of so many slots.
inline constexpr std::uint32_t kLaneSlots = 16;

// Q8: 8-bit integers with one scale for each key and each value of a head (kv_layout.h).
enum class KvFormat : std::uint8_t { F32, F16, BF16, Q8 };
enum class KvMode : std::uint8_t { Paged, Basic };  // Basic: one growing buffer per sequence.

// The heads of a layer that have keys and values; count 0: the layer has none.
struct KvHeads {
  std::uint32_t count = 0;
  std::uint32_t head_dim = 0;
};

// The facts of a model that programs and the control layer may know.
struct ModelInfo {
  std::string name;
  std::string architecture;  // Architecture::name, of inference/architectures.
  std::uint32_t vocabulary_size = 0;
  std::uint32_t context_length = 0;  // Tokens; limits the distance from a query to its oldest key.
  std::uint32_t embedding_width = 0;
  std::uint32_t layer_count = 0;
  std::uint32_t head_count = 0;  // Of the first layer that attends, as the next two.
  std::uint32_t kv_head_count = 0;
  std::uint32_t head_dim = 0;
  std::vector<KvHeads> kv_heads;  // Of each layer. Empty: the device keeps no keys and values.
  std::int32_t bos_id = -1;       // -1: the model has none.
  std::int32_t eos_id = -1;
  std::vector<TokenId> stop_ids;  // End of text, of turn, of message.
  bool add_bos = false;           // Whether raw prompts begin with bos_id.
  Digest digest{};                // Of weights, number formats and hyperparameters.
};

}  // namespace quire::inference
