#include "main/verbs/pages/kv_command.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "cli/terminal.h"
#include "control/controller/sharing_domain.h"
#include "control/store/export_file.h"
#include "control/store/posix_file_system.h"
#include "main/machine/exported_space.h"
#include "main/machine/snapshot_folder.h"
#include "main/verbs/pages/page_report.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using store::SnapshotInfo;
using store::SnapshotStore;

// The store, and what the user said about it.
struct Work {
  const cli::KvOptions& options;
  store::PosixFileSystem files;
  SystemWallClock clock;
  std::string folder;
  std::string tenant;

  bool is_json() const { return options.output == cli::OutputStyle::Json; }
  Result<std::unique_ptr<SnapshotStore>> open() {
    return open_store(files, clock, folder, StoreNeed::Existing);
  }
  void answer(const nlohmann::json& json, const std::string& text) const {
    print(is_json() ? json_line(json) : text);
  }
};

// A name that is not there is mostly a slip: what there is helps.
Error with_names(Error error, SnapshotStore& store, const std::string& tenant) {
  if (error.code() != ErrorCode::NotFound) return error;
  const Result<std::vector<SnapshotInfo>> list = store.list(tenant);
  if (!list.ok()) return error;
  constexpr std::size_t kNameCountMax = 5;
  std::string names;
  for (std::size_t index = 0; index < list.value().size() && index < kNameCountMax; ++index) {
    names += (index == 0 ? "" : ", ") + printable(list.value()[index].name);
  }
  if (list.value().size() > kNameCountMax) names += ", ...";
  return Error(error.code(), std::string(error.message()) + " of tenant " + tenant + " (" +
                                 (names.empty() ? "it has none" : "there are: " + names) + ")");
}

template <typename T>
Result<T> explained(Result<T> result, SnapshotStore& store, const std::string& tenant) {
  if (result.ok()) return result;
  return with_names(std::move(result).take_error(), store, tenant);
}

Result<int> list(Work& work) {
  Result<std::unique_ptr<SnapshotStore>> opened = work.open();
  if (!opened.ok()) {
    // No program has saved anything yet, which is not an error if no folder was named.
    if (opened.error().code() != ErrorCode::NotFound || !work.options.store_folder.empty()) {
      return std::move(opened).take_error();
    }
    std::fprintf(stderr, "no snapshot yet: %.*s\n",
                 static_cast<int>(opened.error().message().size()),
                 opened.error().message().data());
    if (work.is_json()) print("[]\n");
    return cli::number(cli::ExitCode::Ok);
  }
  const std::unique_ptr<SnapshotStore> store = std::move(opened).take();
  const std::vector<SnapshotInfo> snapshots = TRY(store->list(work.tenant));
  nlohmann::json json = nlohmann::json::array();
  for (const SnapshotInfo& each : snapshots) json.push_back(snapshot_json(each));
  work.answer(json, snapshots_text(snapshots, TRY(store->tenant_bytes(work.tenant))));
  return cli::number(cli::ExitCode::Ok);
}

Result<int> show(Work& work) {
  const std::unique_ptr<SnapshotStore> store = TRY(work.open());
  const store::OpenedSnapshot opened = TRY(explained(
      store->open_snapshot(work.tenant, work.options.name, nullptr), *store, work.tenant));
  for (const SnapshotInfo& each : TRY(store->list(work.tenant))) {
    if (each.name != work.options.name) continue;
    work.answer(snapshot_json(each, opened), snapshot_text(each, opened));
    return cli::number(cli::ExitCode::Ok);
  }
  return Error(ErrorCode::NotFound, "snapshot \"" + printable(work.options.name) +
                                        "\" expired just now: `quire kv gc` forgets it");
}

Result<int> export_one(Work& work) {
  const std::unique_ptr<SnapshotStore> store = TRY(work.open());
  TRY(explained(
      store::export_file(*store, work.files, work.tenant, work.options.name, work.options.file),
      *store, work.tenant));
  work.answer({{"exported", work.options.name}, {"file", work.options.file}},
              "exported " + printable(work.options.name) + " to " + work.options.file + "\n");
  return cli::number(cli::ExitCode::Ok);
}

