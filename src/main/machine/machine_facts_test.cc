#include "main/machine/machine_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quire {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

// The kernel's files, as a test has them.
class MemoryGroups : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("quire_groups_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::optional<std::uint64_t> most(const std::string& groups) const {
    write("self", groups);
    return memory_group_bytes_max(folder_ / "self", folder_);
  }

  std::filesystem::path folder_;
};

TEST_F(MemoryGroups, TheLeastLimitOfAGroupAndThoseAboveItCounts) {
  EXPECT_EQ(most("0::/system.slice/quire.service"), std::nullopt);
  write("system.slice/quire.service/memory.max", "max");
  EXPECT_EQ(most("0::/system.slice/quire.service"), std::nullopt);
  write("system.slice/memory.max", std::to_string(600 * kMiB));
  EXPECT_EQ(most("0::/system.slice/quire.service"), 600 * kMiB);
  write("system.slice/quire.service/memory.max", std::to_string(420 * kMiB));
  EXPECT_EQ(most("0::/system.slice/quire.service"), 420 * kMiB);
  EXPECT_EQ(most("0::/"), std::nullopt);
}

TEST_F(MemoryGroups, InAContainerTheRootHasTheLimitAndThePathIsNotThere) {
  write("memory.max", std::to_string(300 * kMiB));
  EXPECT_EQ(most("0::/"), 300 * kMiB);
  EXPECT_EQ(most("0::/../../elsewhere"), 300 * kMiB);
}

TEST_F(MemoryGroups, VersionOneHasAFolderForEachController) {
  write("memory/docker/x/memory.limit_in_bytes", std::to_string(200 * kMiB));
  EXPECT_EQ(most("5:devices:/docker/x\n4:hugetlb,memory:/docker/x\n0::/"), 200 * kMiB);
  write("memory/docker/x/memory.limit_in_bytes", "9223372036854771712");  // As no limit is written.
  EXPECT_EQ(most("4:memory:/docker/x"), std::nullopt);
}

TEST_F(MemoryGroups, WhatIsNoGroupIsPassedOver) {
  EXPECT_EQ(most("nonsense\n::\n:"), std::nullopt);
  EXPECT_EQ(memory_group_bytes_max(folder_ / "absent", folder_), std::nullopt);
}

}  // namespace
}  // namespace quire
