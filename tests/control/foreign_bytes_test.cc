// Bytes that leave the pool are of slots that their tenant wrote: what a page's last user left in
// the others goes nowhere, neither into a snapshot nor onto a tier.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/harness.h"
#include "control/store/records.h"

namespace quire::control::foreign_bytes_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kForeignToken = 500;  // A token of the foreigner alone.
constexpr TenantId kForeigner{7};
constexpr TenantId kOwner{1};

using Bytes = std::vector<std::byte>;

struct Program {
  InstanceId guest{};
  ObjectId queue{};
  ObjectId context{};
};

Harness::Options options_of(store::SimulatedFileSystem& files, std::uint32_t page_count) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 256;
  options.files = &files;
  options.controller.costs.choice = TierChoice::Restore;
  return options;
}

Program start(Harness& harness, TenantId tenant) {
  Program program{.guest = harness.start(tenant)};
  program.queue = harness.queue(program.guest);
  program.context = harness.context(program.guest, program.queue);
  return program;
}

void write(Harness& harness, const Program& program, const std::vector<std::uint32_t>& tokens) {
  harness.send(program.guest, ContextAppend{program.context, tokens}, false);
  const FutureId flushed = harness.send(program.guest, ContextFlush{program.context});
  harness.run_until(program.guest, flushed);
  ASSERT_FALSE(harness.error(program.guest, flushed));
}

void save(Harness& harness, const Program& program) {
  const FutureId saved = harness.send(program.guest, ContextSave{program.context, "it", false, {}});
  harness.run();
  ASSERT_FALSE(harness.error(program.guest, saved)) << harness.message(program.guest, saved);
}

// After this, every page of the pool holds the foreigner's keys.
void leave_foreign_bytes(Harness& harness, std::uint32_t page_count) {
  const Program foreigner = start(harness, kForeigner);
  write(harness, foreigner, std::vector<std::uint32_t>(page_count * kPageSize, kForeignToken));
  harness.send(foreigner.guest, ContextHint{foreigner.context, ContextHintKind::Done, 0}, false);
  harness.run();
  harness.controller->end_instance(foreigner.guest);
  ASSERT_EQ(harness.free_page_count(), page_count);
}

// How a slot begins that holds the foreigner's token.
Bytes foreign_mark() {
  store::SimulatedFileSystem files;
  Harness harness(options_of(files, 4));
  const Program program = start(harness, kOwner);
  write(harness, program, {kForeignToken});
  save(harness, program);
  auto opened = harness.disk->store().open_snapshot(tenant_name(kOwner), "it", nullptr);
  const Bytes kv = std::move(opened).take().record.tail.front().kv;
  return {kv.begin(), kv.begin() + 8};
}

bool holds(const Bytes& bytes, const Bytes& mark) {
  return std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end()) != bytes.end();
}

// Files that hold the foreigner's bytes.
std::vector<std::string> tainted(const store::SimulatedFileSystem& files) {
  const Bytes mark = foreign_mark();
  std::vector<std::string> names;
  for (const auto& [path, bytes] : files.visible()) {
    if (holds(bytes, mark)) names.push_back(path);
  }
  return names;
}

// The context ends in a page whose first 8 slots were never written: they were dropped with the
// page that had them, and the context rewound to after them. `token_count` more than 8 fill it, and
// go on.
Program with_unwritten_slots(Harness& harness, std::uint32_t token_count) {
  const Program program = start(harness, kOwner);
  write(harness, program, count_tokens(64));
  harness.send(program.guest, ContextDropRange{program.context, 16, 48}, false);
  harness.send(program.guest, ContextEdit{program.context, ContextEditKind::Rewind, 24}, false);
  write(harness, program, count_tokens(token_count, 9));
  return program;
}

class ForeignBytes : public testing::TestWithParam<std::uint32_t> {};
// The page is not full, or full, or has further pages after it.
INSTANTIATE_TEST_SUITE_P(Lengths, ForeignBytes, testing::Values(3u, 8u, 30u));

TEST(ForeignBytesTest, AreSeenWhereTheyAre) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(files, 8));
  const Program program = start(harness, kOwner);
  write(harness, program, std::vector<std::uint32_t>(20, kForeignToken));
  save(harness, program);
  EXPECT_FALSE(tainted(files).empty());
}

TEST_P(ForeignBytes, GoIntoNoSnapshot) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(files, 8));
  leave_foreign_bytes(harness, 8);
  save(harness, with_unwritten_slots(harness, GetParam()));
  EXPECT_EQ(tainted(files), std::vector<std::string>());
}

TEST_P(ForeignBytes, GoOntoNoTier) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(files, 8);
  options.controller.tiers.disk_page_count_max = 100;
  Harness harness(options);
  leave_foreign_bytes(harness, 8);
  const Program program = with_unwritten_slots(harness, GetParam());
  const Program other = start(harness, kOwner);
  write(harness, other, count_tokens(8 * kPageSize, 4));
  ASSERT_GE(harness.controller->tier_statistics().swap_count, 1u);
  ASSERT_GE(harness.controller->tier_statistics().disk_page_count, 1u);
  // Bytes in memory come back as they went, and would be seen here.
  harness.controller->end_instance(other.guest);
  write(harness, program, count_tokens(1, 30));
  save(harness, program);
  EXPECT_EQ(tainted(files), std::vector<std::string>());
}

}  // namespace
}  // namespace quire::control::foreign_bytes_test
