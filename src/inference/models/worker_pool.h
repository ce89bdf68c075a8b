#pragma once
// WorkerPool: a fixed team of threads that run one job together, in phases.
//
// The caller of run() is worker 0. In a job, workers claim tiles of a phase from one counter and
// meet at a barrier. A waiting worker spins for about 50 us and then sleeps. So a phase of tens of
// microseconds costs no system call, and an idle pool costs nothing. The threads take short turns
// (base/thread_schedule.h), because all wait for one that does not run.
//
// Owns     the threads.
// Thread   run() from one thread at a time. Worker is used by the job's threads, each its own.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"

namespace quire::inference {

class WorkerPool;

// One worker's view of the job that runs.
class Worker {
 public:
  std::uint32_t index() const { return index_; }
  std::uint32_t count() const;

  // Calls work(tile) for each of `tile_count` tiles, on the worker that claims it, then waits for
  // all. Every worker calls every phase, in one order.
  template <typename Work>
  void phase(std::uint32_t tile_count, const Work& work) {
    for (std::uint32_t tile; (tile = claim()) < tile_count;) work(tile);
    barrier();
  }
  // As phase; the worker that finishes last also calls last() while the others wait.
  template <typename Work, typename Last>
  void phase_then(std::uint32_t tile_count, const Work& work, const Last& last) {
    for (std::uint32_t tile; (tile = claim()) < tile_count;) work(tile);
    if (arrive()) {
      last();
      release();
    }
  }
  void barrier() {
    if (arrive()) release();
  }

 private:
  friend class WorkerPool;
  Worker(WorkerPool& pool, std::uint32_t index) : pool_(pool), index_(index) {}
  std::uint32_t claim();
  bool arrive();  // True for the last, who must release(); false once released.
  void release();

  WorkerPool& pool_;
  std::uint32_t index_;
};

class WorkerPool {
 public:
  // `niceness` is added to that of the threads made here; 0 leaves it. Unavailable if the system
  // has no thread left.
  static Result<std::unique_ptr<WorkerPool>> create(std::uint32_t worker_count, int niceness);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::uint32_t worker_count() const { return worker_count_; }

  // Gives the caller, who is to be worker 0 and nothing else, the niceness, turns and core that the
  // other workers have.
  void settle_caller() const { settle(0); }

  // Runs job(Worker&) once on every worker; returns when all are done.
  template <typename Job>
  void run(const Job& job) {
    start([](const void* context, Worker& worker) { (*static_cast<const Job*>(context))(worker); },
          &job);
  }

 private:
  friend class Worker;
  WorkerPool(std::uint32_t worker_count, int niceness);
  using Function = void (*)(const void*, Worker&);
  void start(Function function, const void* context);
  void serve(std::uint32_t index);
  void settle(std::uint32_t index) const;

  const std::uint32_t worker_count_;
  const int niceness_;
  std::vector<std::thread> threads_;
  Function function_ = nullptr;  // Written before job_number_ rises, read after.
  const void* context_ = nullptr;
  bool stopping_ = false;
  alignas(64) std::atomic<std::uint32_t> job_number_{0};
  alignas(64) std::atomic<std::uint32_t> tile_next_{0};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> released_{0};  // Barriers passed.
};

// Waits until `value` differs from `old`: spins for about 50 us, then sleeps.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old);

}  // namespace quire::inference
