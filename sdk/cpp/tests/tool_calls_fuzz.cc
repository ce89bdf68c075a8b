// Arbitrary bytes where the answer of a model is expected: they are taken apart, and what is shown
// while they grow is the beginning of their text; never a crash. The first byte says which form the
// calls have, the second where the answer is cut.
//
// The SDK's namespace has another name here, because what replays seeds uses the host's own Result,
// whose names are the same.
#define quire quire_guest
#include "quire/tool_calls.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "call_forms.h"

namespace quire::abi::runtime {

// panic() logs before it traps.
std::int32_t log(std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace quire::abi::runtime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  constexpr std::size_t kBytesMax = 4096;
  if (bytes < 2 || bytes > kBytesMax) return 0;
  static const std::vector<quire::test::NamedForm> forms = quire::test::call_forms();
  const quire::AnswerReader reader(forms[data[0] % forms.size()].form, {"add", "look_up"});
  const std::string_view answer(reinterpret_cast<const char*>(data) + 2, bytes - 2);

  const quire::WrittenAnswer whole = reader.read(answer);
  for (const quire::ToolCall& each : whole.calls) {
    if (each.name.empty() && each.fault.empty()) std::abort();
    if (each.fault.empty() && !each.arguments.is_object()) std::abort();
    if (quire::valid_utf8(each.fault) != each.fault) std::abort();
    if (quire::valid_utf8(each.name) != each.name) std::abort();
  }
  const std::size_t first = data[1] % (answer.size() + 1);
  const std::string early = reader.shown(answer.substr(0, first));
  const std::string late = reader.shown(answer.substr(0, (first + answer.size()) / 2));
  if (!late.starts_with(early) || !whole.text.starts_with(late)) std::abort();
  return 0;
}
