#pragma once
// WipedQueue holds bytes that were received until they are taken. Bytes that were taken are wiped
// at once, because they may have held a client's key.
//
// Owns     one block, which grows; a block that is left is wiped.
// Thread   of its owner.
// Errors   none. Taking more than there is is a bug.
//
// Invariants, all checked by verify():
//   WQ1  Only the bytes that are in the queue differ from zero.
#include <cstddef>
#include <string_view>

#include "base/wipe.h"

namespace quire {

class WipedQueue {
 public:
  void add(std::string_view bytes);
  // The first `count` bytes are taken.
  void take(std::size_t count);
  // Valid until the next call that changes the queue.
  std::string_view view() const { return {block_.data() + begin_, size()}; }
  std::size_t size() const { return end_ - begin_; }
  bool is_empty() const { return size() == 0; }
  // Releases a block that has more than `block_bytes`. Requires: is_empty().
  void shrink(std::size_t block_bytes);
  void verify() const;

 private:
  void make_room(std::size_t count);

  WipedBytes block_;
  std::size_t begin_ = 0;  // Of the queue in the block,
  std::size_t end_ = 0;    // and its end.
};

}  // namespace quire
