#pragma once
// call_text_export() calls one exported function of a module that returns text, without a host: what
// the build of a program does to read what the program declares.
//
// Thread   any; nothing is kept.
// Errors   InvalidArgument where the module is not valid, where the function traps, calls its host,
//          runs into a limit or returns an address outside of its memory; NotSupported in a build
//          without Wasm.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace quire::sandbox {

struct TextExportLimits {
  std::uint64_t fuel = 100'000'000;  // Operations, about.
  std::uint64_t memory_bytes_max = 64u << 20;
  std::uint32_t text_bytes_max = 256u << 10;
};

// `name` is a function () -> i32: the address of a text that ends with a zero byte, or 0. Nothing is
// returned where there is no such export, or the address is 0.
Result<std::optional<std::string>> call_text_export(std::span<const std::byte> wasm,
                                                    const std::string& name,
                                                    const TextExportLimits& limits = {});

}  // namespace quire::sandbox
