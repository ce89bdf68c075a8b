#pragma once
// A Listener gets the output of an instance. It is a client's connection, the command line, or the
// parent of a child.
#include "base/instance_id.h"
#include "service/said.h"

namespace quire::service {

// Called on the engine thread by a turn of the service, never from inside a call to it, so a
// listener may call the service back.
class Listener {
 public:
  virtual ~Listener() = default;
  // Gets the outputs of the instance in their order; after Ended nothing more comes. False means
  // not now: the service keeps the output, within the instance's limits. It offers it again, with
  // all that follows, once the listener is ready.
  virtual bool heard(InstanceId instance, const Said& said) = 0;
};

}  // namespace quire::service
