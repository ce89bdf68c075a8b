#pragma once
// The records between a process that compiles a module, and the one that started it. They go over
// pipes, and bytes go in files that have no name. One build of this program is at both ends, so
// their layout is the compiler's.
//
//   parent -> kRequests   CompilerSetup at the start; CompileJob, with the module in kModule
//   child  -> kReplies    CompileReply, with the code in kCode; then the next job may come
//   child  -> kWords      whatever its libraries print
//
// A child whose setup asks for its wall alone replies with that and ends.
//
// The parent trusts a reply as far as its digest: bytes that lack it are not code.
#include <climits>
#include <cstdint>

#include "application/sandbox/wasm_runtime.h"
#include "base/sha256.h"
#include "workers/worker_process.h"
#include "workers/worker_wall.h"

namespace quire::sandbox {

using workers::kReplies;
using workers::kRequests;
using workers::kWords;
inline constexpr int kModule = workers::kFirstFile;
inline constexpr int kCode = workers::kFirstFile + 1;

// Properties of every memory that compiled code relies on.
struct CodeLayout {
  std::uint64_t reservation_bytes = 0;
  std::uint64_t guard_bytes = 0;
};

struct CompilerSetup {
  CodeLayout best;
  CodeLayout quick;
  std::uint64_t has_quick = 0;          // 1: what is wanted quickly may be compiled so.
  std::uint32_t requires_wall = 0;      // 1: the process ends if a part of its wall is missing.
  std::uint32_t only_reports_wall = 0;  // 1: no job follows.
};

struct CompileJob {
  std::uint64_t wasm_bytes = 0;
  Effort effort = Effort::Best;
};

enum class CompileOutcome : std::uint32_t {
  Compiled = 0x51430001,  // "QC": other numbers are not a reply.
  Refused,                // `message` says what is wrong with the module,
  Failed,                 // or with the process.
  NoMemory,
  WallReported,  // `wall` has it.
};

struct CompileReply {
  CompileOutcome outcome{};
  Effort effort = Effort::Best;  // Of the code.
  std::uint8_t is_last = 0;      // 1: the child ends.
  std::uint64_t code_bytes = 0;
  Digest digest{};  // SHA-256 of the code.
  workers::WallReport wall{};
  char message[512] = {};  // Ends with a zero.
};
static_assert(sizeof(CompileReply) <= PIPE_BUF, "a reply is written whole or not at all");

}  // namespace quire::sandbox
