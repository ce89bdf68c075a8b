#pragma once
// ProgramStore compiles programs once and keeps them. It compiles on the caller's thread, or on a
// helper thread so that the engine does not wait. A requested program is first compiled quickly, so
// that it can be launched. Once there was no request for a while, it is compiled again with all
// effort: instances that are launched from then on run the better code.
//
// Owns     the compiled programs and the helper thread (started at the first request). When the
//          store goes, the compilation of a client's program is stopped, and waiting ones do not
//          begin.
// Bound    requested programs, by count and by bytes of code (of Wasm, until there is code). Beyond
//          that, of the tenant that has most of what is short, the compiled program that was used
//          least recently is forgotten; its instances keep the code. Loaded programs stay. Programs
//          that wait for their better code: kBetterCountMax and kBetterBytesMax; beyond, the oldest
//          stays as it is. Programs that wait for the compiler: kRequestCountMax and
//          kRequestBytesMax of Wasm, of which each tenant has its share (compile_queue.h).
// Thread   engine thread; the helper only compiles and notifies the Wakeup.
// Errors   of the runtime's compile(); TooLarge for a module that it would refuse for its size;
//          QuotaExceeded when too many compilations of the tenant wait.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "application/lifecycle/compile_queue.h"
#include "application/lifecycle/first_runs.h"
#include "application/lifecycle/launch.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/bounded_queue.h"
#include "base/result.h"
#include "base/server_limits.h"
#include "base/sha256.h"
#include "base/wakeup.h"

namespace quire::lifecycle {

// Limits of requested programs. The bytes are those of code, and of Wasm until there is code; one
// program has at most half (CompileLimits).
struct ProgramLimits {
  std::size_t count_max = default_of<ServerLimit::KeptProgramCountMax>();
  std::uint64_t bytes_max = default_of<ServerLimit::KeptProgramBytesMax>();
  // Without a request, before programs are compiled again: compiling takes all cores.
  std::chrono::milliseconds quiet{1'000};
  // Without a request, before the runtime is prepared for the next: the launches of a program that
  // has just come want the cores too.
  std::chrono::milliseconds breath{100};
};

class ProgramStore {
 public:
  static constexpr std::size_t kRequestCountMax =
      default_of<ServerLimit::CompilingProgramCountMax>();
  static constexpr std::uint64_t kRequestBytesMax =
      default_of<ServerLimit::CompilingProgramBytesMax>();
  static constexpr std::size_t kBetterCountMax = default_of<ServerLimit::BetterProgramCountMax>();
  static constexpr std::uint64_t kBetterBytesMax = default_of<ServerLimit::BetterProgramBytesMax>();

  ProgramStore(sandbox::WasmRuntime& runtime, Wakeup& wakeup, const ProgramLimits& limits = {})
      : runtime_(runtime), wakeup_(wakeup), limits_(limits) {}
  ~ProgramStore();
  ProgramStore(const ProgramStore&) = delete;
  ProgramStore& operator=(const ProgramStore&) = delete;

  struct Entry {
    std::shared_ptr<const sandbox::Program> program;  // Null while compiling, and when it failed.
    std::optional<Error> error;
    Digest digest{};
    std::uint64_t bytes = 0;     // That it counts for.
    std::uint64_t used = 0;      // By what use() counts.
    control::TenantId tenant{};  // That brought it.
    bool stays = false;
    std::map<control::TenantId, FirstRuns> first_runs;
    bool compiling() const { return program == nullptr && !error; }
  };

  Result<ProgramId> load(std::span<const std::byte> wasm);
  Result<ProgramId> request(std::vector<std::byte> wasm, const Digest& digest,
                            control::TenantId tenant = {});
  // Whether the server knows more than one tenant.
  void set_several_tenants(bool are_several) { requests_.set_several(are_several); }
  std::uint64_t program_bytes_max() const { return runtime_.module_bytes_max(); }
  // Null for an id that was never given out, or of a program that was forgotten.
  const Entry* find(ProgramId id) const;
  std::optional<ProgramId> find(const Digest& digest) const;
  // Null where find() is.
  FirstRuns* first_runs(ProgramId id, control::TenantId tenant);
  // The program is wanted: other programs are forgotten before it.
  void use(ProgramId id);
  // Takes in what the helper finished; true if anything.
  bool poll();
  bool compiling() const { return requests_.count() > 0; }
  std::size_t count() const { return programs_.size(); }
  std::uint64_t compiled_count() const {
    return compiled_count_;
  }  // Requests done or failed, ever.

 private:
  using Job = CompileQueue::Job;
  struct Done {
    ProgramId id{};
    std::shared_ptr<const sandbox::Program> program;
    std::optional<Error> error;
    bool is_better = false;  // The second of a program.
  };

  void hand_over();
  void help();
  void compile(Job job, sandbox::Effort effort);
  Entry& add(ProgramId id, const Digest& digest, std::uint64_t bytes);
  void make_room(std::size_t count, std::uint64_t bytes);
  void take(Entry& entry, std::shared_ptr<const sandbox::Program> program);
  void forget(std::unordered_map<ProgramId, Entry>::iterator entry);

  sandbox::WasmRuntime& runtime_;
  Wakeup& wakeup_;
  const ProgramLimits limits_;
  std::unordered_map<ProgramId, Entry> programs_;
  std::map<Digest, ProgramId> by_digest_;  // The newest with that digest.
  std::uint32_t next_id_ = 1;
  std::uint64_t uses_ = 0;
  std::size_t requested_count_ = 0;  // Entries that do not stay, and their bytes.
  std::uint64_t requested_bytes_ = 0;
  CompileQueue requests_{kRequestCountMax, kRequestBytesMax};
  std::uint64_t compiled_count_ = 0;
  // One that is being compiled and one that is the next, so that the helper need not wait for the engine.
  static constexpr std::size_t kHandedCountMax = 2;
  std::size_t handed_count_ = 0;
  BoundedQueue<Job> jobs_{kHandedCountMax};
  // A slot for each, which never refuses; of better code one at a time has another.
  BoundedQueue<std::unique_ptr<Done>> done_{kHandedCountMax + 1};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_better_{false};  // One is in `done_`.
  std::deque<Job> waiting_;              // For their better code. The helper's own.
  std::uint64_t waiting_bytes_ = 0;
  std::thread helper_;
};

}  // namespace quire::lifecycle
