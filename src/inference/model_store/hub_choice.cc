#include "inference/model_store/hub_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/readable.h"
#include "base/utf8.h"
#include "inference/model_store/fit_check.h"
#include "inference/model_store/lower_case.h"
#include "inference/weights/gguf_shards.h"

namespace quire::inference {
namespace {

constexpr std::size_t kListedCountMax = 30;
constexpr std::size_t kFolderFileCountMax = 1024;
constexpr std::uint32_t kShardCountMax = 1024;
constexpr std::string_view kTemplateFolder = "additional_chat_templates/";

// The files of a checkpoint in addition to its weights (TokenizerTexts of weights/model_files.h).
constexpr std::array<std::string_view, 7> kFolderFiles = {"config.json",
                                                          "tokenizer.json",
                                                          "tokenizer_config.json",
                                                          "special_tokens_map.json",
                                                          "generation_config.json",
                                                          "chat_template.jinja",
                                                          "chat_template.json"};

std::string last_part_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// `word` in `text` without a letter, a digit or "_" beside it. Both are in lower case.
bool has_word(std::string_view text, std::string_view word) {
  const auto joins = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '_';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))) return true;
  }
  return false;
}

// A GGUF model of the repository: one file, or shards in order.
struct GgufModel {
  std::string path;  // Of the file, or of the first shard.
  std::vector<const HubFile*> files;

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const HubFile* each : files) sum += each->bytes;
    return sum;
  }
};

bool is_gguf_model(const HubFile& file) {
  const std::string path = in_lower_case(file.path);
  // Other files come as GGUF too: the part of a model that reads pictures, whose publishers put
  // "mmproj" anywhere in its name, and a quantizer's statistics.
  return path.ends_with(".gguf") && path.find("mmproj") == std::string::npos &&
         last_part_of(path).find("imatrix") == std::string::npos;
}

// A text that belongs to a checkpoint.
bool is_folder_text(const std::string& path) {
  if (std::ranges::find(kFolderFiles, path) != kFolderFiles.end()) return true;
  const bool is_template = path.starts_with(kTemplateFolder) && path.ends_with(".jinja");
  return is_template && path.find_first_of("/\\", kTemplateFolder.size()) == std::string::npos &&
         path[kTemplateFolder.size()] != '.' && printable(path) == path;
}

// By path. Shards are a model if they are all there.
std::vector<GgufModel> gguf_models(const std::vector<HubFile>& files) {
  std::map<std::string, const HubFile*> by_path;
  for (const HubFile& each : files) {
    if (is_gguf_model(each)) by_path.emplace(each.path, &each);
  }
  std::vector<GgufModel> models;
  for (const auto& [path, file] : by_path) {
    const std::optional<ShardName> shard = parse_shard_name(path);
    if (!shard || shard->count == 1) {
      models.push_back({path, {file}});
      continue;
    }
    if (shard->number != 1 || shard->count > kGgufShardCountMax) continue;
    GgufModel model{path, {}};
    for (std::uint32_t number = 1; number <= shard->count; ++number) {
      const auto found = by_path.find(shard->path_of(number));
      if (found != by_path.end()) model.files.push_back(found->second);
    }
    if (model.files.size() == shard->count) models.push_back(std::move(model));
  }
  return models;
}

std::string listed(const std::vector<GgufModel>& models) {
  std::string text;
  for (std::size_t i = 0; i < std::min(models.size(), kListedCountMax); ++i) {
    text += "\n  " + printable(models[i].path) + "  " + readable_bytes(models[i].bytes());
    if (models[i].files.size() > 1) {
      text += " in " + std::to_string(models[i].files.size()) + " shards";
    }
  }
  if (models.size() > kListedCountMax) {
    text += "\n  and " + std::to_string(models.size() - kListedCountMax) + " more";
  }
  return text;
}

std::vector<GgufModel> with_quant(const std::vector<GgufModel>& models, std::string_view quant) {
  const std::string word = in_lower_case(quant);
  std::vector<GgufModel> found;
  for (const GgufModel& each : models) {
    if (has_word(in_lower_case(each.path), word)) found.push_back(each);
  }
  return found;
}

ChosenModel chosen(const GgufModel& model) {
  ChosenModel choice;
  choice.form = model.files.size() > 1 ? ModelForm::Shards : ModelForm::OneFile;
  choice.name = stored_model_name(model.path);
  for (const HubFile* each : model.files) choice.files.push_back(*each);
  return choice;
}

Error several(const ModelReference& reference, const std::vector<GgufModel>& models) {
  return Error(ErrorCode::InvalidArgument,
               reference.text() + " fits " + std::to_string(models.size()) +
                   " models; name one by its quantization, as hf:" + reference.repository +
                   ":QUANT, or by its file, as hf:" + reference.repository +
                   "/FILE:" + listed(models));
}

Result<ChosenModel> choose_file(const ModelReference& reference,
                                const std::vector<GgufModel>& models) {
  for (const GgufModel& model : models) {
    const bool has_file = std::ranges::any_of(
        model.files, [&](const HubFile* each) { return each->path == reference.file; });
    if (has_file) return chosen(model);
  }
  return Error(ErrorCode::NotFound, "there is no GGUF model " + in_quotes(reference.file) + " in " +
                                        reference.repository +
                                        (models.empty() ? "" : "; there are:" + listed(models)));
}

Result<ChosenModel> choose_gguf(const ModelReference& reference,
                                const std::vector<GgufModel>& models) {
  const bool is_default = reference.quant.empty();
  const std::vector<GgufModel> fitting =
      with_quant(models, is_default ? kDefaultQuant : std::string_view(reference.quant));
  if (fitting.size() == 1) return chosen(fitting.front());
  if (fitting.size() > 1) return several(reference, fitting);
  if (is_default && models.size() == 1) return chosen(models.front());
  if (is_default) return several(reference, models);
  return Error(ErrorCode::NotFound, "no GGUF file of " + reference.repository +
                                        " has the quantization " + reference.quant +
                                        "; there are:" + listed(models));
}

