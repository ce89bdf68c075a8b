#pragma once
// TextCodec: text to token ids and back, and chat messages to a prompt, as the model's own files
// say.
//
// Thread   any: all functions are const and may run at once. Long jobs go to the helper thread.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

struct EncodeOptions {
  bool parse_special = true;  // "<|im_end|>" in the text becomes its token; false: plain text.
  bool add_bos = false;       // Prepend the model's begin token, if it has one.
};

enum class TokenKind : std::uint8_t {
  Text,
  Byte,         // One byte of a text that no other token spells: "<0x0A>".
  UserDefined,  // Added to the vocabulary; any text may spell it: "<tool_call>".
  Special,      // Only templates and models write it: "<|im_end|>".
  Unused,       // No text becomes it.
};

struct TokenView {
  TokenKind kind = TokenKind::Unused;
  std::string_view bytes;  // What the token decodes to; lives as long as the codec.
};

class TextCodec {
 public:
  virtual ~TextCodec() = default;

  virtual std::uint32_t vocabulary_size() const = 0;
  virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                              EncodeOptions options) const = 0;

  // The bytes of the tokens, one after the other. Not always whole UTF-8: a character may span
  // several tokens. `keep_special` false leaves special tokens out.
  virtual Result<std::string> decode(const std::vector<TokenId>& tokens,
                                     bool keep_special) const = 0;

  virtual Result<TokenView> token(TokenId id) const = 0;  // OutOfRange beyond the vocabulary.

  virtual Result<TokenId> special(std::string_view text) const = 0;  // NotFound names the text.

  // `request` is JSON: {"messages": [{"role", "content", ...}], "tools"?: [...],
  // "add_generation_prompt"?: true, any further key is a template variable}; they win over the
  // model's own variables. A model with several templates uses the one that "chat_template"
  // names, else "tool_use" for a request with tools, else "default". If the template has no place
  // for system turns, their text goes to turns of the user. Gives the prompt's text. Errors:
  // NotSupported when the model has no template; InvalidArgument for bad JSON or when the
  // template raises.
  virtual Result<std::string> apply_chat_template(std::string_view request) const = 0;

  // As apply_chat_template, then the token ids of that text; special tokens are parsed in what the
  // template writes, never in what comes with the request.
  virtual Result<std::vector<TokenId>> encode_chat(std::string_view request) const = 0;
};

}  // namespace quire::inference
