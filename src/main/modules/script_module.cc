#include "main/modules/script_module.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "main/modules/declared_options.h"
#include "main/modules/module_sections.h"
#include "main/modules/script_imports.h"

namespace quire::modules {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScriptEndings[] = {".js", ".mjs", ".ts", ".mts"};
// The files that an import without an ending may mean, in this order; runtimes look in the same
// one.
constexpr const char* kTriedEndings[] = {".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"};
// Declarations, which have types alone.
constexpr const char* kTypesEndings[] = {".d.ts", ".d.mts", "/index.d.ts"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The file that `named` means, a path without its `..`; nothing if there is none.
std::optional<fs::path> resolved(const fs::path& named) {
  if (is_file(named)) return named;
  const std::string ending = named.extension().string();
  if (ending == ".js" || ending == ".mjs") {
    fs::path typed = named;
    typed.replace_extension(ending == ".js" ? ".ts" : ".mts");
    if (is_file(typed)) return typed;
  }
  for (const char* each : kTriedEndings) {
    fs::path tried = named;
    tried += each;
    if (is_file(tried)) return tried;
  }
  return std::nullopt;
}

bool is_types_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".d.ts") || name.ends_with(".d.mts");
}

// Whether an import in TypeScript that has no file to run means one of types: "./x", "./x.js" and
// "./x.d.ts" are types of x.d.ts.
bool has_types_file(const fs::path& named) {
  fs::path stem = named;
  const std::string ending = named.extension().string();
  if (ending == ".js" || ending == ".mjs" || ending == ".ts" || ending == ".mts") {
    stem.replace_extension();
  }
  for (const fs::path& base : {named, stem}) {
    for (const char* each : kTypesEndings) {
      fs::path tried = base;
      tried += each;
      if (is_file(tried)) return true;
    }
  }
  return false;
}

// The reason why a file of that name cannot be a part of a script; empty: it can.
std::string refusal_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".json" || !script_runtime_of(path.string()).empty()) return "";
  if (ending == ".tsx" || ending == ".jsx") return "JSX is not supported";
  if (ending == ".cts" || ending == ".cjs") {
    return "modules of CommonJS are not supported: use import and export in a file that ends "
           "with " +
           std::string(ending == ".cts" ? ".ts" : ".js");
  }
  return "a script imports files that end with .js, .mjs, .ts, .mts and .json";
}

class Collector {
 public:
  // `folder` is that of the entry; every path is below it.
  explicit Collector(fs::path folder) : folder_(std::move(folder)) {}

  Result<std::vector<ScriptSource>> collect(const fs::path& entry) {
    TRY(add(entry.filename()));
    for (std::size_t next = 0; next < sources_.size(); ++next) TRY(follow(next));
    return std::move(sources_);
  }

 private:
  Result<void> add(const fs::path& path) {
    if (!known_.insert(path.generic_string()).second) return {};
    if (sources_.size() >= sandbox::kScriptFileCountMax) {
      return Error(ErrorCode::TooLarge, "the script has more than script.file_count_max, " +
                                            std::to_string(sandbox::kScriptFileCountMax) +
                                            " files");
    }
    const std::string file = (folder_ / path).string();
    TRY(check_place(file));
    ScriptSource source{path.generic_string(), file, {}};
    source.content = TRY(read_file(file, sandbox::kScriptSourceBytesMax));
    sources_.push_back(std::move(source));
    return {};
  }

  // A link may lead elsewhere.
  Result<void> check_place(const std::string& file) const {
    std::error_code failed;
    const fs::path whole = fs::canonical(file, failed);
    const fs::path folder = failed ? fs::path() : fs::canonical(folder_, failed);
    if (failed) return Error(ErrorCode::NotFound, file + ": " + failed.message());
    const auto [end, ignored] =
        std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end());
    if (end == folder.end()) return {};
    return Error(ErrorCode::InvalidArgument,
                 file + " lies outside of the folder of the script, " + folder_.string());
  }

  // By number, because the list grows meanwhile.
  Result<void> follow(std::size_t number) {
    const std::string importer = sources_[number].path;
    if (script_runtime_of(importer).empty()) return {};  // JSON.
    const std::string content = sources_[number].content;
    for (const script::Import& each : local_imports(content)) {
      Result<void> followed = follow(importer, each);
      if (followed.ok()) continue;
      return std::move(followed).take_error().while_((folder_ / importer).string() + ":" +
                                                     std::to_string(each.line));
    }
    return {};
  }

  Result<void> follow(const std::string& importer, const script::Import& import) {
    const fs::path named =
        (fs::path(importer).parent_path() / std::string(import.specifier)).lexically_normal();
    if (named.empty() || *named.begin() == "..") {
      return Error(ErrorCode::InvalidArgument,
                   "imports " + in_quotes(import.specifier) +
                       ", which lies outside of the folder of the script, " + folder_.string());
    }
    const auto found = resolved(folder_ / named);
    const bool is_typed =
        fs::path(importer).extension() == ".ts" || fs::path(importer).extension() == ".mts";
    const bool is_types =
        found ? is_types_file(*found) : is_typed && has_types_file(folder_ / named);
    // Nothing of types is there at run time.
    if (is_types || (!found && import.kind == script::ImportKind::Types)) return {};
    const std::string refusal = found ? refusal_of(*found) : "";
    if (!refusal.empty()) {
      return Error(ErrorCode::InvalidArgument,
                   "imports " + in_quotes(import.specifier) + ": " + refusal);
    }
    if (found) return add(found->lexically_relative(folder_));
    // import() has its error when the script makes the call.
    if (import.kind == script::ImportKind::Dynamic) return {};
    return Error(ErrorCode::NotFound, "imports " + in_quotes(import.specifier) + ", but " +
                                          (folder_ / named).string() + " is not a file");
  }

  const fs::path folder_;
  std::vector<ScriptSource> sources_;
  std::set<std::string> known_;
};

}  // namespace

std::string script_runtime_of(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  const bool is_script = std::find(std::begin(kScriptEndings), std::end(kScriptEndings), ending) !=
                             std::end(kScriptEndings) &&
                         !is_types_file(path);
  return is_script ? "javascript" : "";
}

Result<std::vector<ScriptSource>> collect_script(const std::string& entry_file) {
  const fs::path entry = fs::path(entry_file).lexically_normal();
  const fs::path folder = entry.parent_path();
  return Collector(folder.empty() ? fs::path(".") : folder).collect(entry);
}

Result<std::string> script_module(const std::vector<ScriptSource>& sources,
                                  const sandbox::ScriptRuntime& runtime,
                                  const std::string& options) {
  sandbox::ScriptBundle bundle;
  bundle.runtime = runtime.name;
  bundle.version = runtime.version;
  bundle.digest = runtime.digest;
  for (const ScriptSource& each : sources) bundle.files.push_back({each.path, each.content});
  if (!sources.empty()) bundle.entry = sources.front().path;
  bundle.options = options;
  const std::string script = TRY(sandbox::write_script_bundle(std::move(bundle)));
  std::vector<ModuleSection> sections = {{kCustomSection, sandbox::kScriptSection, script}};
  if (!options.empty()) sections.push_back({kCustomSection, kOptionsSection, options});
  return write_module(sections);
}

}  // namespace quire::modules
