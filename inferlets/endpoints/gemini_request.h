#pragma once
// A request to generateContent, streamGenerateContent or countTokens of the Gemini interface, read
// and checked.
//
// Errors   those of a request, which name its member: "generationConfig.topP".
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "chat_turn.h"
#include "gemini_contents.h"
#include "gemini_tools.h"

namespace endpoints::gemini {

struct GenerateRequest {
  ChatPrompt prompt;
  GenerateOptions generate;
  std::optional<std::uint64_t> token_count_max;  // None: as many as there is room for.
  std::uint32_t candidate_count = 1;
  bool has_logprobs = false;
  bool shows_thoughts = false;  // As parts.
  bool is_enum = false;         // The answer is one of some texts, which stand in no quotes.
};

// ---- the conversation ---------------------------------------------------------------------------

inline Result<void> read_contents(Members& in, ChatPrompt& out) {
  ContentsReader reader(in.left_out());
  if (const Json* system = in.find("systemInstruction"); system != nullptr) {
    TRY(reader.read_system(*system, in.path_of("systemInstruction")));
  }
  const Json::Items given = TRY(in.list("contents"));
  if (given.empty()) {
    return in.bad(
        "contents",
        "give at least one, such as {\"role\": \"user\", \"parts\": [{\"text\": \"Hi\"}]}");
  }
  std::size_t index = 0;
  for (const Json& each : given) {
    TRY(reader.read(each, at_index(in.path_of("contents"), index++)));
  }
  reader.take(out);
  out.messages_member = in.path_of("contents");
  const auto is_system = [](const ChatMessage& each) { return each.role == "system"; };
  if (std::ranges::all_of(out.messages, is_system)) {
    return in.bad("contents", "give a content of the role user");
  }
  return {};
}

// ---- the form of an answer ---------------------------------------------------------------------

// The schema that an answer is to fit, with the member that gives it; empty: none.
struct AnswerSchema {
  std::string json;
  std::string member;
};

inline Result<AnswerSchema> read_answer_schema(Members& in) {
  AnswerSchema out;
  for (const char* name : {"responseSchema", "responseJsonSchema", "_responseJsonSchema"}) {
    const Json* given = in.find(name);
    if (given == nullptr) continue;
    if (!out.member.empty()) {
      return in.bad(name, "is there beside " + out.member + ": give one of them");
    }
    out.member = in.path_of(name);
    if (!given->is_object()) return in.bad(name, "must be a schema, an object");
    const bool is_own = std::string_view(name) == "responseSchema";
    out.json = is_own ? TRY(SchemaReader().read(*given, out.member)) : given->str();
  }
  return out;
}

inline Result<void> read_form(Members& in, GenerateRequest& out) {
  AnswerSchema schema = TRY(read_answer_schema(in));
  const std::string type = TRY(in.text("responseMimeType", "text/plain"));
  const bool is_json = type == "application/json";
  out.is_enum = type == "text/x.enum";
  if (!is_json && !out.is_enum && type != "text/plain") {
    return in.bad(
        "responseMimeType",
        json_string(type) +
            " is not supported; only \"text/plain\", \"application/json\" or \"text/x.enum\"",
        ErrorCode::NotSupported);
  }
  if (type == "text/plain" && !schema.json.empty()) {
    return wrong(schema.member, "needs the responseMimeType application/json or text/x.enum");
  }
  if (out.is_enum) {
    const Json json = TRY(Json::parse(schema.json.empty() ? "{}" : schema.json));
    if (json["enum"].items().empty()) {
      return in.bad("responseMimeType", "text/x.enum needs a responseSchema with an enum");
    }
  }
  if (is_json && schema.json.empty()) {
    schema = {R"({"type":["object","array"]})", in.path_of("responseMimeType")};
  }
  out.prompt.schema = std::move(schema.json);
  out.prompt.schema_member = std::move(schema.member);
  return {};
}

// ---- how an answer is drawn --------------------------------------------------------------------

inline Result<void> read_drawing(Members& in, GenerateRequest& out) {
  constexpr std::uint32_t kCandidateCountMax = 8;
  const std::uint32_t vocabulary_size = out.prompt.model.info().vocabulary_size;
  out.generate.temperature = TRY(in.number("temperature", 1.0, {0, 2}));
  out.generate.top_p = TRY(in.number("topP", 1.0, {0, 1}));
  const std::uint64_t top_k = TRY(in.whole("topK", 0, {0, kLargestWhole}));
  out.generate.top_k = static_cast<std::uint32_t>(std::min<std::uint64_t>(top_k, vocabulary_size));
  out.generate.presence_penalty = TRY(in.number("presencePenalty", 0.0, {-2, 2}));
  out.generate.frequency_penalty = TRY(in.number("frequencyPenalty", 0.0, {-2, 2}));
  out.generate.seed = TRY(read_seed(in));
  out.generate.stop = TRY(in.texts("stopSequences", kStopCountMax));
  const std::uint64_t most = TRY(in.whole("maxOutputTokens", 0, {1, kLargestWhole}));
  if (most > 0) out.token_count_max = most;
  out.candidate_count =
      static_cast<std::uint32_t>(TRY(in.whole("candidateCount", 1, {1, kCandidateCountMax})));
  return {};
}

inline Result<void> read_logprobs(Members& in, GenerateRequest& out) {
  out.has_logprobs = TRY(in.flag("responseLogprobs"));
  out.generate.top_logprobs = static_cast<std::uint32_t>(TRY(in.whole("logprobs", 0, {0, 20})));
  if (out.generate.top_logprobs > 0 && !out.has_logprobs) {
    return in.bad("logprobs", "needs \"responseLogprobs\": true");
  }
  const bool may_write_twice =
      !out.prompt.schema.empty() && out.prompt.tool_choice == ToolChoice::Auto;
  if (out.has_logprobs && (may_write_twice || out.is_enum)) {
    return in.bad("responseLogprobs",
                  out.is_enum ? "is not supported with text/x.enum"
                              : "is not supported with both tools and a response schema",
                  ErrorCode::NotSupported);
  }
  return {};
}

// Whether the model is to think and how much, and whether its thoughts are parts of the answer.
inline Result<void> read_thinking(Members& in, TemplateVariables& variables, GenerateRequest& out) {
  if (in.find("thinkingConfig") == nullptr) return {};
  constexpr double kDynamic = -1;  // A budget of the model's own choice.
  Members thinking = TRY(in.object("thinkingConfig"));
  const bool shows = TRY(thinking.flag("includeThoughts"));
  const double budget = TRY(thinking.number("thinkingBudget", kDynamic, {-1, kLargestWhole}));
  const std::string level = capitals(TRY(thinking.text("thinkingLevel")));
  TRY(thinking.finish());
  if (budget != std::trunc(budget)) return thinking.bad("thinkingBudget", "must be a whole number");
  if (!level.empty() && level != "THINKING_LEVEL_UNSPECIFIED") {
    constexpr std::string_view kLevels[] = {"MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"};
    if (std::ranges::find(kLevels, level) == std::end(kLevels)) {
      return thinking.bad("thinkingLevel", "must be MINIMAL, LOW, MEDIUM, HIGH or XHIGH");
    }
    std::string effort = level;
    for (char& each : effort) each = static_cast<char>(std::tolower(each));
    variables.set_effort(effort);
  }
  if (budget != kDynamic) variables.set_thinking(budget > 0);
  if (budget == 0) return {};
  out.shows_thoughts = shows;
  out.prompt.separates_thoughts = true;
  if (budget > 0) out.prompt.thought_count_max = static_cast<std::uint64_t>(budget);
  return {};
}

// Answers are text: an answer of another kind would be wrong for the client.
inline Result<void> read_modalities(Members& in) {
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("responseModalities"))) {
    if (capitals(each.text()) != "TEXT") {
      return wrong(at_index(in.path_of("responseModalities"), index), "only TEXT is supported",
                   ErrorCode::NotSupported);
    }
    ++index;
  }
  return in.refuse(
      "speechConfig imageConfig translationConfig audioTranscriptionConfig responseFormat");
}

