#include "control/store/disk_jobs.h"

#include <algorithm>
#include <utility>

namespace quire::store {
namespace {

using Body = Result<DiskAnswerBody>;

Body done(Result<void> result) {
  TRY(std::move(result));
  return DiskAnswerBody(Done{});
}

Result<CachedPage> read_cached(SnapshotStore& store, const PageSpace& space, const PageName& name) {
  CachedPage read;
  read.record = TRY(store.read_page(space, name));
  const std::vector<std::byte> kv = std::exchange(read.record.kv, {});
  read.bytes = PageBytes::uninitialised(kv.size());
  std::copy(kv.begin(), kv.end(), read.bytes.span().begin());
  read.checksum = checksum(read.bytes.span());
  return read;
}

struct Runner {
  SnapshotStore& store;
  FileSystem& files;
  const Clock& clock;

  Body operator()(BeginSaveJob job) {
    return DiskAnswerBody(TRY(store.begin_save(job.space, job.names)));
  }
  Body operator()(AddPagesJob job) { return done(store.add_pages(job.ticket, job.pages)); }
  Body operator()(SaveJob job) {
    return DiskAnswerBody(TRY(store.save(std::move(job.record), job.pages, job.options)));
  }
  Body operator()(AddStatesJob job) {
    for (const StateBytes& state : job.states) {
      TRY(store.add_state(job.ticket, state.page, state.bytes.span()));
    }
    return DiskAnswerBody(Done{});
  }
  Body operator()(KeepStatesJob job) {
    return DiskAnswerBody(StatesKept{TRY(store.keep_states(job.ticket, job.pages, job.tenant))});
  }
  Body operator()(OpenJob job) {
    const PageSpace* wanted = job.wanted.has_value() ? &*job.wanted : nullptr;
    if (job.takes) return DiskAnswerBody(TRY(store.take(job.tenant, job.name, wanted)));
    return DiskAnswerBody(TRY(store.open_snapshot(job.tenant, job.name, wanted)));
  }
  Body operator()(ReadPagesJob job) {
    PagesRead read;
    for (const PageName& name : job.names) read.pages.push_back(store.read_page(job.space, name));
    return DiskAnswerBody(std::move(read));
  }
  Body operator()(ReleaseJob job) {
    switch (job.end) {
      case TicketEnd::Release:
        store.release(job.ticket);
        break;
      case TicketEnd::Reading:
        store.end_reading(job.ticket);
        break;
      case TicketEnd::Take:
        return done(store.finish_take(job.ticket));
    }
    return DiskAnswerBody(Done{});
  }
  Body operator()(RemoveJob job) { return done(store.remove(job.tenant, job.name)); }
  Body operator()(ListJob job) {
    SnapshotList list;
    list.snapshots = TRY(store.list(job.tenant));
    list.tenant_bytes = TRY(store.tenant_bytes(job.tenant));
    return DiskAnswerBody(std::move(list));
  }
  Body operator()(PutCachedJob job) {
    PagesPut put;
    for (CachedPage& page : job.pages) {
      const bool is_damaged = checksum(page.bytes.span()) != page.checksum;
      Result<void> outcome =
          is_damaged ? Result<void>(Error(ErrorCode::Corrupted, "a page changed in memory"))
                     : store.put_cached(job.space, page.record, page.bytes.span());
      put.pages.push_back({std::move(outcome), std::move(page.bytes), is_damaged});
    }
    return DiskAnswerBody(std::move(put));
  }
  Body operator()(ReadCachedJob job) {
    CachedRead read;
    const std::uint64_t start_ns = clock.now_ns();
    for (const PageName& name : job.names) {
      read.pages.push_back(read_cached(store, job.space, name));
    }
    read.ns = clock.now_ns() - start_ns;
    return DiskAnswerBody(std::move(read));
  }
  Body operator()(DropCachedJob job) {
    store.drop_cached(job.space, job.names);
    return DiskAnswerBody(Done{});
  }
  Body operator()(PutValueJob job) {
    return DiskAnswerBody(
        ValuePut{TRY(store.put_value(job.tenant, job.key, std::move(job.value), job.expected))});
  }
  Body operator()(GetValueJob job) {
    return DiskAnswerBody(TRY(store.get_value(job.tenant, job.key)));
  }
  Body operator()(DeleteValueJob job) {
    return done(store.delete_value(job.tenant, job.key, job.expected));
  }
  Body operator()(ListKeysJob job) {
    return DiskAnswerBody(TRY(store.list_keys(job.tenant, job.prefix, job.after, job.count_max)));
  }
  Body operator()(GcJob) { return DiskAnswerBody(TRY(store.gc())); }
  Body operator()(VerifyJob) { return DiskAnswerBody(TRY(store.verify())); }
  Body operator()(ExportJob job) {
    return done(export_file(store, files, job.tenant, job.name, job.path));
  }
  Body operator()(ImportJob job) {
    return DiskAnswerBody(TRY(import_file(store, files, job.path, job.options)));
  }
};

}  // namespace

DiskAnswer run_disk_job(SnapshotStore& store, FileSystem& files, const Clock& clock, DiskJobId id,
                        DiskJob job) {
  return {id, std::visit(Runner{store, files, clock}, std::move(job))};
}

}  // namespace quire::store
