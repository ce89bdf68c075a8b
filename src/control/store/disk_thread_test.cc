#include "control/store/disk_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>

#include "control/store/posix_file_system.h"
#include "support/process.h"
#include "support/snapshot_harness.h"

namespace quire::store {
namespace {

using test::counting;
using test::make_snapshot;
using test::SimulatedStore;
using test::TestSnapshot;

const SteadyClock steady;

// Room for so many answers, from the reservation until one is taken.
class Inbox final : public DiskAnswerSink {
 public:
  explicit Inbox(std::size_t capacity) : capacity_(capacity), answers_(capacity) {}
  bool try_reserve() override {
    if (reserved_.fetch_add(1) < capacity_) return true;
    reserved_.fetch_sub(1);
    return false;
  }
  void cancel_reservation() override { reserved_.fetch_sub(1); }
  void deliver(DiskAnswer answer) override {
    ASSERT_TRUE(answers_.try_push(std::move(answer))) << "an answer without a reserved slot";
  }
  std::optional<DiskAnswer> wait() {
    std::optional<DiskAnswer> answer = answers_.pop_for(std::chrono::seconds(60));
    if (answer.has_value()) reserved_.fetch_sub(1);
    return answer;
  }

 private:
  const std::size_t capacity_;
  std::atomic<std::size_t> reserved_{0};
  BoundedQueue<DiskAnswer> answers_;
};

template <typename T>
T body_of(Inbox& inbox, std::uint64_t id) {
  std::optional<DiskAnswer> answer = inbox.wait();
  EXPECT_TRUE(answer.has_value());
  EXPECT_EQ(answer->id, DiskJobId{id});
  EXPECT_TRUE(answer->body.ok()) << answer->body.error().message();
  if (!answer->body.ok()) return {};
  T* body = std::get_if<T>(&answer->body.value());
  EXPECT_NE(body, nullptr);
  return body != nullptr ? std::move(*body) : T{};
}

PutCachedJob put_of(const PageSpace& space, std::vector<PageRecord> records) {
  PutCachedJob job{.space = space, .pages = {}};
  for (PageRecord& record : records) {
    const std::vector<std::byte> kv = std::exchange(record.kv, {});
    PageBytes bytes = PageBytes::uninitialised(kv.size());
    std::copy(kv.begin(), kv.end(), bytes.span().begin());
    const Checksum sum = checksum(bytes.span());
    job.pages.push_back({std::move(record), std::move(bytes), sum});
  }
  return job;
}

std::vector<std::byte> vector_of(const PageBytes& bytes) {
  return {bytes.span().begin(), bytes.span().end()};
}

void use_all_jobs(Disk& disk, Inbox& inbox, const std::function<void()>& turn,
                  const std::string& export_path) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 11));
  const PageSpace& space = snapshot.record.space;
  std::vector<PageName> names;
  for (const PageRecord& page : snapshot.pages) names.push_back(page.name);
  std::uint64_t id = 0;
  const auto submit = [&](DiskJob job) {
    const Result<void> submitted = disk.submit(DiskJobId{++id}, std::move(job));
    ASSERT_TRUE(submitted.ok()) << submitted.error().message();
    turn();
  };
  // A page that cannot be stored does not fail those beside it.
  PageRecord too_much = snapshot.pages[1];
  too_much.view.assign(kViewBytesMax + 1, 1);
  submit(put_of(space, {too_much, snapshot.pages[0]}));
  const auto put = body_of<PagesPut>(inbox, id);
  ASSERT_EQ(put.pages.size(), 2u);
  EXPECT_EQ(put.pages[0].outcome.error().code(), ErrorCode::TooLarge);
  EXPECT_TRUE(put.pages[1].outcome.ok());
  EXPECT_EQ(vector_of(put.pages[1].bytes), snapshot.pages[0].kv) << "the bytes come back";
  submit(ReadCachedJob{space, {snapshot.pages[0].name, snapshot.pages[1].name}});
  const auto cached = body_of<CachedRead>(inbox, id);
  ASSERT_EQ(cached.pages.size(), 2u);
  EXPECT_EQ(cached.pages[0].value().record.tokens, snapshot.pages[0].tokens);
  EXPECT_EQ(vector_of(cached.pages[0].value().bytes), snapshot.pages[0].kv);
  EXPECT_EQ(cached.pages[0].value().checksum, checksum(snapshot.pages[0].kv));
  EXPECT_EQ(cached.pages[1].error().code(), ErrorCode::NotFound);
  submit(BeginSaveJob{space, names});
  const auto begun = body_of<BegunSave>(inbox, id);
  EXPECT_EQ(begun.missing, std::vector{names[1]});
  submit(AddPagesJob{begun.ticket, {snapshot.pages[1]}});
  body_of<Done>(inbox, id);
  submit(SaveJob{snapshot.record, {}, {.ticket = begun.ticket}});
  EXPECT_EQ(body_of<SnapshotInfo>(inbox, id).page_count, 3u);
  submit(ListJob{"a"});
  EXPECT_EQ(body_of<SnapshotList>(inbox, id).snapshots.size(), 1u);
  submit(OpenJob{"a", "one", space});
  const auto opened = body_of<OpenedSnapshot>(inbox, id);
  EXPECT_EQ(opened.chain, names);
  submit(ReadPagesJob{space, opened.chain});
  const auto read = body_of<PagesRead>(inbox, id);
  ASSERT_EQ(read.pages.size(), 2u);
  EXPECT_TRUE(test::same_page(read.pages[1].value(), snapshot.pages[1]));
  submit(ReleaseJob{opened.ticket});
  body_of<Done>(inbox, id);
  submit(ExportJob{"a", "one", export_path});
  body_of<Done>(inbox, id);
  ImportOptions import_options;
  import_options.tenant = "b";
  import_options.space = space;
  submit(ImportJob{export_path, import_options});
  EXPECT_EQ(body_of<SnapshotInfo>(inbox, id).name, "one");
  submit(DropCachedJob{space, names});
  body_of<Done>(inbox, id);
  submit(RemoveJob{"a", "one"});
  body_of<Done>(inbox, id);
  submit(GcJob{});
  EXPECT_EQ(body_of<GcReport>(inbox, id).page_count_freed, 0u) << "b has them all";
  submit(VerifyJob{});
  EXPECT_TRUE(body_of<std::vector<Damage>>(inbox, id).empty());
  submit(OpenJob{"a", "one", std::nullopt});
  const std::optional<DiskAnswer> absent = inbox.wait();
  ASSERT_TRUE(absent.has_value());
  EXPECT_EQ(absent->body.error().code(), ErrorCode::NotFound);
}