// Pages get the names that they have under this installation's secret, wherever they come from; so
// one whose name lies gets its true one.
store::ImportOptions import_options(const Work& work, store::PageSpace space,
                                    const Digest& sharing_secret) {
  space.names.sharing_domain =
      control::sharing_domain(sharing_secret, control::TenantId{work.options.tenant});
  const control::PageNamer namer(space.names);
  store::ImportOptions options;
  options.tenant = work.tenant;
  options.name = work.options.name;
  options.space = std::move(space);
  options.name_root = [namer](const store::PageNameSpace&) { return namer.root(); };
  options.name_page = [namer](const store::PageNameSpace&, const store::PageName& parent,
                              const store::PageRecord& page) {
    // Nothing that a page says gives an opaque one its name.
    if (page.is_opaque) return page.name;
    return namer.page(parent, store::content_of(page));
  };
  options.save.overwrite = work.options.overwrites;
  return options;
}

Result<int> import_one(Work& work) {
  store::PageSpace space = TRY(read_exported_space(work.files, work.options.file));
  const SnapshotFolder folder = TRY(open_snapshot_folder(work.files, work.clock, work.folder));
  const store::ImportOptions options =
      import_options(work, std::move(space), folder.sharing_secret);
  Result<SnapshotInfo> imported =
      store::import_file(*folder.store, work.files, work.options.file, options);
  if (!imported.ok() && imported.error().code() == ErrorCode::AlreadyExists) {
    return Error(ErrorCode::AlreadyExists,
                 std::string(imported.error().message()) +
                     ": --overwrite replaces it, --as NAME gives this one another name");
  }
  const SnapshotInfo info = TRY(std::move(imported));
  work.answer(snapshot_json(info), "imported " + printable(info.name) + " (" +
                                       std::to_string(info.token_count) + " tokens, " +
                                       std::to_string(info.page_count) + " pages, " +
                                       cli::bytes_text(info.bytes) + ")\n");
  return cli::number(cli::ExitCode::Ok);
}

Result<int> remove(Work& work) {
  const std::unique_ptr<SnapshotStore> store = TRY(work.open());
  TRY(explained(store->remove(work.tenant, work.options.name), *store, work.tenant));
  work.answer({{"deleted", work.options.name}},
              "deleted " + printable(work.options.name) +
                  "; `quire kv gc` gives back the space of what no other snapshot shares\n");
  return cli::number(cli::ExitCode::Ok);
}

struct Unusable {
  std::string name;
  std::string reason;
};

// Lists the tenant's snapshots that have the damage.
Result<std::vector<Unusable>> find_unusable(SnapshotStore& store, const std::string& tenant,
                                            const std::vector<store::Damage>& damages) {
  std::vector<Unusable> unusable;
  for (const SnapshotInfo& each : TRY(store.list(tenant))) {
    const Result<store::OpenedSnapshot> opened = store.open_snapshot(tenant, each.name, nullptr);
    if (!opened.ok()) {
      unusable.push_back({each.name, std::string(opened.error().message())});
      continue;
    }
    const auto damaged = std::find_if(
        opened.value().chain.begin(), opened.value().chain.end(), [&](const store::PageName& page) {
          return std::any_of(damages.begin(), damages.end(), [&](const store::Damage& damage) {
            return damage.where == "page " + hex(page);
          });
        });
    if (damaged != opened.value().chain.end()) {
      unusable.push_back({each.name, "page " + hex(*damaged) + " is damaged"});
    }
    store.release(opened.value().ticket);
  }
  return unusable;
}

