#include "application/server/adapter_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "support/waiting_catalog.h"

namespace quire::server {
namespace {

constexpr control::TenantId kOne{1}, kTwo{2};

class Loader : public testing::Test {
 protected:
  Wakeup engine;
  WaitingCatalog catalog;
  std::string heard;
  std::unique_ptr<AdapterLoader> loader = std::make_unique<AdapterLoader>(
      catalog, engine,
      AdapterLoaderOptions{.count_max = 8, .bytes_max = 1000, .small_bytes_max = 200});

  Result<void> add(control::TenantId tenant, const std::string& name, std::uint64_t bytes = 1) {
    return add_files(tenant, name,
                     AdapterBytes{{{"a.gguf", bytes}}, std::vector<std::byte>(bytes)});
  }
  // A file of so many bytes on the server's disk.
  Result<void> add_path(control::TenantId tenant, const std::string& name, std::uint64_t bytes) {
    return add_files(tenant, name, control::AdapterPath{std::to_string(bytes), ""});
  }
  Result<void> add_files(control::TenantId tenant, const std::string& name,
                         std::variant<control::AdapterPath, AdapterBytes> files) {
    AdapterLoad load;
    load.caller = tenant;
    load.owner = tenant;
    load.name = name;
    load.files = std::move(files);
    load.then = [this, name](const Result<control::AdapterDescription>& added) {
      heard += (added.ok() ? name : "!" + name) + " ";
    };
    return loader->add(std::move(load));
  }
  // Until so many were handed out.
  void settle(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (static_cast<std::size_t>(std::ranges::count(heard, ' ')) < count) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      engine.wait_for(std::chrono::milliseconds(100));
      loader->turn();
    }
  }
};

TEST_F(Loader, TakesTheTenantsInTurns) {
  ASSERT_TRUE(add(kOne, "a").ok());
  catalog.await_first();
  for (const char* name : {"b", "c", "d"}) ASSERT_TRUE(add(kOne, name).ok());
  ASSERT_TRUE(add(kTwo, "x").ok());
  EXPECT_FALSE(loader->turn()) << "nothing is read yet";
  catalog.let_go();
  settle(5);
  EXPECT_EQ(heard, "a x b c d ");
}

TEST_F(Loader, ReadsASmallAdapterWhileALargeOneIsRead) {
  ASSERT_TRUE(add(kOne, "large", 201).ok());
  catalog.await_first();
  ASSERT_TRUE(add(kTwo, "free", 200).ok());
  settle(1);
  EXPECT_EQ(heard, "free ");
  catalog.let_go();
  settle(2);
}

TEST_F(Loader, FindsTheLargeOnesOfThoseOnTheDisk) {
  ASSERT_TRUE(add_path(kOne, "large", 201).ok());
  catalog.await_first();
  ASSERT_TRUE(add_path(kTwo, "free", 200).ok());
  settle(1);
  EXPECT_EQ(heard, "free ");
  catalog.let_go();
  settle(2);
}

TEST_F(Loader, RefusesMoreThanTheShareOfATenantAndTakesItLater) {
  ASSERT_TRUE(add(kOne, "a", 400).ok());
  EXPECT_EQ(add(kOne, "b", 200).error().message(),
            "loading_adapter_bytes_max: 200 bytes, beside 400 of adapters that are being loaded, "
            "are more than the tenant's share of 500");
  for (const char* name : {"b", "c", "d"}) ASSERT_TRUE(add(kOne, name).ok());
  EXPECT_EQ(add(kOne, "e").error().code(), ErrorCode::Unavailable);
  EXPECT_TRUE(add(kTwo, "x").ok());
  catalog.let_go();
  settle(5);
  EXPECT_TRUE(add(kOne, "e", 500).ok());
  settle(6);
}

TEST_F(Loader, HandsOutWhyAnAdapterWasRefused) {
  catalog.let_go();
  ASSERT_TRUE(add(kOne, "bad").ok());
  settle(1);
  EXPECT_EQ(heard, "!bad ");
}

TEST_F(Loader, DropsWhatWaitsWhenItEnds) {
  ASSERT_TRUE(add(kOne, "a").ok());
  catalog.await_first();
  ASSERT_TRUE(add(kOne, "b").ok());
  std::thread letting([this] { catalog.let_go(); });
  loader.reset();
  letting.join();
  EXPECT_EQ(heard, "");
}

}  // namespace
}  // namespace quire::server
