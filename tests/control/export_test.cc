// export_kvpage, import_kvpage, unexport_kvpage, list_exports: by name within a tenant.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control::export_test {
namespace {

constexpr std::uint32_t kPageSize = 8;
constexpr std::uint32_t kPageCount = 16;
constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

class PageExports : public testing::Test {
 protected:
  static Harness::Options options_of() {
    Harness::Options options;
    options.device.page_size = kPageSize;
    options.device.page_count = kPageCount;
    return options;
  }
  std::optional<ErrorCode> outcome(const PageGuest& guest, FutureId future) {
    harness.run();
    return harness.error(guest.id, future);
  }
  std::string probe(PageGuest& guest, const std::vector<ObjectId>& pages) {
    return guest.probe(pages, kPageSize);
  }
  // Two pages, the second partly filled, under that name; gone with the guest that made them.
  std::string leave(const std::string& name, TenantId tenant = kTenant) {
    PageGuest author(harness, tenant);
    const auto pages = author.alloc(2);
    author.write(pages, count_tokens(11, 40), 0);
    const std::string content = probe(author, pages);
    EXPECT_FALSE(outcome(author, author.export_pages(pages, name)));
    harness.controller->end_instance(author.id);
    harness.run();
    return content;
  }
  std::string list(PageGuest& guest) {
    const FutureId future = guest.send(ListExports{});
    harness.run();
    std::string text;
    for (const ExportDescription& each : harness.get<Exports>(guest.id, future).all) {
      text += each.name + ":" + std::to_string(each.page_count) + "/" +
              std::to_string(each.token_count) + (each.is_public ? " public" : "") +
              (each.is_own ? "" : " other") + ";";
    }
    return text;
  }
  std::uint32_t pages_taken() const { return kPageCount - harness.free_page_count(); }

