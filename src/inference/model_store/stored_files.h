#pragma once
// The steps on the disk of which the model store is made: a folder for work, copies, digests,
// moves.
//
// Thread   any but the engine's: each step may block on a disk.
// Errors   Io and NotFound with the path; `Cancelled` when the progress says so.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

// "cannot DOING: REASON".
Error io_error(const std::string& doing, const std::error_code& code);

// A folder that goes with its content when the work is over, however it ends.
class WorkFolder final {
 public:
  static Result<WorkFolder> create(const std::string& beside);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The files of a model, relative to its folder, ascending: those in it, and the chat templates in
// its folder additional_chat_templates. A model that is one file has one, whose name is empty.
Result<std::vector<std::string>> files_of(const std::filesystem::path& model);
std::filesystem::path file_in(const std::filesystem::path& model, const std::string& file);
Result<std::uint64_t> bytes_of(const std::filesystem::path& model);

using Consume = std::function<Result<void>(std::span<const std::byte>)>;
Result<void> for_each_chunk(const std::string& path, Watched& watched, const Consume& consume);

// SHA-256 in hexadecimal.
Result<std::string> digest_file(const std::string& path, Watched& watched);

Result<void> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path);

// A new file, on disk when `fill` is done.
Result<void> store_file(const std::string& path,
                        const std::function<Result<void>(int descriptor)>& fill);

Result<void> make_folder(const std::filesystem::path& path);  // Its parent exists; it does not.
// The folder of a file, if it is missing.
Result<void> make_parent(const std::filesystem::path& file);
Result<void> link_to(const std::filesystem::path& to, const std::filesystem::path& at);
Result<void> move_to(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace quire::inference
