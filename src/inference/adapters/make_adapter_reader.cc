#include "inference/adapters/make_adapter_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/folder.h"
#include "base/utf8.h"
#include "inference/adapters/gguf_adapter.h"
#include "inference/adapters/peft_adapter.h"
#include "inference/adapters/peft_config.h"

namespace quire::inference {
namespace {

using AdapterResult = Result<std::shared_ptr<const Adapter>>;

std::shared_ptr<const ByteSource> source_of(File file) {
  return std::make_shared<FileSource>(std::move(file));
}

Result<std::string> read_text(const File& file, std::uint64_t bytes_max) {
  if (file.bytes() > bytes_max) {
    return Error(ErrorCode::TooLarge, file.path() + " has " + std::to_string(file.bytes()) +
                                          " bytes; at most " + std::to_string(bytes_max) +
                                          " are read");
  }
  std::string text(file.bytes(), '\0');
  TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// "adapters" of "/srv/adapters/".
std::string last_part(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.size() > 1 ? path.substr(path.rfind('/') + 1) : path;
}

class Reader final : public AdapterReader {
 public:
  explicit Reader(const ModelSpec& spec) : shape_(spec) {}

  AdapterResult read(const AdapterSource& source, const AdapterLimits& limits) const override {
    Opened opened = TRY(open(source));
    if (const auto* folder = std::get_if<Folder>(&opened)) return read_folder(*folder, limits);
    return read_gguf_adapter(shape_, source_of(std::get<File>(std::move(opened))), limits);
  }

  Result<std::uint64_t> bytes_of(const AdapterSource& source) const override {
    const Opened opened = TRY(open(source));
    if (const auto* file = std::get_if<File>(&opened)) return file->bytes();
    return TRY(std::get<Folder>(opened).open_file_below(kPeftWeightsName)).bytes();
  }

  AdapterResult read(std::vector<AdapterFile> files, const AdapterLimits& limits) const override {
    const auto find = [&](std::string_view name) {
      return std::ranges::find(files, name, &AdapterFile::name);
    };
    const auto config = find(kPeftConfigName), weights = find(kPeftWeightsName);
    const auto gguf = std::ranges::find_if(
        files, [](const AdapterFile& file) { return file.name.ends_with(".gguf"); });
    const bool is_peft = config != files.end() && weights != files.end();
    if (is_peft == (gguf != files.end())) {
      return Error(ErrorCode::InvalidArgument,
                   "an adapter is either " + std::string(kPeftConfigName) + " and " +
                       kPeftWeightsName + ", or one file whose name ends in .gguf; given are " +
                       std::to_string(files.size()) + " files" + names_of(files));
    }
    const auto memory = [](AdapterFile& file) {
      return std::make_shared<MemorySource>(printable(file.name), std::move(file.bytes));
    };
    if (!is_peft) return read_gguf_adapter(shape_, memory(*gguf), limits);
    const std::string_view text(reinterpret_cast<const char*>(config->bytes.data()),
                                config->bytes.size());
    return read_peft_adapter(shape_, text, config->name, memory(*weights), limits);
  }

 private:
  using Opened = std::variant<Folder, File>;

  static Result<Opened> open(const AdapterSource& source) {
    if (source.beneath.empty()) {
      if (is_folder(source.path)) return Opened(TRY(Folder::open_with_links(source.path)));
      return Opened(TRY(File::open(source.path)));
    }
    const Folder beneath = TRY(Folder::open_as(source.beneath, last_part(source.beneath)));
    if (TRY(beneath.has_folder_below(source.path))) {
      return Opened(TRY(beneath.open_below(source.path)));
    }
    return Opened(TRY(beneath.open_file_below(source.path)));
  }

  static std::string names_of(const std::vector<AdapterFile>& files) {
    constexpr std::size_t kNamesMax = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(files.size(), kNamesMax); ++i) {
      names += (i == 0 ? ": " : ", ") + in_quotes(files[i].name);
    }
    return names;
  }

  AdapterResult read_folder(const Folder& folder, const AdapterLimits& limits) const {
    Result<File> config = folder.open_file_below(kPeftConfigName);
    if (!config.ok() && config.error().code() == ErrorCode::NotFound) {
      return Error(ErrorCode::NotFound,
                   folder.path() + " has no " + kPeftConfigName +
                       ", and so is not an adapter of PEFT; name a .gguf file by its own path");
    }
    if (!config.ok()) return std::move(config).take_error();
    const std::string text = TRY(read_text(config.value(), kPeftConfigBytesMax));
    Result<File> weights = folder.open_file_below(kPeftWeightsName);
    if (!weights.ok() && weights.error().code() == ErrorCode::NotFound) {
      return Error(ErrorCode::NotFound,
                   folder.path() + " has no " + kPeftWeightsName +
                       (folder.open_file_below("adapter_model.bin").ok()
                            ? "; adapter_model.bin can run code when it is read, and is not read "
                              "(PEFT saves the other with safe_serialization=True)"
                            : ""));
    }
    if (!weights.ok()) return std::move(weights).take_error();
    return read_peft_adapter(shape_, text, config.value().path(),
                             source_of(std::move(weights).take()), limits);
  }

  const PairShape shape_;
};

}  // namespace

std::unique_ptr<AdapterReader> make_adapter_reader(const ModelSpec& spec) {
  return std::make_unique<Reader>(spec);
}

}  // namespace quire::inference
