#pragma once
// The sections of a Wasm module, and a module made of sections. Only the outermost layer is read:
// the engine validates the rest.
//
// Thread   any; plain functions. Views point into the bytes of the module, which outlive them.
// Errors   InvalidArgument says what is wrong at which byte.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::modules {

inline constexpr std::uint8_t kCustomSection = 0;

struct ModuleSection {
  std::uint8_t id = kCustomSection;
  std::string_view name;     // Of a custom section; empty for the others.
  std::string_view content;  // After the name.
};

Result<std::vector<ModuleSection>> read_sections(std::string_view wasm);
std::string write_module(const std::vector<ModuleSection>& sections);

// The content of the last custom section of that name, because a later one replaces an earlier one.
std::optional<std::string_view> find_custom(const std::vector<ModuleSection>& sections,
                                            std::string_view name);

// As unsigned LEB128, the form of all counts in a module.
void append_count(std::string& out, std::uint32_t count);
void append_name(std::string& out, std::string_view name);

}  // namespace quire::modules
