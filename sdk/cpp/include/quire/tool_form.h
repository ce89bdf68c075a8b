#pragma once
// find_call_form: finds how a model writes a call of a tool (a CallForm), in its chat template.
//
// There is no table of models. The model's own template writes a conversation with a call that is
// known; the text that encloses the parts of the call is the form. If the template writes no calls,
// the form is the one that a CallForm begins with.
//
// Errors   not-supported: the model has no chat template.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/call_form.h"
#include "quire/json.h"
#include "quire/model.h"
#include "quire/task.h"

namespace quire {

namespace detail {

// The known conversation. Its words appear in no template.
namespace probe {
inline constexpr std::string_view kQuestion = "Pleasequestion";
inline constexpr std::string_view kAnswer = "Plainanswer";
inline constexpr std::string_view kThought = "Hiddenthought";
inline constexpr std::string_view kResult = "Foundresult";
inline constexpr std::string_view kMeaning = "Describedtool";
inline constexpr std::array<std::string_view, 2> kTools = {"alphatool", "betatool"};
inline constexpr std::array<std::string_view, 2> kKeys = {"keyone", "keytwo"};
inline constexpr std::array<std::string_view, 2> kValues = {"valueone", "valuetwo"};

inline std::string tools() {
  JsonWriter json;
  json.begin_array();
  for (const std::string_view tool : kTools) {
    json.begin_object().key("type").text("function").key("function").begin_object();
    json.key("name").text(tool).key("description").text(kMeaning);
    json.key("parameters").begin_object().key("type").text("object").key("properties");
    json.begin_object();
    for (const std::string_view key : kKeys) {
      json.key(key).begin_object().key("type").text("string").key("description").text("Text");
      json.end_object();
    }
    json.end_object().key("required").begin_array().text(kKeys[0]).text(kKeys[1]).end_array();
    json.end_object().end_object().end_object();
  }
  return json.end_array().str();
}

// A turn of the model with the first `count` calls.
inline ChatMessage calls(std::size_t count, bool text_arguments) {
  JsonWriter arguments;
  arguments.begin_object();
  for (std::size_t i = 0; i < kKeys.size(); ++i) arguments.key(kKeys[i]).text(kValues[i]);
  arguments.end_object();
  JsonWriter list;
  list.begin_array();
  for (std::size_t i = 0; i < count; ++i) {
    list.begin_object().key("id").text("probe000" + std::to_string(i)).key("type").text("function");
    list.key("function").begin_object().key("name").text(kTools[i]).key("arguments");
    text_arguments ? list.text(arguments.str()) : list.raw(arguments.str());
    list.end_object().end_object();
  }
  return {"assistant", "", "\"tool_calls\":" + list.end_array().str()};
}
}  // namespace probe

// The template's texts of the conversation; empty if it refused.
struct RenderedProbes {
  std::string plain;   // A question and an answer.
  std::string prompt;  // A question that is to be answered.
  std::string call;    // A question and a call,
  std::string calls;   // or two.
};

// The beginning of the model's own text in `probes.call`.
inline std::size_t answer_begins(const RenderedProbes& probes) {
  const std::string& call = probes.call;
  if (!probes.prompt.empty() && call.starts_with(probes.prompt)) return probes.prompt.size();
  const std::size_t limit = std::min(probes.plain.find(probe::kAnswer), call.size());
  std::size_t at = 0;
  while (at < limit && at < probes.plain.size() && call[at] == probes.plain[at]) ++at;
  // Two markers may begin alike: "<|tool|>" and "<|text|>".
  const std::size_t open = std::string_view(call).substr(0, at).rfind('<');
  const std::size_t close = std::string_view(call).substr(0, at).rfind('>');
  const bool is_inside = open != std::string::npos && (close == std::string::npos || close < open);
  return is_inside ? open : at;
}

// The call as one JSON value, which may be a list. Gives where it begins and ends in `answer`.
inline std::optional<std::pair<std::size_t, std::size_t>> find_json_call(std::string_view answer,
                                                                         CallForm& form) {
  const std::size_t name = answer.find(probe::kTools[0]);
  for (std::size_t at = answer.find_first_of("{["); at < name;
       at = answer.find_first_of("{[", at + 1)) {
    std::size_t bytes = 0;
    const Result<Json> json = Json::parse_first(answer.substr(at), bytes);
    if (!json.ok() || at + bytes < name) continue;
    for (const std::string_view name_key : {"name", "tool_name", "function", "tool"}) {
      for (const std::string_view arguments_key : {"arguments", "parameters", "args", "input"}) {
        const Json call = call_in(json.value(), name_key, arguments_key);
        if (call.text(name_key) != probe::kTools[0]) continue;
        if (call[arguments_key].text(probe::kKeys[0]) != probe::kValues[0]) continue;
        form.kind = CallForm::Kind::Json;
        form.name_key = name_key;
        form.arguments_key = arguments_key;
        return std::pair(at, at + bytes);
      }
    }
  }
  return std::nullopt;
}

// The name, and after it the arguments as a JSON object.
inline std::optional<std::pair<std::size_t, std::size_t>> find_named_json(std::string_view answer,
                                                                          CallForm& form) {
  const std::size_t key = answer.find(probe::kKeys[0]);
  const std::size_t name = answer.rfind(probe::kTools[0], key);
  if (key == std::string_view::npos || name == std::string_view::npos) return std::nullopt;
  const std::size_t name_end = name + probe::kTools[0].size();
  for (std::size_t at = answer.find('{', name_end); at < key; at = answer.find('{', at + 1)) {
    std::size_t bytes = 0;
    const Result<Json> json = Json::parse_first(answer.substr(at), bytes);
    if (!json.ok() || json.value().text(probe::kKeys[0]) != probe::kValues[0]) continue;
    form.kind = CallForm::Kind::NameThenJson;
    form.name_end = trimmed(answer.substr(name_end, at - name_end));
    return std::pair(name, at + bytes);
  }
  return std::nullopt;
}

// The name, and after it each argument with marks of its own.
inline std::optional<std::pair<std::size_t, std::size_t>> find_named_pairs(std::string_view answer,
                                                                           CallForm& form) {
  std::array<std::size_t, 5> places = {};
  places[1] = answer.find(probe::kKeys[0]);
  if (places[1] == std::string_view::npos) return std::nullopt;
  places[0] = answer.rfind(probe::kTools[0], places[1]);
  places[2] = answer.find(probe::kValues[0], places[1]);
  places[3] = answer.find(probe::kKeys[1], places[1]);
  places[4] = answer.find(probe::kValues[1], places[1]);
  if (!std::ranges::is_sorted(places) || places[4] == std::string_view::npos) return std::nullopt;
  const auto gap = [&](std::size_t i, std::size_t bytes) {
    const std::size_t end = i + 1 < places.size() ? places[i + 1] : answer.size();
    return answer.substr(places[i] + bytes, end - places[i] - bytes);
  };
  const std::string_view first = gap(0, probe::kTools[0].size());
  const std::string_view second = gap(2, probe::kValues[0].size());
  const std::string_view last = gap(4, probe::kValues[1].size());
  if (last.find(probe::kKeys[1]) != std::string_view::npos) return std::nullopt;  // As </keytwo>.
  // Both gaps end with what begins a key; a mark does not begin within another.
  std::size_t bytes = 0;
  while (bytes < std::min(first.size(), second.size()) &&
         first[first.size() - 1 - bytes] == second[second.size() - 1 - bytes]) {
    ++bytes;
  }
  std::string_view key_begin = first.substr(first.size() - bytes);
  if (const std::size_t open = key_begin.find('<'); open != std::string_view::npos) {
    key_begin = key_begin.substr(open);
  }
  std::string_view value_end = second.substr(0, second.size() - key_begin.size());
  bytes = 0;
  while (bytes < std::min(value_end.size(), last.size()) && value_end[bytes] == last[bytes])
    ++bytes;
  value_end = trimmed(value_end.substr(0, bytes));
  if (value_end.empty()) return std::nullopt;
  form.kind = CallForm::Kind::NameThenPairs;
  form.name_end = trimmed(first.substr(0, first.size() - key_begin.size()));
  form.key_begin = trimmed(key_begin);
  form.key_end = trimmed(gap(1, probe::kKeys[0].size()));
  form.value_end = value_end;
  return std::pair(places[0], answer.size() - last.size() + bytes);
}

// `after` without what ends a turn: a stop token, or what the template writes after any answer.
inline std::string_view without_turn_end(std::string_view after, std::string_view plain,
                                         const std::vector<std::string>& stop_texts) {
  for (const std::string& each : stop_texts) {
    if (!each.empty()) after = after.substr(0, after.find(each));
  }
  std::size_t bytes = 0;
  while (bytes < std::min(after.size(), plain.size()) &&
         after[after.size() - 1 - bytes] == plain[plain.size() - 1 - bytes]) {
    ++bytes;
  }
  // From the beginning of a mark on: two may end alike.
  const std::string_view common = after.substr(after.size() - bytes);
  const std::size_t mark = std::min(common.find_first_of("<[ \n"), bytes);
  return trimmed(after.substr(0, after.size() - bytes + mark));
}

// The form that the template gives a call; nothing where it writes none, or one that is not known.
inline std::optional<CallForm> found_form(const RenderedProbes& probes,
                                          const std::vector<std::string>& stop_texts) {
  if (probes.call.empty()) return std::nullopt;
  const std::string_view answer = std::string_view(probes.call).substr(answer_begins(probes));
  CallForm form;
  auto call = find_json_call(answer, form);
  if (!call) call = find_named_json(answer, form);
  if (!call) call = find_named_pairs(answer, form);
  if (!call) return std::nullopt;
  std::string_view before = trimmed(answer.substr(0, call->first));
  if (const std::size_t name = before.rfind(probe::kTools[0]); name != std::string_view::npos) {
    before = trimmed(before.substr(name + probe::kTools[0].size()));
  }
  form.before = before;
  const std::size_t plain_end = probes.plain.find(probe::kAnswer) + probe::kAnswer.size();
  form.after = without_turn_end(
      answer.substr(call->second),
      std::string_view(probes.plain).substr(std::min(plain_end, probes.plain.size())), stop_texts);
  form.between.clear();
  form.shows_calls = true;
  if (!probes.calls.starts_with(
          std::string_view(probes.call)
              .substr(0, probes.call.size() - answer.size() + call->second))) {
    return form;  // Both calls stand in one list, or only one is allowed.
  }
  const std::string_view rest =
      std::string_view(probes.calls).substr(probes.call.size() - answer.size() + call->second);
  std::size_t next = rest.find(probe::kTools[1]);
  if (next == std::string_view::npos) return form;
  if (form.kind == CallForm::Kind::Json) {
    next = std::min(rest.find_first_of("{["), next);
    while (next < rest.size()) {
      std::size_t bytes = 0;
      if (Json::parse_first(rest.substr(next), bytes).ok()) break;
      next = rest.find_first_of("{[", next + 1);
    }
  }
  if (next < rest.size()) form.between = trimmed(rest.substr(0, next));
  return form;
}

// The ids that the calls were given differ each time.
inline void replace_ids(std::string& mark) {
  constexpr std::string_view kId = "probe000";
  for (std::size_t at = mark.find(kId); at != std::string::npos; at = mark.find(kId, at)) {
    mark.replace(at, kId.size() + 1, 1, CallForm::kAnyId);
  }
}

// Finds the marks around a thought, if the template shows one.
inline void find_thought(const std::string& plain, const std::string& thinking, CallForm& form) {
  const std::size_t thought = thinking.find(probe::kThought);
  const std::size_t answer = thinking.find(probe::kAnswer);
  if (answer == std::string::npos || thought >= answer) return;
  const RenderedProbes both{.plain = plain, .prompt = {}, .call = thinking, .calls = {}};
  const std::size_t first = std::min(answer_begins(both), thought);
  const std::size_t end = thought + probe::kThought.size();
  const std::string_view text = thinking;
  const std::string_view begin = trimmed(text.substr(first, thought - first));
  const std::string_view close = trimmed(text.substr(end, answer - end));
  if (begin.empty() || close.empty()) return;
  form.think_begin = begin;
  form.think_end = close;
}

// How an answer begins, and what of it is not of a call.
inline void find_beginning(const RenderedProbes& probes, CallForm& form) {
  form.begins_in_thought = trimmed(probes.prompt).ends_with(form.think_begin);
  const std::size_t answer = probes.plain.find(probe::kAnswer);
  if (answer != std::string::npos && probes.plain.starts_with(probes.prompt)) {
    const std::size_t first = probes.prompt.size();
    form.answer_begin = trimmed(std::string_view(probes.plain).substr(first, answer - first));
  }
  std::string_view before = form.before;
  if (before.starts_with(form.answer_begin)) before.remove_prefix(form.answer_begin.size());
  if (const std::size_t thought = before.rfind(form.think_end); thought != std::string_view::npos) {
    before.remove_prefix(thought + form.think_end.size());
  }
  form.before = std::string(trimmed(before));
}

// Empty where the template refuses the conversation.
inline Task<std::string> rendered(Model model, std::vector<ChatMessage> messages, bool answer_next,
                                  std::string variables) {
  Result<std::string> text =
      co_await attempt(model.apply_chat_template(messages, answer_next, probe::tools(), variables));
  if (!text.ok() && text.error().code == ErrorCode::NotSupported) co_await fail(text.error());
  co_return text.ok() ? std::move(text).take() : std::string();
}

}  // namespace detail

// The tokens of the marks by which an AnswerReader knows calls and thoughts: those of them that are special
// must be part of the text that it reads, and no other special tokens.
inline Task<std::vector<std::uint32_t>> tokens_of_marks(Model model, CallForm form) {
  std::string marks = "<|python_tag|><tool_call></tool_call><tools></tools>";  // Of bare calls.
  for (const std::string* each :
       {&form.before, &form.between, &form.after, &form.name_end, &form.key_begin, &form.key_end,
        &form.value_end, &form.think_begin, &form.think_end, &form.answer_begin}) {
    marks += ' ';
    marks += *each;
  }
  co_return co_await model.tokenize(marks, {.parse_special = true});
}

// `variables` are those of the template with which the conversation will be written.
inline Task<CallForm> find_call_form(Model model, std::string variables = "") {
  namespace probe = detail::probe;
  const auto rendered = [&](std::vector<ChatMessage> messages, bool answer_next) {
    return detail::rendered(model, std::move(messages), answer_next, variables);
  };
  const ChatMessage question{"user", std::string(probe::kQuestion)};
  const ChatMessage answer{"assistant", std::string(probe::kAnswer)};
  std::vector<std::string> stop_texts;
  for (const std::uint32_t each : model.info().stop_tokens) {
    stop_texts.push_back(co_await model.detokenize(std::vector<std::uint32_t>(1, each), true));
  }
  detail::RenderedProbes probes;
  probes.plain = co_await rendered({question, answer}, false);
  probes.prompt = co_await rendered({question}, true);
  CallForm form;
  for (const bool text_arguments : {false, true}) {
    probes.call = co_await rendered({question, probe::calls(1, text_arguments)}, false);
    probes.calls = co_await rendered({question, probe::calls(2, text_arguments)}, false);
    const std::optional<CallForm> found = detail::found_form(probes, stop_texts);
    if (!found) continue;
    form = *found;
    form.takes_text_arguments = text_arguments;
    break;
  }
  const ChatMessage result{"tool", std::string(probe::kResult),
                           R"("name":"alphatool","tool_call_id":"probe0000")"};
  const std::string with_result =
      co_await rendered({question, probe::calls(1, form.takes_text_arguments), result}, true);
  form.shows_results = with_result.find(probe::kResult) != std::string::npos;
  form.offers_tools = probes.prompt.find(probe::kMeaning) != std::string::npos;
  const ChatMessage thought{"assistant", std::string(probe::kAnswer),
                            R"("reasoning_content":"Hiddenthought")"};
  const std::string thinking = co_await rendered({question, thought}, false);
  for (std::string* each : {&form.before, &form.between, &form.name_end}) {
    detail::replace_ids(*each);
  }
  detail::find_thought(probes.plain, thinking, form);
  detail::find_beginning(probes, form);
  co_return form;
}

}  // namespace quire
