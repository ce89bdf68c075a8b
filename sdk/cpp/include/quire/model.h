#pragma once
// Model: one of the models that the server has, its numbers, its tokenizer and its chat template.
//
// Owns     the host's handle; copies share it.
// Errors   open: not-found for a name that is not served. The tokenizer's calls fail through their
//          futures; a model without a chat template gives not-supported.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/chat_message.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/json.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

struct ModelInfo {
  std::uint32_t page_size = 0;       // Tokens of a KV page.
  std::uint32_t context_length = 0;  // Tokens.
  std::uint32_t vocabulary_size = 0;
  std::uint32_t embedding_width = 0;
  std::int32_t begin_of_text = -1;  // -1: the model has none.
  std::int32_t end_of_text = -1;
  std::vector<std::uint32_t> stop_tokens;  // End of text, of turn, of message.
};

class Model {
 public:
  // By name; the empty name is the server's first.
  static Result<Model> open(std::string_view name = "") {
    const std::int32_t handle =
        TRY(checked(abi::models::get_model(detail::bytes_of(name), detail::count_of(name.size()))));
    Model model;
    model.handle_ = detail::SharedHandle(handle);
    model.info_ = std::make_shared<const ModelInfo>(TRY(read_info(handle)));
    return model;
  }

  static Result<std::vector<std::string>> available() {
    return lines(TRY(detail::text_from(abi::models::available_models)));
  }

  Result<std::string> name() const {
    return detail::text_from([&](void* buffer, std::uint32_t capacity) {
      return abi::models::model_name(handle(), buffer, capacity);
    });
  }

  // "allocate", "forward", "input_text", "tokenize", "output_text", "constraint", "adapter".
  Result<std::vector<std::string>> traits() const {
    return lines(TRY(detail::text_from([&](void* buffer, std::uint32_t capacity) {
      return abi::models::available_traits(handle(), buffer, capacity);
    })));
  }

  // Names of the adapters that this program may use with the model.
  Result<std::vector<std::string>> adapters() const {
    return lines(TRY(detail::text_from([&](void* buffer, std::uint32_t capacity) {
      return abi::adapter::available_adapters(handle(), buffer, capacity);
    })));
  }

  // The newest version of a trait that the model has; all from 1 on are there. not-supported if it
  // lacks the trait.
  Result<std::uint32_t> trait_version(std::string_view trait) const {
    return static_cast<std::uint32_t>(TRY(checked(abi::models::trait_version(
        handle(), detail::bytes_of(trait), detail::count_of(trait.size())))));
  }

  const ModelInfo& info() const QUIRE_LIFETIME_BOUND { return *info_; }
  std::int32_t handle() const { return handle_.get(); }

  struct TokenizeOptions {
    bool parse_special = true;   // "<|im_end|>" in the text becomes its token; false: plain text.
    bool begin_of_text = false;  // Begin with the model's begin-of-text token.
  };
  Future<std::vector<std::uint32_t>> tokenize(std::string_view text,
                                              TokenizeOptions options) const {
    const std::uint32_t flags =
        (options.parse_special ? 1u : 0u) | (options.begin_of_text ? 2u : 0u);
    return Future<std::vector<std::uint32_t>>(abi::tokenize::tokenize(
        handle(), detail::bytes_of(text), detail::count_of(text.size()), flags));
  }
  Future<std::vector<std::uint32_t>> tokenize(std::string_view text) const {
    return tokenize(text, TokenizeOptions{});
  }

  // The bytes of tokens: not always whole UTF-8, see utf8.h. Special tokens are left out unless
  // asked for.
  Future<std::string> detokenize(const std::vector<std::uint32_t>& tokens,
                                 bool keep_special = false) const {
    return Future<std::string>(abi::tokenize::detokenize(
        handle(), tokens.data(), detail::count_of(tokens.size()), keep_special ? 1u : 0u));
  }

