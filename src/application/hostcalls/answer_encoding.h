#pragma once
// The bytes that `future.take` gives, as interface/*.wit describes them for each call.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "application/hostcalls/handle_table.h"
#include "application/net/http_message.h"
#include "control/api/answer.h"
#include "control/api/command.h"
#include "service/end.h"

namespace quire::hostcalls {

std::string encode(const control::ContextCounters& counters);
std::string encode(GuestHandle handle);                                    // fork
std::string encode(GuestHandle handle, std::uint32_t queued_token_count);  // open, take
std::string encode(const net::HttpHead& head);                             // response-head
std::string encode(const service::End& end);                               // wait-child
// Answers that say nothing of a context; Done is empty.
std::string encode(control::AnswerBody body);

// interface/draw.wit: a record of draws is a head and the draws.
std::string encode(const control::Draws& draws);
void append_head(std::string& out, std::uint32_t end, std::size_t count);
void append_draw(std::string& out, const control::Drawn& drawn,
                 std::span<const std::uint32_t> top_tokens,
                 std::span<const float> top_probabilities, std::uint32_t draft_count = 0);

// The draws of a record that append_head() and append_draw() wrote.
class DrawReader {
 public:
  explicit DrawReader(std::string_view record);
  control::Drawn next(std::vector<std::uint32_t>& top_tokens,
                      std::vector<float>& top_probabilities);

 private:
  template <typename T>
  T take();

  std::string_view rest_;
};

}  // namespace quire::hostcalls
