#include "main/verbs/shared/store_notice.h"

#include <cstdio>
#include <optional>
#include <string>

#include "cli/terminal.h"

namespace quire {

std::string store_error_text(const Machine& machine) {
  const std::optional<Error>& error = machine.store_error();
  if (!error) return "";
  return "snapshots are off: " + std::string(error->message()) +
         "; --no-store runs without and says nothing";
}

void tell_store_error(const Machine& machine) {
  const std::string line = store_error_text(machine);
  if (line.empty()) return;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
}

void StoreNotice::look() {
  if (is_told_ || !machine_.store_error()) return;
  if (machine_.control().statistics().store.refused_count == 0) return;
  is_told_ = true;
  tell_store_error(machine_);
}

}  // namespace quire
