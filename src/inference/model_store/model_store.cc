#include "inference/model_store/model_store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/utf8.h"
#include "inference/architectures/model_files.h"
#include "inference/model_store/download.h"
#include "inference/model_store/fit_check.h"
#include "inference/model_store/hub_choice.h"
#include "inference/model_store/known_models.h"
#include "inference/model_store/part_files.h"
#include "inference/model_store/stored_files.h"
#include "inference/model_store/web_url.h"
#include "inference/weights/gguf_shards.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kNameBytesMax = 128;
constexpr std::uint64_t kRecordBytesMax = 1 << 20;

bool is_model_name(std::string_view name) {
  const auto allowed = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '_' || each == '-';
  };
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
         std::ranges::all_of(name, allowed);
}

// A file of a model and its name in the model's folder; empty where the model is this one file.
struct SourceFile {
  std::string path;
  std::string name;
};

// Whether `path` is a shard of a model in several.
std::optional<ShardName> find_shard(const fs::path& path) {
  std::error_code code;
  const std::optional<ShardName> shard = parse_shard_name(path.string());
  return shard && shard->count > 1 && !fs::is_directory(path, code) ? shard : std::nullopt;
}

// The files to store for `path`, which open_model() accepts. Shards get the name of the model.
Result<std::vector<SourceFile>> source_files(const fs::path& path, const std::string& name) {
  std::vector<SourceFile> sources;
  if (const std::optional<ShardName> shard = find_shard(path)) {
    const ShardName stored{name, 1, shard->count};
    for (std::uint32_t number = 1; number <= shard->count; ++number) {
      sources.push_back({shard->path_of(number), stored.path_of(number)});
    }
    return sources;
  }
  for (const std::string& file : TRY(files_of(path))) {
    sources.push_back({file_in(path, file).string(), file});
  }
  return sources;
}

bool is_one_file(const std::vector<SourceFile>& sources) {
  return sources.size() == 1 && sources.front().name.empty();
}

Result<void> copy_files(const std::vector<SourceFile>& sources, const fs::path& to,
                        const Progress& progress) {
  Watched watched{progress};
  for (const SourceFile& source : sources) {
    std::error_code code;
    watched.bytes_expected += fs::file_size(source.path, code);
    if (code) return io_error("size " + source.path, code);
  }
  if (!is_one_file(sources)) TRY(make_folder(to));
  for (const SourceFile& source : sources) {
    const std::string target = file_in(to, source.name).string();
    TRY(make_parent(target));
    TRY(store_file(target, [&](int descriptor) {
      return for_each_chunk(source.path, watched, [&](std::span<const std::byte> bytes) {
        return write_all(descriptor, bytes, target);
      });
    }));
  }
  return {};
}

Result<void> link_files(const std::vector<SourceFile>& sources, const fs::path& folder) {
  TRY(make_folder(folder));
  for (const SourceFile& source : sources) TRY(link_to(source.path, folder / source.name));
  return {};
}

// One file, or all shards of a model: the address of each other shard is that of the given one with
// another number.
Result<void> download_model(const std::string& url, const std::string& name,
                            const std::string& target, const Progress& progress) {
  const std::size_t path_bytes = std::min(url.find_first_of("?#"), url.size());
  const std::optional<ShardName> shard = parse_shard_name(url.substr(0, path_bytes));
  DownloadOptions transfer;
  transfer.progress = progress;
  if (!shard || shard->count == 1) return download(url, target, transfer);
  if (shard->count > kGgufShardCountMax) {
    return Error(ErrorCode::TooLarge, url + " names a model of " + std::to_string(shard->count) +
                                          " shards; at most " + std::to_string(kGgufShardCountMax) +
                                          " are read");
  }
  TRY(make_folder(target));
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_of_file = 0;
  transfer.progress = [&](std::uint64_t done, std::uint64_t) {
    bytes_of_file = done;
    return !progress || progress(bytes_before + done, 0);
  };
  const ShardName stored{target + "/" + name, 1, shard->count};
  for (std::uint32_t number = 1; number <= shard->count; ++number) {
    const std::string address = shard->path_of(number) + url.substr(path_bytes);
    Result<void> done = download(address, stored.path_of(number), transfer);
    if (!done.ok()) {
      return std::move(done).take_error().while_("shard " + std::to_string(number) + " of " +
                                                 std::to_string(shard->count));
    }
    bytes_before += bytes_of_file;
    bytes_of_file = 0;
  }
  return {};
}

// The path that open_model() takes for a model in the store. A folder without config.json holds
// shards, and stands for the first.
std::string path_to_open(const fs::path& entry) {
  std::error_code code;
  if (!fs::is_directory(entry, code) || fs::exists(entry / "config.json", code)) return entry;
  for (fs::directory_iterator each(entry, code), end; !code && each != end; each.increment(code)) {
    const std::optional<ShardName> shard = parse_shard_name(each->path().string());
    if (shard && shard->number == 1) return each->path();
  }
  return entry;
}

