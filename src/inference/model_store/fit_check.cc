#include "inference/model_store/fit_check.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "inference/architectures/gguf_model.h"
#include "inference/architectures/model_config.h"
#include "inference/architectures/model_files.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/safetensors_file.h"

namespace quire::inference {
namespace {

// A look that finds too few bytes costs little; each is at twice as many as the one before.
constexpr std::uint64_t kFirstLookBytes = 512 << 10;

// Tokenizers that other programs read, and this one does not.
constexpr std::array<std::string_view, 5> kOtherTokenizers = {
    "tokenizer.model", "tekken.json", "vocab.json", "merges.txt", "vocab.txt"};

// The beginning of a file that still comes. A read of what is not there yet fails, and is noted.
class BegunSource final : public ByteSource {
 public:
  BegunSource(std::string name, File file, std::uint64_t bytes, std::uint64_t bytes_here)
      : name_(std::move(name)), file_(std::move(file)), bytes_(bytes), bytes_here_(bytes_here) {}

  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override { return bytes_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset <= bytes_here_ && into.size() <= bytes_here_ - offset) {
      return file_.read(offset, into);
    }
    is_short_ = true;
    return Error(ErrorCode::Unavailable, name_ + ": the bytes have not come yet");
  }
  bool is_short() const { return is_short_; }

 private:
  std::string name_;
  File file_;
  std::uint64_t bytes_;
  std::uint64_t bytes_here_;
  mutable bool is_short_ = false;
};

// The first shard has the numbers of the model, and each shard some of the tensors. So tensors
// that other shards have may be missing here.
Result<void> check_gguf_shard(const std::shared_ptr<const ByteSource>& source) {
  const GgufFile file = TRY(GgufFile::parse(source));
  if (!file.metadata->has("general.architecture")) return {};
  Result<ModelSpec> spec = gguf_model_spec(file);
  if (spec.ok() || spec.error().code() != ErrorCode::NotSupported) return {};
  return std::move(spec).take_error();
}

Result<void> check_beginning(const std::shared_ptr<const BegunSource>& source, bool is_shard) {
  if (source->name().ends_with(".safetensors")) {
    TRY(SafetensorsFile::parse(source));
    return {};
  }
  if (is_shard) return check_gguf_shard(source);
  TRY(open_gguf_model(source));
  return {};
}

}  // namespace

Result<void> check_tokenizer(const std::string& where, std::span<const std::string> names) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (has("tokenizer.json")) return {};
  std::string text = where + " has no tokenizer.json, by which this build reads texts";
  std::string others;
  for (const std::string_view each : kOtherTokenizers) {
    if (has(each)) others += (others.empty() ? "" : ", ") + std::string(each);
  }
  if (!others.empty()) {
    text += "; it has " + others +
            ", from which transformers makes one: AutoTokenizer.from_pretrained(FOLDER)"
            ".save_pretrained(FOLDER)";
  }
  return Error(ErrorCode::NotSupported, text);
}

Result<void> check_config(const std::string& config, const std::string& name) {
  ConfigTexts texts;
  texts.config = config;
  texts.folder = name;
  Result<ModelSpec> spec = parse_model_config(texts);
  if (spec.ok()) return {};
  // If the config of a qwen3 gives no head_dim, its weights do.
  const bool may_be_mended = spec.error().code() != ErrorCode::NotSupported &&
                             config.find("\"qwen3\"") != std::string::npos &&
                             config.find("\"head_dim\"") == std::string::npos;
  if (may_be_mended) return {};
  Error error = std::move(spec).take_error();
  return Error(ErrorCode::NotSupported, std::string(error.message()));
}

WeightsCheck::WeightsCheck(std::string name, std::string path, std::uint64_t bytes, bool is_shard)
    : name_(std::move(name)),
      path_(std::move(path)),
      bytes_(bytes),
      is_shard_(is_shard),
      next_look_bytes_(std::min(kFirstLookBytes, bytes)),
      is_done_(!name_.ends_with(".gguf") && !name_.ends_with(".safetensors")) {}

Result<void> WeightsCheck::see(std::uint64_t bytes_here) {
  if (is_done_ || bytes_here < next_look_bytes_) return {};
  next_look_bytes_ = std::min(bytes_here * 2, bytes_);
  if (bytes_here == bytes_) is_done_ = true;
  return look(bytes_here);
}

Result<void> WeightsCheck::look(std::uint64_t bytes_here) {
  File file = TRY(File::open(path_));
  const auto source =
      std::make_shared<const BegunSource>(name_, std::move(file), bytes_, bytes_here);
  Result<void> checked = check_beginning(source, is_shard_);
  if (!checked.ok() && source->is_short()) return {};  // More of it has to come.
  is_done_ = true;
  // Bytes that are damaged are for the digest to find: the fetch may begin anew.
  if (checked.ok() || checked.error().code() != ErrorCode::NotSupported) return {};
  return std::move(checked).take_error();
}

}  // namespace quire::inference
