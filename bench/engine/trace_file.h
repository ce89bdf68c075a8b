#pragma once
// Reads a trace of prompts from a file, gzipped or not.
//
// JSON lines: each an object with `timestamp` (ms) and `hash_ids`, one number for each block of the
// prompt; equal numbers are equal prefixes. Other keys are ignored. Or runs, as trace_replay.h
// reads them.
//
// Errors   Io, or the file's own (NotFound, PermissionDenied); InvalidArgument names the line;
//          TooLarge beyond kTraceBytesMax; Corrupted for a gzip file that is cut short.
#include <string>

#include "base/result.h"
#include "control/pages/trace_replay.h"

namespace quire {

inline constexpr std::uint64_t kTraceBytesMax = std::uint64_t{256} << 20;  // Unpacked.

Result<control::Trace> read_trace(const std::string& path);

}  // namespace quire
