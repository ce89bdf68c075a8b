#include "application/lifecycle/limit_settings.h"

#include <limits>

#include "base/check.h"

namespace quire::lifecycle {
namespace {

struct Accessor {
  void (*set)(InstanceLimits&, std::uint64_t);
  std::uint64_t (*get)(const InstanceLimits&);
};

constexpr Accessor kAccessors[] = {
#define QUIRE_LIMIT(name, unit, least, most, member)                                   \
  {[](InstanceLimits& limits, std::uint64_t value) {                                   \
     using Member = decltype(limits.member);                                           \
     static_assert((most) <= std::numeric_limits<Member>::max() && (least) <= (most)); \
     limits.member = static_cast<Member>(value);                                       \
   },                                                                                  \
   [](const InstanceLimits& limits) { return static_cast<std::uint64_t>(limits.member); }},
#include "base/instance_limits.inc"
#undef QUIRE_LIMIT
};
static_assert(std::size(kAccessors) == std::size(kInstanceLimits));

}  // namespace

void set_limit(InstanceLimits& limits, const InstanceLimitValue& setting) {
  const InstanceLimitName& name = kInstanceLimits[setting.index];
  QUIRE_CHECK(setting.value >= name.least, "the command line checks it");
  QUIRE_CHECK(setting.value <= name.most, "the command line checks it");
  kAccessors[setting.index].set(limits, setting.value);
}

std::uint64_t limit_value(const InstanceLimits& limits, std::size_t index) {
  return kAccessors[index].get(limits);
}

}  // namespace quire::lifecycle
