#include "control/controller/grammar_cache.h"

#include <span>
#include <utility>

namespace quire::control {

Digest GrammarCache::key_of(TenantId tenant, const CompileGrammar& source) {
  const std::uint32_t head[3] = {static_cast<std::uint32_t>(tenant),
                                 static_cast<std::uint32_t>(source.model),
                                 static_cast<std::uint32_t>(source.kind)};
  Sha256 hash;
  hash.add(std::as_bytes(std::span(head)));
  hash.add(std::as_bytes(std::span(source.source)));
  return hash.finish();
}

std::shared_ptr<const inference::Grammar> GrammarCache::find(const Digest& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  std::list<Digest>& order = held_.at(found->second.tenant).order;
  order.splice(order.begin(), order, found->second.order);
  return found->second.grammar;
}

void GrammarCache::insert(TenantId tenant, const Digest& key,
                          std::shared_ptr<const inference::Grammar> grammar) {
  const std::uint64_t bytes = grammar->memory_bytes();
  if (bytes > kBytesMax || entries_.contains(key)) return;
  while (bytes_ + bytes > kBytesMax || entries_.size() == kCountMax) {
    const TenantId most = who_has_most(tenant, bytes);
    // The new one alone is more than any other tenant has, so it would only come in their place.
    if (!held_.contains(most)) return;
    drop_oldest_of(most);
  }
  Held& held = held_[tenant];
  held.order.push_front(key);
  held.bytes += bytes;
  entries_.emplace(key, Entry{std::move(grammar), tenant, bytes, held.order.begin()});
  bytes_ += bytes;
}

TenantId GrammarCache::who_has_most(TenantId tenant, std::uint64_t bytes) const {
  const bool is_by_bytes = bytes_ + bytes > kBytesMax;
  const auto own = held_.find(tenant);
  const auto has = [&](const Held& held) {
    return is_by_bytes ? held.bytes : std::uint64_t{held.order.size()};
  };
  TenantId most = tenant;
  std::uint64_t most_has = (own == held_.end() ? 0 : has(own->second)) + (is_by_bytes ? bytes : 1);
  for (const auto& [each, held] : held_) {
    if (each == tenant || has(held) <= most_has) continue;
    most = each;
    most_has = has(held);
  }
  return most;
}

void GrammarCache::drop_oldest_of(TenantId tenant) {
  const auto held = held_.find(tenant);
  const auto oldest = entries_.find(held->second.order.back());
  bytes_ -= oldest->second.bytes;
  held->second.bytes -= oldest->second.bytes;
  entries_.erase(oldest);
  held->second.order.pop_back();
  if (held->second.order.empty()) held_.erase(held);
}

}  // namespace quire::control
