#include "bench/engine/context_scenarios.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "bench/machine/bench_streams.h"
#include "cli/terminal.h"
#include "main/machine/host_context.h"
#include "main/machine/machine.h"
#include "main/verbs/pages/page_report.h"
#include "main/verbs/pages/reported_programs.h"
#include "main/verbs/shared/scratch_folder.h"

namespace quire {
namespace {

using Sequence = std::vector<std::uint32_t>;
constexpr const char* kSnapshot = "bench";

// How often the pages are looked at for a report: a look goes over all of them.
constexpr std::uint64_t kLookPeriodNs = 20'000'000;

// An engine, what was said of its progress, and what was seen of its pages where it explains
// misses.
class Engine {
 public:
  static Result<std::unique_ptr<Engine>> build(const cli::EngineOptions& options) {
    auto engine = std::unique_ptr<Engine>(new Engine());
    engine->machine_ = TRY(Machine::build(options, engine->clock_));
    engine->loop_.emplace(engine->machine().control(), engine->machine().answers(),
                          engine->machine().wakeup());
    if (options.misses != cli::MissUse::Off) {
      engine->report_.emplace(engine->machine(), engine->clock_);
    }
    engine->loop_->watch([raw = engine.get()] {
      raw->progress_.update(raw->machine().control().statistics().row_count, 0);
      raw->look();
    });
    return engine;
  }
  // The context is one of those that the report is of; note it again before it ends.
  void add(const HostContext& context) { programs_.add(context.instance()); }
  void note(const HostContext& context) {
    programs_.note(context.instance(), context.statistics());
  }
  // Requires: it explains misses.
  Result<void> write_report(const std::string& path) {
    report_->look();
    return report_->write(path, programs_);
  }
  Machine& machine() { return *machine_; }
  HostLoop& loop() { return *loop_; }
  std::uint32_t vocabulary() { return machine_->model().vocabulary_size; }

 private:
  Engine() = default;
  void look() {
    const std::uint64_t now_ns = clock_.now_ns();
    if (!report_ || now_ns < next_look_ns_) return;
    report_->look();
    next_look_ns_ = now_ns + kLookPeriodNs;
  }

  const SteadyClock clock_;
  const cli::Terminal terminal_ = cli::Terminal::standard_error();
  cli::Progress progress_{terminal_, clock_, "tokens computed"};
  std::unique_ptr<Machine> machine_;
  std::optional<HostLoop> loop_;
  std::optional<PageReport> report_;
  std::uint64_t next_look_ns_ = 0;
  ReportedPrograms programs_;
};

cli::EngineOptions with_pages(cli::EngineOptions engine, std::uint64_t page_count) {
  engine.pool.memory_bytes.reset();
  engine.pool.page_count = static_cast<std::uint32_t>(page_count);
  return engine;
}

cli::EngineOptions with_report(cli::EngineOptions engine, const std::string& report_file) {
  if (!report_file.empty()) engine.misses = cli::MissUse::Explain;
  return engine;
}

std::uint64_t pages_of(const cli::EngineOptions& engine, std::uint64_t token_count) {
  return (token_count + engine.page_size - 1) / engine.page_size;
}

double seconds_since(const Clock& clock, std::uint64_t begin_ns) {
  return static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;
}

// ---- the file cache ----------------------------------------------------------------------------

struct FileCache {
  std::uint64_t bytes = 0;
  std::uint64_t cached_bytes = 0;
};

Error file_error(const std::filesystem::path& path, const char* what) {
  return Error(ErrorCode::Io, path.string() + ": " + what + ": " + std::strerror(errno));
}

// Adds the bytes of a file, and those that the kernel holds in memory, to `cache`. `evicts` asks
// the kernel to drop them first.
Result<void> look_at(const std::filesystem::path& path, bool evicts, FileCache& cache) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error(path, "open");
  const std::unique_ptr<const int, void (*)(const int*)> closer(
      &file, [](const int* it) { ::close(*it); });
  if (evicts) {
    if (::fsync(file) != 0) return file_error(path, "fsync");
    if ((errno = ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)) != 0) {
      return file_error(path, "posix_fadvise");
    }
  }
  const off_t size = ::lseek(file, 0, SEEK_END);
  if (size <= 0) return {};
  const auto bytes = static_cast<std::size_t>(size);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return file_error(path, "mmap");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  const bool is_told = ::mincore(mapped, bytes, resident.data()) == 0;
  ::munmap(mapped, bytes);
  if (!is_told) return file_error(path, "mincore");
  cache.bytes += bytes;
  for (const unsigned char each : resident) cache.cached_bytes += (each & 1) != 0 ? page : 0;
  return {};
}

