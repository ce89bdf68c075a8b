#pragma once
// fetch_from_hub: brings the files of a chosen model into its part folder, whole and checked.
//
// Each file is continued where an earlier attempt ended, by the digest that its part is named
// after. A connection that breaks is tried again while bytes still come. A digest that is wrong
// after a part was continued makes the file begin anew, once; otherwise the part is deleted, since
// no byte of it is known to be right.
//
// Thread   any, but not the engine's.
// Errors   those of HubClient; Corrupted with both digests; Io if the disk is full, before the
//          first byte where that can be known; Cancelled. What has come stays in the part folder,
//          except as said.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/model_store/hub_client.h"
#include "inference/model_store/part_files.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

struct HubFetchOptions {
  Progress progress;
  // Before another attempt; twice as long after two that brought no byte. A third is the last.
  std::chrono::milliseconds pause{1000};
  // Called when a file has come whole, with its path on the disk: an error ends the work. It sees
  // config.json before gigabytes follow.
  std::function<Result<void>(const HubFile& file, const std::string& path)> on_whole;
  // Called while a file comes, with the path of its part and the bytes that are there: an error
  // ends the work.
  std::function<Result<void>(const HubFile& file, const std::string& path, std::uint64_t bytes)>
      on_part;
};

// The path of a whole file, and the SHA-256 that was computed of its bytes.
struct FetchedFile {
  std::string path;
  std::string sha256;
};

// In the order of model.files. `reference` has a revision at which the files are.
Result<std::vector<FetchedFile>> fetch_from_hub(const HubClient& hub,
                                                const ModelReference& reference,
                                                const ChosenModel& model, const PartFolder& folder,
                                                const HubFetchOptions& options);

}  // namespace quire::inference
