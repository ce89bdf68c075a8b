#pragma once
// The name of a committed page: SHA-256 over everything that its bits depend on (DESIGN 4).
//
// The encoding is length-prefixed (each field: tag, 64-bit length, bytes) and starts with its own
// domain, so that no two different inputs give one string (I9).
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "inference/api/types.h"

namespace quire::control {

using inference::TokenId;
using PageName = Digest;

// What all pages below one root have in common.
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

// What one page holds: a token and a position for each slot, and for each slot the mask where it is
// not plain causal (empty otherwise).
struct PageContent {
  std::span<const TokenId> tokens;
  std::span<const std::uint32_t> positions;
  std::span<const std::uint8_t> mask = {};
};

// The name of the empty prefix, from which the first page of a context descends.
PageName root_name(const PageNameSpace& space);
PageName page_name(const PageNameSpace& space, const PageName& parent, const PageContent& content);

}  // namespace quire::control
