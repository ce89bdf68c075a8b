#pragma once
// The endpoints that `quire serve` has without being asked: the interfaces of OpenAI, Anthropic and
// Gemini, and tokens. Their programs are built from inferlets/endpoints/. They are beside the
// program that runs: ../share/quire/inferlets of an installed one, inferlets/ of a build.
#include <optional>
#include <string>
#include <vector>

#include "application/server/endpoint_table.h"
#include "base/result.h"
#include "cli/options_serve.h"

namespace quire {

struct ShippedEndpoint {
  const char* rule;                  // As --endpoint takes it, with the name of the program.
  bool reads_conversations = false;  // Takes --prompt-repair,
  bool streams = false;              // --ping-seconds and --pad-json,
  bool drafts = false;               // and --no-drafts.
};
inline constexpr ShippedEndpoint kShippedEndpoints[] = {
    {"GET /v1/models=openai_models"},
    {"GET /v1/models/*=openai_models"},
    {"POST /v1/chat/completions=openai_chat", true, true, true},
    {"POST /v1/completions=openai_completions", false, true, true},
    {"POST /v1/embeddings=openai_embeddings"},
    {"POST /v1/responses=openai_responses", true, true, true},
    {"POST /v1/responses/*=openai_responses"},
    {"GET /v1/responses/*=openai_responses", false, true},
    {"DELETE /v1/responses/*=openai_responses"},
    {"POST /v1/messages=anthropic_messages", true, true, true},
    {"POST /v1/messages/count_tokens=anthropic_count_tokens"},
    {"GET /v1beta/models=gemini_models"},
    {"GET /v1beta/models/*=gemini_models"},
    {"POST /v1beta/models/*=gemini_generate", true, true, true},
    {"POST /v1beta/tunedModels/*=gemini_generate", true, true, true},
    {"POST /v1/models/*=gemini_generate", true, true, true},
    {"POST /tokenize=token_endpoints"},
    {"POST /detokenize=token_endpoints"},
    {"POST /apply-template=token_endpoints"},
};

// Returns the endpoints for whose place `own` has no rule. The program of each is a name. Its
// arguments are those of `behavior` that differ from the programs' defaults.
std::vector<server::EndpointRule> shipped_endpoints(const std::vector<server::EndpointRule>& own,
                                                    const cli::EndpointBehavior& behavior = {});

// The folder that has the programs, for `executable`. NotFound names the places that were looked
// at, and what to do.
Result<std::string> find_shipped_programs(const std::string& executable);

// The module of the program `name` in that folder, for the program that runs; nothing if it is not
// there.
std::optional<std::string> find_shipped_program(const std::string& name);

// The names of the programs in that folder that a user may run: those that do not belong to an
// endpoint.
std::vector<std::string> shipped_program_names();

}  // namespace quire
