#pragma once
// ServedModel is what the control layer is given of a model: its device, and what reads its text.
#include <optional>
#include <string>

#include "control/api/adapter_catalog.h"
#include "inference/api/backend.h"
#include "inference/api/grammar.h"
#include "inference/api/text_codec.h"

namespace quire::control {

// The models run on one device, in turns.
struct ServedModel {
  std::string name{};  // By which programs open it; empty: as the backend has it.
  inference::Backend* backend = nullptr;
  const inference::TextCodec* codec = nullptr;  // Null: the model has no tokenizer.
  bool has_chat_template = false;
  inference::GrammarCompiler* grammars = nullptr;  // Null: the model takes none.
  const AdapterCatalog* adapters = nullptr;        // Null: none are ever loaded.
  std::optional<bool> add_bos{};  // As the tokenizer's files say; empty: as the backend has it.
};

}  // namespace quire::control
