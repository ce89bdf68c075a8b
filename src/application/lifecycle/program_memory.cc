#include "application/lifecycle/program_memory.h"

#include <algorithm>

#include "base/check.h"
#include "base/readable.h"

namespace quire::lifecycle {
namespace {

using control::InstanceId;
using control::TenantId;

// The part of `bytes` for `weight` of `weights`, without overflow.
std::uint64_t part_of(std::uint64_t bytes, std::uint64_t weight, std::uint64_t weights) {
  return bytes / weights * weight + bytes % weights * weight / weights;
}

std::string tenant_text(TenantId tenant) {
  return "tenant " + std::to_string(static_cast<std::uint32_t>(tenant));
}

}  // namespace

void ProgramMemory::set_weight(TenantId tenant, std::uint32_t weight) {
  QUIRE_CHECK(weight > 0, "a tenant without a share");
  tenants_[tenant].weight = weight;
}

std::uint64_t ProgramMemory::bytes_of(TenantId tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : found->second.bytes;
}

std::uint64_t ProgramMemory::bytes_of(InstanceId id) const {
  const auto found = charges_.find(id);
  return found == charges_.end() ? 0 : found->second.bytes;
}

std::uint64_t ProgramMemory::share_of(TenantId tenant) const {
  if (!are_several_) return bytes_max_;
  const auto found = tenants_.find(tenant);
  const std::uint64_t weight = found == tenants_.end() ? 1 : found->second.weight;
  std::uint64_t weights = weight;
  for (const auto& [id, each] : tenants_) {
    if (id != tenant && each.bytes > 0) weights += each.weight;
  }
  const std::uint64_t others = bytes_ - bytes_of(tenant);
  const std::uint64_t half_left = (bytes_max_ - std::min(bytes_max_, others)) / 2;
  return std::max(half_left, std::min(bytes_max_ / 2, part_of(bytes_max_, weight, weights)));
}

bool ProgramMemory::has_room(TenantId tenant, std::uint64_t first_bytes) const {
  if (bytes_max_ == kUnlimited) return true;
  const std::uint64_t has = bytes_of(tenant);
  const std::uint64_t share = share_of(tenant);
  return has <= share && first_bytes <= share - has;
}

std::string ProgramMemory::why_full(TenantId tenant, std::uint64_t first_bytes) const {
  const std::string has = readable_bytes(bytes_of(tenant));
  const std::string more = "; another one begins with " + readable_bytes(first_bytes);
  if (are_several_) {
    return tenant_text(tenant) +
           ": program_memory_bytes_max: its share is full: its programs have " + has + more;
  }
  return "program_memory_bytes_max: the programs have " + has + " of " +
         readable_bytes(bytes_max_) + more;
}

void ProgramMemory::set(Charge& charge, std::uint64_t bytes) {
  Tenant& tenant = tenants_[charge.tenant];
  tenant.bytes += bytes - charge.bytes;
  bytes_ += bytes - charge.bytes;
  charge.bytes = bytes;
}

void ProgramMemory::charge(TenantId tenant, InstanceId id, std::uint64_t bytes) {
  const auto before = charges_.find(id);
  const bool is_new = before == charges_.end();
  if (is_new ? bytes == 0 : bytes == before->second.bytes) return;  // As after most runs.
  Charge& charge = is_new ? charges_[id] : before->second;
  charge.tenant = tenant;
  set(charge, bytes);
  if (!charge.lives || (!is_new && bytes <= charge.bytes_most)) return;
  auto& by_growth = tenants_[tenant].by_growth;
  if (!is_new) by_growth.erase(charge.growth);
  charge.bytes_most = bytes;
  charge.growth = next_growth_++;
  by_growth.emplace(charge.growth, id);
}

void ProgramMemory::end(InstanceId id) {
  const auto found = charges_.find(id);
  if (found == charges_.end() || !found->second.lives) return;
  found->second.lives = false;
  tenants_.at(found->second.tenant).by_growth.erase(found->second.growth);
}

void ProgramMemory::leave(InstanceId id) {
  end(id);
  const auto found = charges_.find(id);
  if (found == charges_.end()) return;
  set(found->second, 0);
  charges_.erase(found);
}

std::optional<ProgramMemory::Loser> ProgramMemory::loser() const {
  if (!is_over()) return std::nullopt;
  const auto for_weight = [](const Tenant& tenant) {
    return static_cast<double>(tenant.bytes) / tenant.weight;
  };
  const std::pair<const TenantId, Tenant>* most = nullptr;
  for (const auto& each : tenants_) {
    if (each.second.by_growth.empty()) continue;
    if (most == nullptr || for_weight(each.second) > for_weight(most->second)) most = &each;
  }
  if (most == nullptr) return std::nullopt;
  const InstanceId id = most->second.by_growth.rbegin()->second;
  std::string why = "program_memory_bytes_max: the programs of this server have more than its " +
                    readable_bytes(bytes_max_) + " for them; ";
  why += are_several_ ? "those of " + tenant_text(most->first) + " have most for its weight, "
                      : std::string("together they have ");
  why += readable_bytes(most->second.bytes) + ", and this one, with " +
         readable_bytes(bytes_of(id)) + ", grew last (--limit program_memory_bytes_max)";
  return Loser{id, std::move(why)};
}

void ProgramMemory::verify() const {
  std::map<TenantId, std::uint64_t> sums;
  std::size_t living = 0;
  std::uint64_t total = 0;
  for (const auto& [id, charge] : charges_) {
    sums[charge.tenant] += charge.bytes;
    total += charge.bytes;
    if (!charge.lives) continue;
    ++living;
    const auto& by_growth = tenants_.at(charge.tenant).by_growth;
    const auto found = by_growth.find(charge.growth);
    QUIRE_CHECK(found != by_growth.end() && found->second == id, "PM2");
  }
  QUIRE_CHECK(total == bytes_, "PM1");
  for (const auto& [id, tenant] : tenants_) {
    QUIRE_CHECK(tenant.bytes == sums[id], "PM1");
    QUIRE_CHECK(tenant.by_growth.size() <= living, "PM2");
    living -= tenant.by_growth.size();
  }
  QUIRE_CHECK(living == 0, "PM2");
}

}  // namespace quire::lifecycle
