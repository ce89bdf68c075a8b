// A module without imports that computes the numbers which sampling_test.cc and
// draw_arithmetic_test.cc expect.
#include "draw_cases.h"
#include "sampling_cases.h"

__attribute__((export_name("digest_differs"))) extern "C" int digest_differs() {
  const bool differs = quire::test::digest_of_many_draws() != quire::test::kDigestOfManyDraws ||
                       quire::test::digest_of_rules() != quire::test::kDigestOfRules;
  return differs ? 1 : 0;
}
