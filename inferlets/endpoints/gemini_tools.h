#pragma once
// The functions of a request of the Gemini interface, and which of them the model may or must call.
//
// Errors   those of a request, which name its member.
#include <string>
#include <string_view>
#include <vector>

#include "chat_prompt.h"
#include "gemini_schema.h"

namespace endpoints::gemini {

// The schema of the arguments: "parameters" are Google's, "parametersJsonSchema" is a JSON schema.
inline Result<std::string> read_parameters(Members& in) {
  const Json* parameters = in.find("parameters");
  const Json* schema = in.find("parametersJsonSchema");
  if (parameters != nullptr && schema != nullptr) {
    return in.bad("parametersJsonSchema", "is there beside parameters: give one of them");
  }
  if (schema != nullptr) {
    if (!schema->is_object()) {
      return in.bad("parametersJsonSchema", "must be a JSON schema, an object");
    }
    return arguments_schema(*schema);
  }
  if (parameters == nullptr) return arguments_schema(Json());
  if (!parameters->is_object()) return in.bad("parameters", "must be a schema, an object");
  const std::string converted = TRY(SchemaReader().read(*parameters, in.path_of("parameters")));
  const Json json = TRY(Json::parse(converted));
  return arguments_schema(json);
}

inline Result<OfferedTool> read_function(const Json& given, const std::string& path,
                                         LeftOut& left_out) {
  constexpr std::size_t kNameBytesMax = 128;
  Members in = TRY(members_at(given, path, left_out));
  OfferedTool tool{.name = TRY(in.text("name")),
                   .description = TRY(in.text("description")),
                   .schema = TRY(read_parameters(in))};
  in.accept({"response", "responseJsonSchema", "behavior"});  // What the client's function returns.
  TRY(in.finish());
  TRY(check_tool_name(tool.name, path + ".name", kNameBytesMax, "_-.:"));
  return tool;
}

// One of "tools": functions of the client, and services that this server lacks.
inline Result<void> read_tool(const Json& given, const std::string& path, ChatPrompt& out,
                              LeftOut& left_out) {
  Members in = TRY(members_at(given, path, left_out));
  std::size_t index = 0;
  const std::string functions = in.path_of("functionDeclarations");
  for (const Json& each : TRY(in.list("functionDeclarations"))) {
    out.tools.push_back(TRY(read_function(each, at_index(functions, index++), left_out)));
  }
  in.leave_out({"googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext",
                "googleMaps", "fileSearch", "computerUse", "enterpriseWebSearch", "retrieval",
                "mcpServers"});
  return in.finish();
}

// The functions that "allowedFunctionNames" leaves.
inline Result<void> keep_allowed(Members& in, const std::vector<std::string>& names,
                                 ChatPrompt& out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto is_it = [&](const OfferedTool& each) { return each.name == names[i]; };
    if (std::ranges::none_of(out.tools, is_it)) {
      return wrong(at_index(in.path_of("allowedFunctionNames"), i),
                   json_string(names[i]) + " is not one of the functions of tools");
    }
  }
  std::erase_if(out.tools, [&](const OfferedTool& each) {
    return std::ranges::find(names, each.name) == names.end();
  });
  return {};
}

inline Result<void> read_calling_config(Members& in, ChatPrompt& out) {
  constexpr std::size_t kNameCountMax = 1024;
  const std::string written = TRY(in.text("mode", "AUTO"));
  const std::vector<std::string> names = TRY(in.texts("allowedFunctionNames", kNameCountMax));
  in.accept({"streamFunctionCallArguments"});
  TRY(in.finish());
  const std::string mode = capitals(written);
  const bool is_auto = mode == "AUTO" || mode == "MODE_UNSPECIFIED";
  if (!is_auto && mode != "ANY" && mode != "NONE" && mode != "VALIDATED") {
    return in.bad("mode", json_string(written) + " is not one of AUTO, ANY, NONE and VALIDATED");
  }
  if (!names.empty() && mode != "ANY" && mode != "VALIDATED") {
    return in.bad("allowedFunctionNames", "needs the mode ANY or VALIDATED");
  }
  if (!names.empty()) TRY(keep_allowed(in, names, out));
  if (mode == "NONE") out.tool_choice = ToolChoice::None;
  if (mode == "ANY") {
    if (out.tools.empty()) return in.bad("mode", "ANY needs a function in tools");
    out.tool_choice = ToolChoice::Required;
  }
  if (mode == "VALIDATED") {  // A call fits its schema, if the model makes one.
    for (OfferedTool& each : out.tools) each.is_strict = true;
  }
  return {};
}

inline Result<void> read_tools(Members& in, ChatPrompt& out) {
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    TRY(read_tool(each, at_index(in.path_of("tools"), index++), out, in.left_out()));
  }
  out.tool_list = listed(out.tools);
  out.tool_choice = out.tools.empty() ? ToolChoice::None : ToolChoice::Auto;
  if (in.find("toolConfig") == nullptr) return {};
  Members config = TRY(in.object("toolConfig"));
  config.leave_out({"retrievalConfig", "includeServerSideToolInvocations"});
  const bool has_calling = config.find("functionCallingConfig") != nullptr;
  TRY(config.finish());
  if (!has_calling) return {};
  Members calling = TRY(config.object("functionCallingConfig"));
  return read_calling_config(calling, out);
}

}  // namespace endpoints::gemini
