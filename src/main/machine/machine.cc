#include "main/machine/machine.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"
#include "cli/terminal.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/controller.h"
#include "control/controller/helper_thread.h"
#include "control/store/disk_thread.h"
#include "control/store/page_file.h"
#include "control/store/posix_file_system.h"
#include "control/tiers/cost_model.h"
#include "inference/adapters/make_adapter_reader.h"
#include "inference/architectures/model_files.h"
#include "inference/devices/open_device.h"
#include "inference/grammar/make_grammar_compiler.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "main/machine/adapter_loading.h"
#include "main/machine/dispatch_policy.h"
#include "main/machine/eviction_kind.h"
#include "main/machine/machine_facts.h"
#include "main/machine/model_facts.h"
#include "main/machine/snapshot_folder.h"

namespace quire {
namespace {

const char* device_name(cli::BackendChoice choice) {
  switch (choice) {
    case cli::BackendChoice::Auto:
      return "auto";
    case cli::BackendChoice::Scalar:
      return "scalar";
    case cli::BackendChoice::Avx2:
      return "avx2";
    case cli::BackendChoice::AvxVnni:
      return "avxvnni";
    case cli::BackendChoice::Avx512:
      return "avx512";
  }
  return "";
}

std::uint32_t thread_count_of(const cli::EngineOptions& options) {
  return options.thread_count == 0 ? physical_core_count() : options.thread_count;
}

// The options of a device that divides the memory among so many models.
inference::DeviceOptions device_options(const cli::EngineOptions& options, std::uint32_t threads,
                                        std::size_t model_count, WalkSink* walk) {
  inference::DeviceOptions device;
  device.name = device_name(options.backend);
  device.threads = threads;
  device.page_size = options.page_size;
  device.page_count = options.pool.page_count.value_or(0);
  device.kv_memory_bytes = kv_memory_bytes(options.pool) / model_count;
  if (options.pool.state_memory_bytes) {
    device.state_memory_bytes = *options.pool.state_memory_bytes / model_count;
  }
  device.kv_format = kv_format_of(options.kv_format);
  device.kv_mode = options.kv_mode == cli::KvModeChoice::Basic ? inference::KvMode::Basic
                                                               : inference::KvMode::Paged;
  device.walk = walk;
  return device;
}

// 6 MB: a run of a thousand programs with dozens of misses each, and no server's memory.
constexpr std::uint32_t kMissCountMax = 65'536;
constexpr std::size_t kModelCountMax = 16;

Result<SnapshotFolder> open_snapshots(const cli::EngineOptions& options, store::FileSystem& files,
                                      const WallClock& clock, store::SnapshotShares& shares) {
  const std::string folder = TRY(store_folder(options.store_folder));
  return open_snapshot_folder(
      files, clock, folder,
      {.bytes_total_max = options.snapshot_bytes_total_max, .shares = &shares});
}

// `page_bytes`: of the model whose pages are the largest.
void set_tiers(const cli::EngineOptions& options, std::uint64_t page_bytes,
               control::ControllerOptions& control) {
  const bool has_disk = control.disk != nullptr && page_bytes > 0;
  if (has_disk) {
    control.tiers.disk_page_count_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        options.tiers.disk_bytes / store::slot_bytes_of(page_bytes), kCachedPageCountMax));
  }
  control.tiers.host_bytes_max = options.tiers.host_bytes;
  if (options.tiers.always_restores) control.costs.choice = control::TierChoice::Restore;
  if (has_disk || options.tiers.host_bytes > 0) {
    control.costs.copy_ns_per_byte = control::measure_copy_ns_per_byte();
  }
}

// As the user knows it: by the file or the folder. What the files say of themselves is often the
// name of a training run.
std::string served_name(const std::string& path) {
  return inference::model_name_of(std::filesystem::absolute(path).lexically_normal().string());
}

