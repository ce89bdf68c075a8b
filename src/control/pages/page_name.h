#pragma once
// The name of a committed page: SHA-256 over everything that its bits depend on.
//
// The encoding is length-prefixed (each field: tag, 64-bit length, bytes) and starts with its own
// domain. So no two different inputs give one string (I9). docs/internals/paged_kv.md describes it.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "control/api/adapter_runs.h"
#include "inference/api/types.h"

namespace quire::control {

using inference::TokenId;
using PageName = Digest;

// The common properties of all pages below one root.
struct PageNameSpace {
  std::uint32_t format_version = 1;
  Digest model{};           // Weights, number formats, hyperparameters.
  std::string numerics_id;  // Backend and kernel revision.
  inference::KvFormat kv_format = inference::KvFormat::F16;
  std::string rope;  // Covered by `model`; a field of its own for what overrides it.
  std::uint32_t page_size = 0;
  Digest adapter{};  // All zero: none.
  float adapter_scale = 0.0f;
  Digest sharing_domain{};
};

// The content of one page: a token and a position for each slot. `mask` has the slots that its
// tokens could not see, as slot_view.h encodes it; it is empty if attention is plain causal.
// `media` has the bytes of slots that hold no token of the vocabulary. `adapters` has the sets
// under which the tokens were appended, by rising slot; it is empty if all are of the base model.
struct PageContent {
  std::span<const TokenId> tokens;
  std::span<const std::uint32_t> positions;
  std::span<const std::uint8_t> mask = {};
  std::span<const std::uint8_t> media = {};
  std::span<const AdapterRun> adapters = {};
};

// Whether each position is the one before it plus one.
bool is_consecutive(std::span<const std::uint32_t> positions);

// Names the pages of one space. The fields that they share are hashed once, in the constructor.
// Thread: any; const.
class PageNamer {
 public:
  explicit PageNamer(const PageNameSpace& space);

  // The name of the empty prefix, from which the first page of a context descends.
  const PageName& root() const { return root_; }
  PageName page(const PageName& parent, const PageContent& content) const;
  // The name of a page whose inputs cannot all be named: `nonce` is of one page only.
  PageName opaque(std::span<const std::byte> nonce) const;

 private:
  PageName root_{};
  Sha256 page_prefix_;
  Sha256 opaque_prefix_;
};

}  // namespace quire::control
