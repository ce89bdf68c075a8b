#pragma once
// DrawnCalls keeps the tokens that a model drew for a turn with calls, for the next request.
//
// A model may write a call in another way than its template: in a fence for code, or with other
// blanks. The next request has the template's tokens in that place, so the cache would not find the
// turn and what follows it. DrawnCalls keeps both by the id of the turn's first call: the tokens
// that the template writes for the turn, and the tokens that the model drew. In the prompt of the
// next request the drawn tokens take the place of the template's.
//
// The template's tokens must stand in the prompt after the same tokens as before, and end a turn.
// So if the client changed a name, an argument or the text, the turn is as the template
// writes it, and a client cannot make tokens that the model did not draw. The values are the
// tenant's. One of kSlotCount keys is selected by the id, and a value has at most kValueBytesMax
// bytes. Nothing is kept if both are the same, or if the model thought: templates drop thoughts.
// Without a store nothing is kept at all.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../prompt_repair/line_repair.h"
#include "answer_sink.h"
#include "chat_prompt.h"
#include "offered_tools.h"

namespace endpoints {

class DrawnCalls {
 public:
  using Tokens = std::vector<std::uint32_t>;

  // Keeps the turn of an answer, all of whose calls the client has. `prompt` is as its template
  // wrote it, in the tokens `before`.
  static Task<> keep(ChatPrompt prompt, CallForm form, Tokens before, ChatAnswer answer) {
    const bool is_whole = answer.finish_reason == FinishReason::StopToken && !answer.is_cut_in_call;
    const bool is_alone = answer.reasoning.empty() && prompt.answer_begin.empty();
    if (answer.calls.empty() || !is_whole || !is_alone) co_return;
    JsonWriter calls;
    calls.begin_array();
    for (const AnswerCall& each : answer.calls) {
      write_earlier_call(calls, each.id, each.name, each.arguments);
    }
    prompt.messages.push_back(co_await written_for(
        form, ChatMessage{"assistant", answer.text, tool_calls_member(calls.end_array())}));
    const std::string tools = form.offers_tools ? prompt.tool_list : "";
    const auto conversation = co_await attempt(
        prompt.model.tokenize_chat(prompt.messages, false, tools, prompt.template_variables));
    if (!conversation.ok()) co_return;  // The template does not write such a turn.
    const Tokens& stops = prompt.model.info().stop_tokens;
    auto written = written_turn(before, conversation.value(), stops);
    if (!written) co_return;
    while (!answer.tokens.empty() && is_in(stops, answer.tokens.back())) answer.tokens.pop_back();
    co_await keep({answer.calls.front().id, *std::move(written), std::move(answer.tokens)},
                  std::move(before));
  }

  // `tokens` of a prompt with the drawn tokens of the turns that have calls with these ids, in the
  // order of the conversation.
  static Task<Tokens> put_back(Tokens tokens, std::vector<std::string> ids, Tokens stop_tokens) {
    if (ids.size() > kSlotCount) ids.erase(ids.begin(), ids.end() - kSlotCount);
    std::vector<Future<store::Value>> values;
    for (const std::string& id : ids) values.push_back(store::get(key_of(id)));
    std::size_t from = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Result<store::Value> kept = co_await attempt(std::move(values[i]));
      if (kept.ok()) put_back(tokens, from, ids[i], kept.value().bytes, stop_tokens);
    }
    co_return tokens;
  }

  // The ids of the first call of each turn.
  static std::vector<std::string> first_ids(const std::vector<ChatMessage>& messages) {
    std::vector<std::string> ids;
    for (const ChatMessage& each : messages) {
      if (!has_tool_calls(each)) continue;
      const Result<Json> members = Json::parse("{" + each.more + "}");
      if (!members.ok()) continue;
      const std::string id(members.value()["tool_calls"][0].text("id"));
      if (!id.empty() && id.size() <= kIdBytesMax) ids.push_back(id);
    }
    return ids;
  }

 private:
  static constexpr std::uint64_t kSlotCount = 256;
  static constexpr std::size_t kIdBytesMax = 32;
  static constexpr std::size_t kValueBytesMax = std::size_t{32} << 10;
  static constexpr std::size_t kContextCount = 4;  // Tokens before the turn: its role, and a mark.

