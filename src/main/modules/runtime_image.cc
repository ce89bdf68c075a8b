#include "main/modules/runtime_image.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "application/sandbox/body_check.h"
#include "application/sandbox/module_reader.h"
#include "application/sandbox/runtime_start.h"
#include "application/sandbox/script_runtimes.h"
#include "base/file.h"
#include "main/modules/module_sections.h"

namespace quire::modules {
namespace {

using sandbox::ModuleReader;

constexpr std::uint64_t kRuntimeFileBytesMax = std::uint64_t{256} << 20;
constexpr std::uint64_t kWasmPageBytes = 64u << 10;
constexpr std::uint32_t kItemCountMax = 100'000;  // Globals, segments and the like.
// Between two segments of data. A segment costs some 10 bytes of the module, a gap nothing.
constexpr std::size_t kGapBytesMin = 64;
constexpr const char* kMemoryExport = "quire:memory";

enum SectionId : std::uint8_t {
  kImports = 2,
  kMemories = 5,
  kGlobals = 6,
  kExports = 7,
  kStart = 8,
  kElements = 9,
  kCode = 10,
  kData = 11,
  kDataCount = 12,
};
enum ExternalKind : std::uint8_t { kFunctionKind, kTableKind, kMemoryKind, kGlobalKind };

enum ValueType : std::uint8_t { kF64 = 0x7c, kF32 = 0x7d, kI64 = 0x7e, kI32 = 0x7f };

constexpr std::uint8_t kEnd = 0x0b;

struct GlobalEntry {
  std::uint8_t type = 0;
  bool is_mutable = false;
  std::string_view initial;  // Its expression.
};

struct ExportEntry {
  std::string_view name;
  std::uint8_t kind = 0;
  std::uint32_t index = 0;
};

// The parts of a started module before its start.
struct RuntimeModule {
  std::vector<ModuleSection> sections;
  std::vector<GlobalEntry> globals;
  std::vector<ExportEntry> exports;
  std::uint8_t memory_flags = 0;
  std::uint64_t memory_pages_max = 0;       // If the flags say that there is one.
  std::optional<std::uint32_t> data_begin;  // The lowest address of a segment.
};

Error cannot_keep(const std::string& what) {
  return Error(ErrorCode::InvalidArgument, "the module " + what + ", which its image cannot keep");
}

ModuleReader reader_of(std::string_view content) {
  return ModuleReader(std::as_bytes(std::span(content)), 0, content.size());
}

Result<std::uint32_t> item_count(ModuleReader& reader) {
  const std::uint32_t count = TRY(reader.count());
  if (count > kItemCountMax) return reader.fail("too many items");
  return count;
}

// Steps over one constant expression. An i32.const alone gives its value.
Result<std::optional<std::uint32_t>> skip_expression(ModuleReader& reader) {
  std::optional<std::uint32_t> value;
  for (std::uint32_t operation = 0; operation < kItemCountMax; ++operation) {
    const std::uint8_t code = TRY(reader.byte());
    switch (code) {
      case kEnd:
        return value;
      case 0x41: {  // i32.const, a signed number.
        std::uint32_t bits = 0;
        unsigned shift = 0;
        std::uint8_t next = 0x80;
        for (; (next & 0x80) != 0 && shift < 35; shift += 7) {
          next = TRY(reader.byte());
          bits |= (shift < 32 ? std::uint32_t{next} & 0x7f : 0) << shift;
        }
        if (shift < 32 && (next & 0x40) != 0) bits |= ~std::uint32_t{0} << shift;
        value = operation == 0 ? std::optional(bits) : std::nullopt;
        break;
      }
      case 0x42:  // i64.const
      case 0x23:  // global.get
      case 0xd0:  // ref.null
      case 0xd2:  // ref.func
        TRY(reader.skip_number());
        value.reset();
        break;
      case 0x43:
        TRY(reader.skip(4));
        break;
      case 0x44:
        TRY(reader.skip(8));
        break;
      default:
        return cannot_keep("has an expression with the operation " + std::to_string(code));
    }
  }
  return reader.fail("an expression without an end");
}

Result<void> read_imports(std::string_view content) {
  ModuleReader reader = reader_of(content);
  const std::uint32_t count = TRY(item_count(reader));
  for (std::uint32_t i = 0; i < count; ++i) {
    (void)TRY(reader.name());
    const std::string_view name = TRY(reader.name());
    if (TRY(reader.byte()) != kFunctionKind) {
      return cannot_keep("imports " + printable(name) + ", which is not a function");
    }
    (void)TRY(reader.count());
  }
  return {};
}

Result<void> read_memory(std::string_view content, RuntimeModule& module) {
  ModuleReader reader = reader_of(content);
  if (TRY(reader.count()) != 1) return cannot_keep("has several memories");
  module.memory_flags = TRY(reader.byte());
  if (module.memory_flags > 1) return cannot_keep("has a memory that is shared or has 64 bits");
  (void)TRY(reader.count());
  if (module.memory_flags == 1) module.memory_pages_max = TRY(reader.count());
  return {};
}

Result<void> read_globals(std::string_view content, RuntimeModule& module) {
  ModuleReader reader = reader_of(content);
  const std::uint32_t count = TRY(item_count(reader));
  for (std::uint32_t i = 0; i < count; ++i) {
    GlobalEntry global;
    global.type = TRY(reader.byte());
    global.is_mutable = TRY(reader.byte()) != 0;
    const std::size_t begin = reader.at();
    (void)TRY(skip_expression(reader));
    global.initial = content.substr(begin, reader.at() - begin);
    if (global.is_mutable && (global.type < kF64 || global.type > kI32)) {
      return cannot_keep("has a mutable global that is not a number");
    }
    module.globals.push_back(global);
  }
  return {};
}

Result<void> read_exports(std::string_view content, RuntimeModule& module) {
  ModuleReader reader = reader_of(content);
  const std::uint32_t count = TRY(item_count(reader));
  for (std::uint32_t i = 0; i < count; ++i) {
    ExportEntry each;
    each.name = TRY(reader.name());
    each.kind = TRY(reader.byte());
    each.index = TRY(reader.count());
    module.exports.push_back(each);
  }
  return {};
}

// Reads the kinds of elements that compilers of C and C++ write: active, with the numbers of
// functions.
Result<void> read_elements(std::string_view content) {
  constexpr std::uint32_t kPlain = 0;
  constexpr std::uint32_t kWithTable = 2;
  ModuleReader reader = reader_of(content);
  const std::uint32_t count = TRY(item_count(reader));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t flags = TRY(reader.count());
    if (flags != kPlain && flags != kWithTable) {
      return cannot_keep("has an element segment that is passive or holds expressions");
    }
    if (flags == kWithTable) (void)TRY(reader.count());
    (void)TRY(skip_expression(reader));
    if (flags == kWithTable) (void)TRY(reader.byte());
    const std::uint32_t functions = TRY(item_count(reader));
    for (std::uint32_t j = 0; j < functions; ++j) (void)TRY(reader.count());
  }
  return {};
}

Result<void> read_data(std::string_view content, RuntimeModule& module) {
  ModuleReader reader = reader_of(content);
  const std::uint32_t count = TRY(item_count(reader));
  for (std::uint32_t i = 0; i < count; ++i) {
    if (TRY(reader.count()) != 0) return cannot_keep("has a data segment that is passive");
    const auto address = TRY(skip_expression(reader));
    if (!address) return cannot_keep("has a data segment whose address is computed");
    module.data_begin = std::min(module.data_begin.value_or(*address), *address);
    const std::uint32_t bytes = TRY(reader.count());
    TRY(reader.skip(bytes));
  }
  return {};
}

// A table is written as it was before the start, so no code may change one.
Result<void> check_tables(std::string_view content) {
  constexpr std::uint32_t kAnyLoopDepth = 10'000;
  ModuleReader reader = reader_of(content);
  const sandbox::BodySummary bodies = TRY(sandbox::check_bodies(reader, kAnyLoopDepth));
  if (bodies.may_change_tables) return cannot_keep("has code that could change a table");
  return {};
}

Result<RuntimeModule> read_runtime(std::string_view wasm) {
  RuntimeModule module;
  module.sections = TRY(read_sections(wasm));
  bool has_memory = false;
  for (const ModuleSection& each : module.sections) {
    switch (each.id) {
      case kImports:
        TRY(read_imports(each.content));
        break;
      case kMemories:
        TRY(read_memory(each.content, module));
        has_memory = true;
        break;
      case kGlobals:
        TRY(read_globals(each.content, module));
        break;
      case kExports:
        TRY(read_exports(each.content, module));
        break;
      case kStart:
        return cannot_keep("has a start function");
      case kElements:
        TRY(read_elements(each.content));
        break;
      case kCode:
        TRY(check_tables(each.content));
        break;
      case kData:
        TRY(read_data(each.content, module));
        break;
      default:
        break;
    }
  }
  if (!has_memory) return cannot_keep("has no memory");
  return module;
}

void append_export(std::string& out, std::string_view name, std::uint8_t kind,
                   std::uint32_t index) {
  append_name(out, name);
  out += static_cast<char>(kind);
  append_count(out, index);
}

// The module with everything that may change exported, and the names of that.
std::string opened_module(const RuntimeModule& module, sandbox::StartExports& names) {
  std::string added;
  std::uint32_t count = static_cast<std::uint32_t>(module.exports.size());
  const auto add = [&](const std::string& name, std::uint8_t kind, std::uint32_t index) {
    append_export(added, name, kind, index);
    ++count;
    return name;
  };
  names.memory = add(kMemoryExport, kMemoryKind, 0);
  for (std::uint32_t i = 0; i < module.globals.size(); ++i) {
    if (!module.globals[i].is_mutable) continue;
    names.globals.push_back(add("quire:global:" + std::to_string(i), kGlobalKind, i));
  }
  std::string exports;
  append_count(exports, count);
  for (const ExportEntry& each : module.exports) {
    append_export(exports, each.name, each.kind, each.index);
  }
  exports += added;
  std::vector<ModuleSection> sections = module.sections;
  for (ModuleSection& each : sections) {
    if (each.id == kExports) each.content = exports;
  }
  return write_module(sections);
}

void append_signed(std::string& out, std::int64_t value) {
  while (true) {
    const auto low = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    if ((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0)) {
      out += static_cast<char>(low);
      return;
    }
    out += static_cast<char>(low | 0x80);
  }
}

void append_constant(std::string& out, std::uint8_t type, std::uint64_t bits) {
  switch (type) {
    case kI32:
      out += '\x41';
      append_signed(out, static_cast<std::int32_t>(bits));
      break;
    case kI64:
      out += '\x42';
      append_signed(out, static_cast<std::int64_t>(bits));
      break;
    default: {
      out += type == kF32 ? '\x43' : '\x44';
      const int bytes = type == kF32 ? 4 : 8;
      for (int i = 0; i < bytes; ++i) out += static_cast<char>((bits >> (8 * i)) & 0xff);
    }
  }
  out += static_cast<char>(kEnd);
}

std::string written_globals(const RuntimeModule& module, const sandbox::StartedState& state) {
  std::string out;
  append_count(out, static_cast<std::uint32_t>(module.globals.size()));
  std::size_t next = 0;
  for (const GlobalEntry& each : module.globals) {
    out += static_cast<char>(each.type);
    out += each.is_mutable ? '\1' : '\0';
    if (each.is_mutable) {
      append_constant(out, each.type, state.globals[next++]);
    } else {
      out += each.initial;
    }
  }
  return out;
}

std::string written_exports(const RuntimeModule& module) {
  std::string rest;
  std::uint32_t count = 0;
  for (const ExportEntry& each : module.exports) {
    if (each.kind == kFunctionKind && (each.name == "_initialize" || each.name == "init")) continue;
    append_export(rest, each.name, each.kind, each.index);
    ++count;
  }
  std::string out;
  append_count(out, count);
  return out + rest;
}

std::string written_memory(const RuntimeModule& module, const sandbox::StartedState& state) {
  std::string out;
  append_count(out, 1);
  out += static_cast<char>(module.memory_flags);
  append_count(out, static_cast<std::uint32_t>(state.memory.size() / kWasmPageBytes));
  if (module.memory_flags == 1) {
    append_count(out, static_cast<std::uint32_t>(module.memory_pages_max));
  }
  return out;
}

// Runs of bytes that are not zero, with small gaps filled.
std::string written_data(std::string_view memory) {
  std::string segments;
  std::uint32_t count = 0;
  std::size_t at = 0;
  const auto next_byte = [memory](std::size_t from) {
    return std::min(memory.find_first_not_of('\0', from), memory.size());
  };
  for (at = next_byte(0); at < memory.size();) {
    std::size_t end = at;
    std::size_t next = at;
    while (next < memory.size() && next - end < kGapBytesMin) {
      end = std::min(memory.find('\0', next), memory.size());
      next = next_byte(end);
    }
    append_count(segments, 0);
    append_constant(segments, kI32, at);
    append_count(segments, static_cast<std::uint32_t>(end - at));
    segments += memory.substr(at, end - at);
    ++count;
    at = next;
  }
  std::string out;
  append_count(out, count);
  return out + segments;
}

// Clears the stack, because values that calls left there are not part of the image. If the stack
// comes first in the memory (`--stack-first`), it is all below its pointer.
void clear_stack(const RuntimeModule& module, sandbox::StartedState& state) {
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < module.globals.size(); ++i) {
    if (!module.globals[i].is_mutable) continue;
    const std::uint64_t value = state.globals[next++];
    const bool is_pointer = std::ranges::any_of(module.exports, [&](const ExportEntry& each) {
      return each.kind == kGlobalKind && each.index == i && each.name == "__stack_pointer";
    });
    if (!is_pointer || !module.data_begin || *module.data_begin < value) continue;
    const auto end = std::min<std::size_t>(static_cast<std::size_t>(value), state.memory.size());
    std::fill(state.memory.begin(), state.memory.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  }
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return {};
  return Error(ErrorCode::Io, path.string() + " cannot be written");
}

}  // namespace

