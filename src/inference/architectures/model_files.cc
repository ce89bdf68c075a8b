#include "inference/architectures/model_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "inference/architectures/architecture.h"
#include "inference/architectures/gguf_model.h"
#include "inference/architectures/model_config.h"
#include "inference/architectures/tensor_binding.h"
#include "inference/weights/safetensors_file.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kConfigBytesMax = std::uint64_t{4} << 20;
constexpr std::uint64_t kTokenizerBytesMax = std::uint64_t{256} << 20;
constexpr std::size_t kAdditionalTemplatesMax = 64;
constexpr std::size_t kDigestChunkBytes = 4 << 20;
constexpr std::uint32_t kNoRope = 0xffffffffu;

// Empty where the file is missing.
Result<std::string> read_if_present(const std::string& path, std::uint64_t bytes_max) {
  Result<std::string> text = read_file(path, bytes_max);
  if (!text.ok() && text.error().code() == ErrorCode::NotFound) return std::string();
  return text;
}

// The files NAME.jinja of a folder, by name; none if the folder is missing.
Result<std::vector<TokenizerTexts::Named>> read_templates(const std::string& folder) {
  std::vector<TokenizerTexts::Named> templates;
  std::error_code code;
  for (std::filesystem::directory_iterator each(folder, code), end; !code && each != end;
       each.increment(code)) {
    if (each->path().extension() != ".jinja") continue;
    if (templates.size() >= kAdditionalTemplatesMax) {
      return Error(
          ErrorCode::TooLarge,
          folder + ": more than " + std::to_string(kAdditionalTemplatesMax) + " chat templates");
    }
    std::string text = TRY(read_file(each->path().string(), kConfigBytesMax));
    templates.push_back({each->path().stem().string(), std::move(text)});
  }
  std::sort(templates.begin(), templates.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  return templates;
}

// A tensor is a vector, a matrix, or a stack of matrices.
Result<StoredTensor> stored(const SafetensorsTensor& tensor) {
  const std::vector<std::uint64_t>& dimensions = tensor.dimensions;
  if (dimensions.empty() || dimensions.size() > 3) {
    return Error(ErrorCode::NotSupported,
                 tensor.source->name() + ": tensor " + in_quotes(tensor.name) + " has " +
                     std::to_string(dimensions.size()) + " dimensions; 1 to 3 are read");
  }
  StoredTensor result{.name = tensor.name,
                      .format = tensor.format,
                      .column_count = dimensions.back(),
                      .offset = tensor.offset,
                      .source = tensor.source};
  if (dimensions.size() >= 2) result.row_count = dimensions[dimensions.size() - 2];
  if (dimensions.size() == 3) result.matrix_count = dimensions.front();
  return result;
}

// Tensors of parts that are not served may have more dimensions. Nothing reads them, so they become
// vectors.
Result<std::vector<StoredTensor>> stored_tensors(const SafetensorsFile& file,
                                                 const Architecture& architecture) {
  std::vector<StoredTensor> tensors;
  for (const SafetensorsTensor& tensor : file.tensors) {
    if (unserved_part(architecture, tensor.name).empty()) {
      tensors.push_back(TRY(stored(tensor)));
      continue;
    }
    tensors.push_back({.name = tensor.name,
                       .format = tensor.format,
                       .column_count = tensor.bytes / format_shape(tensor.format).block_bytes,
                       .offset = tensor.offset,
                       .source = tensor.source});
  }
  return tensors;
}

Result<std::shared_ptr<const ByteSource>> open_file(const std::string& path) {
  File file = TRY(File::open(path));
  return std::shared_ptr<const ByteSource>(std::make_shared<FileSource>(std::move(file)));
}

// A folder without config.json may hold GGUF files, of which the user has to name one.
Error no_checkpoint(const std::string& folder) {
  std::set<std::string> models;  // Of a model in shards, the first.
  std::error_code code;
  for (fs::directory_iterator each(folder, code), end; !code && each != end; each.increment(code)) {
    const std::string path = each->path().string();
    if (!path.ends_with(".gguf")) continue;
    const std::optional<ShardName> shard = parse_shard_name(path);
    models.insert(shard ? shard->path_of(1) : path);
  }
  std::string text = folder + " is a folder without config.json, and so not a checkpoint";
  if (models.size() == 1) {
    text += "; it holds a GGUF model: name " + *models.begin();
  } else if (!models.empty()) {
    text += "; it holds " + std::to_string(models.size()) + " GGUF models: name one, such as " +
            *models.begin();
  }
  return Error(ErrorCode::NotFound, text);
}

Result<std::string> read_config(const std::string& folder) {
  Result<std::string> text = read_file(folder + "/config.json", kConfigBytesMax);
  if (!text.ok() && text.error().code() == ErrorCode::NotFound) return no_checkpoint(folder);
  return text;
}

// 0 where there is no such tensor, or none of a sensible width.
std::uint32_t norm_width(const SafetensorsFile& file) {
  for (const SafetensorsTensor& tensor : file.tensors) {
    if (tensor.name != "model.layers.0.self_attn.q_norm.weight") continue;
    const bool fits = tensor.dimensions.size() == 1 && tensor.dimensions[0] < (1u << 16);
    return fits ? static_cast<std::uint32_t>(tensor.dimensions[0]) : 0;
  }
  return 0;
}

Result<std::unique_ptr<ModelFiles>> open_folder(const std::string& path) {
  ConfigTexts configs;
  configs.folder = path;
  while (configs.folder.size() > 1 && configs.folder.ends_with('/')) configs.folder.pop_back();
  const std::string prefix = configs.folder + "/";
  TokenizerTexts texts;
  configs.config = TRY(read_config(configs.folder));
  texts.generation_config_json =
      TRY(read_if_present(prefix + "generation_config.json", kConfigBytesMax));
  texts.tokenizer_config_json =
      TRY(read_if_present(prefix + "tokenizer_config.json", kConfigBytesMax * 4));
  texts.tokenizer_json = TRY(read_if_present(prefix + "tokenizer.json", kTokenizerBytesMax));
  texts.special_tokens_map_json =
      TRY(read_if_present(prefix + "special_tokens_map.json", kConfigBytesMax));
  texts.chat_template = TRY(read_if_present(prefix + "chat_template.jinja", kConfigBytesMax));
  texts.chat_template_json = TRY(read_if_present(prefix + "chat_template.json", kConfigBytesMax));
  texts.additional_chat_templates =
      TRY(read_templates(configs.folder + "/additional_chat_templates"));
  configs.generation_config = texts.generation_config_json;
  configs.tokenizer_config = texts.tokenizer_config_json;
  Result<SafetensorsFile> file = SafetensorsFile::open_folder(configs.folder);
  if (file.ok()) configs.norm_width = norm_width(file.value());
  ModelSpec spec = TRY(parse_model_config(configs));  // Its errors come first.
  const SafetensorsFile weights_file = TRY(std::move(file));
  const std::vector<StoredTensor> tensors =
      TRY(stored_tensors(weights_file, *find_architecture(spec.architecture)));
  // A head of its own counts, whatever tie_word_embeddings says: where the two differ, transformers
  // does not tie them either.
  const auto is_head = [](const StoredTensor& tensor) { return tensor.name == "lm_head.weight"; };
  if (std::ranges::any_of(tensors, is_head)) spec.tied_embeddings = false;
  WeightSource weights = TRY(bind_tensors(tensors, TensorNaming::HuggingFace, spec));
  return std::make_unique<ModelFiles>(path, std::move(spec), std::move(weights), nullptr,
                                      std::move(texts));
}

// A number or a text, in a form that no other value shares.
template <typename T>
void add_value(Sha256& hash, const T& value) {
  static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
  hash.add(std::as_bytes(std::span(&value, 1)));
}

void add_text(Sha256& hash, std::string_view text) {
  add_value(hash, static_cast<std::uint64_t>(text.size()));
  hash.add(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

ModelFiles::ModelFiles(std::string path, ModelSpec spec, WeightSource weights,
                       std::unique_ptr<GgufMetadata> metadata, TokenizerTexts texts)
    : path_(std::move(path)),
      spec_(std::move(spec)),
      weights_(std::move(weights)),
      metadata_(std::move(metadata)),
      texts_(std::move(texts)) {}

Result<std::unique_ptr<ModelFiles>> open_gguf_model(const std::string& path,
                                                    const OpenSource& open) {
  GgufFile file = TRY(read_gguf(path, open));
  ModelSpec spec = TRY(gguf_model_spec(file));
  const std::vector<StoredTensor> tensors = TRY(gguf_stored_tensors(file));
  set_switches(tensors, TensorNaming::Gguf, spec);
  WeightSource weights = TRY(bind_tensors(tensors, TensorNaming::Gguf, spec));
  return std::make_unique<ModelFiles>(path, std::move(spec), std::move(weights),
                                      std::move(file.metadata), TokenizerTexts{});
}

Result<std::unique_ptr<ModelFiles>> open_gguf_model(std::shared_ptr<const ByteSource> source) {
  const std::string name = source->name();
  const OpenSource open =
      [&](const std::string& path) -> Result<std::shared_ptr<const ByteSource>> {
    if (path == name) return source;
    return Error(ErrorCode::NotFound, "there is no " + path);
  };
  return open_gguf_model(name, open);
}

Result<std::unique_ptr<ModelFiles>> open_model(const std::string& path) {
  std::error_code status;
  const bool is_folder = fs::is_directory(path, status);
  Result<std::unique_ptr<ModelFiles>> opened =
      is_folder ? open_folder(path) : open_gguf_model(path, open_file);
  if (!opened.ok()) {
    const Error error = std::move(opened).take_error();
    // The path is named once.
    std::string why(error.message());
    for (const std::string& begin : {path + ": ", "cannot open " + path + ": "}) {
      if (why.starts_with(begin)) why.erase(0, begin.size());
    }
    if (why.starts_with(path + " ")) why.replace(0, path.size(), "it");
    return Error(error.code(), "cannot open the model " + in_quotes(path) + ": " + why);
  }
  return opened;
}

namespace {

void add_experts(Sha256& hash, const ExpertsSpec& experts) {
  add_text(hash, "experts");
  for (const std::uint32_t number :
       {experts.expert_count, experts.used_count, experts.width, experts.shared_width,
        std::uint32_t{experts.is_renormalised}}) {
    add_value(hash, number);
  }
  add_value(hash, experts.weight_scale);
}

void add_delta_net(Sha256& hash, const DeltaNetSpec& delta) {
  add_text(hash, "gated delta rule");
  for (const std::uint32_t number :
       {delta.key_head_count, delta.value_head_count, delta.key_dim, delta.value_dim,
        delta.convolution_width, std::uint32_t{delta.has_tiled_heads}}) {
    add_value(hash, number);
  }
}

// The digests of older models have no numbers of gates and of RoPE over a part of a head.
bool has_newer_members(const AttentionSpec& attention) {
  return attention.has_gate || attention.rotary_dim != 0;
}

void add_attention(Sha256& hash, const AttentionSpec& attention) {
  for (const std::uint32_t number :
       {attention.head_count, attention.kv_head_count, attention.head_dim, attention.sliding_window,
        attention.rope.value_or(kNoRope), static_cast<std::uint32_t>(attention.qk_norm),
        std::uint32_t{attention.has_qkv_bias}, std::uint32_t{attention.has_output_bias}}) {
    add_value(hash, number);
  }
  if (!has_newer_members(attention)) return;
  add_text(hash, "gated attention");
  add_value(hash, std::uint32_t{attention.has_gate});
  add_value(hash, attention.rotary_dim);
}

// Adds the numbers of each layer, which models whose layers are alike do not need.
void add_layers(Sha256& hash, const ModelSpec& spec) {
  add_text(hash, "layers");
  for (const LayerSpec& layer : spec.layers) {
    if (const AttentionSpec* attention = layer.attention()) add_attention(hash, *attention);
    if (const DeltaNetSpec* delta = layer.delta_net()) add_delta_net(hash, *delta);
    add_value(hash, layer.dense_width());
    if (const ExpertsSpec* experts = layer.experts()) add_experts(hash, *experts);
  }
}

// Whether the numbers of one layer do not say what all layers are.
bool needs_layers(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [&](const LayerSpec& layer) {
    const AttentionSpec* attention = layer.attention();
    return layer != spec.layers.front() || layer.experts() != nullptr || attention == nullptr ||
           has_newer_members(*attention);
  });
}

const char* transform_name(ValueTransform transform) {
  switch (transform) {
    case ValueTransform::None:
      return "";
    case ValueTransform::PlusOne:
      return "plus one";
    case ValueTransform::NegatedExponential:
      return "negated exponential";
  }
  return "";
}

}  // namespace

ModelDigester::ModelDigester(const ModelSpec& spec) {
  // The digests of models whose layers are alike are older than layers of their own: they have the
  // numbers of one layer, and name no kinds. That layer is the first, or the first that attends.
  add_text(hash_, "quire model 1");
  add_text(hash_, spec.architecture);
  const AttentionSpec* first = first_attention(spec);
  QUIRE_CHECK(first != nullptr, "a validated model has a layer that attends");
  const AttentionSpec& attention = *first;
  for (const std::uint32_t number :
       {spec.vocabulary_size, spec.embedding_width, spec.layer_count(), attention.head_count,
        attention.kv_head_count, attention.head_dim, spec.layers.front().dense_width(),
        attention.sliding_window}) {
    add_value(hash_, number);
  }
  const RopeSpec& rope = spec.ropes.front();
  add_value(hash_, spec.rms_epsilon);
  add_value(hash_, rope.theta);
  add_value(hash_, static_cast<std::uint64_t>(rope.factors.size()));
  hash_.add(std::as_bytes(std::span(rope.factors)));
  for (const bool flag : {attention.qk_norm != QkNorm::None, attention.has_qkv_bias,
                          attention.has_output_bias, spec.tied_embeddings}) {
    add_value(hash_, static_cast<std::uint8_t>(flag));
  }
  if (needs_layers(spec)) add_layers(hash_, spec);
}

void ModelDigester::begin_tensor(const TensorInfo& tensor) {
  add_text(hash_, row_of(tensor.role).name);
  add_text(hash_, format_shape(tensor.format).name);
  for (const std::uint32_t number : {tensor.layer, tensor.row_count, tensor.column_count}) {
    add_value(hash_, number);
  }
  if (row_of(tensor.role).place == TensorPlace::Expert) add_value(hash_, tensor.expert);
  // Equal bytes that mean other numbers must not share pages.
  if (tensor.transform != ValueTransform::None) add_text(hash_, transform_name(tensor.transform));
}

Result<Digest> digest_model(const ModelFiles& model) {
  const WeightSource& weights = model.weights();
  ModelDigester digester(model.spec());
  std::vector<std::byte> chunk;
  for (std::size_t index = 0; index < weights.tensor_count(); ++index) {
    const TensorInfo& tensor = weights.tensor(index);
    digester.begin_tensor(tensor);
    const std::uint64_t row_bytes = tensor.row_bytes();
    const std::uint32_t together = tensor.rows_together();
    const auto rows_fitting = static_cast<std::uint32_t>(kDigestChunkBytes / row_bytes);
    const std::uint32_t step = std::max(rows_fitting / together * together, together);
    for (std::uint32_t row = 0; row < tensor.row_count; row += step) {
      const std::uint32_t count = std::min(step, tensor.row_count - row);
      chunk.resize(count * row_bytes);
      TRY(weights.read(index, row, count, chunk));
      digester.add(chunk);
    }
  }
  return digester.finish();
}

}  // namespace quire::inference
