#pragma once
// Values of SnapshotStore: its options, those of a save, and its counts.
#include <cstdint>
#include <optional>
#include <string>

#include "control/store/records.h"
#include "control/store/snapshot_shares.h"

namespace quire::store {

struct StoreOptions {
  std::string folder;
  // The limit of a tenant's snapshots, unless a save says more; its share of all is another one.
  std::uint64_t tenant_bytes_max = ~std::uint64_t{0};
  // The limit of all snapshots. None: 80 % of what the file system has free when it is opened.
  std::optional<std::uint64_t> snapshot_bytes_total_max = std::nullopt;
  SnapshotShares* shares = nullptr;         // Outlives the store. Null: one tenant may have all.
  std::uint32_t cached_slot_count_max = 0;  // Over all page files.
  std::uint32_t ticket_count_max = 1024;
  // The limits of a tenant's values. A key and its value count their bytes and kValueRowBytes.
  std::uint64_t tenant_value_bytes_max = std::uint64_t{64} << 20;
  std::uint64_t tenant_value_count_max = 65'536;
};

struct SaveOptions {
  bool overwrite = false;
  std::optional<std::uint64_t> tenant_bytes_max = std::nullopt;
  TicketId ticket = kNoTicket;  // Of begin_save(); ends with success.
};

struct StoreCounts {
  std::uint64_t stored_page_count = 0;  // In slots.
  std::uint64_t cached_page_count = 0;
  std::uint64_t pending_page_count = 0;
  std::uint64_t ticket_count = 0;
};

}  // namespace quire::store
