#include "main/verbs/serve/served_programs.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "main/verbs/make/source_modules.h"
#include "main/verbs/shared/output.h"

namespace quire {

std::filesystem::path ServedPrograms::make_scratch(EndWatch& end) {
  if (!EndpointPrograms::has_source(options_.endpoints) &&
      !SourceModules::has_source(options_.programs)) {
    return {};
  }
  scratch_.emplace();
  end.at_early_end([path = scratch_->path()] {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  });
  return scratch_->path();
}

void ServedPrograms::note_files() {
  if (!options_.is_watched) return;
  std::vector<std::string> paths = options_.programs;
  for (const std::string& each : options_.endpoints) {
    const Result<server::EndpointRule> rule = server::parse_endpoint_rule(each);
    if (rule.ok()) paths.push_back(rule.value().program);
  }
  for (const std::string& each : paths) files_[each].watch({each});
}

std::vector<WatchedProgram> ServedPrograms::watched() const {
  std::vector<WatchedProgram> all;
  const auto add = [&](const std::string& name, const std::string& module) {
    const std::string given = endpoint_programs_->given_path(name);
    const auto noted = files_.find(given);
    WatchedProgram program{.name = name, .given = given, .module = module};
    if (noted != files_.end()) program.files = noted->second;
    program.files.watch({given});
    all.push_back(std::move(program));
  };
  for (const auto& [name, module] : named_) add(name, module);
  for (const auto& [name, module] : endpoint_programs_->brought()) {
    if (endpoint_programs_->is_given(name)) add(name, module);  // The rest comes with quire.
  }
  return all;
}

Result<std::optional<int>> ServedPrograms::find(EndWatch& end) {
  note_files();
  const std::filesystem::path folder = make_scratch(end);
  SourceModules sources(folder);
  const Result<std::vector<std::string>> modules = sources.build(options_.programs);
  // Ctrl-C ends the compiler, too, and the compiler itself prints what is wrong.
  if (end.is_asked()) return std::optional(cli::number(cli::ExitCode::Ok));
  if (sources.exit_code() != 0) return std::optional(sources.exit_code());
  if (!modules.ok()) return std::optional(fail_program(modules.error()));
  Result<ProgramFiles> found = find_programs(modules.value());
  if (!found.ok()) return std::optional(fail_program(found.error()));
  named_ = std::move(found).take();
  endpoint_programs_.emplace(named_, sources.sources(), folder);
  const cli::EndpointBehavior& behavior = options_.endpoint_behavior;
  Result<server::EndpointTable> endpoints = endpoint_programs_->find(
      options_.endpoints, {.is_there = options_.has_shipped_endpoints,
                           .arguments = {.repairs_prompts = behavior.repairs_prompts,
                                         .has_drafts = behavior.has_drafts}});
  if (end.is_asked()) return std::optional(cli::number(cli::ExitCode::Ok));
  if (endpoint_programs_->build_exit_code() != 0) {
    return std::optional(endpoint_programs_->build_exit_code());
  }
  endpoints_.emplace(TRY(std::move(endpoints)));
  return std::optional<int>();
}

Result<void> ServedPrograms::bring(lifecycle::InstanceManager& manager,
                                   server::Gateway& gateway) const {
  for (const NamedProgram& each : TRY(load_programs(named_, manager))) {
    TRY(gateway.name_program(each.name, each.id, each.digest));
  }
  for (const NamedProgram& each : TRY(load_programs(endpoint_programs_->brought(), manager))) {
    TRY(gateway.name_endpoint_program(each.name, each.id, each.digest));
  }
  return {};
}

}  // namespace quire
