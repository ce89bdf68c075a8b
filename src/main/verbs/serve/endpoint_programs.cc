#include "main/verbs/serve/endpoint_programs.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/guest_name.h"
#include "base/utf8.h"
#include "main/verbs/make/source_program.h"
#include "main/verbs/shared/scratch_folder.h"
#include "main/verbs/shared/sdk_location.h"
#include "main/verbs/shared/shipped_endpoints.h"

namespace quire {

bool EndpointPrograms::has_source(const std::vector<std::string>& endpoints) {
  return std::any_of(endpoints.begin(), endpoints.end(), [](const std::string& each) {
    const Result<server::EndpointRule> rule = server::parse_endpoint_rule(each);
    return rule.ok() && is_program_source(rule.value().program);
  });
}

Result<server::EndpointTable> EndpointPrograms::find(const std::vector<std::string>& endpoints,
                                                     const ShippedUse& shipped) {
  std::vector<server::EndpointRule> rules;
  for (const std::string& each : endpoints) {
    Result<server::EndpointRule> parsed = server::parse_endpoint_rule(each);
    if (!parsed.ok()) {
      return Error(parsed.error().code(), "--" + std::string(parsed.error().message()));
    }
    server::EndpointRule rule = std::move(parsed).take();
    Result<std::string> name = name_of(rule);
    if (!name.ok()) return std::move(name).take_error().while_("--endpoint " + in_quotes(each));
    rule.program = std::move(name).take();
    rules.push_back(std::move(rule));
  }
  if (shipped.is_there) TRY(add_shipped(rules, shipped.arguments));
  for (server::EndpointRule& each : rules) each.decodes_bodies = is_shipped(each.program);
  Result<server::EndpointTable> table = server::EndpointTable::create(std::move(rules));
  if (!table.ok()) return std::move(table).take_error().while_("--endpoint");
  return table;
}

Result<void> EndpointPrograms::add_shipped(std::vector<server::EndpointRule>& rules,
                                           const ShippedArguments& arguments) {
  const Result<std::string> folder = find_shipped_programs(TRY(executable_path()));
  if (!folder.ok()) shipped_failure_ = folder.error().message();
  for (server::EndpointRule& each : shipped_endpoints(rules, arguments)) {
    const bool is_users = named_.contains(each.program) || given_.contains(each.program);
    const bool is_there = is_users || brought_.contains(each.program);
    if (!is_there && !folder.ok()) continue;
    if (!is_there) brought_.emplace(each.program, folder.value() + "/" + each.program + ".wasm");
    if (is_users && folder.ok() && !is_shipped(each.program)) {
      const std::string path = given_path(each.program);
      return Error(ErrorCode::AlreadyExists,
                   path + " has the name of the program that comes with quire and answers " +
                       each.text() + "; rename the file, say --endpoint " +
                       in_quotes(each.text() + "=" + path) +
                       " to answer there too, or leave out the endpoints of quire with "
                       "--no-endpoints");
    }
    rules.push_back(std::move(each));
  }
  return {};
}

Result<std::string> EndpointPrograms::name_of(const server::EndpointRule& rule) {
  const std::string& given = rule.program;
  if (named_.contains(given)) return given;
  if (is_program_source(given)) {
    const std::string name = program_name_of(given);
    TRY(check_guest_name(name, "program name"));
    if (TRY(claim(name, given))) brought_.emplace(name, TRY(build(given)));
    return name;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(given, ignored)) {
    return Error(ErrorCode::InvalidArgument, given + " is a folder; an endpoint has one program");
  }
  Result<ProgramFiles> files = find_programs({given});
  if (!files.ok()) {
    std::string known;
    for (const auto& [name, path] : named_) known += (known.empty() ? "" : ", ") + name;
    return Error(files.error().code(),
                 std::string(files.error().message()) +
                     "; programs that are given here: " + (known.empty() ? "none" : known));
  }
  const auto& [name, path] = *files.value().begin();
  if (TRY(claim(name, path))) brought_.emplace(name, path);
  return name;
}

// As the user wrote it.
std::string EndpointPrograms::given_path(const std::string& name) const {
  const auto given = given_.find(name);
  if (given != given_.end()) return given->second;
  const auto named = named_.find(name);
  return named != named_.end() ? named->second : brought_.at(name);
}

// Whether the module with that name is the one that comes with quire, or a copy of it.
bool EndpointPrograms::is_shipped(const std::string& name) const {
  const std::optional<std::string> module = find_shipped_program(name);
  if (!module) return false;
  const auto named = named_.find(name);
  const std::string& path = named != named_.end() ? named->second : brought_.at(name);
  std::error_code ignored;
  if (std::filesystem::equivalent(path, *module, ignored)) return true;
  if (std::filesystem::file_size(path, ignored) != std::filesystem::file_size(*module, ignored)) {
    return false;
  }
  const Result<std::string> bytes = read_file(path, kProgramBytesMax);
  const Result<std::string> shipped = read_file(*module, kProgramBytesMax);
  return bytes.ok() && shipped.ok() && bytes.value() == shipped.value();
}

Result<bool> EndpointPrograms::claim(const std::string& name, const std::string& path) {
  const auto same = named_.find(name);
  const auto [at, is_new] = given_.emplace(name, path);
  // A source of the command line is in both, and was given as a source.
  const std::string& other = is_new && same != named_.end() ? same->second : at->second;
  if (other != path) {
    return Error(ErrorCode::AlreadyExists,
                 "two programs are named " + in_quotes(name) + ": " + other + " and " + path);
  }
  return is_new && same == named_.end();
}

Result<std::string> EndpointPrograms::build(const std::string& source) {
  if (scratch_.empty()) return no_scratch_folder();
  const std::string module = (scratch_ / program_name_of(source)).string() + ".wasm";
  build_exit_code_ = build_for_run(source, module);
  if (build_exit_code_ == 0) return module;
  return Error(ErrorCode::InvalidArgument, source + " was not built");
}

}  // namespace quire
