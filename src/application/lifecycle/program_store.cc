#include "application/lifecycle/program_store.h"

#include <malloc.h>

#include <utility>

#include "base/check.h"
#include "base/start_thread.h"
#include "base/thread_schedule.h"

namespace quire::lifecycle {
namespace {

// The helper has a quarter of a core that the device wants too, and so have the compiler processes
// that it starts. Checking a large module takes tens of milliseconds, which must not double the
// time of the device's steps.
constexpr int kHelperNiceness = 5;

bool may_go(const ProgramStore::Entry& entry) {
  return !entry.stays && !entry.compiling();
}

}  // namespace

ProgramStore::~ProgramStore() {
  is_stopping_.store(true);
  runtime_.stop_compiling();
  jobs_.close();
  if (helper_.joinable()) helper_.join();
}

ProgramStore::Entry& ProgramStore::add(ProgramId id, const Digest& digest, std::uint64_t bytes) {
  by_digest_[digest] = id;
  Entry& entry = programs_[id];
  entry.digest = digest;
  entry.bytes = bytes;
  entry.used = ++uses_;
  return entry;
}

void ProgramStore::forget(std::unordered_map<ProgramId, Entry>::iterator entry) {
  requested_count_ -= 1;
  requested_bytes_ -= entry->second.bytes;
  const auto named = by_digest_.find(entry->second.digest);
  if (named != by_digest_.end() && named->second == entry->first) by_digest_.erase(named);
  programs_.erase(entry);
}

// Makes room by forgetting programs. Programs that are being compiled stay; kRequestCountMax limits
// them. The tenant that has most loses its own: most by count, or by bytes if bytes are short.
void ProgramStore::make_room(std::size_t count, std::uint64_t bytes) {
  for (;;) {
    const bool is_by_bytes = requested_bytes_ + bytes > limits_.bytes_max;
    if (!is_by_bytes && requested_count_ + count <= limits_.count_max) return;
    std::map<control::TenantId, std::uint64_t> has;
    for (const auto& [id, entry] : programs_) {
      if (may_go(entry)) has[entry.tenant] += is_by_bytes ? entry.bytes : 1;
    }
    auto first = programs_.end();
    for (auto each = programs_.begin(); each != programs_.end(); ++each) {
      if (!may_go(each->second)) continue;
      const std::uint64_t most = first == programs_.end() ? 0 : has[first->second.tenant];
      const std::uint64_t own = has[each->second.tenant];
      const bool goes_first = first == programs_.end() || own > most ||
                              (own == most && each->second.used < first->second.used);
      if (goes_first) first = each;
    }
    if (first == programs_.end()) return;
    forget(first);
  }
}

Result<ProgramId> ProgramStore::load(std::span<const std::byte> wasm) {
  const Digest digest = sha256(wasm);
  const std::optional<ProgramId> known = find(digest);
  if (known && find(*known)->program != nullptr) return *known;
  std::shared_ptr<const sandbox::Program> program =
      TRY(runtime_.compile(wasm, sandbox::Effort::Best, sandbox::Origin::Operator));
  if (known && find(*known)->compiling()) return *known;
  const ProgramId id{next_id_++};
  Entry& entry = add(id, digest, wasm.size());
  entry.program = std::move(program);
  entry.stays = true;
  return id;
}

Result<ProgramId> ProgramStore::request(std::vector<std::byte> wasm, const Digest& digest,
                                        control::TenantId tenant) {
  const std::optional<ProgramId> known = find(digest);
  if (known && !find(*known)->error) return *known;
  TRY(sandbox::check_module_bytes(wasm.size(), program_bytes_max()));
  TRY(requests_.check(tenant, wasm.size()));
  if (!helper_.joinable()) {
    helper_ = TRY(start_thread("compiling programs", [this] { help(); }));
  }
  make_room(1, wasm.size());
  const ProgramId id{next_id_++};
  add(id, digest, wasm.size()).tenant = tenant;
  requested_count_ += 1;
  requested_bytes_ += wasm.size();
  requests_.push(tenant, {id, std::move(wasm)});
  hand_over();
  return id;
}

void ProgramStore::hand_over() {
  while (handed_count_ < kHandedCountMax) {
    std::optional<Job> job = requests_.pop();
    if (!job) return;
    ++handed_count_;
    QUIRE_CHECK(jobs_.try_push(*std::move(job)), "a slot for each that is handed over");
  }
}

const ProgramStore::Entry* ProgramStore::find(ProgramId id) const {
  const auto found = programs_.find(id);
  return found == programs_.end() ? nullptr : &found->second;
}

std::optional<ProgramId> ProgramStore::find(const Digest& digest) const {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return std::nullopt;
  return found->second;
}

FirstRuns* ProgramStore::first_runs(ProgramId id, control::TenantId tenant) {
  const auto entry = programs_.find(id);
  return entry == programs_.end() ? nullptr : &entry->second.first_runs[tenant];
}

void ProgramStore::use(ProgramId id) {
  const auto found = programs_.find(id);
  if (found != programs_.end()) found->second.used = ++uses_;
}

void ProgramStore::help() {
  add_niceness(kHelperNiceness);
  bool is_prepared = true;  // The runtime was when it was made.
  bool is_tidy = true;
  while (true) {
    std::optional<Job> job = is_tidy && waiting_.empty()
                                 ? jobs_.pop()
                                 : jobs_.pop_for(is_prepared ? limits_.quiet : limits_.breath);
    if (is_stopping_.load()) return;  // The programs that still wait are not needed any more.
    if (job) {
      compile(*std::move(job), sandbox::Effort::Quick);
      is_prepared = is_tidy = false;
    } else if (!is_prepared) {
      runtime_.prepare();
      is_prepared = true;
    } else if (waiting_.empty()) {
      malloc_trim(0);  // What large modules took on their way stays with the allocator otherwise.
      is_tidy = true;
    } else if (!has_better_.load()) {  // Else the engine is busy.
      Job better = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= better.wasm.size();
      compile(std::move(better), sandbox::Effort::Best);
      is_prepared = is_tidy = false;
    }
  }
}

void ProgramStore::compile(Job job, sandbox::Effort effort) {
  const bool is_better = effort == sandbox::Effort::Best;
  auto done = std::make_unique<Done>(Done{job.id, nullptr, std::nullopt, is_better});
  Result<std::shared_ptr<const sandbox::Program>> program =
      runtime_.compile(job.wasm, effort, sandbox::Origin::Client);
  if (program.ok()) {
    done->program = std::move(program).take();
  } else {
    done->error = std::move(program).take_error();
  }
  const bool may_be_better =
      done->program != nullptr && done->program->effort() == sandbox::Effort::Quick;
  if (is_better) has_better_.store(true);
  QUIRE_CHECK(done_.try_push(std::move(done)), "as many slots as requests");
  wakeup_.notify();
  if (!may_be_better) return;
  waiting_bytes_ += job.wasm.size();
  waiting_.push_back(std::move(job));
  while (waiting_.size() > kBetterCountMax || waiting_bytes_ > kBetterBytesMax) {
    waiting_bytes_ -= waiting_.front().wasm.size();
    waiting_.pop_front();
  }
}

void ProgramStore::take(Entry& entry, std::shared_ptr<const sandbox::Program> program) {
  if (!entry.stays) {
    requested_bytes_ += program->code_bytes() - entry.bytes;
    entry.bytes = program->code_bytes();
  }
  entry.program = std::move(program);
}

bool ProgramStore::poll() {
  bool any = false;
  while (std::optional<std::unique_ptr<Done>> popped = done_.try_pop()) {
    const std::unique_ptr<Done> done = std::move(*popped);
    any = true;
    if (done->is_better) {
      has_better_.store(false);
      const auto found = programs_.find(done->id);  // It may be forgotten.
      if (found != programs_.end() && done->program != nullptr) {
        take(found->second, std::move(done->program));
      }
      continue;
    }
    requests_.done(done->id);
    --handed_count_;
    ++compiled_count_;
    Entry& entry = programs_.at(done->id);
    if (done->error) requested_bytes_ -= std::exchange(entry.bytes, 0);  // Nothing is kept of it.
    if (done->program != nullptr) take(entry, std::move(done->program));
    entry.error = std::move(done->error);
  }
  hand_over();
  if (any) make_room(0, 0);
  return any;
}

}  // namespace quire::lifecycle
