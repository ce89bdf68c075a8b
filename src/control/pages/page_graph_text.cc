#include "control/pages/page_graph_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/utf8.h"

namespace quire::control {
namespace {

constexpr std::size_t kTokenCountShown = 8;
constexpr std::size_t kLabelBytesMax = 40;

std::string count_text(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string seconds_text(std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ns) * 1e-9);
  return text.data();
}

// A few tokens of a page, from where it leaves its siblings: quoted text or ids.
std::string content_text(const PageRun& run, const PageLabel& label) {
  if (run.tokens.empty()) return "";
  const std::size_t from = std::min<std::size_t>(run.differs_from, run.tokens.size() - 1);
  const std::size_t count = std::min(run.tokens.size() - from, kTokenCountShown);
  const std::span<const TokenId> tokens = std::span(run.tokens).subspan(from, count);
  const std::string before = from == 0 ? "" : "...";
  std::string text;
  if (label) {
    text = label(tokens);
    // Cut between characters; those of a token that is part of one are escaped anyway.
    std::size_t end = std::min(text.size(), kLabelBytesMax);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
      --end;
    }
    std::string escaped;
    for (const char letter : printable(text.substr(0, end))) {
      if (letter == '\t') {
        escaped += "\\t";
      } else {
        escaped += letter;
      }
    }
    return before + "\"" + escaped + "\"...";
  }
  for (const TokenId token : tokens) {
    text += (text.empty() ? "" : " ") + std::to_string(static_cast<std::uint32_t>(token));
  }
  return "[" + before + (before.empty() ? "" : " ") + text + " ...]";
}

// In the order of the enums.
constexpr std::array<const char*, 3> kTierTexts{"pool", "in flight", ""};
constexpr std::array<const char*, 4> kPlaceTexts{"", "leaving", "host", "disk"};

// The place of the pages' bytes.
std::string place_text(const PageRun& run) {
  const std::string tier = kTierTexts.at(static_cast<std::size_t>(run.tier));
  const std::string place = kPlaceTexts.at(static_cast<std::size_t>(run.place));
  if (tier.empty() && place.empty()) return "none";
  return tier + (tier.empty() || place.empty() ? "" : "+") + place;
}

// The width of the longest text.
constexpr std::size_t kPlaceWidth = std::string_view("pool+disk").size();

std::string place_column(const PageRun& run) {
  std::string text = run.page_count == 0 ? "" : place_text(run);
  text.resize(std::max(text.size(), kPlaceWidth), ' ');
  return text + "  ";
}

// The nearest place counts.
const char* place_colour(const PageRun& run) {
  if (run.tier != PageTier::Gone) return "black";
  switch (run.place) {
    case TierPlace::Host:
    case TierPlace::Leaving:
      return "orange";
    case TierPlace::Disk:
      return "brown";
    case TierPlace::None:
      break;
  }
  return "grey";
}

std::string shared_text(const PageRun& run) {
  if (run.tier == PageTier::InFlight) return "";
  std::string text = run.is_cold ? "cold, " : "";
  text += "held by " + std::to_string(run.holder_count);
  if (run.holder_count_max > run.holder_count) {
    text += " (" + std::to_string(run.holder_count_max) + " at once)";
  }
  text += ", " + count_text(run.hit_count, "hit");
  text += ", age " + seconds_text(run.age_ns);
  if (run.holder_count == 0) text += ", idle " + seconds_text(run.idle_ns);
  return text + (run.is_opaque ? ", opaque" : "");
}

std::string short_name(const PageName& name) {
  return hex(name).substr(0, 8);
}

std::string head_text(const PageRun& run, std::uint32_t page_size) {
  if (run.page_count == 0) return "sharing domain of root " + short_name(run.name);
  const std::uint64_t begin = std::uint64_t{run.first_page} * page_size;
  const std::uint64_t end = begin + std::uint64_t{run.page_count} * page_size;
  return count_text(run.page_count, "page") + ", slots " + std::to_string(begin) + " to " +
         std::to_string(end - 1);
}

