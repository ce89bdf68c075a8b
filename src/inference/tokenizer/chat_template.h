#pragma once
// ChatTemplate: a model's own Jinja, rendered as Hugging Face's code does. In a build without
// engines/ compiling one is NotSupported.
//
// Owns     the compiled templates of one model. A request chooses one by name, else a request with
//          tools gets "tool_use" and every other gets "default".
// Thread   any: render() is const and keeps nothing.
// Errors   render: InvalidArgument for bad JSON, for a template that does not compile (with the
//          line), for what it raises, and when it runs too long or makes too much text.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

inline constexpr std::size_t kChatRequestBytesMax = std::size_t{16} << 20;
inline constexpr std::string_view kDefaultTemplate = "default";

struct ChatTemplateSource {
  std::string name;
  std::string source;
};

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

// `variables` is a JSON object of the model's own: bos_token, eos_token. What a request gives wins.
Result<std::unique_ptr<ChatTemplate>> compile_chat_templates(
    const std::vector<ChatTemplateSource>& sources, std::string variables);

}  // namespace quire::inference
