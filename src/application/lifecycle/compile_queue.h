#pragma once
// CompileQueue has the programs that wait for the compiler, and chooses the next: the tenants take
// turns, and each tenant's programs go in the order in which they came. So the single program of a
// tenant does not wait for all of another tenant's many. A tenant has at most its share of the
// count and of the bytes (control/api/tenant_shares.h), those of the programs that are being
// compiled included.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit and what the tenant has.
//
// Invariant, checked by verify():
//   CQ1  What the shares count are the programs that wait and those that are being compiled.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "application/lifecycle/launch.h"
#include "base/result.h"
#include "control/api/tenant_shares.h"

namespace quire::lifecycle {

class CompileQueue {
 public:
  struct Job {
    ProgramId id{};
    std::vector<std::byte> wasm;
  };

  CompileQueue(std::size_t count_max, std::uint64_t bytes_max)
      : counts_(count_max), bytes_(bytes_max) {
    set_several(false);
  }

  // Whether the server knows more than one tenant; else the one may have all.
  void set_several(bool are_several) {
    counts_.set_several(are_several);
    bytes_.set_several(are_several);
  }
  // Whether the tenant may have another one.
  Result<void> check(control::TenantId tenant, std::uint64_t wasm_bytes) const;
  // Requires: check().
  void push(control::TenantId tenant, Job job);
  // The next one, which is being compiled from here on.
  std::optional<Job> pop();
  // One that was popped is compiled, or could not be.
  void done(ProgramId id);

  // Programs that wait, and those that are being compiled.
  std::size_t count() const { return owners_.size(); }
  void verify() const;

 private:
  struct Owner {
    control::TenantId tenant{};
    std::uint64_t bytes = 0;
  };

  control::TenantShares counts_;
  control::TenantShares bytes_;
  std::map<control::TenantId, std::deque<Job>> lines_;  // No line is empty.
  std::optional<control::TenantId> last_;               // Whose turn was the last.
  std::unordered_map<ProgramId, Owner> owners_;
};

}  // namespace quire::lifecycle