// More workers than processors take turns, and each step waits for the last of them.
void warn_of_threads(const cli::EngineOptions& options) {
  const std::uint32_t count = processor_count();
  if (options.thread_count <= count) return;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr,
               "%s --threads %u: this process may use %u processors, and more threads are "
               "slower\n",
               terminal.paint("warning:", cli::Colour::Yellow).c_str(), options.thread_count,
               count);
}

// One model's weights, pages and text.
struct LoadedModel {
  std::string name;
  std::unique_ptr<inference::TextCodec> text;
  std::unique_ptr<inference::GrammarCompiler> grammars;  // Null: this build has none.
  std::unique_ptr<inference::Backend> backend;
  std::unique_ptr<inference::AdapterReader> adapters;  // Null: the device computes none.
  std::optional<bool> add_bos;
  bool has_chat_template = false;
};

Result<LoadedModel> load_model(const std::string& path, inference::DeviceOptions options,
                               const cli::EngineOptions& engine, const Clock& clock,
                               inference::CompletionSink& sink) {
  // The model's files, checked; its text.
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(path));
  inference::ModelTextCodec text = TRY(inference::open_text_codec(*files));
  LoadedModel model;
  model.name = served_name(path);
  model.text = std::move(text.codec);
  model.add_bos = text.add_bos;
  const Result<std::string> rendered = model.text->apply_chat_template(
      R"({"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": true})");
  model.has_chat_template = rendered.ok() || rendered.error().code() != ErrorCode::NotSupported;
  // The device: weights, the pool of pages, the workers.
  TRY(check_pool(model.name, files->spec(), engine, options.kv_memory_bytes));
  const cli::Terminal terminal = cli::Terminal::standard_error();
  cli::Progress progress(terminal, clock, "loading " + printable(model.name),
                         {.first_ns = kSecond / 2, .counts_bytes = true, .is_for_terminals = true});
  options.on_load = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  model.backend = TRY(inference::open_device(*files, options, sink));
  if (model.backend->capabilities().adapters) {
    model.adapters = inference::make_adapter_reader(files->spec());
  }
  model.grammars = inference::make_grammar_compiler(*model.text, model.backend->model().stop_ids);
  return model;
}

// Lists of names have one in a line, and requests and pages show them.
Result<void> check_name(const std::string& name, const std::string& path) {
  const auto is_control = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte < 0x20 || byte == 0x7f;
  };
  if (!name.empty() && std::ranges::none_of(name, is_control)) return {};
  return Error(
      ErrorCode::InvalidArgument,
      "the model " + in_quotes(path) +
          " cannot be named after its file, because the name is empty or has a line feed or "
          "another control character: rename it, or use quire model add PATH --name NAME");
}

// A program opens a model by its name, and so each has one of its own.
Result<void> check_names(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> path_of_name;
  for (const std::string& path : paths) {
    const std::string name = served_name(path);
    TRY(check_name(name, path));
    const auto [found, is_new] = path_of_name.emplace(name, path);
    if (is_new) continue;
    return Error(ErrorCode::InvalidArgument, "two models have the name \"" + name +
                                                 "\": " + found->second + " and " + path +
                                                 "; programs could not tell them apart");
  }
  return {};
}

Result<std::vector<std::string>> find_models(const cli::EngineOptions& options) {
  if (options.further_models.size() >= kModelCountMax) {
    return Error(ErrorCode::OutOfRange, std::to_string(options.further_models.size() + 1) +
                                            " models; an engine has at most " +
                                            std::to_string(kModelCountMax));
  }
  std::vector<std::string> paths = {TRY(find_model(options.model))};
  for (const std::string& each : options.further_models) paths.push_back(TRY(find_model(each)));
  TRY(check_names(paths));
  return paths;
}

}  // namespace

// The niceness of matchers is above that of the device's workers, so that one program's slow masks
// do not stretch the steps of all. Most masks take tens of microseconds, and still come in time
// (`quire-bench constraint`).
constexpr int kMatcherNiceness = 5;
// The niceness of jobs that fit a text to a grammar, or read a grammar's source, is above both. (The
// library compiles in a thread that gives way to all.)
constexpr int kGrammarNiceness = 10;