// The digests of a model's files as sha256sum writes them, with the names they will have. Those
// that are not in `known` are computed.
Result<std::string> make_record(const fs::path& model, const std::string& stored_name,
                                const std::map<std::string, std::string>& known) {
  const Progress silent;
  Watched watched{silent};
  std::string record;
  for (const std::string& file : TRY(files_of(model))) {
    const auto found = known.find(file);
    record += found != known.end() ? found->second
                                   : TRY(digest_file(file_in(model, file).string(), watched));
    record += "  " + (file.empty() ? stored_name : stored_name + "/" + file) + "\n";
  }
  return record;
}

// A GGUF file has its tokenizer in itself.
Result<void> check_has_tokenizer(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path / "config.json", code)) return {};
  return check_tokenizer(path.string(), TRY(files_of(path)));
}

// The last part of a path or URL, without query and ending, as a model's name.
std::string name_from(const std::string& source) {
  return stored_model_name(source.substr(0, source.find_first_of("?#")));
}

}  // namespace

Result<std::string> data_folder_from_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string own = variable("QUIRE_DATA"); !own.empty()) return own;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/quire";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.local/share/quire";
  return Error(
      ErrorCode::NotFound,
      "no data folder: none of QUIRE_DATA, XDG_DATA_HOME and HOME is set; set one of them");
}

Result<std::vector<StoredModel>> ModelStore::list() const {
  std::vector<StoredModel> models;
  std::error_code code;
  if (!fs::exists(folder_, code)) return models;
  for (fs::directory_iterator each(folder_, code), end; !code && each != end;
       each.increment(code)) {
    const fs::path& path = each->path();
    std::error_code status;
    const std::string opened = path_to_open(path);
    const bool is_folder = fs::is_directory(path, status) &&
                           (opened != path || fs::exists(path / "config.json", status));
    if (!is_folder && path.extension() != ".gguf") continue;
    const std::string name = is_folder ? path.filename().string() : path.stem().string();
    if (!is_model_name(name)) continue;
    Result<std::uint64_t> bytes = bytes_of(path);
    if (bytes.ok()) models.push_back({name, opened, bytes.value()});
  }
  if (code) return io_error("list " + folder_, code);
  std::ranges::sort(models, {}, &StoredModel::name);
  return models;
}

Error ModelStore::no_such_model(const std::string& name) const {
  std::string text = "there is no model " + in_quotes(name) + " in " + folder_;
  Result<std::vector<StoredModel>> models = list();
  if (models.ok() && !models.value().empty()) {
    text += " (there are:";
    for (const StoredModel& each : models.value()) text += " " + each.name;
    text += ")";
  }
  const std::string fetched = find_known_model(name) != nullptr ? name : std::string(kDefaultModel);
  text +=
      "; `quire model add " + fetched + "` fetches " + (fetched == name ? "it" : "the default one");
  if (fetched == kDefaultModel) text += " (in a clone, `make model` does too)";
  return Error(ErrorCode::NotFound, text + ", and `quire model add --help` shows other sources");
}

// The file or folder that holds the model.
Result<std::string> ModelStore::entry_of(const std::string& name) const {
  if (is_model_name(name)) {
    for (const std::string& path : {folder_ + "/" + name + ".gguf", folder_ + "/" + name}) {
      std::error_code code;
      if (fs::exists(path, code)) return path;
    }
  }
  return no_such_model(name);
}

Result<StoredModel> ModelStore::find(const std::string& name) const {
  const std::string entry = TRY(entry_of(name));
  const std::uint64_t bytes = TRY(bytes_of(entry));
  return StoredModel{name, path_to_open(entry), bytes};
}

Result<std::string> ModelStore::resolve(const std::string& name_or_path) const {
  const std::string wanted = name_or_path.empty() ? std::string(kDefaultModel) : name_or_path;
  Result<StoredModel> stored = find(wanted);
  if (stored.ok()) return stored.value().path;
  std::error_code code;
  if (fs::exists(wanted, code)) return wanted;
  if (ModelReference::names_hub(wanted)) {
    return Error(ErrorCode::NotFound,
                 in_quotes(wanted) + " is a model of a hub: `quire model add " + printable(wanted) +
                     "` fetches it, and says the name that it has here");
  }
  if (wanted.find('/') != std::string::npos) {
    return Error(ErrorCode::NotFound, "there is no model file or folder " + in_quotes(wanted) +
                                          "; `quire model list` prints the models by name");
  }
  return std::move(stored).take_error();
}

