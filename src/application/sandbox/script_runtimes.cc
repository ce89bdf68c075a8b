#include "application/sandbox/script_runtimes.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace quire::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kManifestBytesMax = 64u << 10;
constexpr std::uint64_t kRuntimeBytesMax = std::uint64_t{64} << 20;
constexpr std::string_view kManifestEnding = ".json";
constexpr std::size_t kShownDigits = 8;

Result<std::string> text_member(const Json& manifest, const char* name, const std::string& path) {
  const auto found = manifest.find(name);
  if (found != manifest.end() && found->is_string()) return found->get<std::string>();
  return Error(ErrorCode::Corrupted, path + " has no text " + name);
}

Result<Digest> parse_digest(const std::string& text, const std::string& path) {
  Digest digest{};
  bool is_valid = text.size() == 2 * digest.size();
  for (std::size_t i = 0; is_valid && i < digest.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    is_valid = std::from_chars(begin, begin + 2, digest[i], 16).ptr == begin + 2;
  }
  if (is_valid) return digest;
  return Error(ErrorCode::Corrupted, path + " has no digest of 64 hexadecimal digits");
}

Result<ScriptRuntime> read_manifest(const fs::path& path) {
  const std::string text = TRY(read_file(path.string(), kManifestBytesMax));
  const Json manifest = TRY(parse_json(text, path.string()));
  if (!manifest.is_object())
    return Error(ErrorCode::Corrupted, path.string() + " is not an object");
  ScriptRuntime runtime;
  runtime.name = TRY(text_member(manifest, "name", path.string()));
  runtime.version = TRY(text_member(manifest, "version", path.string()));
  const std::string digest = TRY(text_member(manifest, "digest", path.string()));
  runtime.digest = TRY(parse_digest(digest, path.string()));
  runtime.module_file = fs::path(path).replace_extension(".wasm").string();
  runtime.code_file = fs::path(path).replace_extension(".cwasm").string();
  return runtime;
}

std::string title_of(std::string_view name, std::string_view version, const Digest& digest) {
  return std::string(name) + " " + std::string(version) + " (" +
         hex(digest).substr(0, kShownDigits) + ")";
}

std::string titles_of(const std::vector<ScriptRuntime>& runtimes) {
  std::string text;
  for (const ScriptRuntime& each : runtimes) text += (text.empty() ? "" : ", ") + each.title();
  return text.empty() ? "none" : text;
}

}  // namespace

std::string ScriptRuntime::title() const {
  return title_of(name, version, digest);
}

bool ScriptRuntime::runs(const ScriptBundle& script) const {
  return name == script.runtime && version == script.version && digest == script.digest;
}

Result<std::vector<ScriptRuntime>> read_runtimes(const std::string& folder) {
  std::vector<ScriptRuntime> runtimes;
  std::error_code failed;
  if (folder.empty() || !fs::is_directory(folder, failed)) return runtimes;
  for (const auto& each : fs::directory_iterator(folder, failed)) {
    if (each.path().extension() != kManifestEnding) continue;
    runtimes.push_back(TRY(read_manifest(each.path())));
  }
  if (failed) return Error(ErrorCode::Io, folder + ": " + failed.message());
  std::ranges::sort(runtimes, {}, &ScriptRuntime::name);
  return runtimes;
}

Result<ScriptRuntime> find_runtime(const std::string& folder, const std::string& name) {
  const std::vector<ScriptRuntime> runtimes = TRY(read_runtimes(folder));
  const auto found = std::ranges::find(runtimes, name, &ScriptRuntime::name);
  if (found != runtimes.end()) return *found;
  return Error(ErrorCode::NotFound, "no runtime " + in_quotes(name) + " for scripts is in " +
                                        (folder.empty() ? "the folders of quire" : folder) +
                                        " (there: " + titles_of(runtimes) +
                                        "); `make build` makes it, after tools/build_quickjs.sh");
}

Result<ScriptRuntime> find_runtime(const std::string& folder, const ScriptBundle& script) {
  const std::vector<ScriptRuntime> runtimes = TRY(read_runtimes(folder));
  for (const ScriptRuntime& each : runtimes) {
    if (each.runs(script)) return each;
  }
  return Error(ErrorCode::NotFound,
               "the script was made for the runtime " +
                   printable(title_of(script.runtime, script.version, script.digest)) +
                   ", this server has " + titles_of(runtimes) +
                   "; make it again from its source with the quire of this server");
}

Result<std::string> read_runtime_module(const ScriptRuntime& runtime) {
  std::string wasm = TRY(read_file(runtime.module_file, kRuntimeBytesMax));
  if (sha256(std::as_bytes(std::span(wasm))) == runtime.digest) return wasm;
  return Error(ErrorCode::Corrupted, runtime.module_file +
                                         " is not the module whose digest is in " + runtime.name +
                                         std::string(kManifestEnding));
}

std::string runtime_manifest(const std::string& name, const std::string& version,
                             const Digest& digest) {
  const Json manifest = {{"name", name}, {"version", version}, {"digest", hex(digest)}};
  return dump_json(manifest) + "\n";
}

}  // namespace quire::sandbox