// The content of a repository that is not a model here, for a message; empty: nothing known.
std::string other_form_of(const std::vector<HubFile>& files) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kForms = {
      {{"adapter_model.safetensors", "an adapter, which quire serve --adapter takes"},
       {"pytorch_model.bin", "weights of PyTorch, which this build does not read"},
       {"consolidated.safetensors",
        "weights in Mistral's own form, which this build does not read"},
       {"model.onnx", "an ONNX model, which this build does not read"},
       {"model_index.json", "a pipeline of diffusers, which this build does not read"},
       {".nemo", "a NeMo model, which this build does not read"}}};
  for (const auto& [ending, what] : kForms) {
    for (const HubFile& each : files) {
      if (each.path.ends_with(ending)) {
        return "; it holds " + printable(each.path) + ", " + std::string(what);
      }
    }
  }
  return {};
}

// The name of a shard says how many there are: all of them have to be in the repository.
Result<void> check_shards(const std::string& where, const std::vector<HubFile>& weights) {
  constexpr std::string_view kEnding = ".safetensors";
  constexpr std::string_view kGgufEnding = ".gguf";  // Shards of both forms are numbered alike.
  for (const HubFile& each : weights) {
    if (!each.path.ends_with(kEnding)) continue;
    const std::string stem = each.path.substr(0, each.path.size() - kEnding.size());
    const std::optional<ShardName> shard = parse_shard_name(stem + std::string(kGgufEnding));
    if (!shard) continue;
    for (std::uint32_t number = 1; number <= std::min(shard->count, kShardCountMax); ++number) {
      std::string wanted = shard->path_of(number);
      wanted.replace(wanted.size() - kGgufEnding.size(), kGgufEnding.size(), kEnding);
      if (std::ranges::find(weights, wanted, &HubFile::path) != weights.end()) continue;
      return Error(ErrorCode::NotSupported,
                   where + " has " + each.path + " and lacks " + wanted + " of the same weights");
    }
  }
  return {};
}

// A checkpoint in the root of the repository.
Result<ChosenModel> choose_folder(const ModelReference& reference,
                                  const std::vector<HubFile>& files) {
  ChosenModel choice;
  choice.form = ModelForm::Folder;
  choice.name = in_lower_case(last_part_of(reference.repository));
  std::vector<HubFile> weights;
  std::vector<HubFile> texts;
  const HubFile* whole = nullptr;
  const HubFile* index = nullptr;
  for (const HubFile& each : files) {
    if (each.path == "model.safetensors") whole = &each;
    if (each.path == "model.safetensors.index.json") index = &each;
    const bool is_shard = each.path.starts_with("model-") && each.path.ends_with(".safetensors") &&
                          each.path.find_first_of("/\\") == std::string::npos &&
                          printable(each.path) == each.path;
    if (is_shard) weights.push_back(each);
    if (is_folder_text(each.path)) texts.push_back(each);
  }
  // open_model() takes the whole file if there are both.
  if (whole != nullptr) weights = {*whole};
  if (whole == nullptr && index != nullptr && !weights.empty()) weights.push_back(*index);
  const bool has_weights = whole != nullptr || (index != nullptr && weights.size() > 1);
  std::ranges::sort(texts, {}, [](const HubFile& each) {
    return std::pair(each.path != "config.json", each.path);
  });
  const std::string where = reference.repository + " at " + reference.revision;
  if (!has_weights || texts.empty() || texts.front().path != "config.json") {
    return Error(ErrorCode::NotSupported,
                 where + " holds neither a GGUF file nor config.json with model.safetensors" +
                     other_form_of(files));
  }
  std::vector<std::string> names;
  for (const HubFile& each : files) names.push_back(each.path);
  TRY(check_tokenizer(where, names));
  TRY(check_shards(where, weights));
  choice.files = std::move(texts);
  choice.files.insert(choice.files.end(), weights.begin(), weights.end());
  if (choice.files.size() > kFolderFileCountMax) {
    return Error(ErrorCode::TooLarge, reference.repository + ": " +
                                          std::to_string(choice.files.size()) + " files; at most " +
                                          std::to_string(kFolderFileCountMax) + " are fetched");
  }
  return choice;
}

}  // namespace

std::uint64_t ChosenModel::bytes() const {
  std::uint64_t sum = 0;
  for (const HubFile& each : files) sum += each.bytes;
  return sum;
}

std::string ChosenModel::stored_name(std::size_t index, const std::string& model_name) const {
  if (form == ModelForm::OneFile) return {};
  if (form == ModelForm::Folder) return files[index].path;
  return ShardName{model_name, 1, static_cast<std::uint32_t>(files.size())}.path_of(
      static_cast<std::uint32_t>(index + 1));
}

std::string stored_model_name(const std::string& path) {
  return model_name_of(in_lower_case(path));
}

Result<ChosenModel> choose_model(const ModelReference& reference,
                                 const std::vector<HubFile>& files) {
  const std::vector<GgufModel> models = gguf_models(files);
  if (!reference.file.empty()) return choose_file(reference, models);
  if (!models.empty()) return choose_gguf(reference, models);
  if (!reference.quant.empty()) {
    return Error(ErrorCode::NotFound, "there is no GGUF file in " + reference.repository +
                                          ", so none has the quantization " + reference.quant);
  }
  return choose_folder(reference, files);
}

}  // namespace quire::inference
