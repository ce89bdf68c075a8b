#pragma once
// Script: the files of a script, as the host gives them to its runtime, and which file a module's
// name means.
//
// Thread   a program has one.
// Errors   read: not-supported if the instance runs no script. The host has checked the bundle,
// whose
//          form is in docs/reference/script_format.md. A number that does not fit is an error all
//          the same.
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine.h"

namespace quire::javascript {

// Functions of the module `quire:script`, which only runtimes of scripts import.
namespace host {
__attribute__((import_module("quire:script@1"), import_name("size"))) std::int32_t script_size();
__attribute__((import_module("quire:script@1"), import_name("read"))) std::int32_t script_read(
    std::uint32_t offset, void* into, std::uint32_t capacity);
__attribute__((import_module("quire:script@1"), import_name("bytecode-size"))) std::int32_t
bytecode_size();
__attribute__((import_module("quire:script@1"), import_name("read-bytecode"))) std::int32_t
read_bytecode(std::uint32_t offset, void* into, std::uint32_t capacity);
__attribute__((import_module("quire:script@1"), import_name("put-bytecode"))) std::int32_t
put_bytecode(const void* bytes, std::uint32_t count);
}  // namespace host

// The byte code of the files of a script, by path. A runtime of this digest wrote it, in an
// instance that ran nothing of the script; of each file u32 bytes of the path, the path, u32 bytes
// of the code, the code.
class ByteCode {
 public:
  using Files = std::map<std::string, std::string, std::less<>>;

  static Result<void> write(const Files& files) {
    std::string out;
    const auto put = [&out](const std::string& text) {
      const auto bytes = static_cast<std::uint32_t>(text.size());
      out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
      out += text;
    };
    for (const auto& [path, code] : files) {
      put(path);
      put(code);
    }
    TRY(checked(host::put_bytecode(out.data(), static_cast<std::uint32_t>(out.size()))));
    return {};
  }

  // Empty where there is none.
  static Result<Files> read() {
    Files files;
    std::string whole(static_cast<std::size_t>(TRY(checked(host::bytecode_size()))), '\0');
    if (whole.empty()) return files;
    const auto bytes = static_cast<std::uint32_t>(whole.size());
    TRY(checked(host::read_bytecode(0, whole.data(), bytes)));
    std::string_view rest = whole;
    const auto take = [&rest] {
      std::uint32_t count = 0;
      std::memcpy(&count, rest.data(), sizeof count);
      const std::string_view text = rest.substr(sizeof count, count);
      rest.remove_prefix(sizeof count + count);
      return text;
    };
    while (!rest.empty()) {
      const std::string_view path = take();
      files.emplace(path, take());
    }
    return files;
  }
};

struct Script {
  std::map<std::string, std::string, std::less<>> files;
  std::string entry;

