#include "main/modules/finish_module.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "application/sandbox/module_reader.h"
#include "application/sandbox/text_export.h"
#include "base/file.h"
#include "main/modules/declared_options.h"
#include "main/modules/function_names.h"
#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

constexpr std::uint8_t kExportSection = 7;
constexpr std::uint8_t kExternalFunction = 0;
constexpr std::string_view kNameSection = "name";
constexpr std::string_view kLinkingSection = "linking";  // Of an object, which is not linked yet.
constexpr const char* kOptionsExport = "quire_options";
// With debugging information; without, a module may have 16 MiB.
constexpr std::uint64_t kModuleBytesMax = std::uint64_t{256} << 20;

Result<bool> exports_function(const std::vector<ModuleSection>& sections, std::string_view wanted) {
  for (const ModuleSection& section : sections) {
    if (section.id != kExportSection) continue;
    sandbox::ModuleReader reader(std::as_bytes(std::span(section.content)), 0,
                                 section.content.size());
    const std::uint32_t count = TRY(reader.count());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string_view name = TRY(reader.name());
      const std::uint8_t kind = TRY(reader.byte());
      (void)TRY(reader.count());
      if (kind == kExternalFunction && name == wanted) return true;
    }
  }
  return false;
}

// Calls the program for its declaration; an Error says why there is none.
Result<std::optional<std::string>> exported_options(std::string_view wasm,
                                                    const std::vector<ModuleSection>& sections) {
  if (!TRY(exports_function(sections, kOptionsExport))) return std::optional<std::string>();
  std::optional<std::string> json =
      TRY(sandbox::call_text_export(std::as_bytes(std::span(wasm)), kOptionsExport));
  if (json) TRY(parse_declared_options(*json));
  return json;
}

// The ending of a file that this call alone writes.
std::string own_ending() {
  static std::atomic<std::uint64_t> count = 0;
  return "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".finished";
}

}  // namespace

Result<FinishedModule> finish_module(std::string_view wasm) {
  const std::vector<ModuleSection> sections = TRY(read_sections(wasm));
  FinishedModule finished;
  if (find_custom(sections, kLinkingSection)) {
    finished.wasm = wasm;
    return finished;
  }
  Result<std::optional<std::string>> options = exported_options(wasm, sections);
  if (!options.ok()) finished.options_failure = options.error().message();
  std::vector<ModuleSection> kept;
  std::string names;
  for (const ModuleSection& each : sections) {
    const bool is_custom = each.id == kCustomSection;
    if (is_custom && each.name == kOptionsSection) continue;
    kept.push_back(each);
    if (!is_custom || each.name != kNameSection) continue;
    names = TRY(readable_names(each.content));
    kept.back().content = names;
  }
  if (options.ok() && options.value()) {
    kept.push_back({kCustomSection, kOptionsSection, *options.value()});
  }
  finished.wasm = write_module(kept);
  return finished;
}

Result<std::string> finish_module_file(const std::string& made, const std::string& output) {
  const std::string wasm = TRY(read_file(made, kModuleBytesMax));
  FinishedModule finished = TRY(finish_module(wasm));
  const std::string written = output + own_ending();
  std::error_code failure;
  {
    std::ofstream file(written, std::ios::binary | std::ios::trunc);
    file << finished.wasm;
    file.close();
    if (!file) {
      std::filesystem::remove(written, failure);
      return Error(ErrorCode::Io, written + " cannot be written");
    }
  }
  std::filesystem::permissions(written, std::filesystem::status(made, failure).permissions(),
                               failure);
  std::filesystem::rename(written, output, failure);
  if (failure) {
    const std::string reason = failure.message();
    std::filesystem::remove(written, failure);
    return Error(ErrorCode::Io, output + ": " + reason);
  }
  return std::move(finished.options_failure);
}

}  // namespace quire::modules
