#include "main/verbs/pages/page_report.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "control/pages/page_graph_text.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr const char* kFormat = "quire page report";
constexpr int kVersion = 1;
constexpr std::uint64_t kReportBytesMax = std::uint64_t{1} << 30;

std::string part_of(const std::string& path) {
  return path + ".part";
}

Error write_error(const std::string& path) {
  return Error(ErrorCode::Io, "cannot write " + path + ": " + std::strerror(errno));
}

// There whole or not at all: a reader never sees a part.
Result<void> write_report(const std::string& path, const std::string& bytes) {
  const std::string part = part_of(path);
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return write_error(path);
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool is_closed = std::fclose(file) == 0;
  if (is_written && is_closed && std::rename(part.c_str(), path.c_str()) == 0) return {};
  Error error = write_error(path);
  std::remove(part.c_str());
  return error;
}

}  // namespace

Result<void> check_report_file(const std::string& path) {
  const std::string part = part_of(path);
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return write_error(path);
  std::fclose(file);
  std::remove(part.c_str());
  return {};
}

void PageReport::look() {
  watch_.look(machine_.pages(), clock_.now_ns());
}

std::string PageReport::text_of(std::span<const inference::TokenId> tokens) const {
  const Result<std::string> text = machine_.text().decode({tokens.begin(), tokens.end()}, true);
  return text.ok() ? text.value() : std::string();
}

std::string PageReport::drawn(cli::KvTreeStyle style) const {
  const control::PageGraph graph = control::make_page_graph(
      machine_.pages(), watch_, clock_.now_ns(),
      [this](control::NodeId page) { return machine_.page_tiers().place(page); });
  const control::PageLabel label = [this](std::span<const inference::TokenId> tokens) {
    return text_of(tokens);
  };
  return style == cli::KvTreeStyle::Dot ? control::page_graph_dot(graph, label)
                                        : control::page_graph_text(graph, label);
}

WhyReport PageReport::why(const ReportedPrograms& programs) const {
  WhyReport report{.page_size = machine_.pages().page_size(),
                   .forgotten_count = machine_.misses().forgotten_count(),
                   .instances = {}};
  for (const auto& [number, statistics] : programs.statistics()) {
    report.instances.push_back({.number = number, .statistics = statistics, .misses = {}});
  }
  std::map<std::pair<control::InstanceId, control::ObjectId>, std::uint32_t> contexts;
  std::map<control::InstanceId, std::uint32_t> context_counts;
  machine_.misses().for_each([&](const control::MissRecord& miss) {
    const std::size_t number = programs.number_of(miss.instance);
    if (number >= report.instances.size()) return;
    const auto [context, is_new] = contexts.try_emplace({miss.instance, miss.context}, 0);
    if (is_new) context->second = context_counts[miss.instance]++;
    WhyMiss why{.context = context->second,
                .page = miss.page,
                .position = miss.position,
                .token_count = miss.token_count,
                .why = miss.why,
                .here_text = {},
                .there_text = {}};
    if (miss.why.field == control::PageField::Tokens) {
      const std::array<inference::TokenId, 2> differ{inference::TokenId{miss.why.here},
                                                     inference::TokenId{miss.why.there}};
      why.here_text = text_of(std::span(differ).first(1));
      why.there_text = text_of(std::span(differ).last(1));
    }
    report.instances[number].misses.push_back(std::move(why));
  });
  return report;
}

Result<void> PageReport::write(const std::string& path, const ReportedPrograms& programs) const {
  return write_report(
      path,
      json_line({{"format", kFormat},
                 {"version", kVersion},
                 {"model", machine_.model().name},
                 {"tree",
                  {{"text", drawn(cli::KvTreeStyle::Text)}, {"dot", drawn(cli::KvTreeStyle::Dot)}}},
                 {"why", why_json(why(programs))}}));
}

Result<SavedReport> read_report(const std::string& path) {
  const std::string bytes = TRY(read_file(path, kReportBytesMax));
  const auto wrong = [&path](const std::string& what) {
    return Error(ErrorCode::Corrupted, path + " is not a report of --kv-report: " + what);
  };
  const Result<Json> parsed = parse_json(bytes, "its text");
  if (!parsed.ok()) return wrong(std::string(parsed.error().message()));
  const Json& json = parsed.value();
  if (!json.is_object()) return wrong("it is not a JSON object");
  if (!json.contains("format") || json["format"] != kFormat) {
    return wrong("its \"format\" is not \"" + std::string(kFormat) + "\"");
  }
  if (!json.contains("version") || json["version"] != kVersion) {
    return wrong("its version is not " + std::to_string(kVersion));
  }
  if (!json.contains("tree") || !json["tree"].is_object() || !json.contains("why")) {
    return wrong("it has no \"tree\" or no \"why\"");
  }
  SavedReport report;
  for (const auto& [key, text] :
       {std::pair("text", &report.tree_text), std::pair("dot", &report.tree_dot)}) {
    const auto found = json["tree"].find(key);
    if (found == json["tree"].end() || !found->is_string()) {
      return wrong("its tree has no \"" + std::string(key) + "\"");
    }
    *text = found->get<std::string>();
  }
  Result<WhyReport> why = read_why_report(json["why"]);
  if (!why.ok()) return wrong(std::string(why.error().message()));
  report.why = std::move(why).take();
  return report;
}

}  // namespace quire
