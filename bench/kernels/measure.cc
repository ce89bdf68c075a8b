#include "kernels/measure.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace quire::bench {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double one_round(int thread_count, const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::vector<double> took(static_cast<std::size_t>(thread_count));
  const auto run = [&](int thread) {
    ++ready;
    while (ready < thread_count) {
    }
    const double start = thread_seconds();
    work(thread);
    took[static_cast<std::size_t>(thread)] = thread_seconds() - start;
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < thread_count; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(took.begin(), took.end());
}

}  // namespace

Timing measure(int thread_count, int rounds, const std::function<void(int)>& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) times.push_back(one_round(thread_count, work));
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

Pool::Pool(std::size_t byte_count) : byte_count_(byte_count) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  mapped_bytes_ = (byte_count + 2 * kHuge) / kHuge * kHuge + kHuge;
  mapped_ =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) {
    std::fprintf(stderr, "no memory for %zu bytes\n", byte_count);
    std::exit(1);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  start_ = reinterpret_cast<std::byte*>((address + kHuge - 1) / kHuge * kHuge);
  madvise(start_, byte_count, MADV_HUGEPAGE);
}

Pool::~Pool() {
  munmap(mapped_, mapped_bytes_);
}

double read_bandwidth(int thread_count, int rounds) {
  using Vector = std::uint64_t __attribute__((vector_size(16)));
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  constexpr std::size_t kAhead = 512;  // Vectors, 8 KiB: 2 KiB ahead reads a fifth less.
  const Pool pool(kBytes);
  std::memset(pool.data(), 1, kBytes);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(thread_count) * 8);
  const Timing timing = measure(thread_count, rounds, [&](int thread) {
    const std::size_t count =
        kBytes / sizeof(Vector) / static_cast<std::size_t>(thread_count) / 16 * 16;
    const auto* from =
        reinterpret_cast<const Vector*>(pool.data()) + count * static_cast<std::size_t>(thread);
    Vector sum[8] = {};
    for (std::size_t i = 0; i < count; i += 8) {
      __builtin_prefetch(from + i + kAhead);
      __builtin_prefetch(from + i + kAhead + 4);
      for (std::size_t j = 0; j < 8; ++j) sum[j] += from[i + j];
    }
    std::uint64_t total = 0;
    for (const Vector& each : sum) total += each[0] + each[1];
    sums[static_cast<std::size_t>(thread) * 8] = total;
  });
  return sums[0] == 0 ? 0.0 : static_cast<double>(kBytes) / timing.best_s;
}

void print_table(double roof, int thread_count, const std::vector<Row>& rows) {
  std::printf("%d threads; memory reads %.1f GB/s\n", thread_count, roof / 1e9);
  std::printf("%-8s %-46s %11s %11s %9s %8s %6s\n", "kernels", "what", "best us", "median us",
              "Gop/s", "GB/s", "roof");
  for (const Row& row : rows) {
    std::printf("%-8s %-46s %11.1f %11.1f %9.1f %8.1f %5.0f%%\n", row.kernels.c_str(),
                row.name.c_str(), row.best_us, row.median_us, row.gops, row.gbytes,
                row.of_roof * 100);
  }
}

void print_json(double roof, int thread_count, const std::vector<Row>& rows) {
  std::printf("{\"threads\": %d, \"read_bandwidth_gb\": %.3f, \"rows\": [", thread_count,
              roof / 1e9);
  const char* separator = "\n";
  for (const Row& row : rows) {
    std::printf(
        "%s {\"kernels\": \"%s\", \"name\": \"%s\", \"best_us\": %.3f, \"median_us\": %.3f, "
        "\"gops\": %.3f, \"gbytes\": %.3f, \"of_roof\": %.4f}",
        separator, row.kernels.c_str(), row.name.c_str(), row.best_us, row.median_us, row.gops,
        row.gbytes, row.of_roof);
    separator = ",\n";
  }
  std::printf("\n]}\n");
}

}  // namespace quire::bench