Result<FileCache> look_at_folder(const std::filesystem::path& folder, bool evicts) {
  FileCache cache;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) TRY(look_at(entry.path(), evicts, cache));
  }
  if (error) return Error(ErrorCode::Io, folder.string() + ": " + error.message());
  return cache;
}

// ---- restore -----------------------------------------------------------------------------------

// The time until the context is there, and the logits of what follows it.
struct Run {
  double seconds = 0.0;
  std::vector<float> logits;
};

Result<Run> recompute(const cli::EngineOptions& options, const Sequence& prompt, bool saves) {
  const SteadyClock clock;
  const std::unique_ptr<Engine> engine = TRY(Engine::build(options));
  HostContext context(engine->loop());
  context.create();
  const std::uint64_t begin_ns = clock.now_ns();
  context.append(prompt);
  TRY(context.flush());
  Run run{.seconds = seconds_since(clock, begin_ns), .logits = {}};
  if (saves) TRY(context.save(kSnapshot));
  context.append({prompt.front()});
  run.logits = TRY(context.logits());
  return run;
}

// A report is of this engine, where its file has a name.
Result<Run> restore(const cli::EngineOptions& options, const Sequence& prompt,
                    const std::string& report_file = "") {
  const SteadyClock clock;
  const std::unique_ptr<Engine> engine = TRY(Engine::build(with_report(options, report_file)));
  HostContext context(engine->loop());
  engine->add(context);
  const std::uint64_t begin_ns = clock.now_ns();
  TRY(context.open(kSnapshot));
  Run run{.seconds = seconds_since(clock, begin_ns), .logits = {}};
  context.append({prompt.front()});
  run.logits = TRY(context.logits());
  engine->note(context);
  if (!report_file.empty()) TRY(engine->write_report(report_file));
  return run;
}

Result<void> check_equal(const std::vector<float>& one, const std::vector<float>& other) {
  const bool is_equal = one.size() == other.size() &&
                        std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0;
  if (is_equal) return {};
  return Error(ErrorCode::Internal, "the restored context gives other bits than the computed one");
}

// ---- pressure ----------------------------------------------------------------------------------

struct Conversed {
  double seconds = 0.0;
  std::vector<Sequence> replies;
  control::ControlStatistics statistics;
};

Result<Conversed> converse(const cli::BenchOptions& options, std::uint64_t page_count,
                           const std::string& report_file = "") {
  const SteadyClock clock;
  const std::unique_ptr<Engine> engine =
      TRY(Engine::build(with_report(with_pages(options.engine, page_count), report_file)));
  const std::uint32_t count = options.streams.front();
  SeededRandom random(count);
  std::vector<std::unique_ptr<HostContext>> contexts;
  Conversed result;
  result.replies.resize(count);
  const std::uint64_t begin_ns = clock.now_ns();
  std::vector<HostLoop::Key> keys;
  std::vector<std::uint32_t> owners;
  for (std::uint32_t each = 0; each < count; ++each) {
    contexts.push_back(std::make_unique<HostContext>(engine->loop()));
    engine->add(*contexts[each]);
    contexts[each]->create();
    contexts[each]->append(random_prompt(random, engine->vocabulary(), options.prompt_tokens));
    contexts[each]->begin_step();
    keys.push_back(contexts[each]->step_key());
    owners.push_back(each);
  }
  while (!keys.empty()) {
    const std::size_t index = engine->loop().wait_any(keys);
    const std::uint32_t each = owners[index];
    HostContext& context = *contexts[each];
    Sequence& reply = result.replies[each];
    reply.push_back(TRY(context.finish_step()));
    if (reply.size() < options.decode_tokens) {
      context.append({reply.back()});
      context.begin_step();
      keys[index] = context.step_key();
    } else {
      engine->note(context);
      contexts[each].reset();  // It is over, and so are its pages.
      keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(index));
      owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  result.seconds = seconds_since(clock, begin_ns);
  result.statistics = engine->machine().control().statistics();
  if (!report_file.empty()) TRY(engine->write_report(report_file));
  return result;
}

void note_pages(SinkTimes& times, const control::ContextCounters& counters) {
  const std::uint32_t pages = counters.committed_page_count + counters.working_page_count;
  times.page_count_most = std::max(times.page_count_most, pages);
  times.page_count_least =
      times.page_count_least == 0 ? pages : std::min(times.page_count_least, pages);
}

}  // namespace

