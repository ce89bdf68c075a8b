#pragma once
// A PageSpace as bytes, for file headers and the index, and what is different between two.
#include <optional>
#include <string>

#include "base/result.h"
#include "control/store/byte_codec.h"
#include "control/store/records.h"

namespace quire::store {

Result<void> check_space(const PageSpace& space);  // InvalidArgument beyond the limits.

// Everything but the sharing domain; docs/reference/snapshot_format.md gives the bytes.
std::vector<std::byte> encode_space(const PageSpace& space);
PageSpace decode_space(ByteReader& reader);  // Ask the reader whether it went well.

Digest space_digest(const PageSpace& space);  // SHA-256 of encode_space().

// The space of the states, of so many bytes each, that stand after pages of `pages`.
PageSpace states_of(const PageSpace& pages, std::uint64_t state_bytes);

// The first field in which `stored` is not `wanted`, with both values; empty if there is none.
std::optional<std::string> space_difference(const PageSpace& stored, const PageSpace& wanted);

}  // namespace quire::store
