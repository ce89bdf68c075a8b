// allocate: pages and embeddings, their copies, and what programs leave each other.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kPageCountMax = 1u << 20;
constexpr std::uint32_t kEmbedCountMax = 4096;
constexpr std::uint32_t kExportCountMax = 256;

void* room(Handles& handles) {
  return handles.data();
}

void allocates(Harness& t) {
  Handles many(kPageCountMax + 1);
  for (const char* what : {"kvpage", "emb"}) {
    const std::string alloc = std::string("allocate.alloc-") + what;
    const std::string dealloc = std::string("allocate.dealloc-") + what;
    Handles three(3);
    t.check(t.ok(alloc.c_str(), t.queue, 3, room(three)) == 3, "three came");
    t.ok(dealloc.c_str(), t.queue, Handles{three[0], three[1]});
    t.refused(dealloc.c_str(), ErrorCode::NotFound, t.queue, Handles{three[2], three[0]});
    t.refused(dealloc.c_str(), ErrorCode::InvalidArgument, t.queue, Handles{three[2], three[2]});
    t.check(t.ok(alloc.c_str(), t.queue, 0, kNull) == 0, "none of none");
    t.ok(dealloc.c_str(), t.queue, Handles{});
    for (const std::uint32_t count : {0x8000'0000u, 0xFFFF'FFFFu}) {
      t.refused(alloc.c_str(), ErrorCode::OutOfRange, t.queue, count, room(three));
    }
    const bool is_page = what[0] == 'k';
    t.refused(alloc.c_str(), ErrorCode::QuotaExceeded, t.queue,
              is_page ? kPageCountMax + 1 : kEmbedCountMax + 1, room(many));
    t.mistakes(alloc.c_str(), t.queue, 2, room(three));
    t.mistakes(dealloc.c_str(), t.queue, Handles{is_page ? t.page : t.embed});
    t.edges(dealloc.c_str(), t.queue, Handles{three[2]});
    t.drop(three[2]);
  }
  // All pages come or none: a use of one that never came gets the error.
  const Handles never = pages_of(t, 65);
  t.fails("allocate.alloc-kvpage", ErrorCode::NoFreePage,
          abi::allocate::copy_kvpage(t.queue, never[0], never[1], 0, 0, 1));
  t.ok("allocate.dealloc-kvpage", t.queue, never);
}

void copies(Harness& t) {
  const Handles from = written_pages(t, 20);
  const Handles to = pages_of(t, 1);
  const char* copy = "allocate.copy-kvpage";
  t.result(copy, t.queue, from[0], to[0], 0, 0, 5);
  t.result(copy, t.queue, from[0], to[0], 5, 5, 11);
  t.result(copy, t.queue, to[0], to[0], 0, 8, 8);
  t.result(copy, t.queue, from[0], to[0], 0, 0, 0);
  constexpr std::uint32_t kBeyond[][3] = {
      {0, 0, 17},          {16, 0, 1},          {0, 16, 1},          {9, 0, 8},
      {0xFFFF'FFFF, 0, 2}, {0, 0xFFFF'FFFF, 2}, {0, 0, 0xFFFF'FFFF}, {0, 0, 0x8000'0000}};
  for (const auto& [source_slot, target_slot, count] : kBeyond) {
    t.refused(copy, ErrorCode::OutOfRange, t.queue, from[0], to[0], source_slot, target_slot,
              count);
  }
  t.refused(copy, ErrorCode::PageNotFull, t.queue, from[1], to[0], 3, 0, 2);
  const Handles never = pages_of(t, 65);
  t.refused(copy, ErrorCode::NoFreePage, t.queue, never[0], to[0], 0, 0, 1);
  t.refused(copy, ErrorCode::NoFreePage, t.queue, from[0], never[0], 0, 0, 1);
  t.mistakes(copy, t.queue, from[0], to[0], 0, 0, 1);
  for (const Handles& each : {from, to, never}) give_back(t, each);
}

void exports(Harness& t) {
  const Handles pages = written_pages(t, 20);
  const Handles empty = pages_of(t, 1);
  const Handles never = pages_of(t, 65);
  Handles imported(2);
  t.result("allocate.export-kvpage", t.queue, pages, "book", 0);
  t.refused("allocate.export-kvpage", ErrorCode::AlreadyExists, t.queue, pages, "book", 0);
  t.refused("allocate.export-kvpage", ErrorCode::PermissionDenied, t.queue, pages, "all", 1);
  t.refused("allocate.export-kvpage", ErrorCode::InvalidArgument, t.queue, Handles{}, "none", 0);
  t.refused("allocate.export-kvpage", ErrorCode::NoFreePage, t.queue, Handles{never[3]}, "no", 0);
  const std::string list = t.result("allocate.list-exports");
  t.check(number_at<std::uint32_t>(list, 0) == 1 && number_at<std::uint32_t>(list, 8) == 2 &&
              number_at<std::uint32_t>(list, 12) == 20,
          "one export of two pages and 20 slots");
  const std::int32_t import = t.ok("allocate.import-kvpage", t.queue, "book", 2, room(imported));
  t.check(t.take("allocate.import-kvpage", import).size() == 16, "it tells of both pages");
  t.refused("allocate.copy-kvpage", ErrorCode::PageCommitted, t.queue, pages[0], imported[0], 0, 0,
            1);
  Handles more(3);
  t.refused("allocate.import-kvpage", ErrorCode::OutOfRange, t.queue, "book", 3, room(more));
  give_back(t, more);
  t.refused("allocate.import-kvpage", ErrorCode::NotFound, t.queue, "nothing", 1, room(more));
  t.drop(more[0]);
  Handles many(kPageCountMax + 1);
  t.refused("allocate.import-kvpage", ErrorCode::QuotaExceeded, t.queue, "book", kPageCountMax + 1,
            room(many));
  t.mistakes("allocate.export-kvpage", t.queue, pages, "other", 0);
  t.mistakes("allocate.import-kvpage", t.queue, "book", 2, room(more));
  t.mistakes("allocate.unexport-kvpage", "book");
  for (const std::string& name : names_that_are_none()) {
    t.refused("allocate.export-kvpage", ErrorCode::InvalidArgument, t.queue, pages, name, 0);
    t.refused("allocate.import-kvpage", ErrorCode::InvalidArgument, t.queue, name, 1, room(more));
    t.refused("allocate.unexport-kvpage", ErrorCode::InvalidArgument, name);
  }
  t.result("allocate.unexport-kvpage", "book");
  t.refused("allocate.unexport-kvpage", ErrorCode::NotFound, "book");
  give_back(t, imported);

  // Exports are bounded in number and in what they pin of the pool.
  std::uint32_t count = 0;
  for (; count < kExportCountMax; ++count) {
    const std::string name = "e" + std::to_string(count);
    const std::int32_t future = abi::allocate::export_kvpage(
        t.queue, pages.data(), 1, reinterpret_cast<const std::uint8_t*>(name.data()),
        static_cast<std::uint32_t>(name.size()), 0);
    t.wait(future);
    if (abi::future::take(future, nullptr, 0) < 0) break;
  }
  t.refused("allocate.export-kvpage", ErrorCode::QuotaExceeded, t.queue, Handles{pages[0]}, "f", 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    t.result("allocate.unexport-kvpage", "e" + std::to_string(i));
  }
  for (const Handles& each : {pages, empty, never}) give_back(t, each);
}

void program(Harness& t) {
  allocates(t);
  copies(t);
  exports(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