  // The bytes of every token, by id: those of ids that only fill the vocabulary up are empty.
  Task<std::vector<std::string>> vocabulary() const {
    constexpr std::uint32_t kCountMax = 65'536;  // Of one call.
    const Model model = *this;                   // Lives as long as the task.
    const std::uint32_t size = model.info().vocabulary_size;
    std::vector<std::string> tokens;
    tokens.reserve(size);
    while (tokens.size() < size) {
      const auto first = static_cast<std::uint32_t>(tokens.size());
      const std::vector<std::string> more = co_await Future<std::vector<std::string>>(
          abi::tokenize::get_vocabs(model.handle(), first, std::min(kCountMax, size - first)));
      if (more.empty()) co_await fail(ErrorCode::Internal, "get-vocabs gave nothing");
      tokens.insert(tokens.end(), more.begin(), more.end());
    }
    co_return tokens;
  }

  // The kinds of tokens [first, first + count): 0 text, 1 a byte, 2 added to the vocabulary, 3
  // special, 4 unused.
  Future<std::vector<std::uint8_t>> token_kinds(std::uint32_t first, std::uint32_t count) const {
    return Future<std::vector<std::uint8_t>>(
        abi::tokenize::get_token_kinds(handle(), first, count));
  }

  // A conversation as the model's own template writes it. With `answer_next` it ends where the
  // model's answer begins. Special tokens in a message's content stay plain text. `tools` is a JSON
  // array of what the model may call, or nothing. `variables` is a JSON object of further variables
  // of the template, such as {"enable_thinking": false}, or nothing.
  Future<std::vector<std::uint32_t>> tokenize_chat(const std::vector<ChatMessage>& messages,
                                                   bool answer_next, std::string_view tools = "",
                                                   std::string_view variables = "") const {
    const std::string request = chat_request(messages, answer_next, tools, variables);
    return Future<std::vector<std::uint32_t>>(abi::tokenize::tokenize_chat(
        handle(), detail::bytes_of(request), detail::count_of(request.size())));
  }
  Future<std::string> apply_chat_template(const std::vector<ChatMessage>& messages,
                                          bool answer_next, std::string_view tools = "",
                                          std::string_view variables = "") const {
    const std::string request = chat_request(messages, answer_next, tools, variables);
    return Future<std::string>(abi::tokenize::apply_chat_template(
        handle(), detail::bytes_of(request), detail::count_of(request.size())));
  }

  static std::string chat_request(const std::vector<ChatMessage>& messages, bool answer_next,
                                  std::string_view tools = "", std::string_view variables = "") {
    JsonWriter json;
    json.begin_object().key("messages").begin_array();
    for (const ChatMessage& each : messages) {
      json.begin_object().key("role").text(each.role).key("content").text(each.content);
      if (!each.more.empty()) json.raw(each.more);
      json.end_object();
    }
    json.end_array();
    if (!tools.empty()) json.key("tools").raw(tools);
    json.key("add_generation_prompt").boolean(answer_next).end_object();
    // Two objects become one. A text that is not an object makes a request that the host refuses.
    const std::size_t begin = variables.find('{');
    if (variables.empty() || variables.find_first_not_of("{} \t\r\n") == variables.npos) {
      return json.str();
    }
    std::string request = json.str();
    request.back() = ',';
    return request.append(variables.substr(begin == variables.npos ? 0 : begin + 1));
  }

 private:
  static Result<ModelInfo> read_info(std::int32_t handle) {
    constexpr std::size_t kFixed = 7;  // Numbers before the stop ids.
    std::vector<std::uint32_t> record(64);
    for (;;) {
      const std::int32_t wanted = TRY(
          checked(abi::models::model_info(handle, record.data(), detail::count_of(record.size()))));
      const bool fits = static_cast<std::size_t>(wanted) <= record.size();
      record.resize(static_cast<std::size_t>(wanted));
      if (fits) break;
    }
    if (record.size() < kFixed || record.size() < kFixed + record[6]) {
      return Error{ErrorCode::Internal, "model-info gave " + std::to_string(record.size()) +
                                            " numbers, too few for what they announce"};
    }
    ModelInfo info;
    info.page_size = record[0];
    info.context_length = record[1];
    info.vocabulary_size = record[2];
    info.embedding_width = record[3];
    info.begin_of_text = static_cast<std::int32_t>(record[4]);
    info.end_of_text = static_cast<std::int32_t>(record[5]);
    info.stop_tokens.assign(record.begin() + kFixed, record.begin() + kFixed + record[6]);
    return info;
  }

  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  detail::SharedHandle handle_;
  std::shared_ptr<const ModelInfo> info_;
};

}  // namespace quire
