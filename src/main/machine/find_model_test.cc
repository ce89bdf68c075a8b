#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "main/machine/machine.h"
#include "support/process.h"

namespace quire {
namespace {

// The variables that name the data folder are not set while it lives.
class WithoutDataFolder {
 public:
  WithoutDataFolder() {
    for (const char* name : {"QUIRE_DATA", "XDG_DATA_HOME", "HOME"}) {
      if (const char* value = std::getenv(name); value != nullptr) before_[name] = value;
      unsetenv(name);
    }
  }
  ~WithoutDataFolder() {
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST(FindModel, APathNeedsNoDataFolder) {
  const WithoutDataFolder without;
  const test::TemporaryFolder folder;
  const std::string path = folder.write("model.gguf", "bytes");
  const Result<std::string> found = find_model(path);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found.value(), path);
}

TEST(FindModel, ANameWithoutADataFolderSaysWhatToSet) {
  const WithoutDataFolder without;
  for (const char* name : {"", "some-model"}) {
    const Result<std::string> found = find_model(name);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error().message().find("QUIRE_DATA"), std::string::npos);
    EXPECT_NE(found.error().message().find("or give the path of a model"), std::string::npos);
  }
}

}  // namespace
}  // namespace quire
