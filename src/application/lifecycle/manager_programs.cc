// The programs that instances run.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "application/lifecycle/manager_implementation.h"
#include "base/file.h"

namespace quire::lifecycle {
namespace {

constexpr std::uint64_t kProgramBytesMax = 64u << 20;  // The runtime's own limit is lower.

}  // namespace

std::string forgotten(ProgramId program) {
  return "no program " + std::to_string(static_cast<std::uint32_t>(program)) +
         ": it was never uploaded, or the server forgot it because other programs were used since";
}

Result<ProgramId> InstanceManager::Implementation::find_program(const std::string& name,
                                                                control::TenantId tenant) {
  const auto own = tenant_names.find({tenant, name});
  if (own != tenant_names.end()) return own->second;
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  if (const std::optional<std::string> path = path_of ? path_of(name) : std::nullopt) {
    const std::string wasm = TRY(read_file(*path, kProgramBytesMax));
    Result<ProgramId> loaded = programs.load(std::as_bytes(std::span(wasm)));
    if (!loaded.ok()) return std::move(loaded).take_error().while_(*path);
    names[name] = loaded.value();
    return loaded;
  }
  const auto begin = tenant_names.lower_bound({tenant, ""});
  const auto end = std::find_if(begin, tenant_names.end(),
                                [&](const auto& each) { return each.first.first != tenant; });
  const auto count = names.size() + static_cast<std::size_t>(std::distance(begin, end));
  return Error(ErrorCode::NotFound,
               "no program \"" + name + "\" (there are " + std::to_string(count) +
                   " by name); --program PATH of quire run, or PATH of quire serve, gives one");
}

Result<std::uint64_t> InstanceManager::Implementation::first_memory_bytes(ProgramId program) {
  const ProgramStore::Entry* entry = programs.find(program);
  if (entry == nullptr) return Error(ErrorCode::NotFound, forgotten(program));
  if (entry->error) return entry->error->copy();
  return entry->compiling() ? 0 : entry->program->first_memory_bytes();
}

Result<ProgramId> InstanceManager::load_program(std::span<const std::byte> wasm) {
  return implementation_->programs.load(wasm);
}

Result<ProgramId> InstanceManager::load_program_file(const std::string& path) {
  const std::string bytes = TRY(read_file(path, kProgramBytesMax));
  Result<ProgramId> id = load_program(std::as_bytes(std::span(bytes)));
  if (!id.ok()) return std::move(id).take_error().while_(path);
  return id;
}

Result<ProgramId> InstanceManager::request_program(std::vector<std::byte> wasm,
                                                   const Digest& digest, control::TenantId tenant) {
  return implementation_->programs.request(std::move(wasm), digest, tenant);
}

std::uint64_t InstanceManager::program_bytes_max() const {
  return implementation_->programs.program_bytes_max();
}

std::optional<ProgramId> InstanceManager::find_program(const Digest& digest) const {
  const ProgramStore& programs = implementation_->programs;
  const std::optional<ProgramId> id = programs.find(digest);
  if (!id || programs.find(*id)->error) return std::nullopt;
  return id;
}

Result<ProgramId> InstanceManager::find_program(const std::string& name,
                                                control::TenantId tenant) const {
  return implementation_->find_program(name, tenant);
}

Result<ProgramState> InstanceManager::program_state(ProgramId program) const {
  const ProgramStore::Entry* entry = implementation_->programs.find(program);
  if (entry == nullptr) return Error(ErrorCode::NotFound, forgotten(program));
  if (entry->error) return entry->error->copy();
  return entry->compiling() ? ProgramState::Compiling : ProgramState::Ready;
}

std::uint64_t InstanceManager::compiled_count() const {
  return implementation_->programs.compiled_count();
}

std::size_t InstanceManager::program_count() const {
  return implementation_->programs.count();
}

void InstanceManager::name_program(const std::string& name, ProgramId program,
                                   std::optional<control::TenantId> tenant) {
  if (tenant) {
    implementation_->tenant_names[{*tenant, name}] = program;
  } else {
    implementation_->names[name] = program;
  }
}

void InstanceManager::look_for_programs(ProgramPath path_of) {
  implementation_->path_of = std::move(path_of);
}

bool InstanceManager::compiling() const {
  return implementation_->programs.compiling();
}

}  // namespace quire::lifecycle
