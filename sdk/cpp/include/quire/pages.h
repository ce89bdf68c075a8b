#pragma once
// Pages that are copied slot by slot, or shared under a name: the rest of interface/allocate.wit.
//
// Errors   as interface/allocate.wit says, by the future. Handles of an import that failed stand
//          for no page and go when the list goes.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/forward.h"
#include "quire/future.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

// The page of a handle that was given, not allocated.
struct PageUse {
  std::uint32_t index = 0;    // In the export; of a context: its first logical slot / page size.
  std::uint32_t written = 0;  // Bit i: slot i holds keys and values.
};
struct SharedPages {
  KvPages pages;  // Read-only; given back when they go.
  std::vector<PageUse> uses;
};

struct ExportInfo {
  std::string name;
  std::uint32_t page_count = 0;
  std::uint32_t token_count = 0;  // Slots written.
  bool is_public = false;
  bool is_own = false;  // Of this program's tenant.
};

template <>
struct FutureValue<std::vector<PageUse>> {
  static Result<std::vector<PageUse>> decode(std::span<const std::byte> bytes) {
    static_assert(sizeof(PageUse) == 8);
    std::vector<PageUse> out(bytes.size() / sizeof(PageUse));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(PageUse));
    return out;
  }
};

template <>
struct FutureValue<std::vector<ExportInfo>> {
  static Result<std::vector<ExportInfo>> decode(std::span<const std::byte> bytes) {
    const auto cut = [] { return Error{ErrorCode::Internal, "a list of exports is cut short"}; };
    constexpr std::size_t kHeadBytes = 8;
    std::uint32_t count = 0;
    if (bytes.size() < kHeadBytes) return cut();
    std::memcpy(&count, bytes.data(), sizeof count);
    std::vector<ExportInfo> out;
    std::size_t at = kHeadBytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t record[4];  // Pages, slots, flags, bytes of the name.
      if (bytes.size() - at < sizeof record) return cut();
      std::memcpy(record, bytes.data() + at, sizeof record);
      at += sizeof record;
      if (bytes.size() - at < record[3]) return cut();
      const auto* name = reinterpret_cast<const char*>(bytes.data()) + at;
      out.push_back({.name = std::string(name, record[3]),
                     .page_count = record[0],
                     .token_count = record[1],
                     .is_public = (record[2] & 1) != 0,
                     .is_own = (record[2] & 2) != 0});
      at += record[3];
    }
    return out;
  }
};

struct SlotCopy {
  std::uint32_t source_slot = 0;
  std::uint32_t target_slot = 0;
  std::uint32_t count = 0;
};
// Copies slots of a page to those of a working page, which may be the same; they keep their
// positions.
inline Future<void> copy_kvpage(const Queue& queue, std::int32_t source, std::int32_t target,
                                const SlotCopy& copy) {
  return Future<void>(abi::allocate::copy_kvpage(queue.handle(), source, target, copy.source_slot,
                                                 copy.target_slot, copy.count));
}

enum class ExportTo : std::uint32_t { Tenant, Everyone };  // Everyone: needs the grant.

// Leaves pages under a name, past the end of this program. Full ones are read-only from then on; of
// one that is not full, a copy is exported.
inline Future<void> export_kvpage(const Queue& queue, std::span<const std::int32_t> pages,
                                  std::string_view name, ExportTo to = ExportTo::Tenant) {
  return Future<void>(abi::allocate::export_kvpage(
      queue.handle(), pages.data(), detail::count_of(pages.size()), detail::bytes_of(name),
      detail::count_of(name.size()), static_cast<std::uint32_t>(to)));
}
inline Future<void> unexport_kvpage(std::string_view name) {
  return Future<void>(
      abi::allocate::unexport_kvpage(detail::bytes_of(name), detail::count_of(name.size())));
}
// The exports of this tenant, then the public ones of other tenants.
inline Future<std::vector<ExportInfo>> list_exports() {
  return Future<std::vector<ExportInfo>>(abi::allocate::list_exports());
}

namespace detail {

// `handles` are live unless the call that gave them failed at once.
inline Task<SharedPages> shared_pages(Queue queue, std::vector<std::int32_t> handles,
                                      std::int32_t returned) {
  Future<std::vector<PageUse>> use(returned);
  SharedPages out;
  if (returned >= 0) out.pages = KvPages::adopt(std::move(queue), std::move(handles));
  out.uses = co_await std::move(use);
  co_return out;
}

}  // namespace detail

// The first `count` pages of an export.
inline Task<SharedPages> import_kvpage(Queue queue, std::string name, std::uint32_t count) {
  std::vector<std::int32_t> handles(count);
  const std::int32_t returned = abi::allocate::import_kvpage(
      queue.handle(), detail::bytes_of(name), detail::count_of(name.size()), count, handles.data());
  co_return co_await detail::shared_pages(std::move(queue), std::move(handles), returned);
}
// All of them.
inline Task<SharedPages> import_kvpage(Queue queue, std::string name) {
  const std::vector<ExportInfo> exports = co_await list_exports();
  for (const ExportInfo& each : exports) {  // The tenant's own come first.
    if (each.name == name) co_return co_await import_kvpage(queue, name, each.page_count);
  }
  co_await fail(ErrorCode::NotFound, "no export \"" + name + "\"");
}

}  // namespace quire
