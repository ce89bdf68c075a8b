#pragma once
// Listener is who hears an instance: a client's connection, the command line, the parent of a child.
#include "base/instance_id.h"
#include "service/said.h"

namespace quire::service {

// Called on the engine thread by a turn of the service, never from inside a call to it, so a
// listener may call the service back.
class Listener {
 public:
  virtual ~Listener() = default;
  // What the instance says next, in its order; after Ended nothing more comes. False means not now:
  // what was refused is kept, within the instance's limits, and offered again with all that follows
  // once the listener is ready.
  virtual bool heard(InstanceId instance, const Said& said) = 0;
};

}  // namespace quire::service
