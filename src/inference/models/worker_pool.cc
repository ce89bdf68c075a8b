#include "inference/models/worker_pool.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "base/thread_schedule.h"

namespace quire::inference {
namespace {

// A pause takes 40 to 140 cycles on current x86: about 50 us in all.
constexpr int kSpinCount = 1200;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpinCount; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
}

std::uint32_t Worker::count() const {
  return pool_.worker_count_;
}

std::uint32_t Worker::claim() {
  return pool_.tile_next_.fetch_add(1, std::memory_order_relaxed);
}

bool Worker::arrive() {
  const std::uint32_t released = pool_.released_.load(std::memory_order_acquire);
  if (pool_.arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == pool_.worker_count_) {
    return true;
  }
  wait_for_change(pool_.released_, released);
  return false;
}

void Worker::release() {
  pool_.tile_next_.store(0, std::memory_order_relaxed);
  pool_.arrived_.store(0, std::memory_order_relaxed);
  pool_.released_.fetch_add(1, std::memory_order_release);
  pool_.released_.notify_all();
}

WorkerPool::WorkerPool(std::uint32_t worker_count, int niceness)
    : worker_count_(worker_count), niceness_(niceness) {
  QUIRE_CHECK(worker_count >= 1, "a pool has a worker");
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(std::uint32_t worker_count, int niceness) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool(worker_count, niceness));
  for (std::uint32_t index = 1; index < worker_count; ++index) {
    pool->threads_.push_back(
        TRY(start_thread("a worker", [self = pool.get(), index] { self->serve(index); })));
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  stopping_ = true;
  job_number_.fetch_add(1, std::memory_order_release);
  job_number_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::start(Function function, const void* context) {
  function_ = function;
  context_ = context;
  job_number_.fetch_add(1, std::memory_order_release);
  job_number_.notify_all();
  Worker worker(*this, 0);
  function(context, worker);
  worker.barrier();  // The job and its memory are not used after this.
}

void WorkerPool::settle(std::uint32_t index) const {
  add_niceness(niceness_);
  shorten_turns();
  stay_on_core(index, worker_count_);
}

void WorkerPool::serve(std::uint32_t index) {
  settle(index);
  Worker worker(*this, index);
  for (std::uint32_t seen = 0;; ++seen) {
    wait_for_change(job_number_, seen);
    if (stopping_) return;
    function_(context_, worker);
    worker.barrier();
  }
}

}  // namespace quire::inference
