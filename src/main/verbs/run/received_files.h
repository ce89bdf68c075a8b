#pragma once
// ReceivedFiles writes the files that programs send into one folder of the user's, and nowhere
// else: under the name that the program gave, which holds no separator, and never over what is
// there.
//
// Owns     files that are not complete; one that never becomes so is removed again.
// Bound    kOpenCountMax of them at once, and kBytesMax written in all.
// Thread   one.
// Errors   AlreadyExists, InvalidArgument for what no server should send, QuotaExceeded, Io. A file
//          has one error, and its further parts are ignored. But if kOpenCountMax files are open,
//          each part of a further one is an error.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "service/said.h"

namespace quire {

class ReceivedFiles {
 public:
  static constexpr std::size_t kOpenCountMax = 512;
  static constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 30;

  // Makes the folder where it is not there.
  static Result<ReceivedFiles> open(const std::string& folder);
  ReceivedFiles(ReceivedFiles&&) = default;
  ReceivedFiles& operator=(ReceivedFiles&&) = default;
  ~ReceivedFiles();

  // The path, once the last part was written. `program` numbers the one that sends; where several
  // do, each has a folder of its number in the folder.
  Result<std::optional<std::string>> add(std::size_t program, bool several,
                                         const service::SentPart& part);
  // No more comes of this file, or of any of the program. How many were not complete.
  std::size_t drop(std::size_t program, std::uint64_t file);
  std::size_t drop_all(std::size_t program);

 private:
  struct Open {
    Descriptor folder;
    Descriptor file;  // None: the file was refused.
    std::string name;
    std::string path;
    std::uint64_t file_bytes = 0;
    std::uint64_t written = 0;
  };
  using Key = std::pair<std::size_t, std::uint64_t>;  // Program and file.

  explicit ReceivedFiles(std::string folder) : folder_(std::move(folder)) {}
  Result<Open> begin(const std::string& folder, const service::SentPart& part);
  Result<void> write(Open& open, const service::SentPart& part);
  static bool give_up(Open& open);

  std::string folder_;
  std::map<Key, Open> open_;
  std::uint64_t bytes_ = 0;  // Written in all.
};

// As the user wants it: none if no folder was named.
Result<std::optional<ReceivedFiles>> received_files(const std::string& folder);

}  // namespace quire
