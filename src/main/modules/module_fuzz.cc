// Arbitrary bytes where a linked module is expected: an error, or a module that is taken apart and
// put together the same, with names and options that are read or refused; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "main/modules/declared_options.h"
#include "main/modules/finish_module.h"
#include "main/modules/module_sections.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace quire::modules;
  const std::string_view wasm(reinterpret_cast<const char*>(data), bytes);
  const auto sections = read_sections(wasm);
  if (sections.ok()) {
    const std::string again = write_module(sections.value());
    const auto reread = read_sections(again);
    if (!reread.ok() || reread.value().size() != sections.value().size()) std::abort();
    if (write_module(reread.value()) != again) std::abort();
  }
  const auto options = declared_options_of(wasm);
  if (options.ok() && options.value()) {
    (void)options_help("program", *options.value());
    (void)check_program_words(*options.value(), {"--seed", "1", "word", "--", "--n"});
  }
  const auto finished = finish_module(wasm);
  if (!finished.ok()) return 0;
  const auto twice = finish_module(finished.value().wasm);
  if (!twice.ok() || twice.value().wasm != finished.value().wasm) std::abort();
  return 0;
}
