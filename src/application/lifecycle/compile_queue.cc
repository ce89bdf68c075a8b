#include "application/lifecycle/compile_queue.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "control/api/tenant_turns.h"

namespace quire::lifecycle {

Result<void> CompileQueue::check(control::TenantId tenant, std::uint64_t wasm_bytes) const {
  const bool has_count = counts_.may_take(tenant, 1);
  if (has_count && bytes_.may_take(tenant, wasm_bytes)) return {};
  return Error(
      ErrorCode::QuotaExceeded,
      std::string(has_count ? "compiling_program_bytes_max: " : "compiling_program_count_max: ") +
          std::to_string(counts_.count_of(tenant)) + " programs of the tenant with " +
          std::to_string(bytes_.count_of(tenant)) +
          " bytes wait to be compiled, and its share has no room for one of " +
          std::to_string(wasm_bytes) + "; try again when they are");
}

void CompileQueue::push(control::TenantId tenant, Job job) {
  counts_.take(tenant, 1);
  bytes_.take(tenant, job.wasm.size());
  QUIRE_CHECK(owners_.emplace(job.id, Owner{tenant, job.wasm.size()}).second,
              "a program waits once");
  lines_[tenant].push_back(std::move(job));
}

std::optional<CompileQueue::Job> CompileQueue::pop() {
  if (lines_.empty()) return std::nullopt;
  const auto line = last_ ? control::next_tenant(lines_, *last_) : lines_.begin();
  last_ = line->first;
  Job job = std::move(line->second.front());
  line->second.pop_front();
  if (line->second.empty()) lines_.erase(line);
  return job;
}

void CompileQueue::done(ProgramId id) {
  const auto owner = owners_.find(id);
  QUIRE_CHECK(owner != owners_.end(), "it was being compiled");
  counts_.give(owner->second.tenant, 1);
  bytes_.give(owner->second.tenant, owner->second.bytes);
  owners_.erase(owner);
}

void CompileQueue::verify() const {
  std::map<control::TenantId, std::uint64_t> counts;
  std::map<control::TenantId, std::uint64_t> bytes;
  for (const auto& [id, owner] : owners_) {
    counts[owner.tenant] += 1;
    if (owner.bytes > 0) bytes[owner.tenant] += owner.bytes;
  }
  QUIRE_CHECK(counts == counts_.counts() && bytes == bytes_.counts(), "CQ1");
  for (const auto& [tenant, line] : lines_) {
    QUIRE_CHECK(!line.empty(), "CQ1");
    for (const Job& each : line) QUIRE_CHECK(owners_.at(each.id).tenant == tenant, "CQ1");
  }
}

}  // namespace quire::lifecycle
