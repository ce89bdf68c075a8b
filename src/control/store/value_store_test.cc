// Values of tenants by key: by hand, and random operations with faults and crashes beside a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/seeds.h"
#include "support/store_fixture.h"

namespace quire::store {
namespace {

using test::code_of;
using test::SimulatedStore;

constexpr ExpectedVersion kAny{};
constexpr ExpectedVersion kNone{ExpectedVersion::kNone};

class Values : public test::StoreFixture {
 protected:
  std::uint64_t put(const std::string& key, const std::string& value,
                    ExpectedVersion expected = kAny, const std::string& tenant = "a") {
    const Result<std::uint64_t> version = store().put_value(tenant, key, value, expected);
    EXPECT_TRUE(version.ok()) << version.error().message();
    return version.ok() ? version.value() : 0;
  }
  std::string get(const std::string& key, const std::string& tenant = "a") {
    const Result<StoredValue> value = store().get_value(tenant, key);
    return value.ok() ? value.value().bytes : "error: " + std::string(value.error().message());
  }
};

TEST_F(Values, OutliveAPowerCutAndBelongToOneTenant) {
  const std::uint64_t first = put("name", std::string("a\0b", 3));
  const std::uint64_t second = put("name", "second");
  EXPECT_GT(second, first);
  put("name", "another's", kAny, "b");
  put("empty", "");
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  EXPECT_EQ(get("name"), "second");
  EXPECT_EQ(get("name", "b"), "another's");
  EXPECT_EQ(get("empty"), "");
  EXPECT_EQ(get("name", "c"), "error: no value under \"name\"");
  EXPECT_EQ(store().get_value("a", "name").value().version, second);
}

TEST_F(Values, AVersionIsNeverGivenTwiceEvenWhenItsValueIsDeleted) {
  const std::uint64_t first = put("key", "one");
  ASSERT_TRUE(store().delete_value("a", "key", kAny).ok());
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  const std::uint64_t second = put("key", "one");
  EXPECT_NE(first, second);
  EXPECT_EQ(code_of(store().put_value("a", "key", "late", {static_cast<std::int64_t>(first)})),
            ErrorCode::AlreadyExists);
  EXPECT_EQ(put("key", "b's first", kAny, "b"), 1u) << "versions tell nothing of other tenants";
}

TEST_F(Values, AChangeThatExpectsAnotherVersionChangesNothing) {
  EXPECT_EQ(code_of(store().put_value("a", "key", "x", {7})), ErrorCode::NotFound);
  const auto version = static_cast<std::int64_t>(put("key", "one", kNone));
  const auto exists = store().put_value("a", "key", "two", kNone);
  ASSERT_EQ(code_of(exists), ErrorCode::AlreadyExists);
  EXPECT_EQ(exists.error().message(), "under \"key\" is version 1, not 0");
  EXPECT_EQ(code_of(store().delete_value("a", "key", {version + 1})), ErrorCode::AlreadyExists);
  EXPECT_EQ(get("key"), "one");
  put("key", "two", {version});
  EXPECT_EQ(code_of(store().delete_value("a", "key", {version})), ErrorCode::AlreadyExists);
  EXPECT_TRUE(store().delete_value("a", "key", {version + 1}).ok());
  EXPECT_EQ(code_of(store().delete_value("a", "key", kAny)), ErrorCode::NotFound);
  EXPECT_EQ(code_of(store().put_value("a", "key", "x", {-2})), ErrorCode::InvalidArgument);
}

TEST_F(Values, KeysAreListedByPrefixInPiecesInTheOrderOfTheirBytes) {
  for (const char* key : {"b/2", "a", "b/1", "b", "b/3", "c", "b/\xff"}) put(key, key);
  put("b/9", "another's", kAny, "b");
  const auto keys = [this](const std::string& prefix, const std::string& after,
                           std::uint32_t count) {
    const Result<KeyList> list = store().list_keys("a", prefix, after, count);
    EXPECT_TRUE(list.ok());
    std::string text;
    for (const ListedKey& each : list.value().keys) text += each.key + " ";
    return text + (list.value().has_more ? "more" : "end");
  };
  EXPECT_EQ(keys("", "", 1000), "a b b/1 b/2 b/3 b/\xff c end");
  EXPECT_EQ(keys("b/", "", 2), "b/1 b/2 more");
  EXPECT_EQ(keys("b/", "b/2", 2), "b/3 b/\xff end");
  EXPECT_EQ(keys("b/", "b/\xff", 2), "end");
  EXPECT_EQ(keys("x", "", 1), "end");
  EXPECT_EQ(code_of(store().list_keys("a", "", "", 0)), ErrorCode::OutOfRange);
  EXPECT_EQ(code_of(store().list_keys("a", "", "", 1001)), ErrorCode::OutOfRange);
}

TEST_F(Values, KeysAndValuesHaveBounds) {
  EXPECT_EQ(code_of(store().put_value("a", "", "x", kAny)), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(store().put_value("a", std::string(256, 'k'), "x", kAny)), ErrorCode::TooLarge);
  EXPECT_EQ(code_of(store().put_value("a", "k", std::string(65'537, 'v'), kAny)),
            ErrorCode::TooLarge);
  put(std::string(255, 'k'), std::string(65'536, 'v'));
  EXPECT_EQ(get(std::string(255, 'k')), std::string(65'536, 'v'));
}

TEST_F(Values, ATenantsQuotaNamesItsLimitAndIsOpenAgainWhenSomethingGoes) {
  simulated_.options.tenant_value_count_max = 3;
  simulated_.options.tenant_value_bytes_max = 1000;
  reopen();
  put("1", "x");
  put("2", "x");
  put("3", "x");
  const auto fourth = store().put_value("a", "4", "x", kAny);
  ASSERT_EQ(code_of(fourth), ErrorCode::QuotaExceeded);
  EXPECT_EQ(fourth.error().message(),
            "tenant_value_count_max: the tenant's values would be 4 of 3; delete some");
  put("4", "x", kAny, "b");
  const auto large = store().put_value("a", "3", std::string(300, 'x'), kAny);
  ASSERT_EQ(code_of(large), ErrorCode::QuotaExceeded);
  EXPECT_EQ(large.error().message(),
            "tenant_value_bytes_max: the tenant's values would be 1073 of 1000; delete some");
  reopen();
  EXPECT_EQ(code_of(store().put_value("a", "4", "x", kAny)), ErrorCode::QuotaExceeded);
  ASSERT_TRUE(store().delete_value("a", "1", kAny).ok());
  put("3", std::string(300, 'x'));
}

TEST_F(Values, AStoreOfTheVersionBeforeIsTakenOverWithItsSnapshots) {
  const test::TestSnapshot saved = test::make_snapshot("a", "one", test::counting(1, 11));
  ASSERT_TRUE(simulated_.save(saved).ok());
  simulated_.store.reset();
  {
    SqliteVfs vfs(simulated_.files);
    auto database = Database::open(vfs, "machine/store/index.sqlite");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database.value()->run("DROP TABLE tenant_values").ok());
    ASSERT_TRUE(database.value()->run("DROP TABLE value_versions").ok());
    ASSERT_TRUE(database.value()->run("PRAGMA user_version=1").ok());
  }
  reopen();
  put("key", "value");
  EXPECT_EQ(get("key"), "value");
  EXPECT_EQ(test::load(store(), saved).loaded, test::Loaded::Equal);
}

TEST_F(Values, AValueThatIsNotWhatWasPutIsToldAndCanBeReplaced) {
  put("key", "value");
  put("sound", "value");
  simulated_.store.reset();
  {
    SqliteVfs vfs(simulated_.files);
    auto database = Database::open(vfs, "machine/store/index.sqlite");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database.value()
            ->run("UPDATE tenant_values SET value = CAST('valuf' AS BLOB) WHERE version = 1")
            .ok());
  }
  reopen();
  EXPECT_EQ(code_of(store().get_value("a", "key")), ErrorCode::Corrupted);
  EXPECT_EQ(get("sound"), "value");
  const auto damages = store().verify();
  ASSERT_TRUE(damages.ok());
  ASSERT_EQ(damages.value().size(), 1u);
  EXPECT_EQ(damages.value()[0].where, "value \"key\" of tenant \"a\"");
  put("key", "again");
  EXPECT_EQ(get("key"), "again");
  EXPECT_TRUE(store().verify().value().empty());
}

// Random operations beside a map; a disk that fails and a machine that stops in the middle.
class ValueProgram {
 public:
  explicit ValueProgram(std::uint64_t seed) : random_(seed) {}

  void run(std::map<std::string, std::uint64_t>& coverage) {
    simulated_.options.tenant_value_count_max = 4;
    reopen();
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      const std::string what = act();
      ++coverage[what];
      SCOPED_TRACE("step " + std::to_string(step) + ": " + what);
      check();
    }
  }

 private:
  struct Value {
    std::uint64_t version = 0;
    std::string bytes;
    bool operator==(const Value&) const = default;
  };
  using Key = std::pair<std::string, std::string>;
  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  SnapshotStore& store() { return *simulated_.store; }

  void reopen() {
    const Result<void> opened = simulated_.open();
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }

  std::optional<Value> read(const Key& key) {
    Result<StoredValue> value = store().get_value(key.first, key.second);
    if (!value.ok()) {
      EXPECT_EQ(value.error().code(), ErrorCode::NotFound) << value.error().message();
      return std::nullopt;
    }
    return Value{value.value().version, std::move(value.value().bytes)};
  }

  std::string act() {
    const Key key{below(4) == 0 ? "b" : "a", std::string(1, "vwxyz"[below(5)])};
    const auto found = model_.find(key);
    const bool is_there = found != model_.end();
    ExpectedVersion expected = kAny;
    if (below(3) == 0) expected = kNone;
    if (below(3) == 0 && is_there) {
      expected = {static_cast<std::int64_t>(found->second.version + (below(4) == 0 ? 1 : 0))};
    }
    const bool is_expected =
        expected.version == ExpectedVersion::kAny ||
        (is_there ? found->second.version == static_cast<std::uint64_t>(expected.version)
                  : expected.version == ExpectedVersion::kNone);
    const std::uint64_t call = simulated_.files.call_count() + 1 + below(20);
    const std::uint64_t fault = below(8);
    if (fault == 0) {
      simulated_.files.inject = [call](const SimulatedCall& each) {
        return SimulatedFault{.error_number = each.number == call ? EIO : 0};
      };
    } else if (fault == 1) {
      simulated_.files.crash_at = call;
    }
    const std::string what = below(3) == 0 ? remove(key, is_there, is_expected, expected)
                                           : put(key, is_there, is_expected, expected);
    simulated_.files.inject = nullptr;
    simulated_.files.crash_at.reset();
    if (!simulated_.files.crashed() && below(10) != 0) return what;
    simulated_.crash(below(2) == 0 ? CrashKeep::Nothing : CrashKeep::Part, random_.next());
    reopen();
    if (unsure_) settle();
    return what + ", crash";
  }

  std::string put(const Key& key, bool is_there, bool is_expected, ExpectedVersion expected) {
    const std::string bytes = std::to_string(below(1000));
    const Result<std::uint64_t> version = store().put_value(key.first, key.second, bytes, expected);
    if (version.ok()) {
      EXPECT_TRUE(is_expected);
      EXPECT_GT(version.value(), last_version_[key.first]) << "a version came again";
      last_version_[key.first] = version.value();
      model_[key] = {version.value(), bytes};
      return "put";
    }
    return refused(key, version.error(), is_there, is_expected, bytes);
  }

  std::string remove(const Key& key, bool is_there, bool is_expected, ExpectedVersion expected) {
    const Result<void> removed = store().delete_value(key.first, key.second, expected);
    if (removed.ok()) {
      EXPECT_TRUE(is_there && is_expected);
      model_.erase(key);
      return "delete";
    }
    return refused(key, removed.error(), is_there, is_there && is_expected, std::nullopt);
  }

  // `after`: what the key would hold; empty for a deletion.
  std::string refused(const Key& key, const Error& error, bool is_there, bool is_expected,
                      std::optional<std::string> after) {
    switch (error.code()) {
      case ErrorCode::AlreadyExists:
        EXPECT_TRUE(is_there && !is_expected);
        return "already-exists";
      case ErrorCode::NotFound:
        EXPECT_TRUE(!is_there && !is_expected);
        return "not-found";
      case ErrorCode::QuotaExceeded:
        EXPECT_EQ(std::count_if(model_.begin(), model_.end(),
                                [&](const auto& each) { return each.first.first == key.first; }),
                  4);
        return "quota-exceeded";
      default:
        unsure_ = {key, std::move(after)};
        if (!simulated_.files.crashed()) {
          simulated_.files.inject = nullptr;
          settle();
        }
        return "disk fails";
    }
  }

  // A change that failed for reasons of the disk happened as a whole or not at all.
  void settle() {
    const auto [key, after] = *std::exchange(unsure_, std::nullopt);
    const std::optional<Value> is = read(key);
    const auto found = model_.find(key);
    const bool is_old =
        found == model_.end() ? !is.has_value() : is.has_value() && *is == found->second;
    const bool is_new = after.has_value() ? is.has_value() && is->bytes == *after : !is.has_value();
    EXPECT_TRUE(is_old || is_new);
    if (is.has_value()) {
      last_version_[key.first] = std::max(last_version_[key.first], is->version);
      model_[key] = *is;
    } else {
      model_.erase(key);
    }
  }

  void check() {
    for (const char* tenant : {"a", "b"}) {
      const Result<KeyList> list = store().list_keys(tenant, "", "", 1000);
      ASSERT_TRUE(list.ok()) << list.error().message();
      std::size_t count = 0;
      for (const auto& [key, value] : model_) {
        if (key.first != tenant) continue;
        ASSERT_LT(count, list.value().keys.size());
        const ListedKey& listed = list.value().keys[count++];
        EXPECT_EQ(listed.key, key.second);
        EXPECT_EQ(listed.version, value.version);
        EXPECT_EQ(listed.value_bytes, value.bytes.size());
        EXPECT_EQ(read(key), value);
      }
      EXPECT_EQ(count, list.value().keys.size());
    }
    const Result<std::vector<Damage>> damages = store().verify();
    ASSERT_TRUE(damages.ok());
    EXPECT_TRUE(damages.value().empty());
  }

  SeededRandom random_;
  SimulatedStore simulated_;
  std::map<Key, Value> model_;
  std::map<std::string, std::uint64_t> last_version_;
  std::optional<std::pair<Key, std::optional<std::string>>> unsure_;
};

TEST(ValuePrograms, FaultsAndCrashesLeaveEachValueOldOrNew) {
  std::map<std::string, std::uint64_t> coverage;
  for (const std::uint64_t seed : campaign_seeds(400)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ValueProgram(seed).run(coverage);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  for (const char* what : {"put", "delete", "already-exists", "not-found", "quota-exceeded",
                           "disk fails", "disk fails, crash", "put, crash"}) {
    EXPECT_GT(coverage[what], 0u) << what;
  }
}

}  // namespace
}  // namespace quire::store
