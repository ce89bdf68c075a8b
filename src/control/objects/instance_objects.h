#pragma once
// Everything that an instance owns: what its program may name, and what has no name any more but whose
// last operation is still to come.
//
// Thread   engine thread only.
#include <vector>

#include "control/objects/instance.h"

namespace quire::control {

struct InstanceObjects {
  std::vector<PageObject*> pages;
  std::vector<EmbedObject*> embeds;
  std::vector<Context*> contexts;  // Also those that saves work on.
  std::vector<QueueObject*> queues;
  std::vector<MatcherObject*> matchers;
};

// O(its objects and operations).
InstanceObjects objects_of(const Instance& instance);

}  // namespace quire::control
