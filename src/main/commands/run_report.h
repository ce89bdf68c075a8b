#pragma once
// What `quire run` tells of its pages when all programs have ended: the page graph (--kv-tree),
// tokens saved and why not more (--kv-why), both in a file (--kv-report).
//
// Owns     what was seen of the pages while the programs ran.
// Thread   the engine thread, which here is the main thread.
// Errors   Io for a file that cannot be written; Corrupted for one that is no such report.
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/options.h"
#include "control/pages/page_graph.h"
#include "main/commands/run_client.h"
#include "main/commands/why_report.h"
#include "main/machine/machine.h"

namespace quire {

class RunReport {
 public:
  RunReport(Machine& machine, const Clock& clock, const cli::RunOptions& options)
      : machine_(machine), clock_(clock), options_(options) {}

  void look();  // After each batch.
  Result<void> finish(const RunClient& client);

 private:
  bool draws() const {
    return options_.kv_tree != cli::KvTreeStyle::None || !options_.kv_report_file.empty();
  }
  std::string drawn(cli::KvTreeStyle style) const;
  WhyReport why(const RunClient& client) const;
  std::string text_of(std::uint32_t token) const;

  Machine& machine_;
  const Clock& clock_;
  const cli::RunOptions& options_;
  control::PageWatch watch_;
};

// Whether finish() could write there, asked before there is anything to lose.
Result<void> check_report_file(const std::string& path);

// What finish() wrote to a file.
struct SavedReport {
  std::string tree_text;
  std::string tree_dot;
  WhyReport why;
};
Result<SavedReport> read_report(const std::string& path);

}  // namespace quire
