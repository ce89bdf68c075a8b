#pragma once
// DrawTable holds what one instance draws tokens by: its rules and grammars, which are values, and
// which draw or generation uses each of its matchers. The matchers themselves are the control
// layer's, under the same handles.
//
// Owns     rules and grammars, and the record of each matcher.
// Thread   engine thread only.
// Errors   NotFound for a handle of another kind; Unavailable for a matcher that something uses.
//
// Invariants, all checked by verify():
//   DT1  Every handle of a rule, a grammar and a grammar being compiled has a record of its kind,
//        and no other has one.
//   DT2  A matcher has a record until it is dropped; one that is dropped while something uses it
//        keeps its record, without a handle, until that has ended.
//   DT3  grammar_bytes() is the sum over the grammars.
//   DT4  What uses a matcher is a future or a generation that lives.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "application/hostcalls/handle_table.h"
#include "base/result.h"
#include "control/api/command.h"

namespace quire::hostcalls {

class DrawTable {
 public:
  using SharedRule = std::shared_ptr<const DrawRule>;
  using SharedGrammar = std::shared_ptr<const inference::Grammar>;

  explicit DrawTable(HandleTable& handles) : handles_(handles) {}

  Result<GuestHandle> add_rule(std::uint8_t model, SharedRule rule);
  const SharedRule& rule(GuestHandle handle) const { return rules_.at(number(handle)); }

  // Room for one more grammar, where those that futures will bring count.
  Result<void> check_grammar_room() const;
  // The handle of a grammar that is being compiled. set_grammar() comes before the guest takes it.
  Result<GuestHandle> reserve_grammar(std::uint8_t model);
  void set_grammar(GuestHandle handle, SharedGrammar grammar, std::uint64_t bytes);
  const SharedGrammar& grammar(GuestHandle handle) const {
    return grammars_.at(number(handle)).grammar;
  }
  // Bytes of all grammars, also of those that the guest has not taken.
  std::uint64_t grammar_bytes() const { return grammar_bytes_; }
  // Forgets a rule or a grammar. A draw that uses it keeps it alive.
  void forget(GuestHandle handle);

  Result<GuestHandle> add_matcher(std::uint8_t model);
  // A matcher that nothing uses.
  Result<HandleTable::Entry> find_matcher(GuestHandle matcher) const;
  // `user` is a future or a generation. Requires that nothing uses any of them.
  void use(const std::vector<control::ObjectId>& matchers, GuestHandle user);
  // `user` has ended. Gives the matchers that were dropped meanwhile, which are to be dropped now.
  std::vector<GuestHandle> release(const std::vector<control::ObjectId>& matchers,
                                   GuestHandle user);
  // The guest gives the matcher back. True if it is to be dropped now, false if something uses it.
  bool drop_matcher(GuestHandle matcher);

  bool has_matcher() const { return !matchers_.empty(); }
  bool is_used(const std::vector<control::ObjectId>& matchers, GuestHandle user) const;

  void verify() const;

 private:
  struct Grammar {
    SharedGrammar grammar;
    std::uint64_t bytes = 0;
  };
  struct Matcher {
    GuestHandle user{};  // 0: none.
    bool is_dropped = false;
  };

  HandleTable& handles_;
  std::unordered_map<std::uint32_t, SharedRule> rules_;
  std::unordered_map<std::uint32_t, Grammar> grammars_;
  std::uint64_t grammar_bytes_ = 0;
  std::unordered_map<std::uint32_t, Matcher> matchers_;
};

}  // namespace quire::hostcalls
