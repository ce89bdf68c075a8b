// A module without imports that computes the number which sampling_test.cc expects.
#include "sampling_cases.h"

__attribute__((export_name("digest_differs"))) extern "C" int digest_differs() {
  return quire::test::digest_of_many_draws() == quire::test::kDigestOfManyDraws ? 0 : 1;
}
