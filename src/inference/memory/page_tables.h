#pragma once
// PageTables keeps one list of table entries for each sequence, as TableChanges say.
//
// Owns     the entries. An entry only names its page: the control layer owns pages, and KvPool owns
//          their bytes.
// Thread   device thread only. Nothing here locks.
// Errors   none: a change that breaks a limit is a bug of the engine and stops the process.
//
// Invariants, all checked by verify():
//   PT1  At most sequence_count sequences exist.
//   PT2  Every entry names a page below page_count, or none.
//   PT3  An entry without a page has no visible slot, and no entry has one beyond page_size.
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "inference/api/batch.h"

namespace quire::inference {

struct PageTablesOptions {
  std::uint32_t sequence_count = 0;
  std::uint32_t page_count = 0;
  std::uint32_t page_size = 16;
};

class PageTables {
 public:
  explicit PageTables(PageTablesOptions options);

  void apply(const TableChange& change);
  bool exists(SequenceId sequence) const { return tables_.contains(sequence); }
  // Requires: exists(sequence). Valid until the next change to that sequence.
  std::span<const TableEntry> entries(SequenceId sequence) const;
  std::uint32_t page_size() const { return options_.page_size; }
  std::size_t sequence_count() const { return tables_.size(); }
  void verify() const;

 private:
  void check_entry(const TableEntry& entry) const;

  PageTablesOptions options_;
  std::unordered_map<SequenceId, std::vector<TableEntry>> tables_;
};

}  // namespace quire::inference