// In the order of construction: each part knows only those above it. They end in reverse.
struct Machine::Parts {
  explicit Parts(std::uint32_t threads) : thread_count(threads) {}

  Result<void> load(const std::vector<std::string>& paths, const inference::DeviceOptions& device,
                    const cli::EngineOptions& options, const Clock& clock) {
    for (const std::string& path : paths) {
      Result<LoadedModel> loaded = load_model(path, device, options, clock, completions);
      if (!loaded.ok() && paths.size() > 1) return std::move(loaded).take_error().while_(path);
      models.push_back(TRY(std::move(loaded)));
    }
    std::vector<control::AdapterModel> with_adapters;
    for (const LoadedModel& model : models) {
      with_adapters.push_back({.name = model.name, .reader = model.adapters.get()});
    }
    adapters = TRY(load_adapters(std::move(with_adapters), options.adapters));
    return {};
  }

  // As the control layer has them.
  std::vector<control::ServedModel> served() const {
    std::vector<control::ServedModel> all;
    for (const LoadedModel& model : models) {
      all.push_back({.name = model.name,
                     .backend = model.backend.get(),
                     .codec = model.text.get(),
                     .has_chat_template = model.has_chat_template,
                     .grammars = model.grammars.get(),
                     .adapters = adapters.get(),
                     .add_bos = model.add_bos});
    }
    return all;
  }

  Result<void> start_helpers() {
    helper = TRY(control::HelperThread::start("long texts"));
    grammars = TRY(control::HelperThread::start("grammars", kGrammarNiceness));
    matchers = TRY(control::HelperThread::start("matchers of grammars", kMatcherNiceness));
    return {};
  }

  const std::uint32_t thread_count;
  Wakeup wakeup;                                 // Rouses the engine thread.
  lifecycle::AnswerInbox answers;                // What the control layer gives to those above it.
  control::CompletionInbox completions{wakeup};  // What devices and helpers give to it.
  const SystemWallClock wall_clock;
  store::PosixFileSystem files;
  store::SnapshotShares snapshot_shares;
  std::unique_ptr<store::DiskThread> disk;  // Snapshots; null: none are kept.
  std::optional<Error> store_error;
  std::vector<LoadedModel> models;
  std::unique_ptr<control::AdapterRegistry> adapters;
  std::uint64_t host_tier_bytes = 0;
  std::unique_ptr<control::HelperThread> helper;    // Long text jobs,
  std::unique_ptr<control::HelperThread> grammars;  // grammars,
  std::unique_ptr<control::HelperThread> matchers;  // and the steps of matchers.
  std::unique_ptr<control::Controller> control;
};

void Machine::warn_of_store(const std::string& text) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s store: %s\n", terminal.paint("warning:", cli::Colour::Yellow).c_str(),
               text.c_str());
}

