#pragma once
// The variables that a request gives the chat template of its model beside the conversation. They
// are the members of "chat_template_kwargs", as vLLM, SGLang and llama.cpp have it, and how much
// the model is to think, in the words of templates. A variable that the template does not know
// has no effect.
//
// Errors   those of a request, which name the member and the variable.
#include <string>
#include <string_view>

#include "members.h"

namespace endpoints {

inline constexpr std::size_t kTemplateVariablesBytesMax = std::size_t{64} << 10;

// Whether a template gets this from the server. Special tokens are those of the model.
inline bool is_variable_of_server(std::string_view name) {
  constexpr std::string_view kNames[] = {"messages",      "tools",
                                         "chat_template", "add_generation_prompt",
                                         "tokenize",      "continue_final_message"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.ends_with("_token");
}

class TemplateVariables {
 public:
  // Reads "chat_template_kwargs".
  static Result<TemplateVariables> read(Members& in) {
    constexpr std::string_view kMember = "chat_template_kwargs";
    TemplateVariables out;
    const Json* given = in.find(kMember);
    if (given == nullptr) return out;
    if (!given->is_object()) {
      return in.bad(kMember, "must be an object, whose members are variables of the template");
    }
    if (given->str().size() > kTemplateVariablesBytesMax) {
      return in.bad(kMember, "has more than " + std::to_string(kTemplateVariablesBytesMax) +
                                 " bytes as JSON");
    }
    for (const auto& [name, value] : given->members()) {
      if (is_variable_of_server(name)) {
        return in.bad(
            kMember,
            "sets " + json_string(name) + ", which this server gives the template: leave it out",
            ErrorCode::NotSupported);
      }
    }
    out.given_ = *given;
    return out;
  }

  // How much the model is to think, in the words of an interface; "none" asks it not to. Empty: not
  // said. A variable of "chat_template_kwargs" counts before it.
  void set_effort(std::string_view effort) { effort_ = effort; }
  // Whether the model is to think at all.
  void set_thinking(bool thinks) { thinks_ = thinks; }

  // A JSON object; empty: none.
  std::string json() const {
    JsonWriter json;
    json.begin_object();
    bool has_any = false;
    const auto may_add = [&](std::string_view name) {
      const bool adds = !given_.has(name);
      has_any = has_any || adds;
      return adds;
    };
    if (!effort_.empty() && may_add("reasoning_effort")) json.key("reasoning_effort").text(effort_);
    const std::optional<bool> thinks = effort_ == "none" ? false : thinks_;
    for (const char* name : {"enable_thinking", "thinking"}) {  // Of Qwen; of DeepSeek and Granite.
      if (thinks && may_add(name)) json.key(name).boolean(*thinks);
    }
    for (const auto& [name, value] : given_.members()) {
      json.key(name).raw(value.str());
      has_any = true;
    }
    json.end_object();
    return has_any ? json.str() : std::string();
  }

 private:
  Json given_;
  std::string effort_;
  std::optional<bool> thinks_;
};

// The variables of a request of the OpenAI interface, which says how much the model is to think.
inline Result<std::string> read_variables(Members& in, Result<std::string> effort) {
  TemplateVariables variables = TRY(TemplateVariables::read(in));
  variables.set_effort(TRY(std::move(effort)));
  return variables.json();
}
// {"reasoning": {"effort"}}. A summary of thoughts may be none.
inline Result<std::string> read_effort(Members& in) {
  if (in.find("reasoning") == nullptr) return std::string();
  Members reasoning = TRY(in.object("reasoning"));
  return reasoning.text("effort");
}

}  // namespace endpoints
