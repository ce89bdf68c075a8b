#include "main/verbs/shared/artifact_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kTemporaryAgeMax{1};
constexpr std::uint64_t kDependencyBytesMax = 64u << 20;
constexpr const char* kInputsFile = "inputs";
constexpr const char* kTemporary = ".tmp-";

// The state of a file as one word; nothing if it cannot be read.
std::optional<std::string> state_of(const Input& input) {
  if (input.test == InputTest::Content) {
    const Result<std::string> content = read_file(input.path, kDependencyBytesMax);
    if (!content.ok()) return std::nullopt;
    return hex(sha256(std::as_bytes(std::span(content.value()))));
  }
  return file_stamp(input.path);
}

// "content STATE PATH" or "time STATE PATH".
constexpr const char* kContentWord = "content";
constexpr const char* kTimeWord = "time";

struct RecordedInput {
  Input input;
  std::string state;
};

std::optional<RecordedInput> recorded_input(const std::string& line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const bool is_content = line.substr(0, first) == kContentWord;
  return RecordedInput{{line.substr(second + 1), is_content ? InputTest::Content : InputTest::Time},
                       line.substr(first + 1, second - first - 1)};
}

// Inputs of the user that were written after `begin` may differ from those that were read.
Result<void> record_inputs(const fs::path& folder, const std::vector<Input>& inputs,
                           fs::file_time_type begin) {
  std::ofstream file(folder / kInputsFile);
  for (const Input& each : inputs) {
    std::error_code failure;
    // The file changed while it was read, so the result is not kept.
    if (each.test == InputTest::Content && fs::last_write_time(each.path, failure) >= begin) {
      return Error(ErrorCode::Unavailable, each.path + " changed meanwhile");
    }
    const std::optional<std::string> state = state_of(each);
    if (!state) return Error(ErrorCode::Io, each.path + " cannot be read");
    file << (each.test == InputTest::Content ? kContentWord : kTimeWord) << ' ' << *state << ' '
         << each.path << '\n';
  }
  file.close();
  if (!file) return Error(ErrorCode::Io, (folder / kInputsFile).string() + " cannot be written");
  return {};
}

bool inputs_are_unchanged(const fs::path& entry) {
  std::ifstream file(entry / kInputsFile);
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    const std::optional<RecordedInput> recorded = recorded_input(line);
    if (!recorded || state_of(recorded->input) != recorded->state) return false;
  }
  return true;
}

// The file gets another name first, so that no process finds half of it.
void remove_entry(const fs::path& entry) {
  std::error_code ignored;
  std::string doomed = entry.string() + kTemporary + "XXXXXX";
  if (mkdtemp(doomed.data()) == nullptr) return;
  fs::rename(entry, fs::path(doomed), ignored);
  fs::remove_all(doomed, ignored);
}

}  // namespace

ArtifactCache::ArtifactCache(const std::string& cache_folder, const std::string& kind,
                             std::size_t entry_count_max)
    : folder_(cache_folder.empty() ? fs::path() : fs::path(cache_folder) / kind),
      entry_count_max_(entry_count_max) {}

Result<fs::path> ArtifactCache::find(const std::string& name) const {
  if (folder_.empty()) return Error(ErrorCode::NotFound, "there is no folder for caches");
  const fs::path entry = folder_ / name;
  if (!inputs_are_unchanged(entry)) return Error(ErrorCode::NotFound, "no entry " + name);
  std::error_code ignored;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);  // It was used.
  return entry;
}

Result<fs::path> ArtifactCache::find_or_make(const std::string& name, const Make& make) const {
  Result<fs::path> found = find(name);
  if (found.ok() || folder_.empty()) return found;
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) return Error(ErrorCode::Io, folder_.string() + ": " + failure.message());
  const fs::path entry = folder_ / name;
  if (fs::exists(entry, failure)) remove_entry(entry);
  TRY(make_entry(entry, make));
  make_room();
  return entry;
}

Result<void> ArtifactCache::make_entry(const fs::path& entry, const Make& make) const {
  std::string made = entry.string() + kTemporary + "XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return Error(ErrorCode::Io, made + " cannot be made");
  // The file system has a clock of its own, which may be some milliseconds late.
  std::error_code unknown;
  const fs::file_time_type begin = fs::last_write_time(made, unknown);
  Result<std::vector<Input>> inputs = make(made);
  Result<void> outcome = inputs.ok() ? record_inputs(made, inputs.value(), begin)
                                     : Result<void>(std::move(inputs).take_error());
  std::error_code failure;
  if (outcome.ok()) fs::rename(made, entry, failure);
  std::error_code ignored;
  if (!outcome.ok() || failure) fs::remove_all(made, ignored);
  if (!outcome.ok()) return outcome;
  // If another process was faster, its entry is there and as good.
  if (failure && !fs::exists(entry / kInputsFile, ignored)) {
    return Error(ErrorCode::Io, entry.string() + ": " + failure.message());
  }
  return {};
}

// Deletes the entries that were not used for longest, and the files of processes that were ended.
void ArtifactCache::make_room() const {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  for (const auto& each : fs::directory_iterator(folder_, ignored)) {
    const fs::file_time_type time = fs::last_write_time(each.path(), ignored);
    if (each.path().filename().string().find(kTemporary) == std::string::npos) {
      entries.emplace_back(time, each.path());
    } else if (fs::file_time_type::clock::now() - time > kTemporaryAgeMax) {
      fs::remove_all(each.path(), ignored);
    }
  }
  std::sort(entries.begin(), entries.end(), std::greater());
  for (std::size_t i = entry_count_max_; i < entries.size(); ++i) remove_entry(entries[i].second);
}

std::vector<std::string> inputs_of(const fs::path& folder) {
  std::ifstream file(folder / kInputsFile);
  std::vector<std::string> paths;
  for (std::string line; std::getline(file, line);) {
    if (auto recorded = recorded_input(line)) paths.push_back(std::move(recorded->input.path));
  }
  return paths;
}

std::optional<std::string> file_stamp(const std::string& path) {
  std::error_code failure;
  const std::uint64_t bytes = fs::file_size(path, failure);
  if (failure) return std::nullopt;
  const auto time = fs::last_write_time(path, failure).time_since_epoch().count();
  if (failure) return std::nullopt;
  return std::to_string(bytes) + "," + std::to_string(time);
}

std::string entry_name(const std::string& text) {
  constexpr std::size_t kNameBytes = 32;
  return hex(sha256(std::as_bytes(std::span(text)))).substr(0, kNameBytes);
}

std::vector<std::string> paths_of_dependencies(const std::string& makefile) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && !word.ends_with(':')) words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < makefile.size(); ++i) {
    const char each = makefile[i];
    const char next = i + 1 < makefile.size() ? makefile[i + 1] : '\0';
    if (each == '\\' && (next == '\n' || next == ' ' || next == '#')) {
      if (next != '\n') word += next;  // An escaped blank or hash of a path.
      if (next == '\n') end_word();
      ++i;
    } else if (each == '$' && next == '$') {
      word += '$';
      ++i;
    } else if (each == ' ' || each == '\n' || each == '\t' || each == '\r') {
      end_word();
    } else {
      word += each;
    }
  }
  end_word();
  return words;
}

}  // namespace quire
