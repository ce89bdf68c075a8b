#include "inference/memory/page_tables.h"

#include <algorithm>

#include "base/check.h"

namespace quire::inference {

PageTables::PageTables(PageTablesOptions options) : options_(options) {
  QUIRE_CHECK(options.page_size >= 1 && options.page_size <= kPageSizeMax, "page size");
  tables_.reserve(std::min<std::size_t>(options.sequence_count, 4096));
}

void PageTables::check_entry(const TableEntry& entry) const {
  if (entry.page == kNoPage) {
    QUIRE_CHECK(entry.visible == 0, "PT3: a hole has no visible slot");
    return;
  }
  QUIRE_CHECK(static_cast<std::uint32_t>(entry.page) < options_.page_count, "PT2");
  const std::uint64_t slots = (std::uint64_t{1} << options_.page_size) - 1;
  QUIRE_CHECK((entry.visible & ~slots) == 0, "PT3: visible slots lie in the page");
}

void PageTables::apply(const TableChange& change) {
  if (change.release) {
    QUIRE_CHECK(tables_.erase(change.sequence) == 1, "only a sequence that exists is released");
    return;
  }
  const std::uint64_t end = std::uint64_t{change.entry_first} + change.entries.size();
  QUIRE_CHECK(end <= change.entry_count, "a table change ends inside its table");
  std::vector<TableEntry>& table = tables_[change.sequence];
  QUIRE_CHECK(tables_.size() <= options_.sequence_count, "PT1");
  QUIRE_CHECK(change.entry_first <= table.size() || change.entries.empty(),
              "a table change leaves no gap");
  QUIRE_CHECK(change.entry_count <= table.size() || end == change.entry_count,
              "a table grows by entries that are given");
  table.resize(change.entry_count);
  for (std::size_t i = 0; i < change.entries.size(); ++i) {
    check_entry(change.entries[i]);
    table[change.entry_first + i] = change.entries[i];
  }
}

std::span<const TableEntry> PageTables::entries(SequenceId sequence) const {
  const auto found = tables_.find(sequence);
  QUIRE_CHECK(found != tables_.end(), "the sequence exists");
  return found->second;
}

void PageTables::verify() const {
  QUIRE_CHECK(tables_.size() <= options_.sequence_count, "PT1");
  for (const auto& [sequence, table] : tables_) {
    for (const TableEntry& entry : table) check_entry(entry);
  }
}

}  // namespace quire::inference
