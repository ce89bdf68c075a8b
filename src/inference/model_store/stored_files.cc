#include "inference/model_store/stored_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/sha256.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kChunkBytes = 4 << 20;
constexpr const char* kTemplatesName = "additional_chat_templates";

// The files NAME.jinja of a folder, which may be missing.
Result<std::vector<std::string>> template_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  if (!fs::is_directory(folder, code)) return names;
  for (fs::directory_iterator each(folder, code), end; !code && each != end; each.increment(code)) {
    std::error_code status;
    const bool is_template = each->path().extension() == ".jinja" && each->is_regular_file(status);
    if (is_template) names.push_back(each->path().filename().string());
  }
  if (code) return io_error("list " + folder.string(), code);
  return names;
}

}  // namespace

Error io_error(const std::string& doing, const std::error_code& code) {
  return Error(ErrorCode::Io, "cannot " + doing + ": " + code.message());
}

Result<WorkFolder> WorkFolder::create(const std::string& beside) {
  std::string path = beside + "/.work.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error(ErrorCode::Io, "cannot make a folder in " + beside + ": " + std::strerror(errno));
  }
  return WorkFolder(std::move(path));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;  // A leftover is hidden from list() and harmless.
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<std::vector<std::string>> files_of(const fs::path& model) {
  std::vector<std::string> files;
  std::error_code code;
  if (!fs::is_directory(model, code)) return std::vector<std::string>{std::string()};
  for (fs::directory_iterator each(model, code), end; !code && each != end; each.increment(code)) {
    std::error_code status;
    if (each->is_regular_file(status)) files.push_back(each->path().filename().string());
  }
  if (code) return io_error("list " + model.string(), code);
  for (const std::string& name : TRY(template_names(model / kTemplatesName))) {
    files.push_back(std::string(kTemplatesName) + "/" + name);
  }
  std::ranges::sort(files);
  return files;
}

fs::path file_in(const fs::path& model, const std::string& file) {
  return file.empty() ? model : model / file;
}

Result<std::uint64_t> bytes_of(const fs::path& model) {
  std::uint64_t sum = 0;
  for (const std::string& file : TRY(files_of(model))) {
    std::error_code code;
    sum += fs::file_size(file_in(model, file), code);
    if (code) return io_error("size " + model.string(), code);
  }
  return sum;
}

Result<void> for_each_chunk(const std::string& path, Watched& watched, const Consume& consume) {
  const File file = TRY(File::open(path));
  std::vector<std::byte> chunk;
  for (std::uint64_t offset = 0; offset < file.bytes(); offset += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunkBytes, file.bytes() - offset));
    TRY(file.read(offset, chunk));
    TRY(consume(std::span<const std::byte>(chunk)));
    TRY(watched.advance(chunk.size()));
  }
  return {};
}

Result<std::string> digest_file(const std::string& path, Watched& watched) {
  Sha256 hash;
  TRY(for_each_chunk(path, watched, [&](std::span<const std::byte> bytes) -> Result<void> {
    hash.add(bytes);
    return {};
  }));
  return hex(hash.finish());
}

Result<void> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Error(ErrorCode::Io, "cannot write " + path + ": " + std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> store_file(const std::string& path,
                        const std::function<Result<void>(int descriptor)>& fill) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Error(ErrorCode::Io, "cannot create " + path + ": " + std::strerror(errno));
  }
  Result<void> filled = fill(descriptor);
  const bool stored = ::fsync(descriptor) == 0;
  const int number = errno;
  ::close(descriptor);
  if (!filled.ok() || stored) return filled;
  return Error(ErrorCode::Io, "cannot store " + path + ": " + std::strerror(number));
}

Result<void> make_folder(const fs::path& path) {
  std::error_code code;
  fs::create_directory(path, code);
  if (code) return io_error("make " + path.string(), code);
  return {};
}

Result<void> make_parent(const fs::path& file) {
  std::error_code code;
  fs::create_directories(file.parent_path(), code);
  if (code) return io_error("make " + file.parent_path().string(), code);
  return {};
}

Result<void> link_to(const fs::path& to, const fs::path& at) {
  std::error_code code;
  fs::create_symlink(to, at, code);
  if (code) return io_error("link " + at.string(), code);
  return {};
}

Result<void> move_to(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (code) return io_error("move " + from.string() + " to " + to.string(), code);
  return {};
}

}  // namespace quire::inference
