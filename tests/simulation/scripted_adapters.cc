// Scripted guests use adapters here, in worlds that have some.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr float kScales[] = {1.0f, 1.0f, 0.5f, -1.5f, 0.0f, -0.0f};
constexpr const char* kUnknownName = "unheard-of";

}  // namespace

ScriptedGuest::AdapterChoice ScriptedGuest::some_adapters(std::uint32_t model) {
  AdapterChoice choice;
  std::vector<AdapterBook::Scaled> adapters;
  bool is_unknown = false;
  bool is_invalid = false;
  for (std::uint32_t count = dice_.below(4); count > 0; --count) {
    std::string name = kAdapterNames[dice_.below(std::size(kAdapterNames))];
    if (dice_.one_in(30)) name = kUnknownName;
    float scale = kScales[dice_.below(std::size(kScales))];
    if (dice_.one_in(30)) scale = std::numeric_limits<float>::infinity();
    const std::optional<AdapterBook::Number> adapter = town_.adapters.find(tenant_, model, name);
    const bool is_there = std::ranges::any_of(
        adapters, [&](const AdapterBook::Scaled& each) { return each.adapter == adapter; });
    if (is_there && !dice_.one_in(10)) continue;
    is_unknown |= !adapter.has_value();
    is_invalid |= is_there || !std::isfinite(scale);
    adapters.push_back({adapter.value_or(0), scale});
    choice.names += (choice.names.empty() ? "" : "\n") + name;
    choice.scales.push_back(scale);
  }
  if (is_unknown) {
    choice.refusal = ErrorCode::NotFound;
  } else if (is_invalid) {
    choice.refusal = ErrorCode::InvalidArgument;
  } else {
    choice.set = town_.adapters.set_of(adapters);
  }
  return choice;
}

void ScriptedGuest::operate_adapters() {
  if (dice_.one_in(8)) return look_at_adapters();
  use_adapters();
}

// From here on the context's tokens are under other adapters.
void ScriptedGuest::use_adapters() {
  Context* context = some_context(true);
  if (context == nullptr || !has_queue(context->queue)) return;
  const AdapterChoice choice = some_adapters(context->model);
  const std::int64_t names = put_bytes(choice.names);
  const std::int64_t scales = put_list(choice.scales);
  const std::int64_t value =
      call("adapter.use-adapters",
           {context->handle, names, length_of(choice.names), scales, length_of(choice.scales)});
  if (!choice.refusal) {
    if (check("adapter.use-adapters", value)) context->content.use(choice.set);
  } else if (value != -static_cast<std::int64_t>(*choice.refusal)) {
    find("adapter.use-adapters gives " + std::to_string(value) + ", not " +
         error_code_name(*choice.refusal));
  }
}

void ScriptedGuest::look_at_adapters() {
  if (models_.empty()) return;
  const std::uint32_t model = dice_.below(models_.size());
  std::string wanted;
  for (const std::string& name : town_.adapters.names(tenant_, model)) {
    wanted += (wanted.empty() ? "" : "\n") + name;
  }
  if (text_of("adapter.available-adapters", {models_[model]}) != wanted) {
    find("available-adapters gives something else");
  }
}

// A handle of the model. Now and then it is by the name of an adapter of the model: contexts of its
// queues begin under that. Requires: the world has adapters.
ScriptedGuest::OpenedModel ScriptedGuest::open_model(std::uint32_t model) {
  const OpenedModel plain{.handle = models_[model]};
  const std::vector<std::string> names = town_.adapters.names(tenant_, model);
  if (names.empty() || !dice_.one_in(3)) return plain;
  const std::string& name = names[dice_.below(names.size())];
  // The name of an adapter alone is one of the first model that has it.
  const bool is_alone = model == 0 && dice_.one_in(2);
  const std::string whole = is_alone ? name : model_name(model) + ":" + name;
  const std::int64_t at = put_bytes(whole);
  const std::int64_t handle = call("models.get-model", {at, length_of(whole)});
  if (!check("models.get-model", handle)) return plain;
  return {.handle = static_cast<std::int32_t>(handle),
          .set = town_.adapters.set_of({{.adapter = *town_.adapters.find(tenant_, model, name)}}),
          .is_own = true};
}

bool ScriptedGuest::has_queue(std::int32_t handle) const {
  return std::ranges::find(queues_, handle, &Queue::handle) != queues_.end();
}

// The contexts of the queue begin under this set.
std::uint64_t ScriptedGuest::set_of_queue(std::int32_t handle) const {
  const auto found = std::ranges::find(queues_, handle, &Queue::handle);
  return found == queues_.end() ? 0 : found->set;
}

// Rows of a run by hand are under one adapter, with the scale 1, or under that of their queue.
ScriptedGuest::PassAdapter ScriptedGuest::some_adapter_of_pass(const Run& run) {
  PassAdapter adapter{.set = set_of_queue(run.queue)};
  if (!town_.adapters.is_open() || dice_.one_in(2)) return adapter;
  const std::vector<std::string> names = town_.adapters.names(tenant_, run.model);
  if (names.empty()) return adapter;
  adapter.name = names[dice_.below(names.size())];
  adapter.set =
      town_.adapters.set_of({{.adapter = *town_.adapters.find(tenant_, run.model, adapter.name)}});
  return adapter;
}

ScriptedGuest::LoadedThen ScriptedGuest::loaded_for(const test::Content& content,
                                                    std::uint32_t model) const {
  return {.had_all = town_.adapters.has_all_of(content, tenant_, model),
          .change_count = town_.adapters.change_count()};
}

// Whether a snapshot was refused because its adapters are not loaded. If adapters came or went in
// the meantime, either answer is right.
bool ScriptedGuest::lacks_adapters(const Taken& taken, const LoadedThen& loaded) {
  if (!town_.adapters.is_open()) return false;
  const bool is_same = loaded.change_count == town_.adapters.change_count();
  if (taken.ok() && is_same && !loaded.had_all) find("open gives a context without its adapters");
  if (taken.error != ErrorCode::NotSupported || (is_same && loaded.had_all)) return false;
  return taken.bytes.find("was written under adapter") != std::string::npos;
}

// No model here has any.
void ScriptedGuest::ask_for_absent_adapters(std::int64_t model, std::int64_t queue) {
  refuses("adapter.available-adapters", {model, kTakenBytes, 64});
  refuses("adapter.forward-with-adapter", {queue, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  if (const Context* context = look_for_context(true)) {
    const std::int64_t value = call("adapter.use-adapters", {context->handle, 0, 0, 0, 0});
    const bool has_no_queue = value == -static_cast<std::int64_t>(ErrorCode::NotFound);
    if (value != kNotSupported && !has_no_queue) {
      find("adapter.use-adapters gives " + std::to_string(value));
    }
  }
}

}  // namespace quire::simulation
