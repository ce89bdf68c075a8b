#pragma once
// TokenizerParts are the parts of a tokenizer, as plain values. make_text_codec() makes a TextCodec
// of them.
//
// Thread   any. A codec is immutable; loading 150,000 tokens takes well under a second.
// Errors   InvalidArgument for parts that contradict themselves (ids out of range, duplicate
//          tokens, merges of unknown tokens, texts that are not UTF-8); NotSupported naming a
//          tokenizer model or pre-tokenizer that is not implemented; TooLarge.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inference/api/text_codec.h"
#include "inference/tokenizer/chat_template.h"

namespace quire::inference {

class GgufMetadata;
class ModelFiles;

inline constexpr std::size_t kVocabularySizeMax = std::size_t{1} << 24;
inline constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;  // Of one text to encode.

// As `tokenizer.ggml.token_type` numbers them.
enum class TokenType : std::int32_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

struct TokenizerParts {
  std::string model;  // "gpt2": byte-level BPE. "llama": SentencePiece.
  std::string pre;    // How byte-level BPE cuts a text into words: "smollm", "llama-bpe", ….
  std::vector<std::string> tokens;
  std::vector<float> scores;              // Per token; SentencePiece only.
  std::vector<std::int32_t> token_types;  // Per token, or empty: all Normal.
  std::vector<std::string> merges;        // "left right" by rank; byte-level BPE only.
  std::int32_t bos_id = -1;               // -1: none.
  std::int32_t eos_id = -1;
  std::int32_t unknown_id = -1;
  std::optional<bool> add_bos;                           // Empty: as the tokenizer's kind has it.
  std::optional<bool> add_space_prefix;                  // Empty: true for SentencePiece.
  std::string chat_template;                             // Empty: none.
  std::vector<ChatTemplateSource> named_chat_templates;  // Beside it: "tool_use", ....
  // Tokens that only chat templates use: {"pad_token", 0}.
  std::vector<std::pair<std::string, std::int32_t>> further_special_ids;
};

// Seconds since 1970, for templates that write today's date.
using UnixClock = std::function<std::int64_t()>;
std::int64_t system_unix_seconds();

Result<std::unique_ptr<TextCodec>> make_text_codec(TokenizerParts parts,
                                                   UnixClock clock = system_unix_seconds);

// From the files of a folder as published. The config and the template may be empty; a template in
// a file of its own wins over the one in the config.
Result<std::unique_ptr<TextCodec>> make_text_codec_from_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json,
                                                             std::string_view chat_template = {},
                                                             UnixClock clock = system_unix_seconds);

Result<TokenizerParts> tokenizer_parts_from_gguf(const GgufMetadata& metadata);

// The codec of an opened model, and whether its raw prompts begin with the begin token.
struct ModelTextCodec {
  std::unique_ptr<TextCodec> codec;
  bool add_bos = false;
};
Result<ModelTextCodec> open_text_codec(const ModelFiles& model,
                                       UnixClock clock = system_unix_seconds);

}  // namespace quire::inference
