#pragma once
// The files that `quire run` sends to each of its programs, part by part from the disk.
//
// Thread   one; reading is pread on files that were opened before anything runs.
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "service/said.h"

namespace quire {

struct FileToSend {
  File file;
  std::string name;  // The last part of its path.
  std::string media_type;
};

// By the ending of the name; "application/octet-stream" where it says nothing.
std::string media_type_of(const std::string& name);

// Errors: of opening; InvalidArgument for a name that no file may have.
Result<std::vector<FileToSend>> open_files_to_send(const std::vector<std::string>& paths);

// The files that one program has still to get.
class FileSender {
 public:
  static constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;

  explicit FileSender(const std::vector<FileToSend>& files) : files_(&files) {}

  bool is_done() const { return index_ == files_->size(); }
  // The part that comes next. The file may have changed or shrunk: Io.
  Result<service::FilePart> part() const;
  // The front file was taken, so the one after it is next.
  void taken();
  // The program wants no more of this file: the next file is next.
  void skip();
  const std::string& path() const { return (*files_)[index_].file.path(); }

 private:
  std::uint64_t part_bytes() const;

  const std::vector<FileToSend>* files_;
  std::size_t index_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace quire
