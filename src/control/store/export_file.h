#pragma once
// One snapshot with all its pages as one file that another store can read.
//
// The tenant is not in it. A page's name says in whose sharing domain it was made: importing into
// another one takes a namer, which makes the names anew. docs/reference/snapshot_format.md has the
// bytes.
//
// Thread   the store's thread.
// Errors   those of SnapshotStore. A failed export leaves no file, a failed import nothing.
#include <functional>
#include <string>

#include "base/result.h"
#include "control/store/snapshot_store.h"

namespace quire::store {

inline constexpr std::uint32_t kExportFileVersion = 1;

// Replaces a file that is there, at once, when the new one is whole and durable.
Result<void> export_file(SnapshotStore& store, FileSystem& files, const std::string& tenant,
                         const std::string& name, const std::string& path);

// The name of `page` in `space` below `parent`.
using PageNamer = std::function<PageName(const PageNameSpace& space, const PageName& parent,
                                         const PageRecord& page)>;
// The name of the empty prefix in `space`.
using RootNamer = std::function<PageName(const PageNameSpace& space)>;

struct ImportOptions {
  std::string tenant;
  std::string name;  // Empty: the one in the file.
  // What the pages must be of; a difference is NotSupported. Its sharing domain is the importer's.
  PageSpace space;
  PageNamer name_page;  // Both null: the sharing domain must be that of the file.
  RootNamer name_root;
  std::uint64_t expires_unix_ms = kNever;
  SaveOptions save;  // Without a ticket.
};

Result<SnapshotInfo> import_file(SnapshotStore& store, FileSystem& files, const std::string& path,
                                 const ImportOptions& options);

}  // namespace quire::store
