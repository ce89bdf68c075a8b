#include "main/commands/store_notice.h"

#include <cstdio>
#include <optional>
#include <string>

#include "cli/terminal.h"

namespace quire {

void tell_store_error(const Machine& machine) {
  const std::optional<Error>& error = machine.store_error();
  if (!error) return;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = "snapshots are off: " + std::string(error->message()) +
                           "; --no-store runs without and says nothing";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
}

void StoreNotice::look() {
  if (is_told_ || !machine_.store_error()) return;
  if (machine_.control().statistics().store_refused_count == 0) return;
  is_told_ = true;
  tell_store_error(machine_);
}

}  // namespace quire
