// States of recurrent layers: rows of a space of their own, each under its page.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "control/store/page_space.h"
#include "control/store/snapshot_store.h"

namespace quire::store {

Result<StateTicket> SnapshotStore::ticket_of_states(TicketId id) {
  const auto found = tickets_.find(id);
  Space* space = found == tickets_.end() ? nullptr : find_space(found->second.space);
  if (space == nullptr || !space->space.is_of_states) {
    return Error(ErrorCode::NotFound, "this ticket for states has ended, or is of pages");
  }
  return StateTicket{found->second, *space};
}

Result<void> SnapshotStore::add_state(TicketId id, const PageRecord& page,
                                      std::span<const std::byte> state) {
  TRY(ready());
  const auto [ticket, states] = TRY(ticket_of_states(id));
  const StoredPage stored = committed(page);
  TRY(check_page(stored, state, states.space));
  if (state.empty()) return Error(ErrorCode::InvalidArgument, "a state without bytes");
  std::map<PageName, PlacedPage>& pending = ticket.pending;
  if (pending.contains(page.name)) return {};
  pending[page.name] = {TRY(write_page(states, stored, state)), page.parent};
  return {};
}

Result<std::vector<PlannedState>> SnapshotStore::plan_states(const Ticket& ticket, Space& states,
                                                             const PageSpace& page_space) {
  std::vector<PlannedState> plan;
  const Space* pages = find_space(space_digest(page_space));
  if (pages == nullptr || pages->id == kNoRow) return plan;
  for (const auto& [name, placed] : ticket.pending) {
    const std::optional<PageRow> page = TRY(index_->find_page(pages->id, name));
    if (!page.has_value()) continue;
    PlannedState planned{.name = name, .page = page->id, .slot = placed.slot};
    if (states.id != kNoRow) planned.row = TRY(index_->find_page(states.id, name));
    if (!is_durable(states, planned.row)) plan.push_back(std::move(planned));
  }
  return plan;
}

Result<void> SnapshotStore::commit_states(Space& states, const std::vector<PlannedState>& plan) {
  TRY(index_->begin());
  std::int64_t space_id = states.id;
  if (space_id == kNoRow) space_id = TRY(index_->insert_space(states.space, states.digest));
  const std::uint64_t bytes = slot_bytes_of(states.space);
  for (const PlannedState& planned : plan) {
    if (planned.row.has_value()) {
      TRY(index_->move_page(planned.row->id, planned.slot, bytes));
      continue;
    }
    TRY(index_->insert_page({.id = kNoRow,
                             .space = space_id,
                             .name = planned.name,
                             .parent = planned.page,
                             .slot = planned.slot,
                             .link = {},
                             .bytes = bytes}));
  }
  TRY(index_->commit());
  states.id = space_id;
  return {};
}

Result<std::uint32_t> SnapshotStore::keep_states(TicketId id, const PageSpace& pages,
                                                 const std::string& tenant,
                                                 std::optional<std::uint64_t> tenant_bytes_max) {
  TRY(ready());
  const auto [ticket, states] = TRY(ticket_of_states(id));
  std::vector<PlannedState> plan = TRY(plan_states(ticket, states, pages));
  const std::uint64_t used = TRY(bytes_used(tenant, kNoRow));
  const std::uint64_t bytes_max =
      std::min(tenant_bytes_max.value_or(options_.tenant_bytes_max), snapshot_share(tenant, used));
  const std::uint64_t left = bytes_max - std::min(bytes_max, used);
  const std::uint64_t room = left / slot_bytes_of(states.space);
  if (plan.size() > room) {
    // In one context a later state is worth more.
    std::ranges::sort(plan, std::ranges::greater(), &PlannedState::page);
    plan.resize(room);
  }
  if (!plan.empty()) {
    TRY(sync_pages(states));
    Result<void> kept = commit_states(states, plan);
    if (!kept.ok()) {
      index_->roll_back();
      return std::move(kept).take_error();
    }
  }
  for (const PlannedState& planned : plan) {
    ticket.pending.erase(planned.name);
    ++states.stored_count;
    if (planned.row.has_value()) {
      give_back(states, *planned.row->slot);
      --states.stored_count;
    }
    states.damaged.erase(planned.name);
  }
  release(id);
  note_figures();
  return static_cast<std::uint32_t>(plan.size());
}

bool SnapshotStore::is_of_states(const PageRow& row) {
  const Space* space = find_space(row.space);
  return space != nullptr && space->space.is_of_states;
}

Result<std::uint64_t> SnapshotStore::bytes_used(const std::string& tenant, std::int64_t except) {
  std::uint64_t bytes = TRY(index_->bytes_of_tenant(tenant, except));
  std::optional<std::unordered_set<std::int64_t>> reached;
  for (const auto& [digest, space] : spaces_) {
    if (!space.space.is_of_states || space.id == kNoRow) continue;
    if (!reached.has_value()) reached = TRY(index_->pages_of_tenant(tenant, except));
    TRY(index_->each_page_of(space.id, [&](const PageRow& row) -> Result<void> {
      if (reached->contains(row.parent)) bytes += row.bytes;
      return {};
    }));
  }
  return bytes;
}

Result<void> SnapshotStore::find_states(std::span<const PageRow> pages, OpenedSnapshot& opened) {
  std::unordered_map<std::int64_t, std::uint32_t> index_of;
  for (const auto& [digest, space] : spaces_) {
    if (!space.space.is_of_states || space.id == kNoRow) continue;
    if (index_of.empty()) {
      for (std::uint32_t index = 0; index < pages.size(); ++index) {
        index_of.emplace(pages[index].id, index);
      }
    }
    TRY(index_->each_page_of(space.id, [&, &states = space](const PageRow& row) -> Result<void> {
      const auto page = index_of.find(row.parent);
      const bool is_sound = row.slot.has_value() && !states.damaged.contains(row.name);
      if (page != index_of.end() && is_sound) opened.stated_pages.push_back(page->second);
      return {};
    }));
  }
  std::ranges::sort(opened.stated_pages);
  return {};
}

}  // namespace quire::store
