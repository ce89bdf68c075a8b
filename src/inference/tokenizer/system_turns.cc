#include "inference/tokenizer/system_turns.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/json.h"

namespace quire::inference {
namespace {

constexpr std::string_view kForTools = "tool_use";
// Words that no template has.
constexpr std::string_view kInstruction = "Systemprobe";
constexpr std::string_view kQuestion = "Userprobe";

OrderedJson turn_of(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

// A conversation for the template `name`, which may demand tools.
std::string probe(const std::string& name, bool has_system) {
  OrderedJson messages = OrderedJson::array();
  if (has_system) messages.push_back(turn_of("system", kInstruction));
  messages.push_back(turn_of("user", kQuestion));
  OrderedJson request = {
      {"messages", messages}, {"chat_template", name}, {"add_generation_prompt", true}};
  if (name == kForTools) {
    const OrderedJson schema = {{"type", "object"}, {"properties", OrderedJson::object()}};
    request["tools"] = {
        {{"type", "function"},
         {"function", {{"name", "probe"}, {"description", "None"}, {"parameters", schema}}}}};
  }
  return dump_json(request);
}

// A template may change the case of what it writes.
bool shows(const Result<RenderedChat>& chat, std::string_view word) {
  const auto same = [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) ==
           std::tolower(static_cast<unsigned char>(right));
  };
  if (!chat.ok()) return false;
  const std::string& text = chat.value().text;
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// The template that the request gets, as ChatTemplate says.
std::string chosen_name(const OrderedJson& request,
                        const std::vector<ChatTemplateSource>& sources) {
  const auto given = request.find("chat_template");
  if (given != request.end() && given->is_string()) return given->get<std::string>();
  const auto tools = request.find("tools");
  const bool has_tools = tools != request.end() && !tools->is_null();
  const bool is_there =
      std::ranges::find(sources, kForTools, &ChatTemplateSource::name) != sources.end();
  return std::string(has_tools && is_there ? kForTools : kDefaultTemplate);
}

bool has_role(const OrderedJson& message, std::string_view role) {
  if (!message.is_object()) return false;
  const auto found = message.find("role");
  return found != message.end() && found->is_string() &&
         found->get_ref<const std::string&>() == role;
}

// The content of a turn as parts: templates take a text, or an array of them.
OrderedJson parts_of(const OrderedJson& content) {
  if (content.is_array()) return content;
  return OrderedJson::array({{{"type", "text"}, {"text", content}}});
}

// Two contents with an empty line between them.
OrderedJson joined(const OrderedJson& first, const OrderedJson& second) {
  if (first.is_string() && second.is_string()) {
    const auto& before = first.get_ref<const std::string&>();
    const auto& after = second.get_ref<const std::string&>();
    return before + (before.empty() || after.empty() ? "" : "\n\n") + after;
  }
  OrderedJson parts = parts_of(first);
  for (const OrderedJson& each : parts_of(second)) parts.push_back(each);
  return parts;
}

OrderedJson content_of(const OrderedJson& message) {
  const auto found = message.find("content");
  const bool has_any = found != message.end() && (found->is_string() || found->is_array());
  return has_any ? *found : OrderedJson("");
}

// Adds what waits for a turn of the user, if none follows.
void settle(OrderedJson& turns, OrderedJson& waiting) {
  if (waiting.is_null()) return;
  if (!turns.empty() && has_role(turns.back(), "user")) {
    turns.back()["content"] = joined(content_of(turns.back()), waiting);
  } else {
    turns.push_back({{"role", "user"}, {"content", waiting}});
  }
  waiting = nullptr;
}

OrderedJson merged(const OrderedJson& messages) {
  OrderedJson turns = OrderedJson::array();
  OrderedJson waiting;
  for (const OrderedJson& each : messages) {
    if (has_role(each, "system")) {
      waiting = waiting.is_null() ? content_of(each) : joined(waiting, content_of(each));
      continue;
    }
    if (!has_role(each, "user")) settle(turns, waiting);
    turns.push_back(each);
    if (waiting.is_null()) continue;
    turns.back()["content"] = joined(waiting, content_of(each));
    waiting = nullptr;
  }
  settle(turns, waiting);
  return turns;
}

// The names of the templates that take a turn of the user, and no system turn before it.
std::vector<std::string> templates_without_system(const ChatTemplate& compiled,
                                                  const std::vector<ChatTemplateSource>& sources,
                                                  std::int64_t now_unix_seconds) {
  std::vector<std::string> names;
  for (const ChatTemplateSource& each : sources) {
    const auto rendered = [&](bool has_system) {
      return compiled.render(probe(each.name, has_system), {}, now_unix_seconds);
    };
    if (shows(rendered(true), kInstruction) || !shows(rendered(false), kQuestion)) continue;
    names.push_back(each.name);
  }
  return names;
}

}  // namespace

std::string SystemTurns::moved(std::string_view request, const ChatTemplate& compiled,
                               const std::vector<ChatTemplateSource>& sources,
                               std::int64_t now_unix_seconds) const {
  const bool may_have_any = request.size() <= kChatRequestBytesMax &&
                            request.find("\"system\"") != std::string_view::npos;
  if (!may_have_any) return {};
  std::call_once(asked_,
                 [&] { names_ = templates_without_system(compiled, sources, now_unix_seconds); });
  if (names_.empty()) return {};
  Result<OrderedJson> parsed = parse_ordered_json(request, "chat request");
  if (!parsed.ok() || !parsed.value().is_object()) return {};  // The template says what is wrong.
  OrderedJson& chat = parsed.value();
  const auto messages = chat.find("messages");
  if (messages == chat.end() || !messages->is_array()) return {};
  const bool is_named = std::ranges::find(names_, chosen_name(chat, sources)) != names_.end();
  const bool has_any = std::ranges::any_of(
      *messages, [](const OrderedJson& each) { return has_role(each, "system"); });
  if (!is_named || !has_any) return {};
  *messages = merged(*messages);
  return dump_json(chat);
}

}  // namespace quire::inference
