// The programs that instances run.
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
         ": there never was, or others were used since and it was forgotten";
}

Result<ProgramId> InstanceManager::Implementation::find_program(const std::string& name) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return Error(ErrorCode::NotFound, "no program \"" + name + "\" (there are " +
                                        std::to_string(names.size()) + " by name)");
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
                                                   const Digest& digest) {
  return implementation_->programs.request(std::move(wasm), digest);
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

Result<ProgramId> InstanceManager::find_program(const std::string& name) const {
  return implementation_->find_program(name);
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

void InstanceManager::name_program(const std::string& name, ProgramId program) {
  implementation_->names[name] = program;
}

bool InstanceManager::compiling() const {
  return implementation_->programs.compiling();
}

}  // namespace quire::lifecycle