  Harness harness{options_of()};
};

TEST_F(PageExports, OutliveTheirExporterAndReadTheSame) {
  const std::string content = leave("prompt");
  EXPECT_EQ(pages_taken(), 2u);
  PageGuest reader(harness, kTenant);
  const auto pages = harness.new_objects(2);
  const FutureId import = reader.import_pages("prompt", pages);
  EXPECT_EQ(probe(reader, pages), content);
  const SharedPages shared = harness.get<SharedPages>(reader.id, import);
  ASSERT_EQ(shared.all.size(), 2u);
  EXPECT_EQ(shared.all[1].index, 1u);
  EXPECT_EQ(shared.all[0].written, 0xffu);
  EXPECT_EQ(shared.all[1].written, 0x07u);
  EXPECT_EQ(pages_taken(), 2u) << "importers share the pages";
}

TEST_F(PageExports, FreeTheirPagesWhenTheLastHolderGoes) {
  leave("prompt");
  PageGuest reader(harness, kTenant);
  const auto pages = reader.import_pages("prompt", 2);
  harness.run();
  EXPECT_FALSE(outcome(reader, reader.unexport("prompt")));
  EXPECT_EQ(pages_taken(), 2u) << "who imported keeps what it has";
  reader.dealloc({pages[0]});
  harness.run();
  EXPECT_EQ(pages_taken(), 1u);
  harness.controller->end_instance(reader.id);
  EXPECT_EQ(pages_taken(), 0u);
  harness.controller->verify();
}

TEST_F(PageExports, UnexportFreesAtOnceWhereNobodyImported) {
  leave("prompt");
  PageGuest guest(harness, kTenant);
  const FutureId future = guest.unexport("prompt");
  EXPECT_EQ(pages_taken(), 0u);
  EXPECT_FALSE(harness.error(guest.id, future));
}

TEST_F(PageExports, OfAPartlyFilledPageAreSealedCopies) {
  PageGuest author(harness, kTenant);
  const auto pages = author.alloc(1);
  author.write(pages, count_tokens(3), 0);
  const std::string before = probe(author, pages);
  author.export_pages(pages, "early");
  EXPECT_FALSE(outcome(author, author.write(pages, {90, 91}, 3, pages)));
  EXPECT_EQ(pages_taken(), 2u);
  EXPECT_EQ(probe(author, author.import_pages("early", 1)), before);
  EXPECT_NE(probe(author, pages), before);
}

TEST_F(PageExports, OfAFullPageShareItAndMakeItReadOnly) {
  PageGuest author(harness, kTenant);
  const auto pages = author.alloc(2);
  author.write({pages[0]}, count_tokens(kPageSize), 0);
  author.write({pages[1]}, count_tokens(1), 0);
  EXPECT_FALSE(outcome(author, author.export_pages({pages[0]}, "full")));
  EXPECT_EQ(pages_taken(), 2u);
  EXPECT_EQ(outcome(author, author.copy(pages[1], pages[0], 0, 0, 1)), ErrorCode::PageCommitted);
}

TEST_F(PageExports, AreReadOnlyForWhoImportsThem) {
  leave("prompt");
  PageGuest reader(harness, kTenant);
  const auto pages = reader.import_pages("prompt", 2);
  const auto own = reader.alloc(1);
  reader.write(own, {1}, 0);
  const std::string before = probe(reader, pages);
  EXPECT_EQ(outcome(reader, reader.write({pages[1]}, {5}, 11)), ErrorCode::PageCommitted);
  EXPECT_EQ(outcome(reader, reader.write({pages[0]}, {5}, 11)), ErrorCode::PageCommitted);
  EXPECT_EQ(outcome(reader, reader.copy(own[0], pages[1], 0, 5, 1)), ErrorCode::PageCommitted);
  EXPECT_EQ(probe(reader, pages), before);
  // A mask is its own affair.
  EXPECT_FALSE(outcome(reader, reader.mask(pages[0], std::vector<std::uint8_t>(kPageSize, 0))));
  EXPECT_NE(probe(reader, pages), before);
  EXPECT_EQ(probe(reader, reader.import_pages("prompt", 2)), before);
}

TEST_F(PageExports, CanBeExportedAgainByWhoImportedThem) {
  const std::string content = leave("first");
  PageGuest reader(harness, kTenant);
  const auto pages = reader.import_pages("first", 2);
  reader.export_pages(pages, "second");
  EXPECT_FALSE(outcome(reader, reader.unexport("first")));
  EXPECT_EQ(pages_taken(), 2u);
  EXPECT_EQ(probe(reader, reader.import_pages("second", 2)), content);
}

TEST_F(PageExports, OfOneInstanceTakeEffectInTheOrderOfIssue) {
  PageGuest guest(harness, kTenant);
  const ObjectId elsewhere = harness.queue(guest.id);
  const auto pages = guest.alloc(1);
  guest.write(pages, count_tokens(2), 0);
  guest.export_pages(pages, "name");
  const auto imported = harness.new_objects(1);
  const FutureId import = guest.send(ImportPages{elsewhere, "name", imported});
  const FutureId gone = guest.unexport("name");
  const FutureId late = guest.send(ImportPages{elsewhere, "name", harness.new_objects(1)});
  const FutureId again = guest.export_pages(pages, "name");
  harness.run();
  EXPECT_FALSE(harness.error(guest.id, import));
  EXPECT_FALSE(harness.error(guest.id, gone));
  EXPECT_EQ(harness.error(guest.id, late), ErrorCode::NotFound);
  EXPECT_FALSE(harness.error(guest.id, again));
  EXPECT_EQ(probe(guest, imported), probe(guest, pages));
}

TEST_F(PageExports, HaveNamesOfTheirTenantAlone) {
  const std::string ours = leave("name");
  const std::string theirs = [&] {
    PageGuest author(harness, kOther);
    const auto pages = author.alloc(1);
    author.write(pages, count_tokens(3, 300), 0);
    EXPECT_FALSE(outcome(author, author.export_pages(pages, "name")));
    return probe(author, pages);
  }();
  PageGuest one(harness, kTenant);
  PageGuest two(harness, kOther);
  EXPECT_EQ(probe(one, one.import_pages("name", 2)), ours);
  EXPECT_EQ(probe(two, two.import_pages("name", 1)), theirs);
  EXPECT_FALSE(outcome(two, two.unexport("name")));
  EXPECT_EQ(outcome(two, two.unexport("name")), ErrorCode::NotFound);
  EXPECT_EQ(list(one), "name:2/11;");
  EXPECT_EQ(list(two), "");
}

TEST_F(PageExports, ArePublicByGrantAlone) {
  PageGuest plain(harness, kTenant);
  const auto pages = plain.alloc(1);
  plain.write(pages, count_tokens(3), 0);
  const FutureId refused = plain.export_pages(pages, "system", true);
  EXPECT_EQ(outcome(plain, refused), ErrorCode::PermissionDenied);
  EXPECT_EQ(harness.message(plain.id, refused),
            "a public export needs the grant may_export_publicly");

  PageGuest granted(harness, kTenant, {.may_export_publicly = true});
  const auto system = granted.alloc(1);
  granted.write(system, count_tokens(4), 0);
  EXPECT_FALSE(outcome(granted, granted.export_pages(system, "system", true)));
  PageGuest other(harness, kOther, {.may_export_publicly = true});
  EXPECT_EQ(probe(other, other.import_pages("system", 1)), probe(granted, system));
  EXPECT_EQ(list(other), "system:1/4 public other;");
  EXPECT_EQ(outcome(other, other.unexport("system")), ErrorCode::NotFound);
  const auto own = other.alloc(1);
  other.write(own, count_tokens(5), 0);
  EXPECT_EQ(outcome(other, other.export_pages(own, "system", true)), ErrorCode::AlreadyExists);
  // A tenant's own comes first.
  EXPECT_FALSE(outcome(other, other.export_pages(own, "system")));
  EXPECT_EQ(probe(other, other.import_pages("system", 1)), probe(other, own));
  EXPECT_EQ(list(other), "system:1/5;system:1/4 public other;");
}

TEST_F(PageExports, AreRefusedWithTheReason) {
  leave("taken");
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(2);
  EXPECT_EQ(outcome(guest, guest.export_pages(pages, "taken")), ErrorCode::AlreadyExists);
  EXPECT_EQ(outcome(guest, guest.export_pages({}, "none")), ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome(guest, guest.export_pages({pages[0], pages[0]}, "twice")),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome(guest, guest.export_pages({ObjectId{9999}}, "stale")), ErrorCode::NotFound);
  EXPECT_EQ(outcome(guest, guest.import_pages("absent", harness.new_objects(1))),
            ErrorCode::NotFound);
  EXPECT_EQ(outcome(guest, guest.import_pages("taken", harness.new_objects(3))),
            ErrorCode::OutOfRange);
  for (const std::string& name : {std::string(), std::string(".."), std::string("a/b"),
                                  std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_EQ(outcome(guest, guest.export_pages(pages, name)), ErrorCode::InvalidArgument);
    EXPECT_EQ(outcome(guest, guest.import_pages(name, harness.new_objects(1))),
              ErrorCode::InvalidArgument);
    EXPECT_EQ(outcome(guest, guest.unexport(name)), ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(list(guest), "taken:2/11;");
}

// Handles of an import that failed exist, stand for nothing and are given back as any.
TEST_F(PageExports, AnImportThatFailedLeavesHandlesWithoutPages) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.import_pages("absent", 2);
  EXPECT_EQ(probe(guest, pages), "no-free-page");
  EXPECT_FALSE(outcome(guest, guest.dealloc(pages)));
  EXPECT_EQ(outcome(guest, guest.dealloc(pages)), ErrorCode::NotFound);
}

TEST_F(PageExports, AreBoundedForTheirTenantByName) {
  PageGuest guest(harness, kTenant, {.export_count_max = 2, .export_page_count_max = 3});
  const auto pages = guest.alloc(2);
  guest.write(pages, count_tokens(16), 0);
  guest.export_pages(pages, "a");
  EXPECT_EQ(outcome(guest, guest.export_pages(pages, "b")), ErrorCode::QuotaExceeded);
  EXPECT_FALSE(outcome(guest, guest.export_pages({pages[0]}, "b")));
  harness.controller->end_instance(guest.id);
  PageGuest heir(harness, kTenant, {.export_count_max = 2, .export_page_count_max = 3});
  const auto more = heir.import_pages("b", 1);
  const FutureId third = heir.export_pages(more, "c");
  EXPECT_EQ(outcome(heir, third), ErrorCode::QuotaExceeded);
  EXPECT_EQ(harness.message(heir.id, third), "export_count_max: 1 more wanted, 2 of 2 exported");
  heir.unexport("b");
  EXPECT_FALSE(outcome(heir, heir.export_pages(more, "c")));
  const FutureId beyond = heir.export_pages(more, "d");
  EXPECT_EQ(outcome(heir, beyond), ErrorCode::QuotaExceeded);
}

TEST_F(PageExports, OfAllTenantsPinAtMostHalfOfThePool) {
  std::uint32_t sum = 0;
  for (std::uint32_t tenant = 1; tenant <= 6; ++tenant) {
    PageGuest guest(harness, TenantId{tenant});
    const auto pages = guest.alloc(1);
    guest.write(pages, count_tokens(kPageSize), 0);
    std::uint32_t count = 0;
    while (!outcome(guest, guest.export_pages(pages, std::to_string(count)))) ++count;
    EXPECT_LE(count, (kPageCount / 2 - sum) / 2);
    sum += count;
  }
  EXPECT_EQ(sum, 4u + 2u + 1u);
}

TEST_F(PageExports, BeyondTheShareAreRefusedWithTheTenantsOwnNumbers) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(9);
  guest.write(pages, count_tokens(72 - 40), 0);
  const FutureId all = guest.export_pages(pages, "all");
  EXPECT_EQ(outcome(guest, all), ErrorCode::QuotaExceeded);
  EXPECT_EQ(harness.message(guest.id, all),
            "export_pool_page_count_max: 9 more wanted, 0 exported, of 8 that all tenants share");
}

// Half of the pool is 8 pages.
TEST_F(PageExports, LeaveAsMuchOfThatHalfForOtherTenantsAsTheirOwnTakes) {
  PageGuest greedy(harness, kTenant);
  const auto pages = greedy.alloc(1);
  greedy.write(pages, count_tokens(kPageSize), 0);
  std::uint32_t count = 0;
  while (count < 8 && !outcome(greedy, greedy.export_pages(pages, std::to_string(count)))) ++count;
  EXPECT_EQ(count, 4u);
  PageGuest other(harness, kOther);
  const auto own = other.alloc(2);
  other.write(own, count_tokens(2 * kPageSize, 50), 0);
  EXPECT_FALSE(outcome(other, other.export_pages(own, "own")));
  EXPECT_EQ(list(greedy), "0:1/8;1:1/8;2:1/8;3:1/8;") << "what was within the share stays";
  // With two exports of the other tenant the share is three.
  greedy.unexport("0");
  greedy.unexport("1");
  EXPECT_FALSE(outcome(greedy, greedy.export_pages(pages, "0")));
  EXPECT_EQ(outcome(greedy, greedy.export_pages(pages, "1")), ErrorCode::QuotaExceeded);
  EXPECT_FALSE(outcome(other, other.unexport("own")));
  EXPECT_FALSE(outcome(greedy, greedy.export_pages(pages, "1")));
}

TEST_F(PageExports, AreRefusedWithoutTellingWhatOthersExport) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(4);
  guest.write(pages, count_tokens(4 * kPageSize), 0);
  EXPECT_FALSE(outcome(guest, guest.export_pages({pages[0]}, "first")));
  const auto refusal = [&] {
    const FutureId future = guest.export_pages(pages, "second");
    EXPECT_EQ(outcome(guest, future), ErrorCode::QuotaExceeded);
    return harness.message(guest.id, future);
  };
  const std::string alone = refusal();
  EXPECT_EQ(alone,
            "export_pool_page_count_max: 4 more wanted, 1 exported, of 8 that all tenants share");
  leave("theirs", kOther);
  EXPECT_EQ(refusal(), alone);
}

TEST_F(PageExports, ImportsCountForTheImportersQuotaOncePerPage) {
  leave("prompt");
  PageGuest guest(harness, kTenant, {.page_count_max = 3});
  const auto first = guest.import_pages("prompt", 2);
  harness.run();
  const auto own = guest.alloc(1);
  harness.run();
  EXPECT_EQ(outcome(guest, guest.import_pages("prompt", harness.new_objects(1))),
            ErrorCode::QuotaExceeded)
      << "handles";
  guest.dealloc({first[1]});
  EXPECT_FALSE(outcome(guest, guest.import_pages("prompt", harness.new_objects(1))));
  EXPECT_EQ(harness.controller->statistics(guest.id).page_count_max, 3u);
}

TEST_F(PageExports, WaitForAPageOfTheirCopyAndFailWithTheNumbers) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(kPageCount);
  guest.write({pages[0]}, count_tokens(3), 0);
  const FutureId copy = guest.export_pages({pages[0]}, "partial");
  EXPECT_EQ(outcome(guest, copy), ErrorCode::NoFreePage);
  EXPECT_EQ(list(guest), "");
  guest.dealloc({pages[1]});
  EXPECT_FALSE(outcome(guest, guest.export_pages({pages[0]}, "partial")));
}

