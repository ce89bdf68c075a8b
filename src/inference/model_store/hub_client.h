#pragma once
// HubClient: the routes of a hub of models, as huggingface.co has them.
//
//   GET /api/models/USER/REPO/revision/REVISION          the commit
//   GET /api/models/USER/REPO/tree/COMMIT?recursive=true  the files, in pages
//   GET /USER/REPO/resolve/COMMIT/FILE                    the bytes, mostly after a redirect to
//                                                         another host
//
// The answers to `resolve` carry X-Linked-Etag (the SHA-256 of an LFS file) and X-Linked-Size. The
// token goes to the hub's own origin alone (http_exchange.h).
//
// Thread   any, but not the engine's: each call blocks until the hub has answered.
// Errors   those of refusal_of(), http_get() and the parsers of hub_listing.h; Corrupted if the hub
//          has another file than the one that is wanted.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/model_store/http_exchange.h"
#include "inference/model_store/hub_choice.h"
#include "inference/model_store/hub_listing.h"
#include "inference/model_store/model_reference.h"
#include "inference/model_store/part_files.h"

namespace quire::inference {

inline constexpr const char* kHubEndpoint = "https://huggingface.co";

// The address of the hub, and the token of the user.
struct HubAccess {
  std::string endpoint = kHubEndpoint;  // Without "/" at its end.
  std::string token = {};               // Empty: none.

  // HF_ENDPOINT and HF_TOKEN. InvalidArgument for an endpoint that is not the address of a hub, for
  // a token that is not one, and for a token that would go to another machine without encryption.
  static Result<HubAccess> from_environment();
  static Result<HubAccess> make(std::string endpoint, std::string token);
};

struct HubRepository {
  HubRevision revision;
  std::vector<HubFile> files;
};

class HubClient final {
 public:
  HubClient(HubAccess access, std::function<bool()> go_on)
      : access_(std::move(access)), go_on_(std::move(go_on)) {}

  const HubAccess& access() const { return access_; }

  Result<HubRepository> list(const ModelReference& reference) const;

  // Appends what `part` still lacks of `file`, or begins anew if the server gives only the whole
  // file. An error leaves in `part` what has come. `received` hears of each piece that is written;
  // the count is negative when bytes are given up.
  using Received = std::function<Result<void>(std::int64_t bytes)>;
  Result<void> receive(const ModelReference& reference, const HubFile& file, PartFile& part,
                       const Received& received) const;

 private:
  Result<std::string> text_at(const std::string& url, const std::string& what,
                              HttpHead& head) const;

  HubAccess access_;
  std::function<bool()> go_on_;
};

}  // namespace quire::inference
