#pragma once
// NamedModels: what a program's handle of a model stands for in addition to the model. A handle
// that was opened as "NAME" of an adapter or as "BASE:NAME" keeps that name, and the adapter under
// which its contexts begin.
//
// A handle's payload is a number that add() gave; 0 is the model itself. Queues have the payload of
// the model that they were made with.
//
// Thread   engine thread only.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/api/adapter_runs.h"

namespace quire::hostcalls {

class NamedModels {
 public:
  struct Named {
    std::string name;
    control::ChosenAdaptersRef adapters;  // Null only of the model itself.
  };

  // The same name with the same adapter has the same number.
  std::uint32_t add(Named named) {
    for (std::size_t index = 1; index < all_.size(); ++index) {
      if (all_[index].name == named.name && all_[index].adapters == named.adapters) {
        return static_cast<std::uint32_t>(index);
      }
    }
    all_.push_back(std::move(named));
    return static_cast<std::uint32_t>(all_.size()) - 1;
  }
  const Named& at(std::uint32_t number) const {
    QUIRE_CHECK(number < all_.size(), "a handle's payload is a number that add() gave");
    return all_[number];
  }

 private:
  std::vector<Named> all_ = std::vector<Named>(1);
};

}  // namespace quire::hostcalls
