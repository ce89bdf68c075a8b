#pragma once
// Sixteen floats on AVX2.
#include <immintrin.h>

namespace quire::inference {
namespace {

struct TwoVectors {
  __m256 low, high;
};

}  // namespace
}  // namespace quire::inference
