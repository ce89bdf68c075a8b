#pragma once
// The forms of tool_templates.h, as find_call_form must find them, for tests of what reads them.
#include <string>
#include <utility>
#include <vector>

#include "quire/call_form.h"

namespace quire::test {

struct NamedForm {
  const char* name;
  CallForm form;
};

inline std::vector<NamedForm> call_forms() {
  CallForm known;  // What most of these templates have in common.
  known.offers_tools = known.shows_calls = known.shows_results = true;
  std::vector<NamedForm> out;
  const auto form = [&](const char* name) -> CallForm& {
    return out.emplace_back(NamedForm{name, known}).form;
  };
  form("hermes");
  CallForm& llama = form("llama");
  llama.before = llama.between = llama.after = "";
  llama.arguments_key = "parameters";
  CallForm& mistral = form("mistral");
  mistral.before = "[TOOL_CALLS]";
  mistral.between = mistral.after = "";
  CallForm& named = form("named");
  named.kind = CallForm::Kind::NameThenJson;
  named.before = named.between = "[TOOL_CALLS]";
  named.after = "";
  named.name_end = std::string("[CALL_ID]") + CallForm::kAnyId + "[ARGS]";
  CallForm& pairs = form("pairs");
  pairs.kind = CallForm::Kind::NameThenPairs;
  pairs.before = "<tool_call>\n<function=";
  pairs.between = "</function>\n</tool_call>\n<tool_call>\n<function=";
  pairs.after = "</function>\n</tool_call>";
  pairs.name_end = ">";
  pairs.key_begin = "<parameter=";
  pairs.key_end = ">";
  pairs.value_end = "</parameter>";
  CallForm& fenced = form("fenced");
  fenced.kind = CallForm::Kind::NameThenJson;
  fenced.before = "<|calls|><|call|>function<|sep|>";
  fenced.between = "```<|/call|>\n<|call|>function<|sep|>";
  fenced.after = "```<|/call|><|/calls|>";
  fenced.name_end = "```json";
  fenced.begins_in_thought = true;
  fenced.takes_text_arguments = true;
  CallForm& plain = form("plain");
  plain = CallForm();
  plain.shows_results = true;  // It writes turns of any role.
  return out;
}

}  // namespace quire::test
