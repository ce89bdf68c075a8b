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
  order_.splice(order_.begin(), order_, found->second.order);
  return found->second.grammar;
}

void GrammarCache::insert(const Digest& key, std::shared_ptr<const inference::Grammar> grammar) {
  const std::uint64_t bytes = grammar->memory_bytes();
  if (bytes > kBytesMax || entries_.contains(key)) return;
  while (!entries_.empty() && (bytes_ + bytes > kBytesMax || entries_.size() == kCountMax)) {
    drop_oldest();
  }
  order_.push_front(key);
  entries_.emplace(key, Entry{std::move(grammar), bytes, order_.begin()});
  bytes_ += bytes;
}

void GrammarCache::drop_oldest() {
  const auto oldest = entries_.find(order_.back());
  bytes_ -= oldest->second.bytes;
  entries_.erase(oldest);
  order_.pop_back();
}

}  // namespace quire::control
