// race_roof measures what this machine allows, and prints JSON: the bytes a second that all threads
// read, and the 8-bit multiplications and additions a second of each kernel set's instructions.
//
//   race_roof [THREADS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kernels/measure.h"

namespace quire::bench {
namespace {

constexpr int kRounds = 5;
constexpr std::int64_t kSteps = 4'000'000;
constexpr int kChains = 6;

struct Peak {
  const char* set;
  bool is_there;
  double operations;  // Of a step.
  void (*run)();      // kSteps steps.
};

// vpmaddubsw and vpaddw: 32 products, each added.
void run_avx2() {
  for (std::int64_t i = 0; i < kSteps; ++i) {
    asm volatile(
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm2\n vpmaddubsw %%ymm0, %%ymm1, %%ymm3\n"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm4\n vpmaddubsw %%ymm0, %%ymm1, %%ymm5\n"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm6\n vpmaddubsw %%ymm0, %%ymm1, %%ymm7\n"
        "vpaddw %%ymm2, %%ymm8, %%ymm8\n vpaddw %%ymm3, %%ymm9, %%ymm9\n"
        "vpaddw %%ymm4, %%ymm10, %%ymm10\n vpaddw %%ymm5, %%ymm11, %%ymm11\n"
        "vpaddw %%ymm6, %%ymm12, %%ymm12\n vpaddw %%ymm7, %%ymm13, %%ymm13\n" ::
            : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
              "xmm12", "xmm13");
  }
  asm volatile("vzeroupper");
}

// Two rounds of six chains hide a latency of up to six cycles.
void run_avxvnni() {
  for (std::int64_t i = 0; i < kSteps; ++i) {
    asm volatile(
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm2\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm3\n"
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm4\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm5\n"
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm6\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm7\n"
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm8\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm9\n"
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm10\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm11\n"
        "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm12\n %{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm13\n" ::
            : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
              "xmm12", "xmm13");
  }
  asm volatile("vzeroupper");
}

void run_avx512() {
  for (std::int64_t i = 0; i < kSteps; ++i) {
    asm volatile(
        "vpdpbusd %%zmm0, %%zmm1, %%zmm2\n vpdpbusd %%zmm0, %%zmm1, %%zmm3\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm4\n vpdpbusd %%zmm0, %%zmm1, %%zmm5\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm6\n vpdpbusd %%zmm0, %%zmm1, %%zmm7\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm8\n vpdpbusd %%zmm0, %%zmm1, %%zmm9\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm10\n vpdpbusd %%zmm0, %%zmm1, %%zmm11\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm12\n vpdpbusd %%zmm0, %%zmm1, %%zmm13\n" ::
            : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
              "xmm12", "xmm13");
  }
  asm volatile("vzeroupper");
}

int run(int thread_count) {
  const Peak peaks[] = {
      {"avx2", __builtin_cpu_supports("avx2") != 0, 64.0 * kChains, run_avx2},
      {"avxvnni", __builtin_cpu_supports("avxvnni") != 0, 64.0 * 2 * kChains, run_avxvnni},
      {"avx512", __builtin_cpu_supports("avx512vnni") != 0, 128.0 * 2 * kChains, run_avx512}};
  std::printf("{\"threads\": %d, \"memory_gb\": %.2f, \"peak_gops\": {", thread_count,
              read_bandwidth(thread_count, kRounds) / 1e9);
  const char* separator = "";
  for (const Peak& peak : peaks) {
    if (!peak.is_there) continue;
    const Timing timing = measure(thread_count, kRounds, [&](int) { peak.run(); });
    std::printf("%s\"%s\": %.1f", separator, peak.set,
                peak.operations * kSteps * thread_count / timing.best_s / 1e9);
    separator = ", ";
  }
  std::printf("}}\n");
  return 0;
}

}  // namespace
}  // namespace quire::bench

int main(int argument_count, char** arguments) {
  const int thread_count = argument_count > 1 ? std::atoi(arguments[1]) : 2;
  if (thread_count < 1 || thread_count > 1024) {
    std::fprintf(stderr, "usage: %s [THREADS], 1 to 1024\n", arguments[0]);
    return 2;
  }
  return quire::bench::run(thread_count);
}
