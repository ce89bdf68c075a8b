#include "simulation/town.h"

#include "application/lifecycle/launch.h"

namespace quire::simulation {

void Town::heard(InstanceNumber from, const std::string& text) {
  Resident& resident = residents[from];
  const std::string expected = message_text(from, resident.heard_count);
  if (text != expected) {
    findings.add("a message lost, doubled, or out of order: instance " + std::to_string(from) +
                 " is heard saying \"" + text + "\" instead of \"" + expected + "\"");
  }
  // A parent may ask how its child ended before it asks what that said.
  if (resident.has_ended && resident.parent == 0) {
    findings.add("words of instance " + std::to_string(from) + " behind its end");
  }
  ++resident.heard_count;
}

void Town::heard_part(InstanceNumber from, std::uint64_t file, std::uint64_t offset,
                      std::string_view bytes) {
  std::uint64_t& arrived = files[{from, file}];
  if (offset != arrived || bytes != file_part(offset, bytes.size())) {
    findings.add("a part of file " + std::to_string(file) + " of instance " + std::to_string(from) +
                 " lost, doubled, or out of order");
  }
  arrived += bytes.size();
}

void Town::ended(InstanceNumber instance, std::uint8_t kind, std::int32_t exit_code,
                 const std::string& result) {
  Resident& resident = residents[instance];
  const std::string name = "instance " + std::to_string(instance);
  if (std::exchange(resident.has_ended, true)) findings.add(name + " ended twice");
  const bool is_finished = kind == static_cast<std::uint8_t>(lifecycle::EndKind::Finished);
  const bool is_trapped = kind == static_cast<std::uint8_t>(lifecycle::EndKind::Trapped);
  if (is_finished != (resident.departure == Departure::Finished) ||
      is_trapped != (resident.departure == Departure::Trapped)) {
    findings.add(name + " ended in another way than is told: " +
                 lifecycle::end_kind_name(static_cast<lifecycle::EndKind>(kind)));
  }
  if (is_finished && exit_code != resident.exit_code) {
    findings.add(name + " gave another exit code than is told: " + std::to_string(exit_code));
  }
  if (is_finished && result != resident.result) {
    findings.add(name + " set another result than is told: \"" + result + "\"");
  }
}

}  // namespace quire::simulation
