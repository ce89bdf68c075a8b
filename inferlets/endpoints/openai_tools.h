#pragma once
// What the requests of the OpenAI interface say of tools in the same words. They differ in how one tool
// is written, and in how one is chosen by name.
//
// Errors   those of a request, which name its member.
#include <span>
#include <string>

#include "chat_turn.h"

namespace endpoints::openai {

// The members "tools" and "parallel_tool_calls"; `read_one(json, path)` reads a tool.
template <typename ReadOne>
Result<void> read_tool_list(Members& in, ChatPrompt& out, ReadOne read_one) {
  out.parallel_tool_calls = TRY(in.flag("parallel_tool_calls", true));
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    out.tools.push_back(TRY(read_one(each, "tools[" + std::to_string(index++) + "]")));
  }
  out.tool_list = listed(out.tools);
  return {};
}

// The member "tool_choice", if it is missing or "none", "auto" or "required". Else the member, which
// names one or some of the tools: a call is demanded.
inline Result<const Json*> read_tool_choice_word(Members& in, ChatPrompt& out) {
  const Json* choice = in.find("tool_choice");
  const Json* const none = nullptr;
  out.tool_choice = out.tools.empty() ? ToolChoice::None : ToolChoice::Auto;
  if (choice == nullptr || choice->text() == "auto") return none;
  if (choice->text() == "none") {
    out.tool_choice = ToolChoice::None;
    return none;
  }
  if (out.tools.empty()) return in.bad("tool_choice", "there are no tools to choose from");
  out.tool_choice = ToolChoice::Required;
  return choice->text() == "required" ? none : choice;
}

}  // namespace endpoints::openai
