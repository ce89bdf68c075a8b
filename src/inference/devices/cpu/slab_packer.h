#pragma once
// SlabPacker packs slabs of weight rows on threads of its own, while the loader reads and hashes
// the slabs after them.
//
// The loader takes a buffer, fills it and hands it in. A slab's place in packed memory is given by
// its rows, so the order in which slabs are packed does not change a byte. If all buffers wait to
// be packed, the loader packs one of them instead of waiting. So without threads every slab is
// packed by the loader itself.
//
// Owns     its threads and `kBuffersPerThread * thread_count + 1` buffers, each as large as the
//          largest slab that it held.
// Thread   one thread takes buffers and hands slabs in.
// Errors   none: where the system has no thread left, fewer threads pack.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "inference/kernels/matmul_kernels.h"

namespace quire::inference {

struct Slab {
  NumberFormat format{};
  std::uint32_t column_count = 0;
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
  std::byte* packed = nullptr;  // Of the whole matrix.
  std::vector<std::byte> rows;  // As in the file.
};

class SlabPacker {
 public:
  SlabPacker(const MatmulKernels& kernels, std::uint32_t thread_count);
  ~SlabPacker();
  SlabPacker(const SlabPacker&) = delete;
  SlabPacker& operator=(const SlabPacker&) = delete;

  // A buffer whose bytes are those of an earlier slab. Each is handed in before the next is taken.
  std::unique_ptr<Slab> take();
  void hand_in(std::unique_ptr<Slab> slab);

  // Returns when all slabs are packed.
  void finish();

 private:
  static constexpr std::uint32_t kBuffersPerThread = 2;

  void serve();
  // Takes the oldest slab, packs it without the lock, and puts its buffer back.
  void pack_one(std::unique_lock<std::mutex>& lock);

  const MatmulKernels& kernels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slab>> free_;  // Guarded by mutex_, as all below.
  std::deque<std::unique_ptr<Slab>> waiting_;
  std::uint32_t packing_ = 0;  // Slabs that a thread packs now.
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // Last: they use all of the above.
};

}  // namespace quire::inference
