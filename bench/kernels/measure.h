#pragma once
// Timing of work that several threads share, and the memory roof that it is held against.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace quire::bench {

struct Timing {
  double best_s = 0.0;  // Minimum of the rounds: the machine may be shared.
  double median_s = 0.0;
};

// Runs work(thread) on all threads at once, `rounds` times; a round takes as long as its slowest
// thread. Time is what a thread spends on a processor, so that other programs on the machine cost
// only what they take of caches and memory.
Timing measure(int thread_count, int rounds, const std::function<void(int)>& work);

// Bytes a second that all threads together read from memory much larger than any private cache.
double read_bandwidth(int thread_count, int rounds);

// Memory on 2 MiB boundaries, with huge pages where the system gives them.
class Pool {
 public:
  explicit Pool(std::size_t byte_count);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  std::byte* data() const { return start_; }
  std::size_t byte_count() const { return byte_count_; }

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* start_ = nullptr;
  std::size_t byte_count_ = 0;
};

// One line of the report.
struct Row {
  std::string kernels;  // Table.
  std::string name;     // What was measured.
  double best_us = 0.0;
  double median_us = 0.0;
  double gops = 0.0;     // 10^9 multiplications and additions a second; 0 where it means nothing.
  double gbytes = 0.0;   // 10^9 bytes a second of what had to be read.
  double of_roof = 0.0;  // gbytes over the read bandwidth of this run.
};
void print_table(double roof, int thread_count, const std::vector<Row>& rows);
void print_json(double roof, int thread_count, const std::vector<Row>& rows);

}  // namespace quire::bench
