#pragma once
// Context::share and Context::open_shared: a computed context that other programs of the tenant go
// on with.
//
//   co_await context.share("system prompt");
//   Context mine = co_await Context::open_shared(model, "system prompt");
//
// An export (pages.h) has pages without their tokens, and a context needs both. So the tokens are
// kept in the tenant's store beside it, and one entry of the store names both. It is written last,
// so that they appear together. If two programs share under a name at once, only one succeeds.
// Turns of a conversation are not part of what is shared, only their tokens.
//
// Errors   already-exists: the tenant shares a context of that name; not-found; not-supported: the
//          server runs without a store, or the context holds tokens that this program never saw;
//          those of export_kvpage, import_kvpage and store.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/context.h"
#include "quire/pages.h"
#include "quire/runtime.h"
#include "quire/store.h"
#include "quire/task.h"

namespace quire {

namespace detail {

inline constexpr std::string_view kSharedPrefix = "quire.shared/";
inline constexpr std::size_t kSharedPartTokenCount = 16'384;  // Of one value of the store.

// The entry of the store for a shared context.
struct SharedEntry {
  std::uint64_t nonce = 0;  // Of the names of the export and of the parts.
  std::uint32_t token_count = 0;
  std::uint32_t page_count = 0;

  std::string export_name(std::string_view name) const {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = std::string(name) + "-";
    for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(nonce >> shift) & 15];
    return out;
  }
  std::string part_key(std::string_view name, std::size_t part) const {
    return std::string(kSharedPrefix) + export_name(name) + "/" + std::to_string(part);
  }
  std::size_t part_count() const {
    return (token_count + kSharedPartTokenCount - 1) / kSharedPartTokenCount;
  }
};
static_assert(sizeof(SharedEntry) == 16);

struct FoundEntry {
  SharedEntry entry = {};
  std::uint64_t version = 0;
};

inline Task<FoundEntry> find_shared(std::string name) {
  const Result<store::Value> value =
      co_await attempt(store::get(std::string(kSharedPrefix) + name));
  if (!value.ok() && value.error().code == ErrorCode::NotFound) {
    co_await fail(ErrorCode::NotFound, "no shared context \"" + name + "\"");
  }
  const store::Value found = co_await value;
  FoundEntry out{.version = found.version};
  if (found.bytes.size() != sizeof out.entry) {
    co_await fail(ErrorCode::Corrupted, "the entry of the shared context \"" + name + "\" has " +
                                            std::to_string(found.bytes.size()) + " bytes, not 16");
  }
  std::memcpy(&out.entry, found.bytes.data(), sizeof out.entry);
  co_return out;
}

// Takes back what share() made before its entry, and what unshare() leaves.
inline Task<> remove_shared_parts(std::string name, SharedEntry entry) {
  const Result<void> gone = co_await attempt(unexport_kvpage(entry.export_name(name)));
  for (std::size_t part = 0; part < entry.part_count(); ++part) {
    const Result<void> removed = co_await attempt(store::remove(entry.part_key(name, part)));
    if (!removed.ok() && removed.error().code != ErrorCode::NotFound) {
      co_await fail(removed.error());
    }
  }
  if (!gone.ok() && gone.error().code != ErrorCode::NotFound) co_await fail(gone.error());
}

// The state of the store in which share() may write its entry: nothing, or an entry whose pages the
// server has lost.
inline Task<store::Expected> expected_before_share(std::string name) {
  const Result<FoundEntry> found = co_await attempt(find_shared(name));
  if (!found.ok() && found.error().code == ErrorCode::NotFound) co_return store::Expected::none();
  const FoundEntry held = co_await found;
  const std::string export_name = held.entry.export_name(name);
  for (const ExportInfo& each : co_await list_exports()) {
    if (each.is_own && each.name == export_name) {
      co_await fail(ErrorCode::AlreadyExists, "there is a shared context \"" + name + "\"");
    }
  }
  co_return store::Expected::version(held.version);
}

inline Task<> put_shared(std::string name, SharedEntry entry, const SharedPages& pages,
                         std::vector<std::uint32_t> tokens, const Queue& queue,
                         store::Expected expected) {
  const auto* bytes = reinterpret_cast<const char*>(tokens.data());
  for (std::size_t part = 0; part < entry.part_count(); ++part) {
    const std::size_t first = part * kSharedPartTokenCount;
    const std::size_t count = std::min(kSharedPartTokenCount, tokens.size() - first);
    co_await store::put(
        entry.part_key(name, part),
        std::string_view(bytes + first * sizeof tokens[0], count * sizeof tokens[0]));
  }
  co_await export_kvpage(queue, pages.pages.handles(), entry.export_name(name));
  const std::string_view record(reinterpret_cast<const char*>(&entry), sizeof entry);
  co_await store::put(std::string(kSharedPrefix) + name, record, expected);
}

}  // namespace detail

inline Task<> Context::share(std::string name) {
  co_await flush();
  if (unknown_token_count_ > 0) {
    co_await fail(ErrorCode::NotSupported,
                  "this program never saw the first " + std::to_string(unknown_token_count_) +
                      " tokens of the context, which was opened from a snapshot");
  }
  const store::Expected expected = co_await detail::expected_before_share(name);
  const SharedPages pages = co_await this->pages();
  detail::SharedEntry entry{.token_count = token_count(), .page_count = pages.pages.count()};
  co_await runtime::random(std::as_writable_bytes(std::span(&entry.nonce, 1)));
  const Result<void> done =
      co_await attempt(detail::put_shared(name, entry, pages, tokens_, queue_, expected));
  if (done.ok()) co_return;
  // The error that is reported is the first one.
  const Result<void> undone = co_await attempt(detail::remove_shared_parts(name, entry));
  if (!undone.ok()) runtime::log(LogLevel::Warning, "share: " + undone.error().text());
  co_await fail(done.error());
}

inline Task<Context> Context::open_shared(Model model, std::string name) {
  const detail::SharedEntry entry = (co_await detail::find_shared(name)).entry;
  std::vector<std::uint32_t> tokens(entry.token_count);
  auto* bytes = reinterpret_cast<char*>(tokens.data());
  std::size_t at = 0;
  for (std::size_t part = 0; part < entry.part_count(); ++part) {
    const store::Value value = co_await store::get(entry.part_key(name, part));
    if (value.bytes.size() > tokens.size() * sizeof tokens[0] - at) {
      co_await fail(ErrorCode::Corrupted, "the tokens of \"" + name + "\" are too many");
    }
    std::memcpy(bytes + at, value.bytes.data(), value.bytes.size());
    at += value.bytes.size();
  }
  if (at != tokens.size() * sizeof tokens[0]) {
    co_await fail(ErrorCode::Corrupted, "the tokens of \"" + name + "\" are too few");
  }
  Queue queue = co_await Queue::create(model);
  const SharedPages pages =
      co_await import_kvpage(queue, entry.export_name(name), entry.page_count);
  co_return co_await from_pages(std::move(model), std::move(queue), pages.pages.handles(),
                                std::move(tokens));
}

inline Task<> Context::unshare(std::string name) {
  const detail::FoundEntry found = co_await detail::find_shared(name);
  co_await store::remove(std::string(detail::kSharedPrefix) + name,
                         store::Expected::version(found.version));
  co_await detail::remove_shared_parts(std::move(name), found.entry);
}

}  // namespace quire
