#pragma once
// GrammarCache keeps grammars that were compiled lately, by tenant and content, so that a program
// which runs again need not compile its schema again. No tenant finds another's grammar, because
// the time would disclose that it was compiled.
//
// Owns     a share in each grammar; one that is let go lives on with its matchers.
// Thread   engine thread only.
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/server_limits.h"
#include "base/sha256.h"
#include "control/api/command.h"
#include "inference/api/grammar.h"

namespace quire::control {

class GrammarCache {
 public:
  static constexpr std::uint64_t kBytesMax = default_of<ServerLimit::KeptGrammarBytesMax>();
  static constexpr std::size_t kCountMax = default_of<ServerLimit::KeptGrammarCountMax>();

  static Digest key_of(TenantId tenant, const CompileGrammar& source);

  std::shared_ptr<const inference::Grammar> find(const Digest& key);
  // The tenant that has most makes room, the new grammar included: by count, or by bytes if these
  // are what is short. Of its grammars those go that were asked for longest ago.
  void insert(TenantId tenant, const Digest& key,
              std::shared_ptr<const inference::Grammar> grammar);
  std::uint64_t bytes() const { return bytes_; }
  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const inference::Grammar> grammar;
    TenantId tenant{};
    std::uint64_t bytes = 0;
    std::list<Digest>::iterator order;
  };
  struct Held {
    std::list<Digest> order;  // The latest first; not empty.
    std::uint64_t bytes = 0;
  };
  // The tenant that makes room for so many bytes of `tenant`.
  TenantId who_has_most(TenantId tenant, std::uint64_t bytes) const;
  void drop_oldest_of(TenantId tenant);

  std::map<Digest, Entry> entries_;
  std::map<TenantId, Held> held_;
  std::uint64_t bytes_ = 0;
};

}  // namespace quire::control
