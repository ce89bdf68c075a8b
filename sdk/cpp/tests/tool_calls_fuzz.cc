// Arbitrary bytes where the answer of a model is expected: they are taken apart, and what is shown
// while they grow is the beginning of their text; never a crash. What a stream gives does not
// depend on where the answer is cut. The first byte says which form the calls have, the second
// where it is cut.
//
// The SDK's namespace has another name here, because what replays seeds uses the host's own Result,
// whose names are the same.
#define quire quire_guest
#include "quire/answer_stream.h"

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

namespace {

// All that a stream gives of an answer in two pieces, joined.
std::string streamed(const quire::AnswerReader& reader, std::string_view answer, std::size_t cut) {
  quire::AnswerStream stream(reader, [](std::string_view, std::string_view) { return "integer"; });
  std::string text, calls;
  const auto take = [&](const std::vector<quire::AnswerEvent>& events) {
    for (const quire::AnswerEvent& each : events) {
      const bool is_text = each.kind == quire::AnswerEvent::Kind::Text;
      const bool is_call = !is_text && each.kind != quire::AnswerEvent::Kind::Reasoning;
      if (is_text) text += each.text;
      if (is_call) calls += each.text + (each.is_cut ? "~" : "");
    }
  };
  take(stream.next(answer.substr(0, cut)));
  take(stream.next(answer.substr(cut)));
  take(stream.finish());
  return text + "|" + calls;
}

}  // namespace

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
  if (streamed(reader, answer, first) != streamed(reader, answer, answer.size())) std::abort();
  return 0;
}