Result<std::string> started_module(std::string_view wasm) {
  const RuntimeModule module = TRY(read_runtime(wasm));
  sandbox::StartExports names;
  const std::string opened = opened_module(module, names);
  sandbox::StartedState state =
      TRY(sandbox::start_runtime(std::as_bytes(std::span(opened)), names));
  clear_stack(module, state);
  const std::string memory = written_memory(module, state);
  const std::string globals = written_globals(module, state);
  const std::string exports = written_exports(module);
  const std::string data = written_data(state.memory);
  std::vector<ModuleSection> sections;
  bool has_data = false;
  const auto add_data = [&] {
    if (!std::exchange(has_data, true)) sections.push_back({kData, {}, data});
  };
  for (ModuleSection each : module.sections) {
    // All segments are active, so that no code needs their count.
    if (each.id == kDataCount) continue;
    if (each.id == kMemories) each.content = memory;
    if (each.id == kGlobals) each.content = globals;
    if (each.id == kExports) each.content = exports;
    if (each.id == kData) {
      add_data();
      continue;
    }
    sections.push_back(each);
    if (each.id == kCode) add_data();
  }
  return write_module(sections);
}

Result<void> make_runtime(const std::string& module_file, const std::string& name,
                          const std::string& version, const std::string& folder) {
  const std::string wasm = TRY(read_file(module_file, kRuntimeFileBytesMax));
  const std::string started = TRY(started_module(wasm));
  const auto bytes = std::as_bytes(std::span(started));
  const std::string code = TRY(sandbox::compile_ahead(bytes));
  const std::filesystem::path place = std::filesystem::path(folder) / name;
  TRY(write_file(place.string() + ".wasm", started));
  TRY(write_file(place.string() + ".cwasm", code));
  return write_file(place.string() + ".json",
                    sandbox::runtime_manifest(name, version, sha256(bytes)));
}

}  // namespace quire::modules
