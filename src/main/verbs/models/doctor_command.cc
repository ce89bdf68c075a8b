#include "main/verbs/models/doctor_command.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "application/sandbox/script_runtimes.h"
#include "base/json.h"
#include "cli/terminal.h"
#include "inference/architectures/model_files.h"
#include "inference/kernels/kernels.h"
#include "inference/model_store/known_models.h"
#include "inference/model_store/model_store.h"
#include "main/machine/folders.h"
#include "main/machine/machine.h"
#include "main/machine/machine_facts.h"
#include "main/verbs/make/cargo_project.h"
#include "main/verbs/make/guest_toolchain.h"
#include "main/verbs/models/tier_costs.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

enum class Health : std::uint8_t { Good, Weak, Bad };

struct Finding {
  std::string what;
  Health health = Health::Good;
  std::string value;
  std::string advice;
  std::vector<std::string> details = {};  // Lines.
};

const char* health_name(Health health) {
  switch (health) {
    case Health::Good:
      return "ok";
    case Health::Weak:
      return "weak";
    case Health::Bad:
      return "missing";
  }
  return "";
}

Finding processor() {
  std::string features;
#if defined(__x86_64__)
  const std::pair<const char*, bool> known[] = {
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"avxvnni", __builtin_cpu_supports("avxvnni") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16") != 0}};
  for (const auto& [name, has] : known) {
    if (has) features += (features.empty() ? "" : " ") + std::string(name);
  }
#endif
  Finding finding{"processor", Health::Good,
                  std::to_string(physical_core_count()) + " cores, features: " + features, ""};
  if (features.find("avx2") == std::string::npos) {
    finding.health = Health::Weak;
    finding.advice = "without AVX2 only the scalar kernels run, many times slower";
  }
  return finding;
}

Finding backends() {
  std::string names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  return {"backends", Health::Good, names + " (auto takes the last)", ""};
}

Finding memory() {
  const std::uint64_t total = memory_bytes_total();
  const std::uint64_t available = memory_bytes_available();
  Finding finding{"memory", Health::Good,
                  cli::bytes_text(available) + " available of " + cli::bytes_text(total), ""};
  if (available < (std::uint64_t{1} << 30)) {
    finding.health = Health::Weak;
    finding.advice = "less than 1 GiB is free: choose a small pool with --kv-memory 128MiB";
  }
  return finding;
}

Finding model(const std::string& name) {
  const Result<std::string> path = find_model(name);
  if (!path.ok()) {
    const bool is_known = inference::find_known_model(name) != nullptr;
    return {"model", Health::Bad, std::string(path.error().message()),
            "quire model add " + (is_known ? name : std::string(inference::kDefaultModel))};
  }
  const Result<std::unique_ptr<inference::ModelFiles>> files = inference::open_model(path.value());
  if (!files.ok()) {
    return {"model", Health::Bad, std::string(files.error().message()),
            "remove it and add it again: quire model remove, quire model add"};
  }
  return {"model", Health::Good, path.value(), ""};
}

// The first of `programs` on the path.
std::string on_path(std::initializer_list<const char*> programs) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return "";
  const std::string folders(path);
  for (const char* program : programs) {
    for (std::size_t begin = 0; begin <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', begin), folders.size());
      const std::string file = folders.substr(begin, end - begin) + "/" + program;
      if (access(file.c_str(), X_OK) == 0) return file;
      begin = end + 1;
    }
  }
  return "";
}

Finding toolchain() {
  const std::string compiler = on_path({"clang++-22", "clang++"});
  const std::string linker = on_path({"wasm-ld-22", "wasm-ld"});
  const bool library = std::filesystem::exists("/usr/include/wasm32-wasi");
  if (!compiler.empty() && !linker.empty() && library) {
    return {"toolchain", Health::Good, compiler + ", " + linker + ", wasi-libc", ""};
  }
  std::string lacks;
  if (compiler.empty()) lacks += " clang++";
  if (linker.empty()) lacks += " wasm-ld";
  if (!library) lacks += " wasi-libc";
  return {"toolchain", Health::Weak, "lacks" + lacks + " (needed by `quire build` only)",
          std::string("apt-get install ") + kGuestPackages};
}

// Makes a small program with it, if there is a compiler.
Finding sdk(const std::string& given) {
  const Result<SdkLocation> found = find_sdk(given);
  if (!found.ok()) {
    return {"sdk", Health::Weak, std::string(found.error().message()),
            "needed by `quire build` only"};
  }
  const std::string& folder = found.value().folder;
  const Result<std::string> compiler = find_guest_compiler("");
  if (!compiler.ok()) return {"sdk", Health::Good, folder + " (not tried: no compiler)", ""};
  if (can_build_for_wasm(compiler.value(), &found.value())) {
    return {"sdk", Health::Good, folder + ", makes a program", ""};
  }
  return {
      "sdk", Health::Weak, folder + ": " + compiler.value() + " makes no program with it",
      "quire build FILE.cpp shows the compiler's messages; --sdk or QUIRE_SDK names another SDK"};
}

Finding rust() {
  const Result<std::string> compiler = find_rust_compiler();
  if (compiler.ok()) return {"rust", Health::Good, compiler.value() + ", wasm32-wasip1", ""};
  return {"rust", Health::Weak, std::string(compiler.error().message()),
          "needed by `quire build` of programs in Rust only"};
}

