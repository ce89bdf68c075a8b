#pragma once
// ChatPrompt: a conversation that the model is to go on with, as a protocol has read it from its
// request.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "offered_tools.h"
#include "quire/quire.h"
#include "template_variables.h"

namespace endpoints {

// A context that an earlier turn of the conversation saved.
struct SavedContext {
  std::string name;
  std::vector<std::uint32_t> tokens;  // All that it holds,
  std::string model;                  // under the model of this name, and of use to no other.
};

struct ChatPrompt {
  Model model;
  std::vector<ChatMessage> messages;
  std::string messages_member = "messages";  // The member of the request that gives them.
  std::string answer_begin;        // What the model's answer begins with; it goes on from there.
  std::vector<OfferedTool> tools;  // Those that the model may call,
  std::string tool_list;           // and all that it reads about, as templates want them.
  std::string template_variables;  // JSON (template_variables.h).
  ToolChoice tool_choice = ToolChoice::None;
  bool parallel_tool_calls = true;
  std::string schema;                      // What the answer looks like; empty: any text.
  std::string schema_member;               // The member of the request that gives the schema.
  std::optional<SavedContext> saved = {};  // May hold a beginning of the prompt.
  std::chrono::seconds keep{0};            // How long its pages stay unused; 0: the default.
  bool separates_thoughts = false;         // From the text, also if the model may call no tool.
  std::optional<std::uint64_t> thought_count_max = {};  // Tokens of thoughts, which then end.
  bool is_repaired = false;  // Changing lines of the system prompt move to its end.
};

}  // namespace endpoints
