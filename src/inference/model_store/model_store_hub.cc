// ModelStore::add for a model of a hub.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/utf8.h"
#include "inference/architectures/architecture.h"
#include "inference/architectures/gguf_model.h"
#include "inference/model_store/fit_check.h"
#include "inference/model_store/known_models.h"
#include "inference/model_store/model_store.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kConfigBytesMax = 16 << 20;

// Checks the architecture that the hub gives, before files are fetched that this build cannot run.
Result<void> check_architecture(const HubRevision& revision, const ChosenModel& model,
                                const ModelReference& reference) {
  // "clip" is that of a part that reads pictures, which lies beside the model.
  const bool is_known = model.form != ModelForm::Folder && !revision.architecture.empty() &&
                        revision.architecture != "clip";
  if (!is_known || supports_gguf_architecture(revision.architecture)) return {};
  return Error(ErrorCode::NotSupported, reference.repository + " has the architecture " +
                                            in_quotes(revision.architecture) + "; " +
                                            architecture_names() + " are supported");
}

// The files under the names that they have in a model's folder; the path of the model.
Result<std::string> assemble(const ChosenModel& model, const std::vector<FetchedFile>& fetched,
                             const std::string& name, const std::string& target) {
  if (model.form != ModelForm::OneFile) TRY(make_folder(target));
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    const fs::path to = file_in(target, model.stored_name(i, name));
    TRY(make_parent(to));
    // Two files with the same bytes have come once.
    const bool is_wanted_again =
        std::any_of(fetched.begin() + static_cast<std::ptrdiff_t>(i) + 1, fetched.end(),
                    [&](const FetchedFile& later) { return later.path == fetched[i].path; });
    if (!is_wanted_again) {
      TRY(move_to(fetched[i].path, to));
      continue;
    }
    std::error_code code;
    fs::copy_file(fetched[i].path, to, code);
    if (code) return io_error("copy to " + to.string(), code);
  }
  return target;
}

}  // namespace

Result<StoredModel> ModelStore::add_from_hub(const std::string& source, AddOptions options) const {
  if (options.mode == AddMode::Link) {
    return Error(ErrorCode::InvalidArgument, "a model of a hub cannot be linked to: " + source);
  }
  if (!options.name.empty()) TRY(check_free(options.name));
  HubAccess access = options.hub ? *options.hub : TRY(HubAccess::from_environment());
  // While the hub is silent, the progress is asked with what it has heard last.
  const Progress progress = std::move(options.progress);
  std::uint64_t last_done = 0;
  std::uint64_t last_expected = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t expected) {
    last_done = done;
    last_expected = expected;
    return !progress || progress(done, expected);
  };
  const HubClient hub(std::move(access),
                      [&] { return !progress || progress(last_done, last_expected); });
  if (const KnownModel* known = find_known_model(source)) {
    return add_chosen(hub, known->reference(), known->choice(), options);
  }
  ModelReference reference = TRY(ModelReference::parse(source));
  const HubRepository repository = TRY(hub.list(reference));
  const ChosenModel model = TRY(choose_model(reference, repository.files));
  TRY(check_architecture(repository.revision, model, reference));
  // All files of one commit, whatever is pushed meanwhile.
  reference.revision = repository.revision.commit;
  return add_chosen(hub, reference, model, options);
}

Result<StoredModel> ModelStore::add_chosen(const HubClient& hub, const ModelReference& reference,
                                           const ChosenModel& model,
                                           const AddOptions& options) const {
  const std::string name = options.name.empty() ? model.name : options.name;
  TRY(check_free(name));
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code) return io_error("make " + folder_, code);
  const PartFolder parts = TRY(PartFolder::open(folder_, name));
  // Another process may have had the lock until now.
  if (Result<void> is_free = check_free(name); !is_free.ok()) {
    (void)parts.remove_if_empty();
    return std::move(is_free).take_error();
  }
  if (options.on_plan) {
    HubPlan plan{name, reference.repository + " of " + hub.access().endpoint, model.bytes(), 0};
    for (const HubFile& each : model.files) plan.bytes_here += parts.bytes_of_file(each.digest());
    options.on_plan(plan);
  }
  std::map<std::string, WeightsCheck> checks;
  const HubFetchOptions fetch_options{
      .progress = options.progress,
      .pause = options.pause,
      // config.json comes first, and says whether the weights would be of use.
      .on_whole = [&](const HubFile& file, const std::string& path) -> Result<void> {
        if (file.path != "config.json") return {};
        return check_config(TRY(read_file(path, kConfigBytesMax)), name);
      },
      .on_part =
          [&](const HubFile& file, const std::string& path, std::uint64_t bytes) {
            const bool is_shard = model.form != ModelForm::OneFile;
            const auto [found, is_new] =
                checks.try_emplace(file.path, printable(file.path), path, file.bytes, is_shard);
            return found->second.see(bytes);
          }};
  Result<std::vector<FetchedFile>> done =
      fetch_from_hub(hub, reference, model, parts, fetch_options);
  if (!done.ok()) {
    // The parts are of no use to another attempt. A leftover is hidden from list().
    const bool is_useless = done.error().code() == ErrorCode::NotSupported;
    (void)(is_useless ? parts.remove() : parts.remove_if_empty());
    return std::move(done).take_error();
  }
  const std::vector<FetchedFile> fetched = std::move(done).take();
  const WorkFolder work = TRY(WorkFolder::create(folder_));
  const std::string target = TRY(assemble(model, fetched, name, work.path() + "/model"));
  Digests digests;
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    digests.emplace(model.stored_name(i, name), fetched[i].sha256);
  }
  Result<StoredModel> stored = keep(target, name, work, digests);
  // A model that cannot be opened is of no use either.
  (void)parts.remove();
  return stored;
}

}  // namespace quire::inference