// The runtimes that came with this quire.
Finding scripts() {
  const std::string place = runtimes_folder();
  const Result<std::vector<sandbox::ScriptRuntime>> found = sandbox::read_runtimes(place);
  if (!found.ok()) {
    return {"scripts", Health::Weak, std::string(found.error().message()),
            "build quire again, or name a folder of runtimes that fit: QUIRE_RUNTIMES"};
  }
  if (found.value().empty()) {
    return {"scripts", Health::Weak, "no runtime is in " + place + ": scripts are refused",
            "tools/build_quickjs.sh, tools/fetch_npm.sh sucrase, then build quire again"};
  }
  std::string titles;
  for (const sandbox::ScriptRuntime& each : found.value()) {
    titles += (titles.empty() ? "" : ", ") + each.title();
  }
  return {"scripts", Health::Good, titles + " in " + place, ""};
}

// Counts the file, or all files in the folder.
std::uint64_t bytes_below(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const auto bytes_of = [](const fs::directory_entry& each) -> std::uint64_t {
    std::error_code failed;
    const bool is_file = !each.is_symlink(failed) && each.is_regular_file(failed);
    const std::uintmax_t bytes = is_file ? each.file_size(failed) : 0;
    return failed ? 0 : bytes;
  };
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return bytes_of(fs::directory_entry(path, failed));
  std::uint64_t sum = 0;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(path, kOptions, failed);
       !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    sum += bytes_of(*at);
  }
  return sum;
}

// A line for each part of a folder that is large, the largest first.
std::vector<std::string> part_lines(const std::string& path) {
  constexpr std::uint64_t kShownBytesMin = std::uint64_t{1} << 20;
  constexpr std::size_t kPartCountMax = 8;
  std::vector<std::pair<std::uint64_t, std::string>> parts;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(path, failed)) {
    const std::uint64_t bytes = each.is_symlink(failed) ? 0 : bytes_below(each.path());
    if (bytes >= kShownBytesMin) parts.emplace_back(bytes, each.path().filename().string());
  }
  std::ranges::sort(parts, std::greater());
  if (parts.size() > kPartCountMax) parts.resize(kPartCountMax);
  std::vector<std::string> lines;
  for (const auto& [bytes, name] : parts) lines.push_back(cli::bytes_text(bytes) + "  " + name);
  return lines;
}

// A folder that exists, or whose nearest parent that does could take it.
Finding folder(const std::string& what, const std::string& path) {
  std::filesystem::path at(path);
  std::error_code ignored;
  while (!at.empty() && !std::filesystem::exists(at, ignored) && at != at.parent_path()) {
    at = at.parent_path();
  }
  struct statvfs space{};
  std::string value = path;
  if (statvfs(at.c_str(), &space) == 0) {
    value += ", " + cli::bytes_text(std::uint64_t{space.f_bavail} * space.f_frsize) + " free";
  }
  const std::uint64_t bytes = bytes_below(path);
  if (bytes > 0) value += ", " + cli::bytes_text(bytes) + " used";
  if (access(at.c_str(), W_OK) == 0) return {what, Health::Good, value, "", part_lines(path)};
  return {what, Health::Weak, value + ", not writable",
          "make it writable, or set XDG_CACHE_HOME and XDG_DATA_HOME to folders that are",
          part_lines(path)};
}

Finding data() {
  const Result<std::string> path = inference::data_folder_from_environment();
  if (path.ok()) return folder("data", path.value());
  return {"data", Health::Bad, std::string(path.error().message()), "set HOME or QUIRE_DATA"};
}

Finding tiers(const cli::DoctorOptions& options, std::optional<TierCosts>& costs) {
  if (!options.measures_tiers) {
    return {"tiers", Health::Good, "not measured (quire doctor --tiers)", ""};
  }
  Result<TierCosts> measured = measure_tiers(options.engine);
  if (!measured.ok()) {
    return {"tiers", Health::Weak, std::string(measured.error().message()),
            "nothing but --kv-host and --kv-disk needs this"};
  }
  costs = std::move(measured).take();
  return {"tiers", Health::Good, tier_costs_summary(*costs), "", tier_costs_lines(*costs)};
}

void print_findings(const std::vector<Finding>& findings) {
  const cli::Terminal terminal = cli::Terminal::standard_output();
  for (const Finding& finding : findings) {
    const cli::Colour colour = finding.health == Health::Good   ? cli::Colour::Green
                               : finding.health == Health::Weak ? cli::Colour::Yellow
                                                                : cli::Colour::Red;
    char head[64];
    std::snprintf(head, sizeof head, "%-8s", health_name(finding.health));
    char name[64];
    std::snprintf(name, sizeof name, "%-10s", finding.what.c_str());
    print(terminal.paint(head, colour) + name + " " + finding.value + "\n");
    for (const std::string& line : finding.details) print("                    " + line + "\n");
    if (!finding.advice.empty()) print("                    -> " + finding.advice + "\n");
  }
}

}  // namespace

int doctor_command(const cli::DoctorOptions& options) {
  std::optional<TierCosts> costs;
  const std::vector<Finding> findings = {
      processor(),          backends(), memory(),  model(options.engine.model),     toolchain(),
      sdk(options.sdk),     rust(),     scripts(), folder("cache", cache_folder()), data(),
      tiers(options, costs)};
  bool good = true;
  for (const Finding& finding : findings) good = good && finding.health != Health::Bad;
  if (options.output == cli::OutputStyle::Json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Finding& finding : findings) {
      list.push_back({{"what", finding.what},
                      {"health", health_name(finding.health)},
                      {"value", finding.value},
                      {"advice", finding.advice}});
    }
    nlohmann::json json = {{"version", QUIRE_VERSION}, {"ok", good}, {"findings", list}};
    if (costs) json["tiers"] = tier_costs_json(*costs);
    print(dump_json(json) + "\n");
  } else {
    print(std::string("quire ") + QUIRE_VERSION + "\n");
    print_findings(findings);
  }
  return cli::number(good ? cli::ExitCode::Ok : cli::ExitCode::Failed);
}

}  // namespace quire
