#include "service/end.h"

namespace quire::service {

const char* end_kind_name(EndKind kind) {
  switch (kind) {
    case EndKind::Finished:
      return "finished";
    case EndKind::Trapped:
      return "trapped";
    case EndKind::LimitExceeded:
      return "limit-exceeded";
    case EndKind::Killed:
      return "killed";
    case EndKind::NotStarted:
      return "not-started";
  }
  return "unknown";
}

}  // namespace quire::service