  // A turn with calls.
  struct Turn {
    std::string id;  // Of its first call.
    Tokens written;  // By the template, up to the token that ends the turn,
    Tokens drawn;    // and by the model.
  };

  // The part of a conversation that the template writes for its last turn, after `prompt`. Nothing
  // if it does not continue the prompt, or if no stop token ends it.
  static std::optional<Tokens> written_turn(const Tokens& prompt, const Tokens& conversation,
                                            const Tokens& stop_tokens) {
    if (!std::ranges::equal(
            prompt, std::span(conversation).first(std::min(prompt.size(), conversation.size())))) {
      return std::nullopt;
    }
    const auto end = std::find_first_of(conversation.rbegin(), conversation.rend(),
                                        stop_tokens.begin(), stop_tokens.end());
    const auto count = static_cast<std::size_t>(conversation.rend() - end);
    if (count < prompt.size() + 2) return std::nullopt;
    return Tokens(conversation.begin() + std::ssize(prompt),
                  conversation.begin() + static_cast<std::ptrdiff_t>(count) - 1);
  }

  // `before`: the tokens of the prompt before the turn.
  static Task<> keep(Turn turn, Tokens before) {
    if (turn.drawn == turn.written || turn.drawn.empty()) co_return;
    const std::span last = std::span(before).last(std::min(before.size(), kContextCount));
    std::string value = turn.id;
    value.resize(kIdBytesMax);
    append(value, last);
    append(value, turn.written);
    append(value, turn.drawn);
    if (turn.id.size() > kIdBytesMax || value.size() > kValueBytesMax) co_return;
    const Result<std::uint64_t> put = co_await attempt(store::put(key_of(turn.id), value));
    if (put.ok() || put.error().code == ErrorCode::NotSupported) co_return;
    runtime::log(LogLevel::Warning,
                 "the next request computes a call again, because its tokens are not kept: " +
                     put.error().message);
  }

  static bool is_in(const Tokens& tokens, std::uint32_t token) {
    return std::ranges::find(tokens, token) != tokens.end();
  }
  static std::string key_of(const std::string& id) {
    return "drawn_calls/" + std::to_string(repair::hash_of(id) % kSlotCount);
  }
  static void append(std::string& value, std::span<const std::uint32_t> tokens) {
    const auto count = static_cast<std::uint32_t>(tokens.size());
    value.append(reinterpret_cast<const char*>(&count), sizeof count);
    value.append(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  }
  // Takes tokens from the beginning of `value`.
  static Tokens taken(std::string_view& value) {
    std::uint32_t count = 0;
    if (value.size() < sizeof count) return {};
    std::memcpy(&count, value.data(), sizeof count);
    value.remove_prefix(sizeof count);
    Tokens tokens(std::min<std::size_t>(count, value.size() / sizeof(std::uint32_t)));
    std::memcpy(tokens.data(), value.data(), tokens.size() * sizeof(std::uint32_t));
    value.remove_prefix(tokens.size() * sizeof(std::uint32_t));
    return tokens;
  }

  // `from`: where the turns after the last one that was put back begin.
  static void put_back(Tokens& tokens, std::size_t& from, const std::string& id,
                       std::string_view value, const Tokens& stop_tokens) {
    std::string head = id;
    head.resize(kIdBytesMax);
    if (!value.starts_with(head)) return;
    value.remove_prefix(kIdBytesMax);
    Tokens wanted = taken(value);
    const std::size_t before = wanted.size();
    const Tokens written = taken(value);
    const Tokens drawn = taken(value);
    if (written.empty() || drawn.empty()) return;
    wanted.insert(wanted.end(), written.begin(), written.end());
    for (auto at = tokens.begin() + static_cast<std::ptrdiff_t>(from);;) {
      at = std::search(at, tokens.end(), wanted.begin(), wanted.end());
      if (at == tokens.end()) return;
      const auto end = at + std::ssize(wanted);
      if (end != tokens.end() && is_in(stop_tokens, *end)) {
        const auto begin = at + static_cast<std::ptrdiff_t>(before);
        from = static_cast<std::size_t>(begin - tokens.begin()) + drawn.size();
        tokens.insert(tokens.erase(begin, end), drawn.begin(), drawn.end());
        return;
      }
      ++at;
    }
  }
};

}  // namespace endpoints
