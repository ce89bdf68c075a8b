#include "application/sandbox/module_check.h"

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "application/sandbox/body_check.h"
#include "application/sandbox/module_reader.h"
#include "application/sandbox/wasm_runtime.h"

namespace quire::sandbox {
namespace {

using Reader = ModuleReader;

constexpr std::uint8_t kFunctionType = 0x60;
constexpr std::uint32_t kParameterCountMax = 1'000;

enum Section : std::uint8_t {
  kCustom = 0,
  kType = 1,
  kImport = 2,
  kFunction = 3,
  kTable = 4,
  kMemory = 5,
  kExport = 7,
  kCode = 10,
};
enum External : std::uint8_t {
  kExternalFunction,
  kExternalTable,
  kExternalMemory,
  kExternalGlobal
};

char value_letter(std::uint8_t type) {
  switch (type) {
    case 0x7f:
      return 'i';
    case 0x7e:
      return 'I';
    case 0x7d:
      return 'f';
    case 0x7c:
      return 'F';
    case 0x7b:
      return 'V';
    default:
      return '?';
  }
}

std::string spelled(std::string_view signature) {
  const auto side = [](std::string_view letters) {
    std::string out = "(";
    for (const char letter : letters) {
      if (out.size() > 1) out += ' ';
      switch (letter) {
        case 'i':
          out += "i32";
          break;
        case 'I':
          out += "i64";
          break;
        case 'f':
          out += "f32";
          break;
        case 'F':
          out += "f64";
          break;
        default:
          out += "other";
          break;
      }
    }
    return out + ")";
  };
  const std::size_t split = signature.find('>');
  return side(signature.substr(0, split)) + " -> " + side(signature.substr(split + 1));
}

class Checker {
 public:
  Checker(std::span<const std::byte> wasm, std::span<const HostFunction> offered,
          const ModuleLimits& limits)
      : wasm_(wasm), offered_(offered), limits_(limits) {}

  Result<ModuleSummary> run() {
    TRY(check_header());
    Reader sections(wasm_, 8, wasm_.size());
    while (!sections.done()) {
      const std::uint8_t id = TRY(sections.byte());
      const std::uint32_t bytes = TRY(sections.count());
      const std::size_t start = sections.at();
      TRY(sections.skip(bytes));
      Reader section(wasm_, start, start + bytes);
      TRY(check_section(id, section));
    }
    TRY(check_entry());
    return summary_;
  }

 private:
  Result<void> check_header() {
    static constexpr unsigned char kMagic[8] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    TRY(check_module_bytes(wasm_.size(), limits_.module_bytes_max));
    if (wasm_.size() < 8 || std::memcmp(wasm_.data(), kMagic, 4) != 0) {
      return Error(ErrorCode::InvalidArgument,
                   "not a Wasm module: it does not begin with \"\\0asm\"");
    }
    if (std::memcmp(wasm_.data() + 4, kMagic + 4, 4) != 0) {
      // Version 0x1000d says component; anything else says a version that does not exist.
      return Error(ErrorCode::InvalidArgument,
                   "not a core Wasm module of version 1 (a component cannot run here)");
    }
    return {};
  }

  Result<void> check_section(std::uint8_t id, Reader& section) {
    switch (id) {
      case kType:
        return read_types(section);
      case kImport:
        return read_imports(section);
      case kFunction:
        return read_functions(section);
      case kMemory:
        return read_memories(section);
      case kExport:
        return read_exports(section);
      case kCode:
        return read_bodies(section);
      default:
        return {};
    }
  }

  Result<void> read_bodies(Reader& section) {
    const BodySummary bodies = TRY(check_bodies(section, limits_.loop_depth_max));
    summary_.bulk_operation_count = bodies.bulk_operation_count;
    return {};
  }

  Result<std::uint32_t> read_count(Reader& section, std::uint32_t count_max, const char* what) {
    const std::uint32_t count = TRY(section.count());
    if (count > count_max) {
      return Error(ErrorCode::TooLarge, "the module has " + std::to_string(count) + " " + what +
                                            "s, " + what + "_count_max is " +
                                            std::to_string(count_max));
    }
    return count;
  }

  Result<std::string> read_values(Reader& section) {
    const std::uint32_t count = TRY(section.count());
    if (count > kParameterCountMax) return section.fail("too many parameters");
    std::string letters;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint8_t type = TRY(section.byte());
      // (ref ht) is followed by a heap type.
      if (type == 0x63 || type == 0x64) (void)TRY(section.number(33));
      letters += value_letter(type);
    }
    return letters;
  }

  // Types beyond plain functions (GC) are left to the compiler, which refuses them by name; the
  // rest of the section is then unknown here.
  Result<void> read_types(Reader& section) {
    const std::uint32_t count = TRY(read_count(section, limits_.type_count_max, "type"));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (TRY(section.byte()) != kFunctionType) return {};
      const std::string parameters = TRY(read_values(section));
      types_.push_back(parameters + ">" + TRY(read_values(section)));
    }
    return {};
  }

  Result<void> read_limits(Reader& section, std::uint64_t* minimum) {
    const std::uint8_t flags = TRY(section.byte());
    *minimum = TRY(section.number(64));
    if ((flags & 1) != 0) (void)TRY(section.number(64));
    if ((flags & 8) != 0) (void)TRY(section.number(32));  // Custom page size.
    return {};
  }

