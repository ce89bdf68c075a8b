#include <array>
#include <string>

#include "inference/kernels/kernels.h"
#include "inference/kernels/scalar/scalar.h"
#include "inference/kernels/vector_tables.h"

namespace quire::inference {
namespace {

struct Supported {
  std::array<const KernelTable*, 4> tables{};
  std::size_t count = 0;
  void add(const KernelTable& table) { tables[count++] = &table; }
};

Supported detect() {
  Supported supported;
  supported.add(kScalarKernels);
#ifdef QUIRE_KERNELS_AVX2
  if (machine_has_avx2()) supported.add(kAvx2Kernels);
#endif
#ifdef QUIRE_KERNELS_AVXVNNI
  if (machine_has_avxvnni()) supported.add(kAvxVnniKernels);
#endif
#ifdef QUIRE_KERNELS_AVX512
  if (machine_has_avx512()) supported.add(kAvx512Kernels);
#endif
  return supported;
}

}  // namespace

std::span<const KernelTable* const> supported_kernels() {
  static const Supported kSupported = detect();
  return {kSupported.tables.data(), kSupported.count};
}

Result<const KernelTable*> choose_kernels(std::string_view name) {
  const std::span<const KernelTable* const> tables = supported_kernels();
  if (name == "auto") return tables.back();
  std::string known;
  for (const KernelTable* table : tables) {
    if (name == table->name) return table;
    known += (known.empty() ? "" : ", ") + std::string(table->name);
  }
  return Error(ErrorCode::NotSupported, "unknown kernels \"" + std::string(name.substr(0, 40)) +
                                            "\" (this machine supports: auto, " + known + ")");
}

}  // namespace quire::inference
