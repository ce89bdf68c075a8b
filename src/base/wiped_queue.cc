#include "base/wiped_queue.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace quire {

void WipedQueue::make_room(std::size_t count) {
  const std::size_t held = size();
  if (block_.size() - held < count) {
    WipedBytes larger(std::max(2 * block_.size(), held + count));
    std::copy_n(view().data(), held, larger.data());
    block_ = std::move(larger);
  } else {
    std::memmove(block_.data(), view().data(), held);
    wipe(block_.data() + held, end_ - held);
  }
  begin_ = 0;
  end_ = held;
}

void WipedQueue::add(std::string_view bytes) {
  if (block_.size() - end_ < bytes.size()) make_room(bytes.size());
  std::copy(bytes.begin(), bytes.end(), block_.data() + end_);
  end_ += bytes.size();
}

void WipedQueue::take(std::size_t count) {
  QUIRE_CHECK(count <= size(), "no more can be taken than there is");
  wipe(block_.data() + begin_, count);
  begin_ += count;
  if (is_empty()) begin_ = end_ = 0;
}

void WipedQueue::shrink(std::size_t block_bytes) {
  QUIRE_CHECK(is_empty(), "what is in the queue needs its block");
  if (block_.size() > block_bytes) block_ = WipedBytes();
}

void WipedQueue::verify() const {
  for (std::size_t i = 0; i < block_.size(); ++i) {
    QUIRE_CHECK(block_[i] == 0 || (i >= begin_ && i < end_), "WQ1");
  }
}

}  // namespace quire
