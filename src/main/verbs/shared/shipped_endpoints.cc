#include "main/verbs/shared/shipped_endpoints.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnyOfThem = "openai_chat.wasm";

void add_arguments(const ShippedEndpoint& endpoint, const cli::EndpointBehavior& behavior,
                   std::vector<std::string>& arguments) {
  const bool repairs = behavior.repairs_prompts && endpoint.reads_conversations;
  if (repairs) arguments.push_back("--prompt-repair");
  if (!behavior.has_drafts && endpoint.drafts) arguments.push_back("--no-drafts");
  if (!endpoint.streams) return;
  if (behavior.ping_seconds != cli::EndpointBehavior().ping_seconds) {
    arguments.push_back("--ping-seconds");
    arguments.push_back(std::to_string(behavior.ping_seconds));
  }
  if (behavior.pads_json) arguments.push_back("--pad-json");
}

}  // namespace

std::vector<server::EndpointRule> shipped_endpoints(const std::vector<server::EndpointRule>& own,
                                                    const cli::EndpointBehavior& behavior) {
  std::vector<server::EndpointRule> rules;
  for (const ShippedEndpoint& each : kShippedEndpoints) {
    Result<server::EndpointRule> parsed = server::parse_endpoint_rule(each.rule);
    QUIRE_CHECK(parsed.ok(), "a shipped endpoint is a rule");
    server::EndpointRule rule = std::move(parsed).take();
    add_arguments(each, behavior, rule.arguments);
    const auto is_same = [&](const server::EndpointRule& other) {
      return other.text() == rule.text();
    };
    if (std::none_of(own.begin(), own.end(), is_same)) rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::string> find_shipped_programs(const std::string& executable) {
  const fs::path beside = fs::path(executable).parent_path();
  const fs::path places[] = {(beside / "../share/quire/inferlets").lexically_normal(),
                             beside / "inferlets"};
  std::string looked;
  for (const fs::path& each : places) {
    std::error_code ignored;
    if (fs::exists(each / kAnyOfThem, ignored)) return each.string();
    looked += (looked.empty() ? "" : " and ") + each.string();
  }
  return Error(ErrorCode::NotFound, std::string(kAnyOfThem) + " is in none of " + looked +
                                        "; build the target inferlets, or say --no-endpoints");
}

std::optional<std::string> find_shipped_program(const std::string& name) {
  const Result<std::string> executable = executable_path();
  if (!executable.ok()) return std::nullopt;
  const Result<std::string> folder = find_shipped_programs(executable.value());
  if (!folder.ok()) return std::nullopt;
  const fs::path module = fs::path(folder.value()) / (name + ".wasm");
  std::error_code ignored;
  if (!fs::exists(module, ignored)) return std::nullopt;
  return module.string();
}

std::vector<std::string> shipped_program_names() {
  std::vector<std::string> names;
  const Result<std::string> executable = executable_path();
  if (!executable.ok()) return names;
  const Result<std::string> folder = find_shipped_programs(executable.value());
  if (!folder.ok()) return names;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(folder.value(), failed)) {
    const std::string name = each.path().stem().string();
    const auto is_its_program = [&](const ShippedEndpoint& endpoint) {
      return std::string_view(endpoint.rule).ends_with("=" + name);
    };
    if (each.path().extension() == ".wasm" &&
        std::ranges::none_of(kShippedEndpoints, is_its_program)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace quire
