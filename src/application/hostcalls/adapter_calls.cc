// adapter: what a model computes under, by name.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"
#include "application/hostcalls/forward_pass.h"
#include "base/utf8.h"
#include "control/api/adapter_catalog.h"

namespace quire::hostcalls {
namespace {

constexpr const char* kTrait = "adapter";
// A list of names that is longer than this cannot be a valid set.
constexpr std::size_t kNamesBytesMax =
    (control::kAdapterNameBytesMax + 1) * (control::kAdaptersInSetMax + 1);

Result<std::string> read_names(const HostCall& call, GuestList<std::uint8_t> list) {
  if (list.count > kNamesBytesMax) {
    return Error(ErrorCode::InvalidArgument,
                 "names: " + std::to_string(list.count) + " bytes; at most " +
                     std::to_string(control::kAdaptersInSetMax) + " names of " +
                     std::to_string(control::kAdapterNameBytesMax) + " bytes act together");
  }
  return call.memory.read_bytes(list, "names");
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = std::min(text.find('\n', first), text.size());
    lines.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return lines;
}

Result<control::ChosenAdaptersRef> choose(const HostCall& call, const ModelView& model,
                                          const std::vector<control::AdapterChoice>& choices) {
  return call.guest.host.adapters->choose(call.guest.identity.tenant, model.index, choices);
}

}  // namespace

Result<std::int32_t> adapter_available_adapters(HostCall& call, GuestHandle handle,
                                                GuestAddress buffer, std::uint32_t capacity) {
  const ModelView model = TRY(find_model(call, handle, kTrait));
  std::string names;
  for (const auto& each : call.guest.host.adapters->list(call.guest.identity.tenant, model.index)) {
    names += (names.empty() ? "" : "\n") + each.name;
  }
  return give_bytes(call, names, buffer, capacity);
}

Result<std::int32_t> adapter_use_adapters(HostCall& call, GuestHandle context,
                                          GuestList<std::uint8_t> names, GuestList<double> scales) {
  const ContextView view = TRY(find_changing_context(call, context));
  TRY(find_queue(call, view.record.queue, kTrait));
  const std::string text = TRY(read_names(call, names));
  const std::vector<std::string> lines = split_lines(text);
  if (lines.size() != scales.count) {
    return Error(ErrorCode::InvalidArgument, "use-adapters: " + std::to_string(lines.size()) +
                                                 " names and " + std::to_string(scales.count) +
                                                 " scales");
  }
  const std::vector<double> factors = TRY(call.memory.read(scales, "scales"));
  std::vector<control::AdapterChoice> choices;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    choices.push_back({lines[index], static_cast<float>(factors[index])});
  }
  control::ChosenAdaptersRef set = TRY(choose(call, view.model, choices));
  TRY(call.guest.check_pending(0));
  call.guest.send(control::ContextUseAdapters{object(context), std::move(set)}, 0);
  return 0;
}

Result<std::int32_t> adapter_forward_with_adapter(
    HostCall& call, GuestHandle queue, GuestList<std::uint8_t> name, GuestList<std::int32_t> ikv,
    GuestList<std::int32_t> iemb, GuestList<std::int32_t> okv, GuestList<std::int32_t> oemb,
    GuestList<std::uint8_t> mask, std::uint32_t flags) {
  const ModelView model = TRY(find_queue(call, queue, kTrait));
  std::string wanted = TRY(read_names(call, name));
  control::ChosenAdaptersRef set =
      TRY(choose(call, model, {{.name = std::move(wanted), .scale = 1.0f}}));
  return submit_pass(call, queue, {ikv, iemb, okv, oemb, mask, flags}, std::move(set));
}

}  // namespace quire::hostcalls
