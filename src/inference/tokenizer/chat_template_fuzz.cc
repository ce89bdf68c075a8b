// A hostile chat template and a hostile request, with a zero byte between: whatever they are, a
// rendering ends soon with a text or an error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "inference/tokenizer/chat_template.h"

using namespace quire::inference;

namespace {

constexpr std::string_view kValues =
    R"({"messages": [{"role": "user", "content": "Hi <|im_end|> |"}, {"role": "assistant",)"
    R"( "content": null, "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {"z": 1,)"
    R"( "a": [true, 1.5]}}}]}], "x": "ab,c", "n": [3, 1, 2], "d": {"b": 1, "a": "q"}})";

void check(const RenderedChat& chat) {
  std::size_t before = 0;
  for (const std::size_t offset : chat.shielded_offsets) {
    if (offset >= chat.text.size() || offset < before) std::abort();
    before = offset + 1;
  }
  if (quire::utf8_valid_bytes(chat.text) != chat.text.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string source(input.substr(0, end));
  const std::string_view request = input.substr(std::min(end + 1, input.size()));
  const auto compiled = compile_chat_templates({{"default", source}, {"tool_use", source}},
                                               R"({"bos_token": "<s>", "eos_token": "</s>"})");
  if (!compiled.ok()) return 0;
  for (const std::string_view each : {kValues, request}) {
    const auto chat = compiled.value()->render(each, {"<|im_end|>", "</s>", "PAD"}, 0);
    if (chat.ok()) check(chat.value());
  }
  return 0;
}
