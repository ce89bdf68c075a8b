#pragma once
// A hub's description of a repository: its commit and its files. The texts come from outside.
//
// Thread   any; no state.
// Errors   Corrupted names the text and what is wrong in it; TooLarge beyond the limits.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

inline constexpr std::size_t kHubFileCountMax = 100'000;

struct HubFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256 = {};    // In hexadecimal; empty for a file that is stored in git itself.
  std::string git_blob = {};  // SHA-1 as git computes it; of an LFS file that of its pointer.

  // The digest that its bytes must have: the stronger of the two. Empty if the hub gives none.
  const std::string& digest() const { return sha256.empty() ? git_blob : sha256; }
};

struct HubRevision {
  std::string commit;
  std::string architecture =
      {};  // What the hub read from a GGUF file of the repository, if it has one.
};

// GET /api/models/USER/REPO/revision/REVISION
Result<HubRevision> parse_hub_revision(std::string_view text, const std::string& source);

// GET /api/models/USER/REPO/tree/COMMIT?recursive=true: one page of it, appended to `files`.
Result<void> parse_hub_tree(std::string_view text, const std::string& source,
                            std::vector<HubFile>& files);

// The address of the next page in a `Link` field, if there is one.
std::optional<std::string> next_page_of(std::string_view link);

bool is_sha256(std::string_view text);      // 64 hexadecimal digits in lower case.
bool is_git_object(std::string_view text);  // 40 of them.
// What an `ETag` field has between its quotes.
std::string etag_text(std::string_view field);

// SHA-1 that git has for a file with these bytes.
std::string git_blob_of(std::string_view bytes);

}  // namespace quire::inference
