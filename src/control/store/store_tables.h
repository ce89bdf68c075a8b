#pragma once
// The tables of a SnapshotStore: its page spaces, and the saves and takes that are under way.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/store/cached_pages.h"
#include "control/store/page_file.h"
#include "control/store/records.h"
#include "control/store/slot_map.h"
#include "control/store/store_index.h"

namespace quire::store {

// A page space, its file, and what lies in which slot of it.
struct Space {
  std::int64_t id = kNoRow;  // kNoRow until a save has put it into the index.
  PageSpace space;
  Digest digest{};
  std::optional<PageFile> file;
  SlotMap slots;
  std::uint64_t stored_count = 0;
  std::set<PageName> damaged;
  std::set<std::uint64_t> blank;  // Free slots that say so on disk.
};

// The pages that a save or an open keeps, and those that the save has brought.
struct Ticket {
  Digest space{};
  std::vector<PageName> pinned;
  std::map<PageName, PlacedPage> pending;
  std::map<PageName, PageRecord> links;  // Pending pages without bytes.
};

// A snapshot that is being taken. Numbers of rows come again, checksums do not.
struct Claim {
  TicketId ticket = kNoTicket;
  std::string tenant;
  std::string name;
  std::vector<std::byte> checksum;
};

// A page of a save, from the first to the last of the tail.
struct PlannedPage {
  PageName name{};
  PageName parent{};
  std::optional<PageRow> row = std::nullopt;        // As the index has it.
  bool brings_bytes = false;                        // The index is to get a slot for it.
  std::optional<PlacedPage> placed = std::nullopt;  // Pending or cached.
  bool is_cached = false;
  const PageRecord* given = nullptr;                 // Bytes or link.
  std::optional<StoredPage> tail = std::nullopt;     // As it is to be written.
  std::optional<std::uint64_t> slot = std::nullopt;  // Written by this save.
};

// A ticket for states, and their space.
struct StateTicket {
  Ticket& ticket;
  Space& states;
};

// A state that a save has brought.
struct PlannedState {
  PageName name{};
  std::int64_t page = kNoRow;
  std::optional<PageRow> row = std::nullopt;  // As the index has it: it was damaged.
  std::uint64_t slot = 0;
};

using GivenPages = std::map<PageName, const PageRecord*>;

}  // namespace quire::store
