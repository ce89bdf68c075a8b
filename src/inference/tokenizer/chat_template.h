#pragma once
// ChatTemplate: a model's own Jinja, rendered as Hugging Face's code does. In a build without
// engines/ compiling one is NotSupported.
//
// Owns     the compiled template.
// Thread   any: render() is const and keeps nothing.
// Errors   compile: InvalidArgument with the line. render: InvalidArgument for bad JSON, for what
//          the template raises, and when it runs too long or writes too much.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

inline constexpr std::size_t kChatRequestBytesMax = std::size_t{16} << 20;

struct RenderedChat {
  std::string text;
  // Ascending offsets of characters in `text` that came with the request and could be part of a
  // special token; see SpecialTokens::CutOptions.
  std::vector<std::size_t> shielded_offsets;
};

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;

  // `shielded` are the special tokens that nothing in the request may become.
  virtual Result<RenderedChat> render(std::string_view request,
                                      const std::vector<std::string>& shielded,
                                      std::int64_t now_unix_seconds) const = 0;
};

// `variables` is a JSON object of the model's own: bos_token, eos_token.
Result<std::unique_ptr<ChatTemplate>> compile_chat_template(std::string_view source,
                                                            std::string variables);

}  // namespace quire::inference
