#include "application/hostcalls/outbox.h"

#include <algorithm>

#include "base/check.h"

namespace quire::hostcalls {

void Outbox::count(const Item& item, bool is_new) {
  const auto change = [is_new](auto& figure, auto by) { is_new ? figure += by : figure -= by; };
  if (const auto* message = std::get_if<Message>(&item)) {
    change(message_count_, std::size_t{1});
    change(message_bytes_, message->bytes.size());
  } else if (const auto* line = std::get_if<Line>(&item)) {
    change(line_count_, std::size_t{1});
    change(line_bytes_, kLineBytes + line->text.size());
  } else if (const auto* part = std::get_if<Part>(&item)) {
    change(part_bytes_, kPartBytes + part->bytes.size());
  } else {
    change(response_bytes_, kPartBytes + std::get<Response>(item).bytes.size());
  }
}

void Outbox::drop_response() {
  const auto is_response = [](const Item& item) { return std::holds_alternative<Response>(item); };
  items_.erase(std::remove_if(items_.begin(), items_.end(), is_response), items_.end());
  response_bytes_ = 0;
}

void Outbox::verify() const {
  Outbox sums;
  for (const Item& each : items_) sums.count(each, true);
  QUIRE_CHECK(sums.message_count_ == message_count_ && sums.message_bytes_ == message_bytes_,
              "OB1");
  QUIRE_CHECK(sums.line_count_ == line_count_ && sums.line_bytes_ == line_bytes_, "OB1");
  QUIRE_CHECK(sums.part_bytes_ == part_bytes_, "OB1");
  QUIRE_CHECK(sums.response_bytes_ == response_bytes_, "OB1");
}

}  // namespace quire::hostcalls
