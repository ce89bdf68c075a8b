#include "main/verbs/models/adapter_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>

#include "base/file.h"
#include "inference/adapters/make_adapter_reader.h"
#include "inference/adapters/peft_adapter.h"
#include "inference/architectures/model_files.h"
#include "inference/weights/gguf_shards.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGgufSuffix = ".gguf";

Result<void> append(const std::string& path, AdapterContent& content) {
  const File file = TRY(File::open(path));
  if (file.bytes() == 0) return Error(ErrorCode::InvalidArgument, path + " is empty");
  const std::size_t begin = content.bytes.size();
  content.bytes.resize(begin + file.bytes());
  TRY(file.read(0, std::as_writable_bytes(std::span(content.bytes)).subspan(begin)));
  content.files.push_back({fs::path(path).filename().string(), file.bytes()});
  return {};
}

}  // namespace

Result<LocalAdapters> LocalAdapters::open(const std::string& model) {
  const std::string path = TRY(find_model(model));
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(path));
  return LocalAdapters(inference::model_name_of(fs::absolute(path).lexically_normal().string()),
                       inference::make_adapter_reader(files->spec()));
}

Result<std::shared_ptr<const inference::Adapter>> LocalAdapters::read(
    const std::string& path) const {
  return reader_->read({.path = path}, {});
}

Result<std::vector<std::string>> adapters_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  fs::directory_iterator at(folder, failed);
  while (!failed && at != fs::directory_iterator()) {
    std::error_code ignored;  // What cannot be looked at is not an adapter.
    const bool is_peft = fs::exists(at->path() / inference::kPeftConfigName, ignored);
    if (is_peft || at->path().extension() == kGgufSuffix) {
      names.push_back(at->path().filename().string());
    }
    at.increment(failed);
  }
  if (failed) {
    return Error(
        failed == std::errc::no_such_file_or_directory ? ErrorCode::NotFound : ErrorCode::Io,
        "cannot read the folder " + folder + ": " + failed.message());
  }
  std::ranges::sort(names);
  return names;
}

std::string matrices_text(const inference::Adapter& adapter) {
  std::map<inference::Projection, std::size_t> counts;
  for (const inference::AdapterMatrix& each : adapter.matrices()) ++counts[each.projection];
  std::string text;
  for (const auto& [projection, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::string(inference::projection_name(projection)) + " " +
            std::to_string(count);
  }
  return text;
}

Result<AdapterContent> read_content(const std::string& path) {
  AdapterContent content;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (fs::path(path).extension() != kGgufSuffix && fs::exists(path, ignored)) {
      return Error(ErrorCode::InvalidArgument,
                   path + " is neither a folder that PEFT saved nor a .gguf file");
    }
    TRY(append(path, content));
    return content;
  }
  for (const char* name : {inference::kPeftConfigName, inference::kPeftWeightsName}) {
    TRY(append((fs::path(path) / name).string(), content));
  }
  return content;
}

}  // namespace quire
