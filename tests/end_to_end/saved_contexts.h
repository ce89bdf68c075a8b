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

#include "main/machine/host_context.h"
#include "main/machine/machine.h"

namespace quire::test {

// One engine in this process, with a store.
class SavingEngine {
 public:
  SavingEngine(const std::string& model, const std::string& store, std::uint32_t kv_pages = 128,
               std::uint32_t page_size = 16) {
    cli::EngineOptions options;
    options.model = model;
    options.pool.page_count = kv_pages;
    options.page_size = page_size;
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

// A context that goes on by itself.
class TalkingContext : public HostContext {
 public:
  explicit TalkingContext(SavingEngine& engine) : HostContext(engine.loop()) {}
  // Computes the tokens; returns the logits after the last.
  Result<std::vector<float>> forward(const std::vector<std::uint32_t>& tokens) {
    append(tokens);
    return logits();
  }
  // Greedy: `count` tokens that continue the distribution `logits`, and the logits after each.
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
};

// Saves a context of these tokens under each name, in an engine that ends with the call.
inline void save_contexts(
    const std::string& model, const std::string& store,
    const std::vector<std::pair<std::string, std::vector<std::uint32_t>>>& contexts) {
  SavingEngine engine(model, store);
  ASSERT_TRUE(engine.ok());
  for (const auto& [name, tokens] : contexts) {
    TalkingContext context(engine);
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
