#include "main/commands/bench_guest.h"

#include <filesystem>
#include <system_error>

namespace quire {

Result<std::string> find_bench_guest(const std::string& wanted, const std::string& name) {
  if (!wanted.empty()) return wanted;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path beside = self.parent_path() / name;
  if (!failed && std::filesystem::exists(beside, failed)) return beside.string();
  return Error(ErrorCode::NotFound, "no " + name + " beside " + self.string() +
                                        "; `make build` makes it, --program names another");
}

}  // namespace quire
