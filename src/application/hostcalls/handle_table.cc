#include "application/hostcalls/handle_table.h"

#include <string>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::hostcalls {

const char* handle_kind_name(HandleKind kind) {
  switch (kind) {
    case HandleKind::None:
      return "nothing";
    case HandleKind::Future:
      return "future";
    case HandleKind::Queue:
      return "queue";
    case HandleKind::Page:
      return "page";
    case HandleKind::Embed:
      return "embed";
    case HandleKind::Context:
      return "context";
    case HandleKind::ReservedContext:
      return "context being forked";
    case HandleKind::Model:
      return "model";
    case HandleKind::Generation:
      return "generation";
    case HandleKind::Exchange:
      return "exchange";
    case HandleKind::Subscription:
      return "subscription";
    case HandleKind::Child:
      return "child";
    case HandleKind::File:
      return "file";
    case HandleKind::Rule:
      return "rule";
    case HandleKind::Grammar:
      return "grammar";
    case HandleKind::ReservedGrammar:
      return "grammar being compiled";
    case HandleKind::Matcher:
      return "matcher";
  }
  return "unknown";
}

namespace {

Error not_found(GuestHandle handle, HandleKind wanted) {
  return Error(ErrorCode::NotFound, std::string("no ") + handle_kind_name(wanted) +
                                        " has the handle " +
                                        std::to_string(static_cast<std::int32_t>(handle)));
}

// Names of guest_limits.h and control::InstanceLimits.
const char* limit_name(HandleKind kind) {
  switch (kind) {
    case HandleKind::None:
      break;
    case HandleKind::Future:
      return "future_count_max";
    case HandleKind::Queue:
      return "queue_count_max";
    case HandleKind::Page:
      return "page_count_max";
    case HandleKind::Embed:
      return "embed_count_max";
    case HandleKind::Context:
    case HandleKind::ReservedContext:
      return "context_count_max";
    case HandleKind::Model:
      return "model_handle_count_max";
    case HandleKind::Generation:
      return "generation_count_max";
    case HandleKind::Exchange:
      return "http.exchange_count_max";
    case HandleKind::Subscription:
      return "subscription_count_max";
    case HandleKind::Child:
      return "child_handle_count_max";
    case HandleKind::File:
      return "file_count_max";
    case HandleKind::Rule:
      return "rule_count_max";
    case HandleKind::Grammar:
    case HandleKind::ReservedGrammar:
      return "grammar_count_max";
    case HandleKind::Matcher:
      return "matcher_count_max";
  }
  return "handle_count_max";
}

}  // namespace

Result<void> HandleTable::check_room(HandleKind kind, std::uint32_t count) const {
  const std::uint32_t held = counts_[index(kind)];
  const SplitLimit& limit = limits_[index(kind)];
  if (std::uint64_t{held} + count > limit.own) {  // More may be held: see set_limit().
    return Error(ErrorCode::QuotaExceeded, std::string(limit_name(kind)) + ": " +
                                               std::to_string(count) + " wanted, " +
                                               std::to_string(held) + " of " + limit.text("held"));
  }
  const std::size_t free_count = free_.size() + (kSlotCountMax - slots_.size());
  if (count + (kind == HandleKind::Future ? 0 : kFutureSlots) > free_count) {
    return Error(ErrorCode::QuotaExceeded,
                 "handle_count_max: all " + std::to_string(kSlotCountMax) + " slots are used up");
  }
  return {};
}