  static Result<Script> read();
  static Result<Script> parse(std::string_view bundle);
};

inline Result<Script> Script::parse(std::string_view bundle) {
  const Error torn{ErrorCode::Corrupted, "the script ends too early, or is not a script"};
  bool is_whole = bundle.starts_with("QSC1");
  bundle.remove_prefix(std::min<std::size_t>(4, bundle.size()));
  const auto take = [&](std::size_t bytes) {
    is_whole = is_whole && bytes <= bundle.size();
    const std::string_view taken = is_whole ? bundle.substr(0, bytes) : std::string_view();
    bundle.remove_prefix(taken.size());
    return taken;
  };
  const auto number = [&] {
    std::uint32_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (is_whole) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  const auto text = [&] { return std::string(take(number())); };
  constexpr std::size_t kDigestBytes = 32;
  text();  // The names of the runtime and of its version, and its digest: the host has
  text();  // found this module by them.
  take(kDigestBytes);
  Script script;
  for (std::uint32_t left = number(); left > 0 && is_whole; --left) {
    std::string path = text();
    script.files.emplace(std::move(path), text());
  }
  script.entry = text();
  text();  // The schema of its options, which is for those who do not run it.
  if (!is_whole || !script.files.contains(script.entry)) return torn;
  return script;
}

inline Result<Script> Script::read() {
  const std::int32_t bytes = TRY(checked(host::script_size()));
  std::string bundle(static_cast<std::size_t>(bytes), '\0');
  const std::int32_t got =
      TRY(checked(host::script_read(0, bundle.data(), static_cast<std::uint32_t>(bytes))));
  bundle.resize(static_cast<std::size_t>(got));
  return parse(bundle);
}

// A module of the SDK, whose source is in this program.
struct EmbeddedSource {
  const char* name;
  const char* text;
};

// The modules that a script can import: its own files by "./name", and "quire" and "quire/raw". The
// SDK's own are called "quire:...".
class ScriptModules final : public Modules {
 public:
  explicit ScriptModules(std::span<const EmbeddedSource> embedded) {
    for (const EmbeddedSource& each : embedded) embedded_.emplace(each.name, each.text);
  }
  void use(Script script) { script_ = std::move(script); }
  void use(ByteCode::Files code) { code_ = std::move(code); }
  const Script& script() const { return script_; }

  Result<std::string> resolve(std::string_view base, std::string_view name) const override {
    const bool is_sdk = base.starts_with("quire:");
    if (name == "quire") return std::string("quire:library/quire.js");
    if (name == "quire/raw") return std::string("quire:library/raw.js");
    if (name == "quire:native") {
      if (is_sdk) return std::string(name);
    } else if (is_sdk || base.empty()) {
      return resolve_sdk(base, name);
    }
    return resolve_own(base, name);
  }
  const std::string* source(const std::string& name) const override {
    const auto& from = name.starts_with("quire:") ? embedded_ : script_.files;
    const auto found = from.find(name);
    return found == from.end() ? nullptr : &found->second;
  }
  bool is_entry(std::string_view name) const override { return name == script_.entry; }
  const std::string* byte_code(const std::string& name) const override {
    const auto found = code_.find(name);
    return found == code_.end() ? nullptr : &found->second;
  }

 private:
  using Files = std::map<std::string, std::string, std::less<>>;

  Result<std::string> resolve_sdk(std::string_view base, std::string_view name) const {
    const bool is_relative = name.starts_with("./") || name.starts_with("../");
    const std::string path = is_relative ? joined(base, name) : std::string(name);
    for (const char* ending : {"", ".js", "/index.js"}) {
      if (embedded_.contains(path + ending)) return path + ending;
      if (base.empty() && script_.files.contains(path + ending)) return path + ending;
    }
    return Error{ErrorCode::NotFound, "there is no module \"" + std::string(name) + "\""};
  }
  Result<std::string> resolve_own(std::string_view base, std::string_view name) const {
    if (!name.starts_with("./") && !name.starts_with("../")) return missing_package(name);
    const std::string path = joined(base, name);
    if (script_.files.contains(path)) return path;
    // TypeScript imports "./a.js" and means a.ts.
    if (path.ends_with(".js") || path.ends_with(".mjs")) {
      const std::string typed = path.substr(0, path.size() - 2) + "ts";
      if (script_.files.contains(typed)) return typed;
    }
    for (const char* ending : {".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"}) {
      if (script_.files.contains(path + ending)) return path + ending;
    }
    return Error{ErrorCode::NotFound,
                 "there is no file \"" + path + "\", which " + std::string(base) + " imports"};
  }

  Error missing_package(std::string_view name) const {
    constexpr std::string_view kOfNode[] = {"fs",   "path", "os",     "http",   "https",
                                            "net",  "util", "crypto", "stream", "process",
                                            "zlib", "url",  "events", "buffer", "child_process"};
    std::string message = "there is no module \"" + std::string(name) + "\": ";
    const std::string_view first = name.substr(0, name.find('/'));
    if (name.starts_with("node:") || std::ranges::find(kOfNode, first) != std::end(kOfNode)) {
      message += "the modules of Node are not there; ";
    } else if (!name.starts_with("quire") && name.find(':') == std::string_view::npos) {
      message += "packages are bundled first, as by npx esbuild " + script_.entry +
                 " --bundle --format=esm --external:quire --outfile=bundled.js; ";
    }
    return Error{ErrorCode::NotFound, message +
                                          "a script imports \"quire\", \"quire/raw\", and "
                                          "files of its own as \"./name.js\""};
  }

  // `name` beside the file `base`.
  static std::string joined(std::string_view base, std::string_view name) {
    std::vector<std::string_view> parts;
    const auto add = [&](std::string_view path) {
      while (!path.empty()) {
        const std::string_view part = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(part.size() + 1, path.size()));
        if (part == ".." && !parts.empty()) {
          parts.pop_back();
        } else if (part != "." && !part.empty()) {
          parts.push_back(part);
        }
      }
    };
    const std::size_t folder = base.rfind('/');
    if (folder != std::string_view::npos) add(base.substr(0, folder));
    add(name);
    std::string out;
    for (const std::string_view part : parts) {
      out += (out.empty() ? "" : "/");
      out += part;
    }
    return out;
  }

  Files embedded_;
  Script script_;
  ByteCode::Files code_;  // Of the script's own files.
};

}  // namespace quire::javascript
