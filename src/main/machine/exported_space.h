#pragma once
// Reads what the pages of an exported snapshot belong to, before it is imported, so that the import
// needs no model. The import itself checks the whole file again.
//
// Thread   any.
// Errors   Corrupted for a file that begins otherwise; NotFound, Io.
#include <string>

#include "base/result.h"
#include "control/store/file_system.h"
#include "control/store/records.h"

namespace quire {

Result<store::PageSpace> read_exported_space(store::FileSystem& files, const std::string& path);

}  // namespace quire
