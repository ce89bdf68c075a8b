#pragma once
// The SDK, compiled once: all of <quire/quire.h> as a precompiled header. `quire build` reads one that has its own
// flags, and makes the same module with it. `quire run FILE.cpp` reads another one, with an object that has the code of
// the SDK's functions, so that an edited program costs its own lines only.
//
// They are entries of an ArtifactCache, named by the compiler, the flags and the bytes of the SDK. The system's headers
// are compared by size and time at each use, since a library can change under one compiler.
//
// Thread   one at a time; several processes may share a cache.
// Errors   Io or NotFound where it cannot be made; the caller then compiles without it.
#include <string>
#include <vector>

#include "base/result.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {

struct PrecompiledSdk {
  std::string header;
  std::string object;
};

// Whether a source includes all of the SDK. Another one is compiled without the header.
bool includes_sdk(const std::string& source);

// `notice` is called before the SDK is compiled, which takes some seconds.
Result<PrecompiledSdk> precompiled_sdk(const std::string& compiler, const SdkLocation& sdk,
                                       const std::string& cache_folder, void (*notice)());

// The path of the header for the flags of `quire build`.
Result<std::string> precompiled_header(const std::string& compiler, const SdkLocation& sdk,
                                       const std::string& cache_folder, void (*notice)());

// How a program is compiled for `quire run` that uses it: the flags for its source, without those for the linker.
Result<std::vector<std::string>> quick_compile_flags(const SdkLocation& sdk);

}  // namespace quire
