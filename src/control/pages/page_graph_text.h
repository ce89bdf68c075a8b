#pragma once
// A PageGraph as a tree of lines, or as Graphviz source (dot -Tsvg). The place of the pages' bytes
// is the first column of the lines, and the color and the label of the boxes.
//
// The content of pages is shown as `label` gives it, its control characters escaped; without a
// label, as token ids. No state; any thread.
#include <functional>
#include <span>
#include <string>

#include "control/pages/page_graph.h"

namespace quire::control {

// The text of some tokens; it may have bytes that are not UTF-8.
using PageLabel = std::function<std::string(std::span<const TokenId> tokens)>;

inline constexpr std::size_t kGraphRunCountMax = 10'000;  // Drawn; the rest is counted.

std::string page_graph_text(const PageGraph& graph, const PageLabel& label = {});
std::string page_graph_dot(const PageGraph& graph, const PageLabel& label = {});

}  // namespace quire::control
