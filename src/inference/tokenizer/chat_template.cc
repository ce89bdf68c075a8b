#include "inference/tokenizer/chat_template.h"

#ifdef QUIRE_ENGINES
#include "inference/tokenizer/engine_calls.h"
#endif

namespace quire::inference {

#ifdef QUIRE_ENGINES
namespace {

class EngineChatTemplate final : public ChatTemplate {
 public:
  EngineChatTemplate(EngineTemplate compiled, std::string variables)
      : compiled_(std::move(compiled)), variables_(std::move(variables)) {}

  Result<RenderedChat> render(std::string_view request, const std::vector<std::string>& shielded,
                              std::int64_t now_unix_seconds) const override {
    if (request.size() > kChatRequestBytesMax) {
      return Error(ErrorCode::TooLarge, "chat request of " + std::to_string(request.size()) +
                                            " bytes (" + std::to_string(kChatRequestBytesMax) +
                                            " at most)");
    }
    std::vector<quire_bytes> tokens;
    tokens.reserve(shielded.size());
    for (const std::string& token : shielded) tokens.push_back(engine_bytes(token));
    const quire_render_request call{.request = engine_bytes(request),
                                    .variables = engine_bytes(variables_),
                                    .now_unix_seconds = now_unix_seconds,
                                    .shielded = tokens.data(),
                                    .shielded_count = tokens.size()};
    quire_rendered rendered{};
    quire_text error{};
    TRY(engine_result(quire_template_render(compiled_.get(), &call, &rendered, &error), error));
    RenderedChat chat;
    chat.text = take_engine_text(rendered.text);
    const quire_offsets offsets = rendered.shielded_offsets;
    chat.shielded_offsets.assign(offsets.data, offsets.data + offsets.count);
    quire_offsets_delete(&rendered.shielded_offsets);
    return chat;
  }

 private:
  EngineTemplate compiled_;
  std::string variables_;
};

}  // namespace

Result<std::unique_ptr<ChatTemplate>> compile_chat_templates(
    const std::vector<ChatTemplateSource>& sources, std::string variables) {
  std::vector<quire_named_template> named;
  named.reserve(sources.size());
  for (const ChatTemplateSource& each : sources) {
    named.push_back({.name = engine_bytes(each.name), .source = engine_bytes(each.source)});
  }
  quire_template* made = nullptr;
  quire_text error{};
  TRY(engine_result(quire_template_compile(named.data(), named.size(), &made, &error), error));
  return std::unique_ptr<ChatTemplate>(
      new EngineChatTemplate(EngineTemplate(made), std::move(variables)));
}

#else

Result<std::unique_ptr<ChatTemplate>> compile_chat_templates(const std::vector<ChatTemplateSource>&,
                                                             std::string) {
  return Error(ErrorCode::NotSupported, "this build has no engines/: no chat templates");
}

#endif

}  // namespace quire::inference
