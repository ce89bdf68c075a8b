#include "main/machine/snapshot_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "control/store/store_index.h"
#include "inference/model_store/model_store.h"
#include "main/machine/sharing_secret.h"

namespace quire {
namespace {

using store::SnapshotStore;

Error with_advice(Error error) {
  if (error.code() == ErrorCode::Unavailable) {
    return Error(error.code(), std::string(error.message()) +
                                   ": wait for it to end, or name another with --store");
  }
  if (error.code() == ErrorCode::Io) {
    return Error(error.code(), std::string(error.message()) +
                                   ": the store's folder and its files must be writable; --store "
                                   "names another");
  }
  return error;
}

}  // namespace

Result<std::string> store_folder(const std::string& given) {
  if (!given.empty()) {
    std::string folder = std::filesystem::absolute(given).lexically_normal().string();
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder;
  }
  return TRY(inference::data_folder_from_environment()) + "/store";
}

Result<std::unique_ptr<SnapshotStore>> open_store(store::FileSystem& files, const WallClock& clock,
                                                  const std::string& folder, StoreNeed need,
                                                  const SnapshotRoom& room) {
  std::error_code failed;
  if (need == StoreNeed::Existing &&
      !std::filesystem::exists(store::StoreIndex::path_in(folder), failed)) {
    if (failed) {
      return Error(ErrorCode::Io, "cannot look into " + folder + ": " + failed.message());
    }
    return Error(ErrorCode::NotFound,
                 "no store in " + folder +
                     ": `quire run` makes one, and so does `quire kv import`; --store names "
                     "another folder");
  }
  Result<std::unique_ptr<SnapshotStore>> opened =
      SnapshotStore::open(files, clock,
                          {.folder = folder,
                           .snapshot_bytes_total_max = room.bytes_total_max,
                           .shares = room.shares,
                           .cached_slot_count_max = kCachedPageCountMax});
  if (opened.ok()) return opened;
  return with_advice(std::move(opened).take_error());
}

Result<SnapshotFolder> open_snapshot_folder(store::FileSystem& files, const WallClock& clock,
                                            const std::string& folder, const SnapshotRoom& room) {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, failed);
  if (failed) {
    return Error(ErrorCode::Io, "cannot make " + parent.string() + " for the store: " +
                                    failed.message() + "; --store names another folder");
  }
  SnapshotFolder opened;
  opened.store = TRY(open_store(files, clock, folder, StoreNeed::MakeIfAbsent, room));
  SystemRandom random;
  const bool has_pages = opened.store->counts().stored_page_count > 0;
  opened.sharing_secret = TRY(load_sharing_secret(
      files, random, folder, has_pages ? SecretUse::MustExist : SecretUse::MayMake));
  return opened;
}

}  // namespace quire
