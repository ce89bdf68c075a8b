#include "main/verbs/serve/usage_command.h"

#include <string>
#include <vector>

#include "base/json.h"
#include "control/store/posix_file_system.h"
#include "control/store/usage_ledger.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

double seconds_of(const store::UsageRow& row) {
  return static_cast<double>(row.wall_ns) * 1e-9;
}

nlohmann::json usage_json(const store::UsageRow& row) {
  return {{"day", row.day},
          {"tenant", row.tenant},
          {"key", row.key},
          {"requests", row.request_count},
          {"launches", row.launch_count},
          {"tokens_in", row.tokens_in},
          {"tokens_out", row.tokens_out},
          {"seconds", seconds_of(row)}};
}

Result<int> print_usage(const cli::UsageOptions& options) {
  store::PosixFileSystem files;
  store::UsageLedger ledger(files, options.data);
  Result<std::vector<store::UsageRow>> read = ledger.read(options.since);
  if (!read.ok() && read.error().code() == ErrorCode::NotFound) {
    return Error(ErrorCode::NotFound, std::string(read.error().message()) +
                                          "; quire serve --usage " + options.data + " makes it");
  }
  const std::vector<store::UsageRow> ledger_rows = TRY(std::move(read));
  std::vector<std::vector<std::string>> rows = {
      {"DAY", "TENANT", "KEY", "REQUESTS", "LAUNCHES", "TOKENS IN", "TOKENS OUT", "SECONDS"}};
  nlohmann::json json = nlohmann::json::array();
  for (const store::UsageRow& each : ledger_rows) {
    if (options.tenant && *options.tenant != each.tenant) continue;
    rows.push_back({each.day, std::to_string(each.tenant), each.key.empty() ? "-" : each.key,
                    std::to_string(each.request_count), std::to_string(each.launch_count),
                    std::to_string(each.tokens_in), std::to_string(each.tokens_out),
                    decimal(seconds_of(each), 1)});
    json.push_back(usage_json(each));
  }
  print(options.output == cli::OutputStyle::Json
            ? json_line(json)
            : table_text(rows, {false, true, false, true, true, true, true, true}));
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int usage_command(const cli::UsageOptions& options) {
  const Result<int> code = print_usage(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
