#include "control/transfers/snapshot_adapters.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "control/api/adapter_catalog.h"
#include "control/objects/replica.h"
#include "control/store/adapter_codec.h"

namespace quire::control {
namespace {

using Loaded = std::map<Digest, ChosenAdapter>;

void note_names(const ChosenAdaptersRef& set, std::map<Digest, std::string>& names) {
  if (set == nullptr) return;
  for (std::size_t index = 0; index < set->set.size(); ++index) {
    names.emplace(set->set[index].digest, set->names[index]);
  }
}

Result<Loaded> load_all(const store::SnapshotRecord& record, const Context& context) {
  const Replica& replica = *context.replica();
  Loaded loaded;
  for (const store::NamedAdapter& each : record.adapters.named) {
    std::shared_ptr<const inference::Adapter> adapter;
    if (replica.adapters != nullptr) {
      adapter = replica.adapters->find(context.instance()->tenant, replica.index, each.digest);
    }
    if (adapter == nullptr) {
      return Error(ErrorCode::NotSupported,
                   "snapshot \"" + record.name + "\" was written under adapter \"" + each.name +
                       "\" (digest " + hex(each.digest) +
                       "), which is not loaded: load the same files, under any name, and open it "
                       "again");
    }
    loaded.emplace(each.digest,
                   ChosenAdapter{.name = each.name, .adapter = std::move(adapter), .scale = 1.0f});
  }
  return loaded;
}

Result<ChosenAdaptersRef> set_of(const Loaded& loaded, std::span<const ScaledAdapter> set) {
  std::vector<ChosenAdapter> chosen;
  for (const ScaledAdapter& each : set) {
    chosen.push_back(loaded.at(each.digest));
    chosen.back().scale = each.scale;
  }
  return make_chosen_adapters(std::move(chosen));
}

}  // namespace

store::SnapshotAdapters adapters_of(const Context& context) {
  store::SnapshotAdapters adapters;
  const auto length = static_cast<std::uint32_t>(context.held_token_count());
  std::map<Digest, std::string> names;
  adapters.runs = adapter_runs(context.adapters().of_slots, 0, length);
  context.adapters().of_slots.each(
      0, length, [&](std::uint32_t, const ChosenAdaptersRef& set) { note_names(set, names); });
  if (context.adapters().in_force != nullptr) {
    adapters.in_force = context.adapters().in_force->set;
    note_names(context.adapters().in_force, names);
  }
  for (const Digest& digest : store::adapter_table(adapters.runs, adapters.in_force)) {
    adapters.named.push_back({digest, names.at(digest)});
  }
  return adapters;
}

Result<ContextAdapters> open_adapters(const store::SnapshotRecord& record, const Context& context) {
  ContextAdapters opened;
  const Loaded loaded = TRY(load_all(record, context));
  for (const AdapterRun& run : record.adapters.runs) {
    opened.of_slots.extend(run.first_slot, TRY(set_of(loaded, run.set)));
  }
  opened.in_force = TRY(set_of(loaded, record.adapters.in_force));
  return opened;
}

}  // namespace quire::control
