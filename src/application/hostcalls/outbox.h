#pragma once
// Outbox holds what one instance said and its client has not taken: messages, log lines, parts of
// files and of a response, in the order in which the program said them.
//
// Owns     the texts, and how many bytes of each kind wait. SessionBox, FileTable and ServedRequest
//          put items in and check their limits first.
// Thread   engine thread only.
//
// Invariants, all checked by verify():
//   OB1  The figures are the sums over the items; a line and a part count more than their text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/lazy_deque.h"
#include "service/said.h"

namespace quire::hostcalls {

class Outbox {
 public:
  static constexpr std::uint64_t kLineBytes = 64;   // Added to the bytes of a line,
  static constexpr std::uint64_t kPartBytes = 256;  // or of a part of a file or response.

  struct Message {
    std::string bytes;
  };
  struct Line {
    service::LogSource source = service::LogSource::Log;
    service::LogLevel level = service::LogLevel::Info;
    std::string text;
  };
  // FileTable knows the file.
  struct Part {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::string bytes;
    bool is_dropped = false;  // No more parts of the file come.
  };
  struct Response {
    service::ResponsePartKind kind = service::ResponsePartKind::Head;
    std::uint32_t status = 0;
    std::string bytes;
  };
  using Item = std::variant<Message, Line, Part, Response>;

  void push(Item item) {
    count(item, true);
    items_.push_back(std::move(item));
  }
  bool empty() const { return items_.empty(); }
  const Item& front() const { return items_.front(); }
  void pop() {
    count(items_.front(), false);
    items_.pop_front();
  }
  // The client is gone.
  void drop_response();
  const LazyDeque<Item>& items() const { return items_; }

  std::size_t message_count() const { return message_count_; }
  std::uint64_t message_bytes() const { return message_bytes_; }
  std::size_t line_count() const { return line_count_; }
  std::uint64_t line_bytes() const { return line_bytes_; }
  std::uint64_t part_bytes() const { return part_bytes_; }
  std::uint64_t response_bytes() const { return response_bytes_; }
  void verify() const;

 private:
  void count(const Item& item, bool is_new);

  LazyDeque<Item> items_;
  std::size_t message_count_ = 0;
  std::uint64_t message_bytes_ = 0;
  std::size_t line_count_ = 0;
  std::uint64_t line_bytes_ = 0;
  std::uint64_t part_bytes_ = 0;
  std::uint64_t response_bytes_ = 0;
};

}  // namespace quire::hostcalls
