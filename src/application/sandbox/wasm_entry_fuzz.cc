// Arbitrary bytes where a module is expected: an error or a summary, and then, where there is an
// engine, a compiled program or an error; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "application/sandbox/module_check.h"
#include "application/sandbox/wasmtime_runtime.h"

namespace {

quire::sandbox::CallOutcome nothing(void*, quire::sandbox::GuestMemory,
                                    quire::sandbox::RawValue*) noexcept {
  return quire::sandbox::CallOutcome::Return;
}
constexpr quire::sandbox::HostFunction kOffered[] = {
    {"e", "a", "i>i", false, &nothing},
    {"e", "b", "iI>", false, &nothing},
    {"e", "c", "fF>I", false, &nothing},
};

// The engine, made once: a pool for each input would take all the time.
quire::sandbox::WasmRuntime* engine() {
  static const auto runtime = quire::sandbox::make_wasmtime_runtime(
      kOffered, quire::sandbox::WasmtimeOptions{.instance_count_max = 4});
  return runtime.ok() ? runtime.value().get() : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::span<const std::byte> module(reinterpret_cast<const std::byte*>(data), bytes);
  const auto summary = quire::sandbox::check_module(module, kOffered);
  if (summary.ok() && summary.value().entry_returns_code &&
      summary.value().entry == quire::sandbox::ModuleEntry::Start) {
    std::abort();  // _start returns nothing.
  }
  if (!summary.ok() || engine() == nullptr) return 0;
  const auto program =
      engine()->compile(module, quire::sandbox::Effort::Best, quire::sandbox::Origin::Operator);
  if (!program.ok() || summary.value().memory_pages_min > 2048) return 0;
  const auto instance = engine()->instantiate(program.value(), nullptr, {});
  if (!instance.ok()) std::abort();  // It begins within its limit.
  return 0;
}