  Result<void> read_imports(Reader& section) {
    const std::uint32_t count = TRY(read_count(section, limits_.import_count_max, "import"));
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string_view module = TRY(section.name());
      const std::string_view name = TRY(section.name());
      const std::uint8_t kind = TRY(section.byte());
      if (kind != kExternalFunction) {
        return Error(ErrorCode::NotSupported,
                     "the module imports " + printable(module) + "." + printable(name) +
                         ", which is not a function; only functions are offered");
      }
      const std::uint32_t type = TRY(section.count());
      TRY(check_import(section, module, name, type));
    }
    return {};
  }

  Result<void> check_import(const Reader& section, std::string_view module, std::string_view name,
                            std::uint32_t type) {
    if (type >= types_.size()) return section.fail("an import of an unknown type");
    const std::string full = printable(module) + "." + printable(name);
    bool module_known = false;
    for (const HostFunction& function : offered_) {
      if (module != function.module) continue;
      module_known = true;
      if (name != function.name) continue;
      function_types_.push_back(type);
      if (types_[type] == function.signature) return {};
      return Error(ErrorCode::NotSupported, "the module imports " + full + " as " +
                                                spelled(types_[type]) + ", but it is " +
                                                spelled(function.signature));
    }
    return Error(ErrorCode::NotSupported, "the module imports " + full + ", which is not offered" +
                                              (module_known ? "" : other_versions(module)));
  }

  // "quire:core/queue@3" where this engine has @1: what to build against.
  std::string other_versions(std::string_view module) const {
    const std::string_view interface = module.substr(0, module.find('@') + 1);
    std::set<std::string_view> versions;
    for (const HostFunction& function : offered_) {
      const std::string_view offered = function.module;
      if (!interface.empty() && offered.starts_with(interface)) versions.insert(offered);
    }
    if (versions.empty()) return " (no interface of that name)";
    std::string text = " (this engine has";
    for (const std::string_view each : versions) {
      text += (each == *versions.begin() ? " " : ", ") + std::string(each);
    }
    return text + ")";
  }

  Result<void> read_functions(Reader& section) {
    const std::uint32_t count = TRY(read_count(section, limits_.function_count_max, "function"));
    for (std::uint32_t i = 0; i < count; ++i) function_types_.push_back(TRY(section.count()));
    summary_.function_count = count;
    return {};
  }

  Result<void> read_memories(Reader& section) {
    if (TRY(section.count()) == 0) return {};
    return read_limits(section, &summary_.memory_pages_min);
  }

  Result<void> read_exports(Reader& section) {
    const std::uint32_t count = TRY(read_count(section, limits_.export_count_max, "export"));
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string_view name = TRY(section.name());
      const std::uint8_t kind = TRY(section.byte());
      const std::uint32_t index = TRY(section.count());
      if (kind == kExternalMemory && name == "memory") summary_.has_memory = true;
      if (kind != kExternalFunction) continue;
      if (name == "run") run_ = index;
      if (name == "_start") start_ = index;
      if (name == "_initialize") initialize_ = index;
      if (name == "compile") summary_.makes_byte_code = true;
    }
    return {};
  }

  Result<std::string_view> signature_of(std::uint32_t function, const char* name) {
    if (function < function_types_.size() && function_types_[function] < types_.size()) {
      return std::string_view(types_[function_types_[function]]);
    }
    return Error(ErrorCode::InvalidArgument,
                 "not a valid Wasm module: export " + std::string(name) + " is not a function");
  }

  Result<void> check_entry() {
    if (!run_ && !start_) {
      return Error(ErrorCode::InvalidArgument,
                   "the module has no entry: it exports neither run nor _start");
    }
    summary_.entry = run_ ? ModuleEntry::Run : ModuleEntry::Start;
    const char* name = run_ ? "run" : "_start";
    const std::string_view signature = TRY(signature_of(run_ ? *run_ : *start_, name));
    summary_.entry_returns_code = run_ && signature == ">i";
    if (signature != ">" && !summary_.entry_returns_code) {
      return Error(ErrorCode::InvalidArgument, "the module's entry " + std::string(name) + " is " +
                                                   spelled(signature) + ", but it must be " +
                                                   (run_ ? "() -> () or () -> (i32)" : "() -> ()"));
    }
    if (run_ && initialize_) {
      if (TRY(signature_of(*initialize_, "_initialize")) != ">") {
        return Error(ErrorCode::InvalidArgument, "the module's _initialize is not () -> ()");
      }
      summary_.has_initialize = true;
    }
    return {};
  }

  std::span<const std::byte> wasm_;
  std::span<const HostFunction> offered_;
  const ModuleLimits& limits_;
  ModuleSummary summary_;
  std::vector<std::string> types_;
  std::vector<std::uint32_t> function_types_;  // Imported ones first.
  std::optional<std::uint32_t> run_, start_, initialize_;
};

}  // namespace

Result<ModuleSummary> check_module(std::span<const std::byte> wasm,
                                   std::span<const HostFunction> offered,
                                   const ModuleLimits& limits) {
  return Checker(wasm, offered, limits).run();
}

}  // namespace quire::sandbox
