#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command) {
  return std::visit([&](const auto& body) { return issue(to, instance, command, body); },
                    static_cast<CommandVariant&>(command.body));
}

}  // namespace quire::control
