#pragma once
// The store of this user, opened: the folder with its snapshots and the secret of their names.
//
// Thread   any, before the store goes to its disk thread.
// Errors   those of SnapshotStore::open and load_sharing_secret, each with what to do next.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/sha256.h"
#include "control/store/file_system.h"
#include "control/store/snapshot_store.h"

namespace quire {

// `given`, else `store` in the user's data folder.
Result<std::string> store_folder(const std::string& given);

enum class StoreNeed : std::uint8_t {
  Existing,      // NotFound where there is none; nothing is made.
  MakeIfAbsent,  // With the user's data folder where that is what is missing.
};

// Pages that a store keeps for an engine beside its snapshots: the engine decides how many.
inline constexpr std::uint32_t kCachedPageCountMax = 1u << 24;

// For verbs that need no names: the secret is not looked at.
struct SnapshotRoom {
  std::optional<std::uint64_t> bytes_total_max = {};  // As store::StoreOptions has it.
  store::SnapshotShares* shares = nullptr;
};
Result<std::unique_ptr<store::SnapshotStore>> open_store(store::FileSystem& files,
                                                         const WallClock& clock,
                                                         const std::string& folder, StoreNeed need,
                                                         const SnapshotRoom& room = {});

struct SnapshotFolder {
  std::unique_ptr<store::SnapshotStore> store;
  Digest sharing_secret{};
};
Result<SnapshotFolder> open_snapshot_folder(store::FileSystem& files, const WallClock& clock,
                                            const std::string& folder,
                                            const SnapshotRoom& room = {});

}  // namespace quire