Result<GuestHandle> HandleTable::add(HandleKind kind, Entry entry) {
  TRY(check_room(kind, 1));
  std::uint32_t slot_index = 0;
  if (free_.empty()) {
    slot_index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot_index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[slot_index];
  QUIRE_CHECK(slot.kind == HandleKind::None && slot.generation < kGenerationMax, "H2");
  ++slot.generation;
  slot.kind = kind;
  slot.model = entry.model;
  slot.payload = entry.payload;
  ++counts_[index(kind)];
  return GuestHandle{static_cast<std::int32_t>((slot.generation << kSlotBits) | slot_index)};
}

const HandleTable::Slot* HandleTable::slot_of(GuestHandle handle) const {
  const auto number = static_cast<std::int32_t>(handle);
  if (number <= 0) return nullptr;
  const auto bits = static_cast<std::uint32_t>(number);
  const std::uint32_t slot_index = bits & (kSlotCountMax - 1);
  if (slot_index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[slot_index];
  if (slot.kind == HandleKind::None) return nullptr;
  const bool is_stale = slot.generation != bits >> kSlotBits;
  if (is_stale && !is_planted(Fault::GenerationNotChecked)) return nullptr;
  return &slot;
}

Result<HandleTable::Entry> HandleTable::find(GuestHandle handle, HandleKind kind) const {
  const Slot* slot = slot_of(handle);
  if (slot == nullptr || slot->kind != kind) return not_found(handle, kind);
  return Entry{slot->kind, slot->model, slot->payload};
}

Result<HandleTable::Entry> HandleTable::find_any(GuestHandle handle) const {
  const Slot* slot = slot_of(handle);
  if (slot == nullptr) {
    return Error(ErrorCode::NotFound,
                 "nothing has the handle " + std::to_string(static_cast<std::int32_t>(handle)));
  }
  return Entry{slot->kind, slot->model, slot->payload};
}

void HandleTable::set_payload(GuestHandle handle, std::uint32_t payload) {
  auto* slot = const_cast<Slot*>(slot_of(handle));
  QUIRE_CHECK(slot != nullptr, "the handle was found before");
  slot->payload = payload;
}

void HandleTable::publish(GuestHandle handle) {
  auto* slot = const_cast<Slot*>(slot_of(handle));
  QUIRE_CHECK(slot != nullptr, "the handle was reserved for a future");
  const bool is_grammar = slot->kind == HandleKind::ReservedGrammar;
  QUIRE_CHECK(is_grammar || slot->kind == HandleKind::ReservedContext, "reserved handles only");
  --counts_[index(slot->kind)];
  slot->kind = is_grammar ? HandleKind::Grammar : HandleKind::Context;
  ++counts_[index(slot->kind)];
}

void HandleTable::remove(GuestHandle handle) {
  auto* slot = const_cast<Slot*>(slot_of(handle));
  QUIRE_CHECK(slot != nullptr, "the handle was found before");
  --counts_[index(slot->kind)];
  slot->kind = HandleKind::None;
  if (slot->generation < kGenerationMax) {
    free_.push_back(static_cast<std::uint32_t>(slot - slots_.data()));
  }
}

GuestHandle HandleTable::any_of(HandleKind kind, std::uint8_t model) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.kind == kind && slot.model == model) {
      return GuestHandle{static_cast<std::int32_t>((std::uint32_t{slot.generation} << kSlotBits) |
                                                   static_cast<std::uint32_t>(i))};
    }
  }
  return GuestHandle{0};
}

void HandleTable::verify() const {
  std::array<std::uint32_t, kHandleKindCount> counts{};
  std::vector<bool> is_free(slots_.size(), false);
  for (const std::uint32_t slot_index : free_) {
    QUIRE_CHECK(slot_index < slots_.size() && !is_free[slot_index], "H2");
    is_free[slot_index] = true;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const bool in_use = slot.kind != HandleKind::None;
    const bool retired = !in_use && slot.generation == kGenerationMax;
    if (in_use) ++counts[index(slot.kind)];
    QUIRE_CHECK(is_free[i] == (!in_use && !retired), "H2");
    QUIRE_CHECK(!in_use || (slot.generation >= 1 && slot.generation <= kGenerationMax), "H3");
  }
  QUIRE_CHECK(counts == counts_, "H1");
}

}  // namespace quire::hostcalls