// Exports wait for one another by name, and take nothing that could be taken only once.
TEST_F(PageExports, PendingOnesAreBoundedThoughTheirFuturesAreDropped) {
  PageGuest holder(harness, kOther);
  holder.alloc(kPageCount - 1);
  PageGuest guest(harness, kTenant, {.pending_command_count_max = 8});
  const auto page = guest.alloc(1);
  guest.write(page, count_tokens(3), 0);
  harness.run();
  guest.export_pages(page, "partial");  // Its copy waits for a page.
  harness.run();
  std::vector<FutureId> removals;
  for (int each = 0; each < 20; ++each) {
    removals.push_back(guest.unexport("partial"));
    guest.send(DropFuture{removals.back()});
  }
  harness.run();
  const FutureId last = guest.unexport("partial");
  ASSERT_TRUE(harness.has(guest.id, last)) << "one more that waits";
  EXPECT_EQ(harness.message(guest.id, last),
            "pending_command_count_max: 1 more wanted, 8 of 8 held");
}

TEST_F(PageExports, OfPagesThatABatchUnderWayWritesHaveWhatItWrote) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(1);
  guest.write(pages, count_tokens(kPageSize), 0);
  guest.export_pages(pages, "fresh");
  const auto imported = guest.import_pages("fresh", 1);
  EXPECT_EQ(probe(guest, imported), probe(guest, pages));
}

