#include "application/server/program_names.h"

#include <algorithm>

namespace quire::server {
namespace {

constexpr std::size_t kToldNameCountMax = 16;  // In the error about a name that no program has.
// More than the store keeps (ProgramLimits::count_max), so that looking for what it forgot is rare.
constexpr std::size_t kHeldProgramCountMax = 2048;

Error too_many_names(std::size_t count) {
  return Error(ErrorCode::QuotaExceeded,
               "program_name_count_max: " + std::to_string(count) +
                   " programs have names here; give another program one of them");
}

}  // namespace

Result<void> ProgramNames::name_by_operator(const std::string& name, lifecycle::ProgramId program,
                                            const Digest& digest) {
  note_operators(digest);
  const auto [at, is_new] = shared_.emplace(name, Named{digest, true});
  if (!is_new && at->second.digest != digest) {
    return Error(ErrorCode::AlreadyExists, "two programs are named \"" + name + "\"");
  }
  manager_.name_program(name, program);
  return {};
}

void ProgramNames::replace_by_operator(const std::string& name, lifecycle::ProgramId program,
                                       const Digest& digest) {
  note_operators(digest);
  shared_[name].digest = digest;
  manager_.name_program(name, program);
}

Result<void> ProgramNames::name_replaceable(const std::string& name, lifecycle::ProgramId program,
                                            const Digest& digest) {
  const auto found = shared_.find(name);
  if (found == shared_.end()) {
    const std::size_t count = shared_.size() + own_.size();
    if (count >= count_max_) return too_many_names(count);
    shared_.emplace(name, Named{digest, false});
  } else if (!found->second.stays) {
    found->second.digest = digest;
  } else if (found->second.digest != digest) {
    return Error(ErrorCode::AlreadyExists, "the operator of this server named another program \"" +
                                               name + "\"; choose another name");
  }
  manager_.name_program(name, program);
  return {};
}

Result<void> ProgramNames::name_by_client(const service::Principal& caller, const std::string& name,
                                          lifecycle::ProgramId program, const Digest& digest) {
  if (service::may(caller, service::Right::Operate)) {
    return name_replaceable(name, program, digest);
  }
  const auto found = shared_.find(name);
  if (found != shared_.end() && found->second.stays) {
    return name_replaceable(name, program, digest);  // It is that program, or an error.
  }
  return name_own(caller.tenant, name, program, digest);
}

Result<void> ProgramNames::name_own(control::TenantId tenant, const std::string& name,
                                    lifecycle::ProgramId program, const Digest& digest) {
  const auto found = own_.find({tenant, name});
  if (found != own_.end()) {
    found->second = digest;
  } else {
    const std::uint64_t count = own_counts_.count_of(tenant);
    // PROGRAMs of the command line may be more than all names that there may be.
    const std::uint64_t gone =
        std::min<std::uint64_t>(shared_.size(), count_max_ - own_counts_.count());
    if (count + 1 > own_counts_.share_of(tenant, gone)) return too_many_names(count);
    own_counts_.take(tenant, 1);
    own_.emplace(OwnName{tenant, name}, digest);
  }
  manager_.name_program(name, program, tenant);
  return {};
}

// One that was forgotten has another id now.
void ProgramNames::arrived(const service::Principal& caller, lifecycle::ProgramId program,
                           const Digest& digest) {
  if (holders_.size() >= kHeldProgramCountMax) forget_holders();
  holders_[digest].insert(caller.tenant);
  for (const auto& [name, named] : shared_) {
    if (named.digest == digest) manager_.name_program(name, program);
  }
  for (const auto& [name, named] : own_) {
    if (named == digest) manager_.name_program(name.second, program, name.first);
  }
}

void ProgramNames::forget_holders() {
  std::erase_if(holders_, [this](const auto& each) { return !manager_.find_program(each.first); });
}

bool ProgramNames::may_see(const service::Principal& caller, const Digest& digest) const {
  if (service::may(caller, service::Right::Operate)) return true;
  const auto held = holders_.find(digest);
  if (held != holders_.end() && held->second.contains(caller.tenant)) return true;
  return std::any_of(shared_.begin(), shared_.end(),
                     [&](const auto& each) { return each.second.digest == digest; });
}

void ProgramNames::add_names(std::vector<service::InstanceStatus>& instances) const {
  std::map<Digest, const std::string*> shared;
  for (const auto& [name, named] : shared_) shared.emplace(named.digest, &name);
  std::map<std::pair<control::TenantId, Digest>, const std::string*> own;
  for (const auto& [name, digest] : own_) own.emplace(std::pair(name.first, digest), &name.second);
  for (service::InstanceStatus& each : instances) {
    const control::TenantId tenant{static_cast<std::uint32_t>(each.tenant)};
    const auto named_own = own.find({tenant, each.program});
    const auto named = shared.find(each.program);
    if (named_own != own.end()) {
      each.program_name = *named_own->second;
    } else if (named != shared.end()) {
      each.program_name = *named->second;
    }
  }
}

Result<Digest> ProgramNames::digest_of(const service::Principal& caller,
                                       const service::ProgramName& program) const {
  if (program.digest) return *program.digest;
  const auto own = own_.find({caller.tenant, program.name});
  if (own != own_.end()) return own->second;
  const auto found = shared_.find(program.name);
  if (found != shared_.end()) return found->second.digest;
  const std::string known = names_for(caller);
  return Error(ErrorCode::NotFound,
               "no program is named \"" + program.name + "\" here" +
                   (known.empty() ? "; none has a name: upload it" : "; there are: " + known));
}

std::map<std::string, Digest> ProgramNames::seen_by(const service::Principal& caller) const {
  std::map<std::string, Digest> seen;
  for (const auto& [name, named] : shared_) seen.emplace(name, named.digest);
  for (auto at = own_.lower_bound({caller.tenant, ""});
       at != own_.end() && at->first.first == caller.tenant; ++at) {
    seen.insert_or_assign(at->first.second, at->second);
  }
  return seen;
}

std::string ProgramNames::names_for(const service::Principal& caller) const {
  const std::map<std::string, Digest> names = seen_by(caller);
  std::string known;
  std::size_t told_count = 0;
  for (const auto& [name, digest] : names) {
    if (++told_count > kToldNameCountMax) {
      known += ", and " + std::to_string(names.size() - kToldNameCountMax) + " more";
      break;
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return known;
}

}  // namespace quire::server
