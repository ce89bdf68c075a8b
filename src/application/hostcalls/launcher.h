#pragma once
// Launcher is the host calls' view of the lifecycle: other instances, and the use of this one's
// limits.
//
// Thread   engine thread. Called while a guest runs, so nothing here runs another one.
#include <cstdint>
#include <string>
#include <vector>

#include "application/hostcalls/handle_table.h"
#include "base/result.h"
#include "control/api/types.h"
#include "service/figures.h"

namespace quire::hostcalls {

using service::LimitUse;

struct ChildLaunch {
  std::string program;  // A name that the server has; empty: the parent's own.
  std::vector<std::string> arguments;
  std::uint32_t share_percent =
      0;                 // Of what the parent has left of its budget; 0: none of its own.
  GuestHandle handle{};  // By which the parent knows it.
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual Result<control::InstanceId> launch_child(control::InstanceId parent,
                                                   ChildLaunch launch) = 0;
  // Nothing where it has ended.
  virtual void kill_child(control::InstanceId child, const std::string& reason) = 0;
  // The parent has dropped the handle. Later output of the child is dropped.
  virtual void drop_child(control::InstanceId child) = 0;
  virtual Result<void> send_child(control::InstanceId child, std::string message) = 0;
  // The use of the limits that the lifecycle and the control layer count.
  virtual std::vector<LimitUse> limits(control::InstanceId instance) = 0;
};

}  // namespace quire::hostcalls
