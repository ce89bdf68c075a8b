#pragma once
// ProgramStore compiles programs once and keeps them: on the caller's thread, or on a helper thread
// so that nobody waits for a compiler.
//
// Owns     the compiled programs and the helper thread (started at the first request).
// Thread   engine thread; the helper only compiles and notifies the Wakeup.
// Errors   of the runtime's compile(); QuotaExceeded when kRequestCountMax compilations wait.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "application/lifecycle/launch.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/bounded_queue.h"
#include "base/result.h"
#include "base/sha256.h"
#include "base/wakeup.h"

namespace quire::lifecycle {

class ProgramStore {
 public:
  static constexpr std::size_t kRequestCountMax = 256;

  ProgramStore(sandbox::WasmRuntime& runtime, Wakeup& wakeup)
      : runtime_(runtime), wakeup_(wakeup) {}
  ~ProgramStore();
  ProgramStore(const ProgramStore&) = delete;
  ProgramStore& operator=(const ProgramStore&) = delete;

  struct Entry {
    std::shared_ptr<const sandbox::Program> program;  // Null while compiling, and when it failed.
    std::optional<Error> error;
    bool compiling() const { return program == nullptr && !error; }
  };

  Result<ProgramId> load(std::span<const std::byte> wasm);
  Result<ProgramId> request(std::vector<std::byte> wasm);
  // Null for an id that was never given out.
  const Entry* find(ProgramId id) const;
  // Takes in what the helper finished; true if anything.
  bool poll();
  bool compiling() const { return requested_ > 0; }

 private:
  struct Job {
    ProgramId id{};
    std::vector<std::byte> wasm;
  };
  struct Done {
    ProgramId id{};
    Entry entry;
  };

  void help();
  ProgramId add(const Digest& digest);

  sandbox::WasmRuntime& runtime_;
  Wakeup& wakeup_;
  std::vector<Entry> programs_;  // By id, from 1.
  std::map<Digest, ProgramId> by_digest_;
  std::size_t requested_ = 0;
  BoundedQueue<Job> jobs_{kRequestCountMax};
  BoundedQueue<std::unique_ptr<Done>> done_{
      kRequestCountMax};  // A slot for each job: never refuses.
  std::thread helper_;
};

}  // namespace quire::lifecycle
