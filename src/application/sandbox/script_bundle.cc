#include "application/sandbox/script_bundle.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "application/sandbox/module_reader.h"
#include "base/utf8.h"

namespace quire::sandbox {
namespace {

constexpr std::string_view kBundleMagic = "QSC1";
constexpr std::string_view kCoreHeader{"\0asm\1\0\0\0", 8};
constexpr std::uint8_t kCustomId = 0;

Error too_many_files(std::uint64_t count) {
  return Error(ErrorCode::TooLarge, "the script has " + std::to_string(count) +
                                        " files, script.file_count_max is " +
                                        std::to_string(kScriptFileCountMax));
}

Error source_too_large() {
  return Error(ErrorCode::TooLarge,
               "the files of the script have more than script.source_bytes_max, " +
                   std::to_string(kScriptSourceBytesMax) + " bytes");
}

// A cursor that never reads past the end.
class BundleReader {
 public:
  explicit BundleReader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }

  Error fail(const std::string& why) const {
    return Error(ErrorCode::InvalidArgument,
                 "not a valid script: " + why + " at byte " + std::to_string(at_));
  }

  Result<std::string_view> take(std::uint64_t count, const char* what) {
    if (count > bytes_.size() - at_) return fail(std::string(what) + " cut short");
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  Result<std::uint32_t> number(const char* what) {
    const std::string_view bytes = TRY(take(sizeof(std::uint32_t), what));
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
  }

  Result<std::string_view> text(std::uint64_t bytes_max, const char* what) {
    const std::uint32_t count = TRY(number(what));
    if (count > bytes_max) {
      return fail(std::string(what) + " of " + std::to_string(count) + " bytes, at most " +
                  std::to_string(bytes_max) + " are allowed,");
    }
    const std::string_view taken = TRY(take(count, what));
    const std::size_t valid = utf8_valid_bytes(taken);
    if (valid == taken.size()) return taken;
    at_ -= taken.size() - valid;
    return fail(std::string(what) + " is not UTF-8");
  }

 private:
  const std::string_view bytes_;
  std::size_t at_ = 0;
};

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    const auto value = static_cast<unsigned char>(letter);
    return value < 0x20 || value == 0x7f;
  });
}

Result<void> check_word(std::string_view word, const char* what) {
  if (!word.empty() && word.size() <= kRuntimeNameBytesMax && !has_controls(word)) return {};
  return Error(ErrorCode::InvalidArgument,
               std::string("not a valid script: the ") + what + " of its runtime is " +
                   in_quotes(word) + ", but it must have 1 to " +
                   std::to_string(kRuntimeNameBytesMax) + " bytes without control characters");
}

