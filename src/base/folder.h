#pragma once
// Folder: an open folder, below which files and folders are opened without leaving it.
//
// Names given by clients and links inside of downloaded folders are hostile: "..", an absolute
// path and a link that leads out are refused (PermissionDenied), also if the folder changes
// meanwhile. Where the kernel cannot check that (before Linux 5.6), any link is refused. A folder
// that the user of this machine names may have links that lead out. Hugging Face's cache has them.
//
// Thread   any; nothing changes after opening.
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/result.h"

namespace quire {

class Folder {
 public:
  static Result<Folder> open(const std::string& path);  // Any path; links are followed.
  // Links in it may lead out. A name with ".." is still refused.
  static Result<Folder> open_with_links(const std::string& path);
  // For clients, which must not learn where the folder lies: path() and errors call it `shown`.
  static Result<Folder> open_as(const std::string& path, const std::string& shown);
  Result<Folder> open_below(const std::string& name) const;
  Result<File> open_file_below(const std::string& name) const;
  // Whether `name` is a folder rather than a file; NotFound if it is neither.
  Result<bool> has_folder_below(const std::string& name) const;
  const std::string& path() const { return path_; }

 private:
  Folder(Descriptor descriptor, std::string path, bool follows_links = false)
      : descriptor_(std::move(descriptor)), path_(std::move(path)), follows_links_(follows_links) {}
  Result<Descriptor> open_descriptor(const std::string& name, int flags) const;
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  Descriptor descriptor_;
  std::string path_;
  bool follows_links_;
};

}  // namespace quire