TEST(DiskThread, DoesEveryJobInOrderOnRealFiles) {
  const test::TemporaryFolder folder;
  PosixFileSystem files;
  const SystemWallClock clock;
  auto store =
      SnapshotStore::open(files, clock, {.folder = folder.file("kv"), .cached_slot_count_max = 4});
  ASSERT_TRUE(store.ok()) << store.error().message();
  Inbox inbox(4);
  auto disk = DiskThread::start(files, std::move(store).take(), inbox, steady);
  ASSERT_TRUE(disk.ok()) << disk.error().message();
  use_all_jobs(*disk.value(), inbox, [] {}, folder.file("one.kv"));
}

TEST(DiskThread, InlineDoesTheSameWhenItGetsItsTurn) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  Inbox inbox(4);
  InlineDisk disk(simulated.files, std::move(simulated.store), inbox, steady);
  use_all_jobs(disk, inbox, [&disk] { EXPECT_TRUE(disk.run_one()); }, "machine/one.kv");
  EXPECT_FALSE(disk.run_one());
}

TEST(DiskThread, RefusesWhenThereIsNoRoomAndRecovers) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  Inbox inbox(3);
  InlineDisk disk(simulated.files, std::move(simulated.store), inbox, steady, 2);
  EXPECT_TRUE(disk.submit(DiskJobId{1}, GcJob{}).ok());
  EXPECT_TRUE(disk.submit(DiskJobId{2}, GcJob{}).ok());
  const Result<void> queue_full = disk.submit(DiskJobId{3}, GcJob{});
  ASSERT_FALSE(queue_full.ok());
  EXPECT_EQ(queue_full.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(queue_full.error().message(), "the disk cannot keep up: its queue is full");
  EXPECT_TRUE(disk.run_one());
  EXPECT_TRUE(disk.submit(DiskJobId{4}, GcJob{}).ok()) << "the refused job's reservation is free";
  const Result<void> inbox_full = disk.submit(DiskJobId{5}, GcJob{});
  ASSERT_FALSE(inbox_full.ok());
  EXPECT_EQ(inbox_full.error().message(), "the disk cannot keep up: no room for another answer");
  EXPECT_EQ(inbox.wait()->id, DiskJobId{1});
  EXPECT_TRUE(disk.run_one());
  EXPECT_TRUE(disk.submit(DiskJobId{6}, GcJob{}).ok());
}

