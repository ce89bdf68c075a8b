// Any bytes as a page file: its header, and the first slot as a page. The first byte says whether
// the checksums are put right first.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "control/store/checksum.h"
#include "control/store/page_file.h"
#include "control/store/page_space.h"
#include "control/store/simulated_file_system.h"

using quire::Result;
using namespace quire::store;

namespace {

constexpr const char* kPath = "folder/fuzz";

// Puts the checksum at offset 32 of a block right.
void repair(std::span<std::byte> block) {
  if (block.size() < 48) return;
  std::ranges::fill(block.subspan(32, sizeof(Checksum)), std::byte{});
  const Checksum sum = checksum(block);
  std::memcpy(block.data() + 32, sum.data(), sum.size());
}

// Expects an error that names the difference when a file of another space is wanted.
void expect_others_refused(SimulatedFileSystem& files, const PageSpace& space) {
  std::vector<PageSpace> others(6, space);
  others[0].names.model[0] ^= 1;
  others[1].names.numerics_id += "+";
  others[2].names.kv_format = space.names.kv_format == quire::inference::KvFormat::F16
                                  ? quire::inference::KvFormat::BF16
                                  : quire::inference::KvFormat::F16;
  others[3].names.page_size += 1;
  others[4].names.adapter_scale = space.names.adapter_scale == 0.5f ? 1.0f : 0.5f;
  others[5].page_bytes += 1;
  for (const PageSpace& other : others) {
    const Result<PageFile> opened = PageFile::open(files, kPath, other);
    QUIRE_CHECK(!opened.ok() && opened.error().code() == quire::ErrorCode::NotSupported &&
                    !opened.error().message().empty(),
                "a file of another space does not open");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first + 1, first + bytes);
  const bool repairs = (data[0] & 1) != 0;
  const std::span<std::byte> all(file);
  if (repairs && file.size() >= kPageFileHeaderBytes) repair(all.first(kPageFileHeaderBytes));
  const auto header = all.first(std::min(file.size(), kPageFileHeaderBytes));
  const Result<PageSpace> space = decode_page_file_header(header, kPath);
  if (!space.ok()) {
    QUIRE_CHECK(!space.error().message().empty(), "an error says what is wrong");
    return 0;
  }
  QUIRE_CHECK(check_space(space.value()).ok(), "a header's space is within the limits");
  const std::uint64_t page_bytes = kPageHeaderBytes + space.value().page_bytes;
  if (repairs && file.size() >= kPageFileHeaderBytes + page_bytes) {
    repair(all.subspan(kPageFileHeaderBytes, page_bytes));
  }
  if (space.value().page_bytes > file.size()) return 0;  // Only so that nothing large is allocated.
  SimulatedFileSystem files(SimulatedFileSystem::Image{{kPath, file}});
  const Result<PageFile> opened = PageFile::open(files, kPath, space.value());
  QUIRE_CHECK(opened.ok(), "a file of the space that it names opens");
  expect_others_refused(files, space.value());
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    const Result<StoredPage> page = opened.value().read(slot, nullptr);
    if (!page.ok()) continue;
    QUIRE_CHECK(page.value().page.tokens.size() <= space.value().names.page_size, "page size");
    QUIRE_CHECK(page.value().written_count <= page.value().page.tokens.size(), "written tokens");
    QUIRE_CHECK(page.value().page.view.size() <= kViewBytesMax, "view");
  }
  return 0;
}