Result<void> check_content(const ScriptFile& file) {
  const std::size_t valid = utf8_valid_bytes(file.content);
  if (valid == file.content.size()) return {};
  const auto line = 1 + std::count(file.content.begin(),
                                   file.content.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
  return Error(ErrorCode::InvalidArgument,
               printable(file.path) + ":" + std::to_string(line) + ": is not UTF-8");
}

// Checks the values of a bundle, however they came.
Result<void> check_bundle(const ScriptBundle& bundle) {
  TRY(check_word(bundle.runtime, "name"));
  TRY(check_word(bundle.version, "version"));
  if (bundle.files.size() > kScriptFileCountMax) {
    return too_many_files(bundle.files.size());
  }
  std::uint64_t source_bytes = 0;
  const ScriptFile* last = nullptr;
  bool has_entry = false;
  for (const ScriptFile& each : bundle.files) {
    TRY(check_script_path(each.path));
    if (last != nullptr && each.path <= last->path) {
      return Error(ErrorCode::InvalidArgument, "not a valid script: the file " +
                                                   in_quotes(each.path) +
                                                   " is there twice, or not in its order");
    }
    source_bytes += each.content.size();
    if (source_bytes > kScriptSourceBytesMax) return source_too_large();
    TRY(check_content(each));
    has_entry = has_entry || each.path == bundle.entry;
    last = &each;
  }
  if (!has_entry) {
    return Error(
        ErrorCode::InvalidArgument,
        "not a valid script: its entry " + in_quotes(bundle.entry) + " is not one of its files");
  }
  if (bundle.options.size() > kScriptOptionsBytesMax) {
    return Error(ErrorCode::TooLarge,
                 "the options of the script have " + std::to_string(bundle.options.size()) +
                     " bytes, at most " + std::to_string(kScriptOptionsBytesMax) + " are allowed");
  }
  return {};
}

void put_number(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

}  // namespace

Result<void> check_script_path(std::string_view path) {
  const auto wrong = [path](const std::string& why) {
    return Error(ErrorCode::InvalidArgument,
                 "not a valid script: the path " + in_quotes(path) + " " + why);
  };
  if (path.empty() || path.size() > kScriptPathBytesMax) {
    return wrong("does not have 1 to " + std::to_string(kScriptPathBytesMax) + " bytes");
  }
  if (utf8_valid_bytes(path) != path.size()) return wrong("is not UTF-8");
  if (has_controls(path)) return wrong("has control characters");
  if (path.find('\\') != std::string_view::npos) return wrong("has a backslash");
  std::string_view rest = path;
  while (true) {
    const std::size_t end = rest.find('/');
    const std::string_view name = rest.substr(0, end);
    if (name.empty() || name == "." || name == "..") {
      return wrong("is not relative to the folder of the script, or leaves it");
    }
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
}

Result<ScriptBundle> read_script_bundle(std::string_view bytes) {
  BundleReader reader(bytes);
  ScriptBundle bundle;
  if (TRY(reader.take(kBundleMagic.size(), "the first word")) != kBundleMagic) {
    return Error(ErrorCode::InvalidArgument,
                 "not a valid script: its first 4 bytes are not \"" + std::string(kBundleMagic) +
                     "\", the version of the format that this engine reads");
  }
  bundle.runtime = TRY(reader.text(kRuntimeNameBytesMax, "the name of the runtime"));
  bundle.version = TRY(reader.text(kRuntimeNameBytesMax, "the version of the runtime"));
  const std::string_view digest = TRY(reader.take(bundle.digest.size(), "the digest"));
  std::memcpy(bundle.digest.data(), digest.data(), digest.size());
  const std::uint32_t file_count = TRY(reader.number("the count of files"));
  if (file_count > kScriptFileCountMax) return too_many_files(file_count);
  std::uint64_t source_bytes = 0;
  for (std::uint32_t i = 0; i < file_count; ++i) {
    ScriptFile file;
    file.path = TRY(reader.text(kScriptPathBytesMax, "a path"));
    // UTF-8 of contents is checked with the path at hand, which the message names.
    const std::uint32_t count = TRY(reader.number("a file"));
    source_bytes += count;
    if (source_bytes > kScriptSourceBytesMax) return source_too_large();
    file.content = TRY(reader.take(count, "a file"));
    bundle.files.push_back(file);
  }
  bundle.entry = TRY(reader.text(kScriptPathBytesMax, "the entry"));
  bundle.options = TRY(reader.text(kScriptOptionsBytesMax, "the options"));
  if (!reader.done()) return reader.fail("more bytes than its parts have");
  TRY(check_bundle(bundle));
  return bundle;
}

Result<std::string> write_script_bundle(ScriptBundle bundle) {
  std::sort(bundle.files.begin(), bundle.files.end(),
            [](const ScriptFile& left, const ScriptFile& right) { return left.path < right.path; });
  TRY(check_bundle(bundle));
  std::string out(kBundleMagic);
  put_text(out, bundle.runtime);
  put_text(out, bundle.version);
  out.append(reinterpret_cast<const char*>(bundle.digest.data()), bundle.digest.size());
  put_number(out, static_cast<std::uint32_t>(bundle.files.size()));
  for (const ScriptFile& each : bundle.files) {
    put_text(out, each.path);
    put_text(out, each.content);
  }
  put_text(out, bundle.entry);
  put_text(out, bundle.options);
  return out;
}

Result<std::optional<std::string_view>> find_script(std::string_view wasm) {
  if (!wasm.starts_with(kCoreHeader)) return std::optional<std::string_view>();
  ModuleReader reader(std::as_bytes(std::span(wasm)), kCoreHeader.size(), wasm.size());
  std::optional<std::string_view> script;
  bool is_alone = true;
  while (!reader.done()) {
    const std::uint8_t id = TRY(reader.byte());
    const std::uint32_t bytes = TRY(reader.count());
    ModuleReader content = TRY(reader.part(bytes));
    if (id != kCustomId) {
      is_alone = false;
    } else if (TRY(content.name()) == kScriptSection) {
      if (script) {
        return Error(
            ErrorCode::InvalidArgument,
            "not a valid script: the module has two sections " + std::string(kScriptSection));
      }
      script = wasm.substr(content.at(), reader.at() - content.at());
    }
  }
  if (!script || is_alone) return script;
  return Error(ErrorCode::InvalidArgument, "not a valid script: the module has a section " +
                                               std::string(kScriptSection) +
                                               " and code or data of its own");
}

}  // namespace quire::sandbox
