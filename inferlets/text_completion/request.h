#pragma once
// The arguments that both forms of text_completion understand.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "quire/arguments.h"
#include "quire/files.h"
#include "quire/future.h"
#include "quire/json.h"
#include "quire/model.h"
#include "quire/runtime.h"
#include "quire/sampler_arguments.h"
#include "quire/sampling.h"
#include "quire/stop.h"
#include "quire/task.h"

namespace text_completion {

struct Request {
  std::string prompt;        // "-": what the client sends, to its end.
  std::string prompt_file;   // The name of a file that the client sends, instead.
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
  quire::ArgumentNames names = {.values = {"prompt", "prompt-file", "max-tokens", "system", "stop"},
                                .flags = {"ignore-eos", "chat", "json", "acknowledge"}};
  quire::add_sampler_names(names);
  const quire::Arguments arguments = TRY(quire::Arguments::parse(command_line, names));
  Request request;
  request.prompt = arguments.text("prompt");
  for (const std::string& each : arguments.positional()) {
    request.prompt += (request.prompt.empty() ? "" : " ") + each;
  }
  request.prompt_file = arguments.text("prompt-file");
  if (request.prompt.empty() && request.prompt_file.empty()) {
    return quire::Error{quire::ErrorCode::InvalidArgument,
                        "give a prompt: --prompt TEXT, --prompt - for lines of the client, or "
                        "--prompt-file NAME for a file that it sends"};
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

inline quire::Task<> acknowledge(Request request) {
  if (!request.acknowledge) co_return;
  co_await quire::session::send("ready\n");
  co_await quire::session::receive();
}

// A client that sends files sends the first at once.
inline constexpr std::chrono::seconds kFileTimeMax{10};

inline quire::Task<std::string> receive_prompt_file(std::string name) {
  quire::Result<quire::IncomingFile> file =
      co_await attempt(quire::with_timeout(quire::session::receive_file(), kFileTimeMax));
  if (!file.ok()) {
    co_await quire::fail(file.error().code,
                         "--prompt-file " + name +
                             ": the client sent no file (quire run --send-file " + name +
                             " sends it): " + file.error().message);
  }
  if (file.value().name() != name) {
    co_await quire::fail(
        quire::ErrorCode::NotFound,
        "--prompt-file " + name + ": the client sent the file " + file.value().name() + " first");
  }
  std::string text = co_await file.value().read_all();
  if (text.ends_with('\n')) text.pop_back();  // It ends the last line.
  co_return text;
}

// Lines, to the end of the client's input.
inline quire::Task<std::string> receive_prompt_lines() {
  std::string text;
  bool is_first = true;
  for (;;) {
    quire::Result<std::string> line = co_await attempt(quire::session::receive());
    if (!line.ok() && line.error().code == quire::ErrorCode::Unavailable) co_return text;
    if (!line.ok()) co_await fail(std::move(line).take_error());
    text += (is_first ? "" : "\n") + line.value();
    is_first = false;
  }
}

// Where the prompt is not among the arguments, which may hold 1 MiB, the client sends it.
inline quire::Task<> complete_prompt(Request& request) {
  if (!request.prompt_file.empty()) {
    request.prompt = co_await receive_prompt_file(request.prompt_file);
  } else if (request.prompt == "-") {
    request.prompt = co_await receive_prompt_lines();
  }
  if (request.prompt.empty()) {
    co_await quire::fail(quire::ErrorCode::InvalidArgument, "the prompt is empty");
  }
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
