#pragma once
// The members about tools that all requests of the OpenAI interface have. The requests differ in
// how one tool is written, and in how one is chosen by name.
//
// Errors   those of a request, which name its member.
#include <span>
#include <string>

#include "chat_turn.h"

namespace endpoints::openai {

// {"type": "namespace", "name", "tools"}: its functions are offered as NAMESPACE__NAME.
template <typename ReadOne>
Result<void> read_namespace(const Json& given, const std::string& path, LeftOut& left_out,
                            std::vector<OfferedTool>& out, ReadOne read_one) {
  Members in = TRY(Members::of(given, path, left_out));
  const std::string name = TRY(in.text("name"));
  const std::string description = TRY(in.text("description"));
  TRY(check_tool_name(name, path + ".name", kNamespaceBytesMax));
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    const std::string at = path + ".tools[" + std::to_string(index++) + "]";
    if (const std::string type(each.text("type")); type != "function") {
      left_out.add(at + " (" + type + ")");
      continue;
    }
    OfferedTool tool = TRY(read_one(each, at, left_out));
    tool.name = name + std::string(kNamespaceMark) + tool.name;
    tool.namespace_bytes = name.size();
    if (tool.description.empty()) tool.description = description;
    out.push_back(std::move(tool));
  }
  in.accept({"type"});
  return in.finish();
}

// The members "tools" and "parallel_tool_calls"; `read_one(json, path, left_out)` reads a function. Tools
// of other types are services that this server lacks, and are left out.
template <typename ReadOne>
Result<void> read_tool_list(Members& in, ChatPrompt& out, ReadOne read_one) {
  out.parallel_tool_calls = TRY(in.flag("parallel_tool_calls", true));
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    const std::string path = "tools[" + std::to_string(index++) + "]";
    const std::string type(each.text("type"));
    if (!each.is_object() || type.empty()) {
      return wrong(path, "must be an object with a type, such as \"function\"");
    }
    if (type == "namespace") {
      TRY(read_namespace(each, path, in.left_out(), out.tools, read_one));
    } else if (type == "function") {
      out.tools.push_back(TRY(read_one(each, path, in.left_out())));
    } else {
      in.left_out().add(path + " (" + type + ")");
    }
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
  if (out.tools.empty()) return in.bad("tool_choice", "this server offers none of the tools");
  out.tool_choice = ToolChoice::Required;
  return choice->text() == "required" ? none : choice;
}

}  // namespace endpoints::openai
