#include "main/modules/module_sections.h"

#include <span>

#include "application/sandbox/module_reader.h"

namespace quire::modules {
namespace {

using sandbox::ModuleReader;

constexpr std::string_view kHeader{"\0asm\1\0\0\0", 8};

}  // namespace

Result<std::vector<ModuleSection>> read_sections(std::string_view wasm) {
  if (!wasm.starts_with(kHeader)) {
    return Error(ErrorCode::InvalidArgument,
                 "not a core Wasm module of version 1: its first 8 bytes are other ones");
  }
  ModuleReader reader(std::as_bytes(std::span(wasm)), kHeader.size(), wasm.size());
  std::vector<ModuleSection> sections;
  while (!reader.done()) {
    ModuleSection section;
    section.id = TRY(reader.byte());
    const std::uint32_t bytes = TRY(reader.count());
    ModuleReader content = TRY(reader.part(bytes));
    if (section.id == kCustomSection) section.name = TRY(content.name());
    section.content = wasm.substr(content.at(), reader.at() - content.at());
    sections.push_back(section);
  }
  return sections;
}

void append_count(std::string& out, std::uint32_t count) {
  for (; count >= 0x80; count >>= 7) out += static_cast<char>((count & 0x7f) | 0x80);
  out += static_cast<char>(count);
}

void append_name(std::string& out, std::string_view name) {
  append_count(out, static_cast<std::uint32_t>(name.size()));
  out += name;
}

std::string write_module(const std::vector<ModuleSection>& sections) {
  std::string out(kHeader);
  for (const ModuleSection& each : sections) {
    std::string name;
    if (each.id == kCustomSection) append_name(name, each.name);
    out += static_cast<char>(each.id);
    append_count(out, static_cast<std::uint32_t>(name.size() + each.content.size()));
    out += name;
    out += each.content;
  }
  return out;
}

std::optional<std::string_view> find_custom(const std::vector<ModuleSection>& sections,
                                            std::string_view name) {
  std::optional<std::string_view> found;
  for (const ModuleSection& each : sections) {
    if (each.id == kCustomSection && each.name == name) found = each.content;
  }
  return found;
}

}  // namespace quire::modules
