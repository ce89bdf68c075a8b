// serve: the HTTP request that launched the program, and its response. Without a request
// each call says so.
#include "steps.h"

namespace quire::conformance {
namespace {

void alone(Harness& t) {
  char text[64] = {};
  void* const buffer = text;
  constexpr ErrorCode kAbsent = ErrorCode::NotSupported;
  t.refused("serve.request-head", kAbsent, buffer, 64);
  t.refused("serve.read-request", kAbsent);
  t.refused("serve.respond", kAbsent, 200, "", 0);
  t.refused("serve.write-response", kAbsent, "a");
  t.refused("serve.finish-response", kAbsent);
}

void program(Harness& t) {
  alone(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
