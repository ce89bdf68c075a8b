#pragma once
// An adapter as a GGUF file, in the form that llama.cpp's convert_lora_to_gguf.py writes:
// general.type "adapter", adapter.type "lora", and for each matrix NAME of the base NAME.lora_a
// and NAME.lora_b. The scale is adapter.lora.alpha / rank, or 1 if alpha is 0 or missing.
//
// Of token_embd, lora_a has a row for each token. Rows of query and key of some families are
// stored for interleaved RoPE, as those of its base.
//
// Thread   any; no state.
// Errors   those of GgufFile and assemble(); NotSupported, by name, for another kind of file, and
//          for tensors of what is not implemented; Corrupted for another architecture.
#include <memory>

#include "inference/adapters/stored_pair.h"

namespace quire::inference {

Result<std::shared_ptr<const Adapter>> read_gguf_adapter(const PairShape& shape,
                                                         std::shared_ptr<const ByteSource> source,
                                                         const AdapterLimits& limits);

}  // namespace quire::inference