// Brings the source into the work folder (or finds it where it lies, for a link); its path there.
Result<std::string> ModelStore::fetch(const std::string& source, const std::string& name,
                                      const std::string& work, const AddOptions& options) const {
  const std::string target = work + "/model";
  if (is_web_url(source)) {
    if (options.mode == AddMode::Link) {
      return Error(ErrorCode::InvalidArgument, "a URL cannot be linked to: " + source);
    }
    TRY(download_model(source, name, target, options.progress));
    return target;
  }
  const std::string path = source.starts_with("file://") ? source.substr(7) : source;
  std::error_code code;
  const fs::path canonical = fs::canonical(path, code);
  if (code) {
    std::string text = "cannot add " + in_quotes(path) + ": " + code.message();
    if (path.find('/') == std::string::npos) {
      text += ", and it is not a name of the list (" + known_model_names() + ")";
    }
    return Error(ErrorCode::NotFound, text);
  }
  // Shards are found by name, which a symbolic link may have and its target not.
  const fs::path absolute = fs::absolute(path, code).lexically_normal();
  TRY(open_model(absolute.string()));  // Before gigabytes are copied.
  TRY(check_has_tokenizer(absolute));
  const std::vector<SourceFile> sources = TRY(source_files(absolute, name));
  if (options.mode == AddMode::Copy) {
    TRY(copy_files(sources, target, options.progress));
  } else if (find_shard(absolute)) {
    TRY(link_files(sources, target));
  } else {
    TRY(link_to(canonical, target));
  }
  return target;
}

Result<void> ModelStore::check_free(const std::string& name) const {
  if (!is_model_name(name)) {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(name) +
                     " is not a name for a model: letters, digits, \".\", \"_\" and "
                     "\"-\", not \".\" first; give another with --name");
  }
  if (find(name).ok()) {
    return Error(ErrorCode::AlreadyExists, "there is a model " + in_quotes(name) + " already in " +
                                               folder_ + "; remove it first, or give a --name");
  }
  return {};
}

Result<StoredModel> ModelStore::keep(const std::string& path, const std::string& name,
                                     const WorkFolder& work, const Digests& digests) const {
  TRY(open_model(path_to_open(path)));
  TRY(check_has_tokenizer(path));
  std::error_code code;
  const bool is_folder = fs::is_directory(path, code);
  const std::string stored_name = is_folder ? name : name + ".gguf";
  const std::string record = TRY(make_record(path, stored_name, digests));
  const std::string record_path = work.path() + "/record";
  TRY(store_file(record_path, [&](int descriptor) {
    return write_all(descriptor, std::as_bytes(std::span(record)), record_path);
  }));
  TRY(move_to(record_path, folder_ + "/" + name + ".sha256"));
  TRY(move_to(path, folder_ + "/" + stored_name));
  return find(name);
}

Result<StoredModel> ModelStore::add(const std::string& source, const AddOptions& options) const {
  if (find_known_model(source) != nullptr || ModelReference::names_hub(source)) {
    return add_from_hub(source, options);
  }
  const std::string name = options.name.empty() ? name_from(source) : options.name;
  TRY(check_free(name));
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code) return io_error("make " + folder_, code);
  const WorkFolder work = TRY(WorkFolder::create(folder_));
  const std::string fetched = TRY(fetch(source, name, work.path(), options));
  return keep(fetched, name, work, {});
}

Result<void> ModelStore::remove(const std::string& name) const {
  const bool has_parts = is_model_name(name) && PartFolder::exists(folder_, name);
  if (has_parts) {
    const PartFolder parts = TRY(PartFolder::open(folder_, name));
    TRY(parts.remove());
  }
  Result<std::string> entry = entry_of(name);
  if (!entry.ok() && has_parts) return {};
  const std::string stored = TRY(std::move(entry));
  const WorkFolder work = TRY(WorkFolder::create(folder_));
  TRY(move_to(stored, work.path() + "/removed"));
  std::error_code code;
  fs::remove(folder_ + "/" + name + ".sha256", code);
  if (code) return io_error("remove the record of " + name, code);
  return {};
}

Result<void> ModelStore::verify(const std::string& name, const Progress& progress) const {
  const std::string model = TRY(entry_of(name));
  const std::string record_path = folder_ + "/" + name + ".sha256";
  const std::string record = TRY(read_file(record_path, kRecordBytesMax));
  std::map<std::string, std::string> recorded;
  std::istringstream lines(record);
  for (std::string digest, file; lines >> digest >> std::ws && std::getline(lines, file);) {
    recorded.emplace(file, digest);
  }
  const std::string stored_name = fs::path(model).filename().string();
  Watched watched{progress, TRY(bytes_of(model))};
  for (const std::string& file : TRY(files_of(model))) {
    const std::string path = file_in(model, file).string();
    const auto entry = recorded.extract(file.empty() ? stored_name : stored_name + "/" + file);
    if (entry.empty()) {
      return Error(ErrorCode::Corrupted, path + " is not in the record " + record_path);
    }
    const std::string found = TRY(digest_file(path, watched));
    if (found != entry.mapped()) {
      return Error(ErrorCode::Corrupted,
                   path + " has SHA-256 " + found + "; the record says " + entry.mapped());
    }
  }
  if (!recorded.empty()) {
    return Error(ErrorCode::Corrupted, recorded.begin()->first + " is in the record " +
                                           record_path + " and not in the model");
  }
  return {};
}

}  // namespace quire::inference
