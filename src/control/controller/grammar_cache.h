#pragma once
// GrammarCache keeps grammars that were compiled lately, by tenant and content, so that a program
// which runs again need not compile its schema again. No tenant finds what another compiled: the
// time would tell that it was.
//
// Owns     a share in each grammar; one that is let go lives on with its matchers.
// Thread   engine thread only.
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/sha256.h"
#include "control/api/command.h"
#include "inference/api/grammar.h"

namespace quire::control {

class GrammarCache {
 public:
  static constexpr std::uint64_t kBytesMax = 128u << 20;
  static constexpr std::size_t kCountMax = 256;

  static Digest key_of(TenantId tenant, const CompileGrammar& source);

  std::shared_ptr<const inference::Grammar> find(const Digest& key);
  // Those that were asked for longest ago make room.
  void insert(const Digest& key, std::shared_ptr<const inference::Grammar> grammar);
  std::uint64_t bytes() const { return bytes_; }
  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const inference::Grammar> grammar;
    std::uint64_t bytes = 0;
    std::list<Digest>::iterator order;
  };
  void drop_oldest();

  std::map<Digest, Entry> entries_;
  std::list<Digest> order_;  // The latest first.
  std::uint64_t bytes_ = 0;
};

}  // namespace quire::control
