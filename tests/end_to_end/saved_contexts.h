#pragma once
// Contexts that are saved and opened as the host's own loop does it: through the controller.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "main/machine/host_loop.h"
#include "main/machine/machine.h"

namespace quire::test {

// One engine in this process, with a store.
class SavingEngine {
 public:
  SavingEngine(const std::string& model, const std::string& store) {
    cli::EngineOptions options;
    options.model = model;
    options.kv_pages = 128;
    options.thread_count = 1;
    options.store_use = cli::StoreUse::Required;
    options.store_folder = store;
    Result<std::unique_ptr<Machine>> machine = Machine::build(options, clock_);
    if (!machine.ok()) {
      ADD_FAILURE() << machine.error().message();
      return;
    }
    machine_ = std::move(machine).take();
    loop_.emplace(machine_->control(), machine_->answers(), machine_->wakeup());
  }
  bool ok() const { return machine_ != nullptr; }
  HostLoop& loop() { return *loop_; }
  Machine& machine() { return *machine_; }

 private:
  SteadyClock clock_;
  std::unique_ptr<Machine> machine_;
  std::optional<HostLoop> loop_;
};

// One context of an instance of its own.
class HostContext {
 public:
  explicit HostContext(SavingEngine& engine)
      : instance_(engine.loop()),
        queue_(instance_.new_object()),
        context_(instance_.new_object()),
        output_(instance_.new_object()) {
    instance_.tell(control::CreateQueue{.queue = queue_});
    instance_.tell(control::AllocEmbeds{.queue = queue_, .embeds = {output_}});
  }
  void create() { instance_.tell(control::ContextCreate{.context = context_, .queue = queue_}); }
  Result<control::ContextState> open(const std::string& name, bool takes = false) {
    return instance_.call<control::ContextState>(
        control::ContextOpen{.context = context_, .queue = queue_, .name = name, .takes = takes});
  }
  Result<void> save(const std::string& name, std::uint64_t expires_unix_ms = 0) {
    TRY(instance_.call<control::Done>(control::ContextSave{.context = context_,
                                                           .name = name,
                                                           .overwrites = false,
                                                           .expires_unix_ms = expires_unix_ms}));
    return {};
  }
  // Computes the tokens; the logits behind the last.
  Result<std::vector<float>> forward(const std::vector<std::uint32_t>& tokens) {
    instance_.tell(control::ContextAppend{.context = context_, .tokens = tokens});
    const control::FutureId pass =
        instance_.ask(control::ContextForward{.context = context_, .output_embeds = {output_}});
    const control::FutureId logits =
        instance_.ask(control::GetLogits{.queue = queue_, .embed = output_});
    TRY(instance_.wait_for<control::ContextState>(pass));
    return TRY(instance_.wait_for<control::Logits>(logits)).values;
  }
  // Greedy: `count` tokens behind the distribution `logits`, and the logits behind each.
  Result<std::vector<std::vector<float>>> go_on(std::vector<float> logits, std::size_t count,
                                                std::vector<std::uint32_t>& ids) {
    std::vector<std::vector<float>> all;
    for (std::size_t step = 0; step < count; ++step) {
      const auto best = std::max_element(logits.begin(), logits.end());
      ids.push_back(static_cast<std::uint32_t>(best - logits.begin()));
      logits = TRY(forward({ids.back()}));
      all.push_back(logits);
    }
    return all;
  }
  control::InstanceStatistics statistics() const { return instance_.statistics(); }

 private:
  HostInstance instance_;
  const control::ObjectId queue_;
  const control::ObjectId context_;
  const control::ObjectId output_;
};

// Saves a context of these tokens under each name, in an engine that ends with the call.
inline void save_contexts(
    const std::string& model, const std::string& store,
    const std::vector<std::pair<std::string, std::vector<std::uint32_t>>>& contexts) {
  SavingEngine engine(model, store);
  ASSERT_TRUE(engine.ok());
  for (const auto& [name, tokens] : contexts) {
    HostContext context(engine);
    context.create();
    const Result<std::vector<float>> computed = context.forward(tokens);
    ASSERT_TRUE(computed.ok()) << computed.error().message();
    const Result<void> saved = context.save(name);
    ASSERT_TRUE(saved.ok()) << saved.error().message();
  }
}

// Ids from `first` on that any model knows.
inline std::vector<std::uint32_t> some_tokens(std::size_t count, std::uint32_t first = 3) {
  std::vector<std::uint32_t> tokens;
  for (std::size_t index = 0; index < count; ++index) {
    tokens.push_back(first + static_cast<std::uint32_t>(index * 7 % 200));
  }
  return tokens;
}

}  // namespace quire::test
