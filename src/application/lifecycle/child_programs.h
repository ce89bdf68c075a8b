#pragma once
// ChildPrograms: instances that other instances launched. To a child its parent is the client; when
// a parent ends, so do its children; and what they may use comes out of its budget (budget.h).
//
// Owns     who is whose child, and what was lent. Instances belong to the manager.
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; NotFound for a program that the server does not have.
//
// Invariants, all checked by verify():
//   CP1  Every child that lives is of a parent that lives.
//   CP2  What a parent has lent is the sum of what its children were lent or drew: a child that has
//        ended keeps its own place until the parent has heard all that it said.
//   CP3  A parent lists the children that live and draw on its budget, and each of them is charged
//        for the memory, calls, exchanges and places that it and its own children have.
//   CP4  What an instance and its children have of an amount is no more than its limit.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "application/hostcalls/launcher.h"
#include "application/lifecycle/budget.h"
#include "application/lifecycle/instance_record.h"
#include "application/lifecycle/launch.h"
#include "base/clock.h"
#include "control/api/control_port.h"

namespace quire::lifecycle {

// ChildHost is the part of the manager that ChildPrograms needs.
class ChildHost {
 public:
  virtual ~ChildHost() = default;
  virtual InstanceRecord* find(InstanceId id) = 0;
  virtual Result<ProgramId> find_program(const std::string& name, control::TenantId tenant) = 0;
  virtual Result<InstanceId> launch_child(LaunchRequest request, Listener& client) = 0;
  virtual void kill(InstanceRecord& record, std::string reason) = 0;
  virtual void wake_if_over(InstanceRecord& record) = 0;
  virtual void client_ready(InstanceRecord& record) = 0;
  // The first memory of the module; 0: it still compiles. Or why it did not.
  virtual Result<std::uint64_t> first_memory_bytes(ProgramId program) = 0;
  // An instance that draws on its parent's memory has so much of its tenant's from now on.
  virtual void reserve_memory(InstanceRecord& record, std::uint64_t bytes) = 0;
  virtual std::uint64_t tenant_memory_left(const InstanceRecord& record) = 0;
  // The limits of all instances of its tenant together.
  virtual std::vector<hostcalls::LimitUse> tenant_limits(const InstanceRecord& record) = 0;
};

class ChildPrograms final : public hostcalls::Launcher, public Listener {
 public:
  ChildPrograms(ChildHost& host, control::ControlPort& control, const Clock& clock)
      : host_(host), control_(control), clock_(clock) {}

  // Called by the host calls.
  Result<control::InstanceId> launch_child(control::InstanceId parent,
                                           hostcalls::ChildLaunch launch) override;
  void kill_child(control::InstanceId child, const std::string& reason) override;
  void drop_child(control::InstanceId child) override;
  Result<void> send_child(control::InstanceId child, std::string message) override;
  std::vector<hostcalls::LimitUse> limits(control::InstanceId instance) override;

  // Called for the children's output.
  bool heard(InstanceId child, const service::Said& said) override;

  // Called by the manager. An instance whose module is compiled is to start. QuotaExceeded: its
  // parent has no memory left for it.
  Result<void> starts(InstanceRecord& record, std::uint64_t first_memory_bytes);
  // A guest is to run, or its answers came: it gets what its family has left for it.
  void make_room(InstanceRecord& record);
  // A guest ran: its family is charged for what it took.
  void charge(InstanceRecord& record);
  // Why an instance that draws on its parent's memory got no more; empty: for its own limit.
  std::string why_no_memory(const InstanceRecord& record) const;
  // A guest ran for so long, which its ancestors are charged for too.
  // Returns the ancestor whose limit this exceeds, or null.
  const InstanceRecord* charge_cpu(InstanceRecord& record, std::uint64_t ns);
  // A child waits for the first time, or has ended before: so its siblings to come may run, too.
  void first_run_over(const InstanceRecord& record);
  // An instance ends: so do its children, and what it was lent goes back.
  void instance_ended(InstanceRecord& record);
  // After a guest ran: children that were refused for lack of room may try again.
  void unblock(InstanceRecord& parent);

  std::size_t count() const { return children_.size(); }
  // The parent that launched it; empty: a client did.
  std::optional<InstanceId> parent_of(InstanceId id) const;
  // The instance's use of the limits that the lifecycle and the control layer count. The guest's
  // memory is 0 here.
  std::vector<hostcalls::LimitUse> figures(const InstanceRecord& record) const;
  void verify(const std::vector<const InstanceRecord*>& instances) const;  // All there are.

 private:
  struct Child {
    InstanceId parent{};
    hostcalls::GuestHandle handle{};  // By which the parent knows it.
    Budget lent;                      // When it has ended, its own place.
    bool lives = true;                // Not yet ended; what it said may still have to be delivered.
  };
  bool hear(const Child& child, InstanceRecord& parent, InstanceId id,
            const service::Message& said);
  bool hear(const Child& child, InstanceRecord& parent, InstanceId id,
            const service::LogLine& said);
  // Calls of a child refuse files, since has_file_client is false.
  bool hear(const Child&, InstanceRecord&, InstanceId, const service::SentPart&) { return true; }
  bool hear(const Child&, InstanceRecord&, InstanceId, const service::DroppedFile&) { return true; }
  // No request launched a child.
  bool hear(const Child&, InstanceRecord&, InstanceId, const service::ResponsePart&) {
    return true;
  }
  bool hear(const Child& child, InstanceRecord& parent, InstanceId id, const service::Ended& said);
  void note_not_started(const InstanceRecord& child, InstanceRecord& parent);
  InstanceRecord& parent_record(const InstanceRecord& record) const;

  // In child_budgets.cc.
  Budget own_use(const InstanceRecord& record) const;
  Budget unshared_left(const InstanceRecord& record) const;
  Budget left_of(const InstanceRecord& record) const;
  Budget charge_of(const Child& child, const InstanceRecord& record) const;
  void set_lent(Child& child, InstanceRecord& parent, const Budget& lent);
  void recharge(const InstanceRecord& record);
  void give_back(Child& child, InstanceRecord& parent);
  bool is_short(const InstanceRecord& record) const;
  void divide(InstanceRecord& member);
  void note_needed(InstanceRecord& record);
  void share_out(InstanceRecord& record);
  void tell_running(InstanceRecord& record);
  void tell_limits(const InstanceRecord& record);

  ChildHost& host_;
  control::ControlPort& control_;
  const Clock& clock_;
  std::unordered_map<InstanceId, Child> children_;
};

}  // namespace quire::lifecycle
