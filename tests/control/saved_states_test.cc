// States of recurrent layers in snapshots: with them an opened context computes no token again, and
// without them it gives the same.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "control/harness.h"
#include "control/store/page_file.h"
#include "control/store/page_space.h"

namespace quire::control::saved_states_test {
namespace {

class SavedStates : public testing::Test {
 protected:
  void SetUp() override { start(8); }
  void TearDown() override {
    harness->run();
    harness->verify();
  }
  // Anew, where there was an engine: states must come from the disk.
  void start(std::uint32_t state_count) {
    if (harness) harness->run();
    harness.reset();
    Harness::Options options;
    options.device.page_count = 400;
    options.device.row_count_max = 256;
    options.device.state_count = state_count;
    options.files = &files;
    harness = std::make_unique<Harness>(std::move(options));
    begin_program();
  }
  void begin_program() {
    guest = harness->start(TenantId{1});
    queue = harness->queue(guest);
  }

  template <typename T>
  T ask(CommandBody body) {
    const FutureId future = harness->send(guest, std::move(body));
    harness->run_until(guest, future);
    return harness->get<T>(guest, future);
  }
  ObjectId written(const std::vector<std::uint32_t>& tokens) {
    const ObjectId context = harness->context(guest, queue);
    harness->send(guest, ContextAppend{context, tokens}, false);
    ask<ContextState>(ContextFlush{context});
    return context;
  }
  void save(ObjectId context, const std::string& name) {
    ask<Done>(ContextSave{.context = context, .name = name, .overwrites = true});
  }
  ObjectId open(const std::string& name) {
    return ask<Opened>(ContextOpen{.context = harness->new_object(), .queue = queue, .name = name})
        .context;
  }
  std::vector<std::uint32_t> next(ObjectId context, const std::vector<std::uint32_t>& tokens) {
    if (!tokens.empty()) harness->send(guest, ContextAppend{context, tokens}, false);
    const std::vector<ObjectId> output = harness->embeds(guest, queue, 1);
    harness->send(guest, ContextForward{context, output}, false);
    return ask<NextDistribution>(GetNextDist{queue, output[0], 4}).tokens;
  }
  StateStatistics states() const { return harness->controller->statistics().states; }
  std::uint64_t rows() const { return harness->controller->statistics().row_count; }
  // The file of states, the larger one of two.
  void damage_states() {
    std::vector<std::string> names;
    ASSERT_EQ(files.list_folder("store", names).error_number, 0);
    int damaged = 0;
    for (const std::string& name : names) {
      if (!store::is_page_file_name(name)) continue;
      const auto file = static_cast<store::Descriptor>(
          files.open("store/" + name, store::OpenMode::ReadWrite).value);
      std::array<std::byte, 4096> header{};
      files.pread(file, header, 0);
      const auto space = store::decode_page_file_header(header, name);
      ASSERT_TRUE(space.ok());
      if (space.value().is_of_states) {
        const auto bytes = static_cast<std::uint64_t>(files.file_bytes(file).value);
        const std::array<std::byte, 1> wrong{std::byte{0xa5}};
        const std::uint64_t slot = store::slot_bytes_of(space.value());
        for (std::uint64_t at = 4096; at < bytes; at += slot) {
          files.pwrite(file, wrong, at + store::kPageHeaderBytes + 3);
          ++damaged;
        }
      }
      files.close(file);
    }
    EXPECT_GT(damaged, 0);
  }

  store::SimulatedFileSystem files;
  std::unique_ptr<Harness> harness;
  InstanceId guest;
  ObjectId queue;
};

TEST_F(SavedStates, AnOpenedContextComputesItsTailAgainAndNoMore) {
  const ObjectId context = written(count_tokens(200));
  save(context, "one");
  EXPECT_EQ(states().saved_count, 1u);
  const std::vector<std::uint32_t> expected = next(context, {7, 8});
  start(8);
  const ObjectId opened = open("one");
  EXPECT_EQ(next(opened, {7, 8}), expected);
  EXPECT_EQ(rows(), 8u + 2u) << "192 tokens lie before the state";
  EXPECT_EQ(states().loaded_count, 1u);
  EXPECT_EQ(ask<ContextState>(ContextFlush{opened}).counters.found_token_count, 192u);
}

TEST_F(SavedStates, ABranchOfAnOpenedContextBeginsWithAStateOfItsOwn) {
  ObjectId context = written(count_tokens(100));
  harness->send(guest, ContextAppend{context, count_tokens(200, 101)}, false);
  ask<ContextState>(ContextFlush{context});
  save(context, "one");
  ask<ContextState>(ContextEdit{.context = context, .kind = ContextEditKind::Rewind, .count = 110});
  const std::vector<std::uint32_t> expected = next(context, {7, 8});
  start(8);
  const ObjectId opened = open("one");
  ask<ContextState>(ContextEdit{.context = opened, .kind = ContextEditKind::Rewind, .count = 110});
  EXPECT_EQ(next(opened, {7, 8}), expected);
  EXPECT_EQ(rows(), 110u - 96u + 2u);
}

TEST_F(SavedStates, ADamagedOneCostsItsTokensAgain) {
  const ObjectId context = written(count_tokens(200));
  save(context, "one");
  const std::vector<std::uint32_t> expected = next(context, {7});
  start(8);
  damage_states();
  const ObjectId opened = open("one");
  EXPECT_EQ(next(opened, {7}), expected);
  EXPECT_EQ(rows(), 201u);
  EXPECT_EQ(states().loaded_count, 0u);
  EXPECT_EQ(ask<ContextState>(ContextFlush{opened}).counters.found_token_count, 0u);
}

TEST_F(SavedStates, OneThatWasEvictedComesBackFromTheStore) {
  start(2);
  const ObjectId context = written(count_tokens(200));
  save(context, "one");
  written(count_tokens(64, 300));
  written(count_tokens(64, 400));
  const std::uint64_t before = rows();
  next(context, {7});
  EXPECT_EQ(rows() - before, 8u + 1u);
  EXPECT_EQ(states().loaded_count, 1u);
}

TEST_F(SavedStates, ForksOfAnOpenedContextWaitForOneLoad) {
  save(written(count_tokens(200)), "one");
  start(8);
  const ObjectId opened = open("one");
  std::vector<ObjectId> forks;
  for (int each = 0; each < 3; ++each) {
    forks.push_back(harness->new_object());
    harness->send(guest, ContextFork{.context = opened, .child = forks.back()}, false);
    harness->send(guest, ContextAppend{forks.back(), {7, 8}}, false);
  }
  std::vector<FutureId> flushed;
  for (const ObjectId fork : forks) flushed.push_back(harness->send(guest, ContextFlush{fork}));
  harness->run();
  for (const FutureId each : flushed) EXPECT_EQ(harness->error(guest, each), std::nullopt);
  EXPECT_EQ(states().loaded_count, 1u);
  EXPECT_EQ(rows(), 3u * 10u);
}

TEST_F(SavedStates, AProgramThatEndsWhileItsStateComesLeavesNothing) {
  save(written(count_tokens(200)), "one");
  start(8);
  const ObjectId opened = open("one");
  harness->send(guest, ContextAppend{opened, {7, 8}}, false);
  harness->send(guest, ContextFlush{opened});
  harness->begin_step();
  harness->controller->end_instance(guest);
  harness->run();
  harness->verify();
  EXPECT_TRUE(harness->controller->idle());
}

}  // namespace
}  // namespace quire::control::saved_states_test
