#include "inference/devices/cpu/slab_packer.h"

#include <utility>

#include "base/start_thread.h"

namespace quire::inference {

SlabPacker::SlabPacker(const MatmulKernels& kernels, std::uint32_t thread_count)
    : kernels_(kernels) {
  for (std::uint32_t i = 0; i < thread_count; ++i) {
    Result<std::thread> thread = start_thread("packing weights", [this] { serve(); });
    if (!thread.ok()) break;
    threads_.push_back(std::move(thread).take());
  }
  const std::size_t buffer_count = kBuffersPerThread * threads_.size() + 1;
  for (std::size_t i = 0; i < buffer_count; ++i) free_.push_back(std::make_unique<Slab>());
}

SlabPacker::~SlabPacker() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<Slab> SlabPacker::take() {
  std::unique_lock lock(mutex_);
  while (free_.empty()) {
    if (!waiting_.empty()) {
      pack_one(lock);
    } else {
      changed_.wait(lock);  // A thread has each of the others in work.
    }
  }
  std::unique_ptr<Slab> slab = std::move(free_.back());
  free_.pop_back();
  return slab;
}

void SlabPacker::hand_in(std::unique_ptr<Slab> slab) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(slab));
  }
  changed_.notify_all();
}

void SlabPacker::finish() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) pack_one(lock);
  changed_.wait(lock, [this] { return packing_ == 0; });
}

void SlabPacker::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    pack_one(lock);
  }
}

void SlabPacker::pack_one(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<Slab> slab = std::move(waiting_.front());
  waiting_.pop_front();
  ++packing_;
  lock.unlock();
  kernels_.pack_rows(slab->format, slab->column_count, slab->row_first, slab->row_count,
                     slab->rows.data(), slab->packed);
  lock.lock();
  --packing_;
  free_.push_back(std::move(slab));
  changed_.notify_all();
}

}  // namespace quire::inference
