#include "main/verbs/make/installed_files.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/manual_pages.h"
#include "main/verbs/make/completion_command.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

Result<void> write_installed(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!failed && file.good()) return {};
  return Error(ErrorCode::Io, "cannot write " + path.string());
}

Result<void> write_share(const std::filesystem::path& folder) {
  for (const cli::ManualPage& each : cli::manual_pages()) {
    TRY(write_installed(folder / "man/man1" / each.file, each.text));
  }
  TRY(write_installed(folder / "bash-completion/completions/quire",
                      completion_script(cli::Shell::Bash)));
  TRY(write_installed(folder / "zsh/site-functions/_quire", completion_script(cli::Shell::Zsh)));
  return write_installed(folder / "fish/vendor_completions.d/quire.fish",
                         completion_script(cli::Shell::Fish));
}

}  // namespace

int write_installed_files_command(const std::string& folder) {
  const Result<void> written = write_share(folder);
  return written.ok() ? cli::number(cli::ExitCode::Ok) : fail(written.error());
}

}  // namespace quire