TEST(DiskThread, BytesThatChangedInMemoryAreNotWritten) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 8));
  Inbox inbox(4);
  InlineDisk disk(simulated.files, std::move(simulated.store), inbox, steady, 4);
  PutCachedJob job = put_of(snapshot.record.space, snapshot.pages);
  job.pages[0].bytes.span()[3] ^= std::byte{0x10};
  ASSERT_TRUE(disk.submit(DiskJobId{1}, std::move(job)).ok());
  ASSERT_TRUE(disk.run_one());
  const auto put = body_of<PagesPut>(inbox, 1);
  ASSERT_EQ(put.pages.size(), 2u);
  EXPECT_TRUE(put.pages[0].is_damaged);
  EXPECT_FALSE(put.pages[0].outcome.ok());
  EXPECT_FALSE(put.pages[1].is_damaged);
  EXPECT_TRUE(put.pages[1].outcome.ok()) << "the other is written";
  ReadCachedJob read{.space = snapshot.record.space, .names = {snapshot.pages[0].name}};
  ASSERT_TRUE(disk.submit(DiskJobId{2}, std::move(read)).ok());
  ASSERT_TRUE(disk.run_one());
  EXPECT_FALSE(body_of<CachedRead>(inbox, 2).pages[0].ok()) << "nobody finds it";
}

TEST(DiskThread, AJobThatIsRefusedKeepsWhatItHas) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 11));
  const auto refused_by = [&](Disk& disk) {
    DiskJob job(put_of(snapshot.record.space, {snapshot.pages[0]}));
    EXPECT_FALSE(disk.submit(DiskJobId{1}, job).ok());
    EXPECT_EQ(vector_of(std::get<PutCachedJob>(job).pages[0].bytes), snapshot.pages[0].kv);
  };
  Inbox inbox(1);
  InlineDisk no_queue(simulated.files, std::move(simulated.store), inbox, steady, 0);
  refused_by(no_queue);
  const test::TemporaryFolder folder;
  PosixFileSystem files;
  const SystemWallClock clock;
  auto store = SnapshotStore::open(files, clock, {.folder = folder.file("kv")});
  ASSERT_TRUE(store.ok());
  Inbox no_answer(0);
  auto disk = DiskThread::start(files, std::move(store).take(), no_answer, steady);
  ASSERT_TRUE(disk.ok()) << disk.error().message();
  refused_by(*disk.value());
}

TEST(DiskThread, NoAnswerSaysWhereFilesLieWhicheverCallFails) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 11));
  std::uint64_t failure_count = 0;
  for (std::uint64_t at = 1; at < 40; ++at) {
    SimulatedStore simulated;
    ASSERT_TRUE(simulated.open().ok());
    const std::string folder = simulated.options.folder;
    Inbox inbox(4);
    InlineDisk disk(simulated.files, std::move(simulated.store), inbox, steady, 4);
    const std::uint64_t before = simulated.files.call_count();
    simulated.files.inject = [=](const SimulatedCall& call) {
      return SimulatedFault{.error_number = call.number >= before + at ? ENOSPC : 0};
    };
    ASSERT_TRUE(disk.submit(DiskJobId{1}, PutValueJob{"a", "key", "value", {}}).ok());
    ASSERT_TRUE(disk.submit(DiskJobId{2}, SaveJob{snapshot.record, snapshot.pages, {}}).ok());
    for (int job = 0; job < 2; ++job) {
      ASSERT_TRUE(disk.run_one());
      const std::optional<DiskAnswer> answer = inbox.wait();
      ASSERT_TRUE(answer.has_value());
      if (answer->body.ok()) continue;
      ++failure_count;
      const std::string_view text = answer->body.error().message();
      EXPECT_EQ(text.find(folder), std::string_view::npos) << text;
      EXPECT_NE(text.find("disk is full"), std::string_view::npos) << text;
    }
  }
  EXPECT_GT(failure_count, 40u);
}

TEST(DiskThread, EndsOnlyWhenWhatItAcceptedIsDone) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  Inbox inbox(64);
  {
    auto disk = DiskThread::start(simulated.files, std::move(simulated.store), inbox, steady);
    ASSERT_TRUE(disk.ok()) << disk.error().message();
    for (std::uint64_t id = 1; id <= 64; ++id) {
      const TestSnapshot snapshot = make_snapshot("a", std::to_string(id), counting(1, 9));
      ASSERT_TRUE(
          disk.value()->submit(DiskJobId{id}, SaveJob{snapshot.record, snapshot.pages, {}}).ok());
    }
  }
  for (std::uint64_t id = 1; id <= 64; ++id) {
    const std::optional<DiskAnswer> answer = inbox.wait();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->id, DiskJobId{id});
    EXPECT_TRUE(answer->body.ok());
  }
}

}  // namespace
}  // namespace quire::store
