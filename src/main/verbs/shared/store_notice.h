#pragma once
// Why there are no snapshots although the user may want them, on standard error; nothing where
// there are.
#include <string>

#include "main/machine/machine.h"

namespace quire {

// Empty: there are snapshots.
std::string store_error_text(const Machine& machine);
void tell_store_error(const Machine& machine);

// The same for a run, once a program has asked for the store: one that saves nothing need not care.
class StoreNotice {
 public:
  explicit StoreNotice(Machine& machine) : machine_(machine) {}
  void look();

 private:
  Machine& machine_;
  bool is_told_ = false;
};

}  // namespace quire