Result<std::unique_ptr<Machine>> Machine::build(const cli::EngineOptions& options,
                                                const Clock& clock, WalkSink* walk,
                                                const TellStoreFailure& tell_store_failure) {
  const std::uint32_t threads = thread_count_of(options);
  auto parts = std::make_unique<Parts>(threads);

  warn_of_threads(options);
  const std::vector<std::string> paths = TRY(find_models(options));

  // The store of snapshots. The secret under which pages are named is as old as the store; without
  // one no name outlives the process, and neither does the secret.
  control::ControllerOptions control;
  SystemRandom random;
  random.fill(std::as_writable_bytes(std::span(control.nonce)));
  random.fill(std::as_writable_bytes(std::span(control.sharing_secret)));
  if (options.store_use != cli::StoreUse::Off) {
    Result<SnapshotFolder> opened =
        open_snapshots(options, parts->files, parts->wall_clock, parts->snapshot_shares);
    if (opened.ok()) {
      SnapshotFolder folder = std::move(opened).take();
      control.sharing_secret = folder.sharing_secret;
      parts->disk = TRY(store::DiskThread::start(parts->files, std::move(folder.store),
                                                 parts->completions, clock, tell_store_failure));
      control.disk = parts->disk.get();
      control.snapshots = &parts->snapshot_shares;
    } else if (options.store_use == cli::StoreUse::Required) {
      return std::move(opened).take_error();
    } else {
      parts->store_error = std::move(opened).take_error();
    }
  }

  // The models, which run on one device in turns, and their adapters.
  const inference::DeviceOptions device = device_options(options, threads, paths.size(), walk);
  TRY(parts->load(paths, device, options, clock));

  // The control layer over it.
  TRY(parts->start_helpers());
  control.helpers = {.texts = parts->helper.get(),
                     .grammars = parts->grammars.get(),
                     .matchers = parts->matchers.get()};
  control.walk = walk;
  control.eviction = eviction_kind(options.eviction);
  control.when_full = options.when_full == cli::WhenFullChoice::FcfsKill
                          ? control::WhenFull::FcfsKill
                          : control::WhenFull::Suspend;
  control.dispatch = dispatch_policy(options.batching);
  control.prefill_row_budget = options.prefill_row_budget;
  if (options.misses != cli::MissUse::Off) control.miss_count_max = kMissCountMax;
  if (options.misses == cli::MissUse::Tell) control.miss_scope = control::MissScope::OwnDomain;
  std::uint64_t page_bytes = 0;
  for (const LoadedModel& model : parts->models) {
    page_bytes = std::max(page_bytes, model.backend->capabilities().page_bytes);
  }
  set_tiers(options, page_bytes, control);
  parts->host_tier_bytes = control.tiers.host_bytes_max;
  parts->control = control::make_controller(parts->served(), control, parts->completions,
                                            parts->answers, parts->wakeup, clock);
  return std::unique_ptr<Machine>(new Machine(std::move(parts)));
}

Result<std::unique_ptr<inference::Backend>> open_device(const cli::EngineOptions& options,
                                                        inference::CompletionSink& sink) {
  const std::string path = TRY(find_model(options.model));
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(path));
  return inference::open_device(
      *files, device_options(options, thread_count_of(options), 1, nullptr), sink);
}

Machine::Machine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Machine::~Machine() = default;

control::ControlPort& Machine::control() {
  return *parts_->control;
}
const inference::ModelInfo& Machine::model_info() const {
  return parts_->models.front().backend->model();
}
const inference::BackendCapabilities& Machine::device() const {
  return parts_->models.front().backend->capabilities();
}
const inference::TextCodec& Machine::text() const {
  return *parts_->models.front().text;
}
control::AdapterRegistry& Machine::adapters() {
  return *parts_->adapters;
}
lifecycle::AnswerInbox& Machine::answers() {
  return parts_->answers;
}
Wakeup& Machine::wakeup() {
  return parts_->wakeup;
}
std::uint32_t Machine::thread_count() const {
  return parts_->thread_count;
}
const std::optional<Error>& Machine::store_error() const {
  return parts_->store_error;
}
control::TierStatistics Machine::tiers() const {
  return parts_->control->tier_statistics();
}
std::uint64_t Machine::growth_bytes_max() const {
  std::uint64_t bytes = parts_->host_tier_bytes;
  for (const LoadedModel& each : parts_->models) {
    const inference::BackendCapabilities& device = each.backend->capabilities();
    bytes += std::uint64_t{device.page_count} * device.page_bytes;
  }
  return bytes;
}
const control::PageCache& Machine::pages() const {
  return parts_->control->pages(control::ModelIndex{0});
}
const control::PageTiers& Machine::page_tiers() const {
  return parts_->control->page_tiers(control::ModelIndex{0});
}
const control::MissLog& Machine::misses() const {
  return parts_->control->miss_log(control::ModelIndex{0});
}

}  // namespace quire
