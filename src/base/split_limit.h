#pragma once
// SplitLimit: the limit of an instance, of which other instances of its family have a part.
#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

struct SplitLimit {
  std::uint64_t own = 0;
  std::uint64_t childrens = 0;  // Lent to them, or used up by them.
  std::uint64_t parents =
      0;  // Of a child that draws on its parent's limit: what that and other children have.

  std::uint64_t maximum() const { return own + childrens + parents; }
  // The end of an error, after "3 of ": "8 held", or "8 held, 4 are its children's".
  std::string text(std::string_view what) const {
    std::string out = std::to_string(maximum()).append(" ").append(what);
    if (childrens > 0) out += ", " + std::to_string(childrens) + " are its children's";
    if (parents > 0) {
      out += ", " + std::to_string(parents) + " are its parent's and that one's other children's";
    }
    return out;
  }
};

}  // namespace quire
