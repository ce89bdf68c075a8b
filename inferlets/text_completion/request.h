#pragma once
// The arguments that both forms of text_completion understand.
#include <algorithm>
#include <string>
#include <vector>

#include "quire/arguments.h"
#include "quire/json.h"
#include "quire/model.h"
#include "quire/runtime.h"
#include "quire/sampler_arguments.h"
#include "quire/sampling.h"
#include "quire/stop.h"
#include "quire/task.h"

namespace text_completion {

struct Request {
  std::string prompt;
  std::string system;        // Only with --chat.
  bool chat = false;         // The prompt is a user's message, not text to go on with.
  bool ignore_eos = false;   // Go on past tokens that end a text.
  bool acknowledge = false;  // Say so when it runs, and begin when the client says so.
  bool json = false;         // One JSON object at the end instead of text as it comes.
  std::uint32_t token_count_max = 128;
  quire::SamplerOptions sampler;
  std::vector<std::string> stop_texts;
};

inline quire::Result<Request> read_request(const std::vector<std::string>& command_line) {
  quire::ArgumentNames names = {.values = {"prompt", "max-tokens", "system", "stop"},
                                .flags = {"ignore-eos", "chat", "json", "acknowledge"}};
  quire::add_sampler_names(names);
  const quire::Arguments arguments = TRY(quire::Arguments::parse(command_line, names));
  Request request;
  request.prompt = arguments.text("prompt");
  for (const std::string& each : arguments.positional()) {
    request.prompt += (request.prompt.empty() ? "" : " ") + each;
  }
  if (request.prompt.empty()) {
    return quire::Error{quire::ErrorCode::InvalidArgument, "give a prompt: --prompt TEXT"};
  }
  request.system = arguments.text("system");
  request.chat = arguments.flag("chat");
  request.ignore_eos = arguments.flag("ignore-eos");
  request.json = arguments.flag("json");
  request.acknowledge = arguments.flag("acknowledge");
  request.token_count_max = TRY(arguments.count("max-tokens", 128));
  request.sampler = TRY(quire::sampler_arguments(arguments));
  if (arguments.has("stop")) request.stop_texts.push_back(arguments.text("stop"));
  return request;
}

inline quire::Task<quire::Result<void>> acknowledge(Request request) {
  if (!request.acknowledge) co_return {};
  CO_TRY(quire::session::send("ready\n"));
  CO_TRY(co_await quire::session::receive());
  co_return {};
}

inline std::vector<quire::ChatMessage> messages_of(const Request& request) {
  std::vector<quire::ChatMessage> messages;
  if (!request.system.empty()) messages.push_back({"system", request.system});
  messages.push_back({"user", request.prompt});
  return messages;
}

// The token drawn last is never computed, so a prompt that fills the context still gets one.
inline quire::Result<quire::StopOptions> stop_options_of(const Request& request,
                                                         const quire::ModelInfo& info,
                                                         std::size_t prompt_token_count) {
  if (prompt_token_count > info.context_length) {
    return quire::Error{quire::ErrorCode::OutOfRange, "the prompt has " +
                                                          std::to_string(prompt_token_count) +
                                                          " tokens; the model's context holds " +
                                                          std::to_string(info.context_length)};
  }
  const auto room = static_cast<std::uint32_t>(info.context_length - prompt_token_count + 1);
  return quire::StopOptions{
      .token_count_max = std::min(request.token_count_max, room),
      .stop_tokens = request.ignore_eos ? std::vector<std::uint32_t>{} : info.stop_tokens,
      .stop_texts = request.stop_texts};
}

inline std::string answer_json(const std::vector<std::uint32_t>& prompt_ids,
                               const std::vector<std::uint32_t>& ids, const std::string& text,
                               quire::FinishReason reason) {
  quire::JsonWriter json;
  json.begin_object().key("prompt_ids").numbers(prompt_ids).key("ids").numbers(ids);
  json.key("text").text(text).key("finish_reason").text(quire::finish_reason_name(reason));
  return json.end_object().str();
}

}  // namespace text_completion
