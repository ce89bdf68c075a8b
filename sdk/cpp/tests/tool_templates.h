#pragma once
// Chat templates with tools, as published models bring them; each renders a request for the fake
// host. What a template refuses, it renders as nothing. "<|end|>" is the token that ends a turn.
#include <optional>
#include <string>

#include "quire/json.h"

namespace quire::test {

using Rendered = std::optional<std::string>;

// Hermes, Qwen 2.5 and many more.
inline Rendered render_hermes(const Json& request) {
  std::string out;
  const Json messages = request["messages"];
  const bool has_system = std::string(messages[0].text("role")) == "system";
  if (has_system || request.has("tools")) {
    out += "<|system|>" + (has_system ? std::string(messages[0].text("content")) : "You help.");
    if (request.has("tools")) out += "\n# Tools\n<tools>\n" + request["tools"].str() + "\n</tools>";
    out += "<|end|>\n";
  }
  for (const Json& each : messages.items()) {
    if (std::string(each.text("role")) == "system") continue;
    if (std::string(each.text("role")) == "tool") {
      out += "<|user|><tool_response>\n" + std::string(each.text("content")) +
             "\n</tool_response><|end|>\n";
      continue;
    }
    out += "<|" + std::string(each.text("role")) + "|>" + std::string(each.text("content"));
    for (const Json& call : each["tool_calls"].items()) {
      const Json function = call["function"];
      out += "\n<tool_call>\n{\"name\": \"" + std::string(function.text("name")) +
             "\", \"arguments\": " + function["arguments"].str() + "}\n</tool_call>";
    }
    out += "<|end|>\n";
  }
  if (request["add_generation_prompt"].boolean()) out += "<|assistant|>";
  return out;
}

// Llama 3.1: one call in a turn, as JSON without marks.
inline Rendered render_llama(const Json& request) {
  std::string out = "<|begin|>";
  for (const Json& each : request["messages"].items()) {
    const std::string role(each.text("role") == "tool" ? "ipython" : each.text("role"));
    out += "<|start|>" + role + "<|header|>\n\n";
    if (role == "user" && request.has("tools")) {
      out +=
          "Given these functions, answer with JSON for a call.\n" + request["tools"].str() + "\n";
    }
    const auto calls = each["tool_calls"].items();
    if (calls.size() > 1) return std::nullopt;
    if (calls.size() == 1) {
      const Json function = each["tool_calls"][0]["function"];
      out += "{\"name\": \"" + std::string(function.text("name")) +
             "\", \"parameters\": " + function["arguments"].str() + "}";
    } else {
      out += std::string(each.text("content"));
    }
    out += "<|end|>";
  }
  if (request["add_generation_prompt"].boolean()) out += "<|start|>assistant<|header|>\n\n";
  return out;
}

// Mistral 7B v0.3: calls in one list, with ids of nine letters and digits.
inline Rendered render_mistral(const Json& request) {
  std::string out = "<s>";
  for (const Json& each : request["messages"].items()) {
    const std::string role(each.text("role"));
    const auto calls = each["tool_calls"].items();
    if (role == "user") {
      if (request.has("tools")) {
        out += "[AVAILABLE_TOOLS] " + request["tools"].str() + "[/AVAILABLE_TOOLS]";
      }
      out += "[INST] " + std::string(each.text("content")) + "[/INST]";
    } else if (role == "tool") {
      if (std::string(each.text("tool_call_id")).size() != 9) return std::nullopt;
      out += "[TOOL_RESULTS] {\"content\": " + json_string(std::string(each.text("content"))) +
             ", \"call_id\": \"" + std::string(each.text("tool_call_id")) + "\"}[/TOOL_RESULTS]";
    } else if (!calls.empty()) {
      out += "[TOOL_CALLS] [";
      for (const Json& call : calls) {
        if (std::string(call.text("id")).size() != 9) return std::nullopt;
        out += (out.ends_with('[') ? "" : ", ") + std::string("{\"name\": \"") +
               std::string(call["function"].text("name")) +
               "\", \"arguments\": " + call["function"]["arguments"].str() + ", \"id\": \"" +
               std::string(call.text("id")) + "\"}";
      }
      out += "]<|end|>";
    } else {
      out += " " + std::string(each.text("content")) + (role == "assistant" ? "<|end|>" : "");
    }
  }
  return out;
}

// Mistral Small 3.2: the name, an id and the arguments of each call.
inline Rendered render_named(const Json& request) {
  std::string out = "<s>";
  if (request.has("tools")) {
    out += "[AVAILABLE_TOOLS]" + request["tools"].str() + "[/AVAILABLE_TOOLS]";
  }
  for (const Json& each : request["messages"].items()) {
    const std::string role(each.text("role"));
    if (role == "user") {
      out += "[INST]" + std::string(each.text("content")) + "[/INST]";
    } else if (role == "tool") {
      out += "[TOOL_RESULTS]" + std::string(each.text("tool_call_id")) + "[TOOL_CONTENT]" +
             std::string(each.text("content")) + "[/TOOL_RESULTS]";
    } else {
      out += std::string(each.text("content"));
      for (const Json& call : each["tool_calls"].items()) {
        out += "[TOOL_CALLS]" + std::string(call["function"].text("name")) + "[CALL_ID]" +
               std::string(call.text("id")) + "[ARGS]" + call["function"]["arguments"].str();
      }
      out += "<|end|>";
    }
  }
  return out;
}

// Qwen3-Coder: each argument with marks of its own.
inline Rendered render_pairs(const Json& request) {
  std::string out = "<|im_start|>system\nYou help.";
  if (request.has("tools")) out += "\n<tools>" + request["tools"].str() + "</tools>";
  out += "<|end|>\n";
  for (const Json& each : request["messages"].items()) {
    if (std::string(each.text("role")) == "tool") {
      out += "<|im_start|>user\n<tool_response>\n" + std::string(each.text("content")) +
             "\n</tool_response>\n<|end|>\n";
      continue;
    }
    out +=
        "<|im_start|>" + std::string(each.text("role")) + "\n" + std::string(each.text("content"));
    for (const Json& call : each["tool_calls"].items()) {
      out += "\n<tool_call>\n<function=" + std::string(call["function"].text("name")) + ">\n";
      for (const auto& [key, value] : call["function"]["arguments"].members()) {
        out += "<parameter=" + std::string(key) + ">\n" +
               (value.is_text() ? std::string(value.text()) : value.str()) + "\n</parameter>\n";
      }
      out += "</function>\n</tool_call>";
    }
    out += "<|end|>\n";
  }
  if (request["add_generation_prompt"].boolean()) out += "<|im_start|>assistant\n";
  return out;
}

// DeepSeek R1: arguments are a text, in a fence; an answer begins after a thought.
inline Rendered render_fenced(const Json& request) {
  std::string out = request.has("tools") ? request["tools"].str() : "";
  for (const Json& each : request["messages"].items()) {
    const std::string role(each.text("role"));
    const auto calls = each["tool_calls"].items();
    if (role == "user") {
      out += "<|user|>" + std::string(each.text("content"));
    } else if (role == "tool") {
      out += "<|output|>" + std::string(each.text("content")) + "<|/output|>";
    } else {
      out += "<|assistant|>" + std::string(each.text("content"));
      if (!calls.empty()) out += "<|calls|>";
      for (const Json& call : calls) {
        if (!call["function"]["arguments"].is_text()) return std::nullopt;
        out += (out.ends_with("<|calls|>") ? "" : "\n") + std::string("<|call|>function<|sep|>") +
               std::string(call["function"].text("name")) + "\n```json\n" +
               std::string(call["function"].text("arguments")) + "\n```<|/call|>";
      }
      if (!calls.empty()) out += "<|/calls|>";
      out += "<|end|>";
    }
  }
  if (request["add_generation_prompt"].boolean()) out += "<|assistant|><think>\n";
  return out;
}

// SmolLM2 and others, which know of no tools, and write no calls.
inline Rendered render_plain(const Json& request) {
  std::string out;
  for (const Json& each : request["messages"].items()) {
    out += "<|" + std::string(each.text("role")) + "|>" + std::string(each.text("content")) +
           "<|end|>\n";
  }
  if (request["add_generation_prompt"].boolean()) out += "<|assistant|>";
  return out;
}

}  // namespace quire::test
