#pragma once
// Commands on queues, pages and embeds, and reads of outputs. Values only; see command.h.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/api/adapter_runs.h"
#include "control/api/types.h"

namespace quire::control {

// clang-format off: a table, a line each where one is enough.
struct CreateQueue {
  ObjectId queue{};
  ModelIndex model{};
  Priority priority = Priority::Normal;
};
struct DestroyQueue { ObjectId queue{}; };        // Takes effect after the queue's commands.
struct SetQueuePriority { ObjectId queue{}; Priority priority = Priority::Normal; };
struct Synchronize { ObjectId queue{}; };

struct AllocPages { ObjectId queue{}; std::vector<ObjectId> pages; };
struct DeallocPages { ObjectId queue{}; std::vector<ObjectId> pages; };
struct AllocEmbeds { ObjectId queue{}; std::vector<ObjectId> embeds; };
struct DeallocEmbeds { ObjectId queue{}; std::vector<ObjectId> embeds; };

struct EmbedText {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  std::vector<std::uint32_t> tokens;              // As many as embeds.
  std::vector<std::uint32_t> positions;           // As many as embeds.
};

// interface/forward.wit says what a forward pass means.
struct Forward {
  ObjectId queue{};
  std::vector<ObjectId> input_pages;              // kNoObject is a hole.
  std::vector<ObjectId> input_embeds;
  std::vector<ObjectId> output_pages;
  std::vector<ObjectId> output_embeds;            // At most as many as input_embeds.
  std::vector<std::uint8_t> mask;              // Empty, or [input_embeds][page_size * (both lists)].
  bool beyond_context = false;
  ChosenAdaptersRef adapters{};                   // Under which its rows are computed.
};

struct MaskPage {
  ObjectId queue{};
  ObjectId page{};
  std::vector<std::uint8_t> visible;              // [page_size], 0 or 1.
};

// The four below are of interface/allocate.wit: `copy_kvpage` and what goes by name.
struct CopyPage {
  ObjectId queue{};
  ObjectId from{};
  ObjectId to{};
  std::uint32_t from_slot = 0;
  std::uint32_t to_slot = 0;
  std::uint32_t slot_count = 0;
};
struct ExportPages {
  ObjectId queue{};
  std::vector<ObjectId> pages;
  std::string name;                               // See base/guest_name.h.
  bool is_public = false;                         // Needs InstanceLimits::may_export_publicly.
};
// The first of the export's pages become `pages`, which are new objects.
struct ImportPages { ObjectId queue{}; std::string name; std::vector<ObjectId> pages; };
struct UnexportPages { std::string name; };
struct ListExports {};

// Bit i % 32 of word i / 32: token i may come. Null: every token.
using TokenMask = std::shared_ptr<const std::vector<std::uint32_t>>;

struct GetNextDist {
  ObjectId queue{};
  ObjectId embed{};
  std::uint32_t top_k = 256;
  float temperature = 1.0f;                       // Divides logits before the softmax.
};
// Other forms of the same: interface/output.wit.
struct GetLogits { ObjectId queue{}; ObjectId embed{}; };
struct GetLogprobs { ObjectId queue{}; ObjectId embed{}; std::vector<std::uint32_t> tokens; };
// One read for a list. Of the first, probabilities are over the tokens of the mask alone.
struct GetNextDists {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  TokenMask mask;
  std::uint32_t top_k = 256;
};
struct GetLogprobsOf {
  ObjectId queue{};
  std::vector<ObjectId> embeds;
  std::vector<std::uint32_t> tokens;              // tokens[i] at embeds[i].
};
struct GetEntropy { ObjectId queue{}; ObjectId embed{}; };
struct GetEmbedding { ObjectId queue{}; ObjectId embed{}; };
// clang-format on

}  // namespace quire::control