Result<int> verify(Work& work) {
  const std::unique_ptr<SnapshotStore> store = TRY(work.open());
  const std::vector<store::Damage> damages = TRY(store->verify());
  const std::uint64_t page_count = store->counts().stored_page_count;
  std::vector<Unusable> unusable;
  if (!damages.empty()) unusable = TRY(find_unusable(*store, work.tenant, damages));
  nlohmann::json json = {{"ok", damages.empty()},
                         {"pages", page_count},
                         {"damages", nlohmann::json::array()},
                         {"unusable_snapshots", nlohmann::json::array()}};
  std::string text;
  for (const store::Damage& damage : damages) {
    json["damages"].push_back({{"where", damage.where}, {"what", damage.what}});
    text += "damaged: " + damage.where + ": " + damage.what + "\n";
  }
  for (const Unusable& each : unusable) {
    json["unusable_snapshots"].push_back({{"name", each.name}, {"reason", each.reason}});
    text += "cannot be opened: " + printable(each.name) + ": " + each.reason + "\n";
  }
  if (damages.empty()) text = std::to_string(page_count) + " pages: every byte as it was written\n";
  work.answer(json, text);
  if (damages.empty()) return cli::number(cli::ExitCode::Ok);
  std::fprintf(stderr,
               "%zu damaged in %s; a page heals when its context is saved or imported again, and "
               "`quire kv delete` with `gc` removes the rest\n",
               damages.size(), work.folder.c_str());
  return cli::number(cli::ExitCode::Failed);
}

Result<int> collect(Work& work) {
  const std::unique_ptr<SnapshotStore> store = TRY(work.open());
  const store::GcReport report = TRY(store->gc());
  work.answer({{"expired_snapshots", report.snapshot_count_expired},
               {"freed_pages", report.page_count_freed},
               {"freed_bytes", report.bytes_freed},
               {"removed_files", report.file_count_removed}},
              std::to_string(report.snapshot_count_expired) + " expired snapshots forgotten, " +
                  std::to_string(report.page_count_freed) + " pages (" +
                  cli::bytes_text(report.bytes_freed) + ") and " +
                  std::to_string(report.file_count_removed) + " files given back\n");
  return cli::number(cli::ExitCode::Ok);
}

Result<int> tree(const cli::KvOptions& options) {
  const SavedReport report = TRY(read_report(options.file));
  const std::string& drawn = options.draws_dot ? report.tree_dot : report.tree_text;
  print(options.output == cli::OutputStyle::Json ? json_line({{"kv_tree", drawn}}) : drawn);
  return cli::number(cli::ExitCode::Ok);
}

Result<int> why(const cli::KvOptions& options) {
  WhyReport report = TRY(read_report(options.file)).why;
  if (options.instance) {
    const std::size_t count = report.instances.size();
    std::erase_if(report.instances,
                  [&options](const WhyInstance& each) { return each.number != *options.instance; });
    if (report.instances.empty()) {
      return Error(ErrorCode::NotFound, options.file + " has no instance " +
                                            std::to_string(*options.instance) + ", it has " +
                                            std::to_string(count));
    }
  }
  print(options.output == cli::OutputStyle::Json ? json_line({{"kv_why", why_json(report)}})
                                                 : why_text(report));
  return cli::number(cli::ExitCode::Ok);
}

Result<int> act(const cli::KvOptions& options) {
  if (options.action == cli::KvAction::Tree) return tree(options);
  if (options.action == cli::KvAction::Why) return why(options);
  std::string folder = TRY(store_folder(options.store_folder));
  Work work{.options = options,
            .files = {},
            .clock = {},
            .folder = std::move(folder),
            .tenant = std::to_string(options.tenant)};
  switch (options.action) {
    case cli::KvAction::List:
      return list(work);
    case cli::KvAction::Show:
      return show(work);
    case cli::KvAction::Export:
      return export_one(work);
    case cli::KvAction::Import:
      return import_one(work);
    case cli::KvAction::Delete:
      return remove(work);
    case cli::KvAction::Verify:
      return verify(work);
    case cli::KvAction::Gc:
      return collect(work);
    case cli::KvAction::Tree:
    case cli::KvAction::Why:
      break;  // Above: they need no store.
  }
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int kv_command(const cli::KvOptions& options) {
  Result<int> code = act(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
