#include "control/store/store_failures.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace quire::store {
namespace {

DiskAnswer failed(const std::string& text, ErrorCode code = ErrorCode::Io) {
  return {DiskJobId{1}, Error(code, text)};
}

TEST(StoreFailures, AProgramHearsWhatFailedAndNotWhereItLies) {
  ManualClock clock;
  std::vector<std::string> told;
  StoreFailures failures(
      "/data/store", [&](const std::string& text) { told.push_back(text); }, clock);
  const std::string text =
      "index /data/store/index.sqlite: cannot write 4096 bytes at 0 of /data/store/index.sqlite: "
      "the disk is full";
  const DiskAnswer answer = failures.for_programs(failed(text));
  EXPECT_EQ(answer.body.error().code(), ErrorCode::Io);
  EXPECT_EQ(answer.body.error().message(),
            "index index.sqlite: cannot write 4096 bytes at 0 of index.sqlite: the disk is full");
  EXPECT_EQ(told, std::vector{text}) << "the operator reads all of it";
  EXPECT_EQ(failures.for_programs(failed("no room in /data/store")).body.error().message(),
            "no room in the store");
}

TEST(StoreFailures, EachPageOfAnAnswerIsReadLikewise) {
  ManualClock clock;
  StoreFailures failures("/data/store", {}, clock);
  PagesRead read;
  read.pages.push_back(Error(ErrorCode::Corrupted, "slot 3 of /data/store/x.pages: damaged"));
  CachedRead cached;
  cached.pages.push_back(Error(ErrorCode::Io, "/data/store/x.pages ends at byte 4"));
  PagesPut put;
  put.pages.push_back({Error(ErrorCode::Io, "cannot write /data/store/x.pages"), {}, false});
  DiskAnswer answer =
      failures.for_programs(DiskAnswer{DiskJobId{1}, DiskAnswerBody(std::move(read))});
  EXPECT_EQ(std::get<PagesRead>(answer.body.value()).pages[0].error().message(),
            "slot 3 of x.pages: damaged");
  answer = failures.for_programs(DiskAnswer{DiskJobId{2}, DiskAnswerBody(std::move(cached))});
  EXPECT_EQ(std::get<CachedRead>(answer.body.value()).pages[0].error().message(),
            "x.pages ends at byte 4");
  answer = failures.for_programs(DiskAnswer{DiskJobId{3}, DiskAnswerBody(std::move(put))});
  EXPECT_EQ(std::get<PagesPut>(answer.body.value()).pages[0].outcome.error().message(),
            "cannot write x.pages");
}

TEST(StoreFailures, TheOperatorHearsOfFailuresAloneAndOnceASecond) {
  ManualClock clock;
  clock.advance_ns(1);
  std::vector<std::string> told;
  StoreFailures failures("/s", [&](const std::string& text) { told.push_back(text); }, clock);
  (void)failures.for_programs(failed("there is no snapshot x", ErrorCode::NotFound));
  EXPECT_TRUE(told.empty()) << "a program may ask for what is not there";
  for (int i = 0; i < 3; ++i) (void)failures.for_programs(failed("page " + std::to_string(i)));
  clock.advance_ns(StoreFailures::kTellIntervalNs);
  (void)failures.for_programs(failed("page 3"));
  EXPECT_EQ(told,
            (std::vector<std::string>{"page 0", "page 3 (and 2 failures since the line before)"}));
}

}  // namespace
}  // namespace quire::store