// An instance whose export waits for the device when it ends leaves no export and no page.
TEST_F(PageExports, OfAnInstanceThatEndsBeforeTheirTurnAreNotMade) {
  PageGuest guest(harness, kTenant);
  const auto pages = guest.alloc(1);
  guest.write(pages, count_tokens(3), 0);
  harness.run();
  guest.export_pages(pages, "late");
  harness.controller->end_instance(guest.id);
  harness.run();
  harness.controller->verify();
  EXPECT_EQ(pages_taken(), 0u);
  PageGuest other(harness, kTenant);
  EXPECT_EQ(list(other), "");
}

// Two models of one controller: names are of the tenant, pages of their model.
TEST(PageExportsOfTwoModels, AreImportedWithTheirOwnModelAlone) {
  struct Sink final : AnswerSink {
    void answer(Answer given) override { answers.emplace(given.future, std::move(given.body)); }
    void lost(InstanceId, const Error& error) override { ADD_FAILURE() << error.message(); }
    std::map<FutureId, Result<AnswerBody>> answers;
  } sink;
  Wakeup wakeup;
  ManualClock clock;
  CompletionInbox inbox(wakeup);
  inference::SimulatedBackendOptions options{.model = inference::simulated_model(),
                                             .page_size = kPageSize,
                                             .page_count = 8,
                                             .manual = true};
  inference::SimulatedBackend first(options, inbox);
  inference::SimulatedBackend second(options, inbox);
  const auto controller =
      make_controller({{.backend = &first}, {.backend = &second}}, {}, inbox, sink, wakeup, clock);
  const InstanceId guest{1};
  controller->start_instance(guest, kTenant, {});
  std::uint32_t next_future = 0;
  // The error of the command, if it has one.
  const auto outcome = [&](CommandBody body) -> std::optional<ErrorCode> {
    const FutureId future{++next_future};
    controller->submit({.instance = guest, .future = future, .body = std::move(body)});
    for (bool goes_on = true; goes_on;) {
      goes_on = controller->poll() | controller->dispatch();
      for (inference::SimulatedBackend* device : {&first, &second}) {
        while (device->inflight_count() > 0) device->complete_next(), goes_on = true;
      }
    }
    controller->verify();
    const Result<AnswerBody>& answer = sink.answers.at(future);
    return answer.ok() ? std::nullopt : std::optional(answer.error().code());
  };
  const ObjectId queue{1}, other_queue{2}, page{3}, other_page{4}, imported{5}, refused{6};
  EXPECT_FALSE(outcome(CreateQueue{queue, ModelIndex{0}}));
  EXPECT_FALSE(outcome(CreateQueue{other_queue, ModelIndex{1}}));
  EXPECT_FALSE(outcome(AllocPages{queue, {page}}));
  EXPECT_FALSE(outcome(AllocPages{other_queue, {other_page}}));
  EXPECT_FALSE(outcome(ExportPages{other_queue, {other_page}, "name"}));
  EXPECT_EQ(outcome(ImportPages{queue, "name", {refused}}), ErrorCode::InvalidArgument);
  EXPECT_FALSE(outcome(ImportPages{other_queue, "name", {imported}}));
  EXPECT_EQ(outcome(ExportPages{queue, {page}, "name"}), ErrorCode::AlreadyExists);
  EXPECT_EQ(outcome(ExportPages{queue, {other_page}, "mixed"}), ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome(CopyPage{queue, page, other_page, 0, 0, 0}), ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome(ContextFromPages{ObjectId{7}, queue, {other_page}, {}}),
            ErrorCode::InvalidArgument);
  // In no queue: whose pages they were is not asked.
  EXPECT_FALSE(outcome(UnexportPages{"name"}));
  controller->end_instance(guest);
  controller->verify();
  EXPECT_EQ(controller->statistics().page_count_free, 16u);
}

}  // namespace
}  // namespace quire::control::export_test
