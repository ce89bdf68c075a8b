// Arbitrary bytes where a script's bundle, or a module with one, is expected: an error, or a bundle
// that is written the same; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "application/sandbox/script_bundle.h"

namespace {

void read(std::string_view bytes) {
  const auto bundle = quire::sandbox::read_script_bundle(bytes);
  if (!bundle.ok()) return;
  const auto written = quire::sandbox::write_script_bundle(bundle.value());
  if (!written.ok() || written.value() != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  read(text);
  const auto script = quire::sandbox::find_script(text);
  if (script.ok() && script.value()) read(*script.value());
  return 0;
}