inline Result<void> read_generation_config(Members& in, TemplateVariables& variables,
                                           GenerateRequest& out) {
  if (in.find("generationConfig") == nullptr) {
    out.generate.seed = random_seed();
    return {};
  }
  Members config = TRY(in.object("generationConfig"));
  TRY(read_drawing(config, out));
  TRY(read_form(config, out));
  TRY(read_logprobs(config, out));
  TRY(read_thinking(config, variables, out));
  TRY(read_modalities(config));
  TRY(config.accept_texts({"mediaResolution"}));
  config.leave_out({"enableEnhancedCivicAnswers", "audioTimestamp", "enableAffectiveDialog",
                    "routingConfig", "modelSelectionConfig"});
  return config.finish();
}

// ---- the whole request -------------------------------------------------------------------------

// `in` has the members of a request to generateContent.
inline Result<GenerateRequest> read_request(Members& in, const Model& model) {
  GenerateRequest out;
  out.prompt.model = model;
  TRY(read_contents(in, out.prompt));
  TRY(read_tools(in, out.prompt));
  TemplateVariables variables = TRY(TemplateVariables::read(in));
  TRY(read_generation_config(in, variables, out));
  out.prompt.template_variables = variables.json();
  TRY(in.accept_texts({"model", "serviceTier"}));
  TRY(in.list("safetySettings"));  // No text is filtered.
  TRY(in.accept_objects({"labels"}));
  TRY(in.flag("store"));
  TRY(in.refuse("cachedContent continuationToken messages prompt instances"));
  TRY(in.finish());
  return out;
}

// {"contents"...}, or {"generateContentRequest": {"contents"...}}.
inline Result<ChatPrompt> read_count_request(const Json& body, const Model& model,
                                             LeftOut& left_out) {
  Members in = members_of(body, left_out);
  if (in.find("generateContentRequest") == nullptr) {
    GenerateRequest request = TRY(read_request(in, model));
    return std::move(request.prompt);
  }
  if (in.find("contents") != nullptr) {
    return in.bad("contents", "is there beside generateContentRequest: give one of them");
  }
  Members inner = TRY(in.object("generateContentRequest"));
  TRY(in.finish());
  GenerateRequest request = TRY(read_request(inner, model));
  return std::move(request.prompt);
}

}  // namespace endpoints::gemini
