#pragma once
// HandleTable gives an instance the numbers by which it names what it holds.
//
// A handle is 21 bits of slot and 10 bits of generation, never negative and never 0. A slot whose
// generations are used up retires, so an instance never gets the same handle twice. The number
// therefore serves as the ObjectId and the FutureId of the control layer as well.
//
// Owns     the mapping from handle to kind and payload. What a payload means is the caller's.
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; NotFound for a stale, foreign or forged handle or one of
//          another kind.
//
// Invariants, all checked by verify():
//   H1  The count of each kind is the number of slots in use of that kind.
//   H2  The free list holds every slot that is neither in use nor retired, once.
//   H3  A slot in use has a generation in [1, kGenerationMax].
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "application/sandbox/guest_memory.h"
#include "base/result.h"
#include "base/split_limit.h"

namespace quire::hostcalls {

using sandbox::GuestAddress;
using sandbox::GuestHandle;
using sandbox::GuestList;
using sandbox::GuestMemory;

// A handle as keys of tables have it.
inline std::uint32_t number(GuestHandle handle) {
  return static_cast<std::uint32_t>(handle);
}

enum class HandleKind : std::uint8_t {
  None,
  Future,
  Queue,
  Page,
  Embed,
  Context,
  ReservedContext,  // A fork's child that the guest does not have yet.
  Model,
  Generation,
  Exchange,  // Of HTTP.
  Subscription,
  Child,
  File,
  Rule,
  Grammar,
  ReservedGrammar,  // What a future of compile_grammar will give.
  Matcher,
};
inline constexpr std::size_t kHandleKindCount = 17;
const char* handle_kind_name(HandleKind kind);

class HandleTable {
 public:
  static constexpr std::uint32_t kSlotBits = 21;
  static constexpr std::uint32_t kSlotCountMax = 1u << kSlotBits;
  static constexpr std::uint32_t kGenerationMax = 1023;
  // Slots that only futures get. A call asks for room for its future first, then takes what the
  // future is of.
  static constexpr std::uint32_t kFutureSlots = 16;

  struct Entry {
    HandleKind kind = HandleKind::None;
    std::uint8_t model = 0;
    std::uint32_t payload = 0;
  };

  // At most so many of a kind at once; the default is none. What is held beyond it stays.
  void set_limit(HandleKind kind, SplitLimit count_max) { limits_[index(kind)] = count_max; }
  void set_limit(HandleKind kind, std::uint32_t count_max) { set_limit(kind, {.own = count_max}); }

  // Whether `count` more of the kind fit; names the limit when not.
  Result<void> check_room(HandleKind kind, std::uint32_t count) const;
  Result<GuestHandle> add(HandleKind kind, Entry entry);

  Result<Entry> find(GuestHandle handle, HandleKind kind) const;
  // Finds a handle of any kind; NotFound if this table has no such handle.
  Result<Entry> find_any(GuestHandle handle) const;
  void set_payload(GuestHandle handle, std::uint32_t payload);
  // The guest takes a handle that was reserved for the result of its future: it is a context, or a
  // grammar, from now on.
  void publish(GuestHandle handle);
  // The handle was found before.
  void remove(GuestHandle handle);

  std::uint32_t count(HandleKind kind) const { return counts_[index(kind)]; }
  // Slots in use and retired ones, of kSlotCountMax.
  std::size_t slot_count() const { return slots_.size() - free_.size(); }
  // Any one handle of the kind with this model; 0 where there is none.
  GuestHandle any_of(HandleKind kind, std::uint8_t model) const;

  void verify() const;

 private:
  struct Slot {
    std::uint32_t payload = 0;
    std::uint16_t generation = 0;  // Of the present or the last use.
    HandleKind kind = HandleKind::None;
    std::uint8_t model = 0;
  };
  static constexpr std::size_t index(HandleKind kind) { return static_cast<std::size_t>(kind); }
  const Slot* slot_of(GuestHandle handle) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::array<std::uint32_t, kHandleKindCount> counts_{};
  std::array<SplitLimit, kHandleKindCount> limits_{};
};

}  // namespace quire::hostcalls