Result<RestoreTimes> time_restore(const cli::BenchOptions& options) {
  const ScratchFolder folder;
  if (folder.path().empty()) {
    return Error(ErrorCode::Io, "no folder for a store could be made among the temporary files");
  }
  cli::EngineOptions engine =
      with_pages(options.engine, pages_of(options.engine, options.tokens) + 8);
  const cli::EngineOptions without_store = engine;
  engine.store_use = cli::StoreUse::Required;
  engine.store_folder = (folder.path() / "store").string();
  SeededRandom random(options.tokens);
  Sequence prompt;
  {
    const std::unique_ptr<Engine> built = TRY(Engine::build(without_store));
    prompt = random_prompt(random, built->vocabulary(), options.tokens);
  }
  const Run first = TRY(recompute(engine, prompt, true));
  RestoreTimes times;
  for (std::uint32_t each = 0; each < options.repetitions; ++each) {
    const Run computed = TRY(recompute(without_store, prompt, false));
    TRY(look_at_folder(folder.path(), true));
    const FileCache cache = TRY(look_at_folder(folder.path(), false));
    const Run cold = TRY(restore(engine, prompt));
    const Run warm = TRY(restore(engine, prompt));
    for (const Run* run : {&computed, &cold, &warm}) TRY(check_equal(run->logits, first.logits));
    times.recompute_s.push_back(computed.seconds);
    times.restore_cold_s.push_back(cold.seconds);
    times.restore_warm_s.push_back(warm.seconds);
    times.store_bytes = cache.bytes;
    times.cached_share = std::max(times.cached_share,
                                  static_cast<double>(cache.cached_bytes) /
                                      static_cast<double>(std::max<std::uint64_t>(1, cache.bytes)));
  }
  if (!options.kv_report_file.empty()) TRY(restore(engine, prompt, options.kv_report_file));
  return times;
}

Result<PressureTimes> time_pressure(const cli::BenchOptions& options) {
  const std::uint64_t each =
      pages_of(options.engine, std::uint64_t{options.prompt_tokens} + options.decode_tokens);
  const std::uint64_t all = each * options.streams.front();
  PressureTimes times;
  times.roomy_page_count = static_cast<std::uint32_t>(all);
  times.tight_page_count = static_cast<std::uint32_t>(all / 4);
  for (std::uint32_t run = 0; run < options.repetitions; ++run) {
    const Conversed roomy = TRY(converse(options, times.roomy_page_count));
    const Conversed tight = TRY(converse(options, times.tight_page_count));
    if (roomy.replies != tight.replies) {
      return Error(ErrorCode::Internal, "in the small pool a conversation gave other tokens");
    }
    times.roomy_s.push_back(roomy.seconds);
    times.tight_s.push_back(tight.seconds);
    times.suspension_count = tight.statistics.suspension_count;
    times.lost_token_count = tight.statistics.lost_token_count;
  }
  if (!options.kv_report_file.empty()) {
    TRY(converse(options, times.tight_page_count, options.kv_report_file));
  }
  return times;
}

Result<SinkTimes> time_sink(const cli::BenchOptions& options) {
  constexpr std::uint32_t kParts = 5;
  SinkTimes times;
  const std::uint32_t seen = times.sink + times.window;
  const std::unique_ptr<Engine> engine = TRY(Engine::build(
      with_report(with_pages(options.engine, pages_of(options.engine, 2 * std::uint64_t{seen})),
                  options.kv_report_file)));
  const SteadyClock clock;
  SeededRandom random(1);
  HostContext context(engine->loop());
  engine->add(context);
  context.create();
  context.allow_beyond_context();
  context.append(random_prompt(random, engine->vocabulary(), 1));
  const std::uint32_t part = std::max(1u, options.tokens / kParts);
  std::uint32_t length = 1;
  for (std::uint32_t each = 0; each < kParts; ++each) {
    const std::uint64_t begin_ns = clock.now_ns();
    for (std::uint32_t step = 0; step < part; ++step) {
      context.begin_step();
      const std::uint32_t token = TRY(context.finish_step());
      if (length > seen) {
        const control::ContextCounters counters =
            TRY(context.drop_range(times.sink, length - times.window));
        if (each > 0) note_pages(times, counters);
      }
      context.append({token});
      ++length;
    }
    times.token_ms.push_back(seconds_since(clock, begin_ns) * 1e3 / part);
  }
  engine->note(context);
  if (!options.kv_report_file.empty()) TRY(engine->write_report(options.kv_report_file));
  return times;
}

}  // namespace quire
