#pragma once
// A command reports its pages in the end: the page graph, tokens saved and why not more. Both go to
// a file (--kv-report) for `quire kv tree` and `quire kv why`.
//
// Owns     what was seen of the pages while the programs ran.
// Thread   the engine thread, which here is the main thread.
// Errors Io for a file that cannot be written; Corrupted for one that is not such a report.
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/options.h"
#include "control/pages/page_graph.h"
#include "main/machine/machine.h"
#include "main/verbs/pages/reported_programs.h"
#include "main/verbs/pages/why_report.h"

namespace quire {

class PageReport {
 public:
  PageReport(Machine& machine, const Clock& clock) : machine_(machine), clock_(clock) {}

  void look();  // After each batch, or from time to time.
  std::string drawn(cli::KvTreeStyle style) const;
  // Empty of misses unless the engine explains them.
  WhyReport why(const ReportedPrograms& programs) const;
  Result<void> write(const std::string& path, const ReportedPrograms& programs) const;

 private:
  std::string text_of(std::span<const inference::TokenId> tokens) const;

  Machine& machine_;
  const Clock& clock_;
  control::PageWatch watch_;
};

// Whether write() could write there, asked before there is anything to lose.
Result<void> check_report_file(const std::string& path);

// Reads what write() wrote.
struct SavedReport {
  std::string tree_text;
  std::string tree_dot;
  WhyReport why;
};
Result<SavedReport> read_report(const std::string& path);

}  // namespace quire