std::string summary_text(const PageGraph& graph) {
  std::uint64_t page_count = 0;
  std::uint64_t shared_count = 0;
  std::uint64_t host_count = 0;
  std::uint64_t disk_count = 0;
  std::uint64_t nowhere_count = 0;
  for (const PageRun& run : graph.runs) {
    page_count += run.page_count;
    host_count += run.place == TierPlace::Host ? run.page_count : 0;
    disk_count += run.place == TierPlace::Disk ? run.page_count : 0;
    const bool is_nowhere = run.tier == PageTier::Gone && run.place == TierPlace::None;
    nowhere_count += is_nowhere ? run.page_count : 0;
    if (run.holder_count_max > 1 || run.hit_count > 0) shared_count += run.page_count;
  }
  return count_text(page_count, "page") + " of " + std::to_string(graph.page_size) +
         " tokens known, " + std::to_string(shared_count) + " shared or found again; pool of " +
         std::to_string(graph.pool_page_count) + ": " + std::to_string(graph.pool_free_count) +
         " free, " + std::to_string(graph.pool_cold_count) + " cold, " +
         std::to_string(graph.evicted_count) + " evicted so far; " + std::to_string(host_count) +
         " in host memory, " + std::to_string(disk_count) + " on disk, " +
         std::to_string(nowhere_count) + " without bytes";
}

// Whether a run is the last child of its parent, for each run.
std::vector<bool> last_children(const PageGraph& graph) {
  std::vector<bool> is_last(graph.runs.size(), false);
  std::vector<bool> has_later;  // By level: a run of that level follows before a higher one.
  for (std::size_t index = graph.runs.size(); index-- > 0;) {
    const std::uint32_t level = graph.runs[index].level;
    if (has_later.size() <= level) has_later.resize(std::size_t{level} + 1, false);
    is_last[index] = !has_later[level];
    has_later[level] = true;
    has_later.resize(std::size_t{level} + 1);
  }
  return is_last;
}

std::string dot_escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

std::string page_graph_text(const PageGraph& graph, const PageLabel& label) {
  std::string text = summary_text(graph) + "\n";
  const std::vector<bool> is_last = last_children(graph);
  std::vector<bool> ended;  // By level: no more siblings of the run above come.
  const std::size_t drawn = std::min(graph.runs.size(), kGraphRunCountMax);
  for (std::size_t index = 0; index < drawn; ++index) {
    const PageRun& run = graph.runs[index];
    ended.resize(run.level);
    text += place_column(run);
    for (std::size_t level = 1; level < run.level; ++level) text += ended[level] ? "   " : "│  ";
    if (run.level > 0) text += is_last[index] ? "└─ " : "├─ ";
    ended.push_back(is_last[index]);
    text += head_text(run, graph.page_size);
    if (run.page_count > 0) {
      const std::string shared = shared_text(run);
      text += (shared.empty() ? "" : ": ") + shared + "  " + content_text(run, label);
    }
    text += "\n";
  }
  if (drawn < graph.runs.size()) {
    text += "and " + std::to_string(graph.runs.size() - drawn) + " more branches\n";
  }
  return text;
}

std::string page_graph_dot(const PageGraph& graph, const PageLabel& label) {
  std::string text = "digraph pages {\n  label=\"" + dot_escaped(summary_text(graph)) +
                     "\";\n  node [shape=box, style=filled, fillcolor=white, penwidth=2];\n";
  std::vector<std::size_t> above;  // By level: the run that stands there now.
  const std::size_t drawn = std::min(graph.runs.size(), kGraphRunCountMax);
  for (std::size_t index = 0; index < drawn; ++index) {
    const PageRun& run = graph.runs[index];
    above.resize(run.level);
    std::string lines = dot_escaped(head_text(run, graph.page_size));
    const char* colour = run.page_count == 0 ? "lightgrey" : "white";
    if (run.page_count > 0) {
      lines += "\\n" + dot_escaped(content_text(run, label)) + "\\n" + place_text(run) + "\\n" +
               shared_text(run);
      if (run.holder_count_max > 1 || run.hit_count > 0) colour = "lightblue";
    }
    const bool is_dashed = run.page_count > 0 && (run.is_cold || run.tier != PageTier::Pool);
    text += "  n" + std::to_string(index) + " [label=\"" + lines + "\", fillcolor=" + colour +
            ", color=" + (run.page_count > 0 ? place_colour(run) : "black") +
            (is_dashed ? ", style=\"filled,dashed\"" : "") + "];\n";
    if (run.level > 0) {
      text += "  n" + std::to_string(above.back()) + " -> n" + std::to_string(index) + ";\n";
    }
    above.push_back(index);
  }
  if (drawn < graph.runs.size()) {
    text += "  // and " + std::to_string(graph.runs.size() - drawn) + " more branches\n";
  }
  return text + "}\n";
}

}  // namespace quire::control
