// Arbitrary words where a program's command line is expected: they are read, or refused with a
// message that says why; never a crash. Words end with a zero byte. The first byte says which options
// are declared.
//
// The SDK's namespace has another name here, because what replays seeds uses the host's own Result,
// whose names are the same.
#define quire quire_guest
#include "quire/options.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace quire::abi::runtime {

// panic() logs before it traps.
std::int32_t log(std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace quire::abi::runtime

namespace {

struct Generate {
  std::uint32_t max_tokens = 128;
  double temperature = 0.0;
  std::uint32_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::uint64_t seed = 0;
  std::vector<std::string> stop = {};
  bool ignore_stop_tokens = false;
};

struct Options {
  std::string prompt = "a default";
  std::optional<std::string> system;
  std::vector<std::string> sources = {"default"};
  bool chat = false;
  std::int8_t shift = -7;
  std::int64_t offset = 0;
  float penalty = 1.5f;
  Generate generate;

  void read(quire::OptionReader& in, unsigned which) {
    using quire::Required;
    const Required required = (which & 1) != 0 ? Required::Yes : Required::No;
    if ((which & 2) != 0) {
      in.words("prompt", prompt, "The text", required);
    } else {
      in.text("prompt", prompt, "The text", required);
    }
    in.text("system", system, "Instructions \"in quotes\"\n");
    in.texts("source", sources, "Where to look");
    in.flag("chat", chat, "Answer");
    in.number("shift", shift, "Of one byte", {-100, 100});
    in.number("offset", offset, "Of eight");
    in.number("penalty", penalty, "A real number");
    if ((which & 4) != 0) in.generation(generate);
  }
  bool is_within_limits() const {
    return shift >= -100 && shift <= 100 && std::isfinite(penalty) && generate.temperature >= 0.0 &&
           generate.temperature <= 1e6 && generate.top_p >= 0.0 && generate.top_p <= 1.0 &&
           generate.min_p >= 0.0 && generate.min_p <= 1.0;
  }
};

std::vector<std::string> words_of(const std::uint8_t* data, std::size_t bytes) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != 0) {
      word += static_cast<char>(data[i]);
    } else {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const unsigned which = bytes == 0 ? 0u : data[0];
  Options options;
  quire::OptionReader reader;
  options.read(reader, which);
  const quire::Result<void> parsed =
      reader.parse(bytes == 0 ? std::vector<std::string>{} : words_of(data + 1, bytes - 1));
  if (parsed.ok() && !options.is_within_limits()) std::abort();
  if (!parsed.ok() && parsed.error().message.empty()) std::abort();
  if (!parsed.ok() && quire::valid_utf8(parsed.error().message) != parsed.error().message) {
    std::abort();
  }
  if (!quire::Json::parse(reader.schema()).ok()) std::abort();
  return 0;
}
