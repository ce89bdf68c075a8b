#include "service/principal.h"

namespace quire::service {

const char* right_name(Right right) {
  switch (right) {
    case Right::Launch:
      return "launch";
    case Right::Upload:
      return "upload";
    case Right::NamePrograms:
      return "name-programs";
    case Right::LoadAdapters:
      return "load-adapters";
    case Right::SeeTenant:
      return "see-tenant";
    case Right::Operate:
      return "operate";
  }
  return "";
}

std::string Rights::text() const {
  std::string text;
  for (const Right each : kRights) {
    if (has(each)) text += (text.empty() ? "" : ",") + std::string(right_name(each));
  }
  return text;
}

PrincipalHandle operator_without_keys() {
  return std::make_shared<const Principal>(Principal{TenantId{0}, "", {Right::Operate}, {}});
}

}  // namespace quire::service
