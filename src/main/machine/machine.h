#pragma once
// Machine is the engine in this process: models, device, text and control layer, built in the order
// in which they need one another. machine.cc is where a newcomer sees how the parts fit.
//
// Owns     all parts below.
// Thread   built and used on the main thread, which is the engine thread; the device has its own.
// Errors   NotFound for a model that is not there (and how to get one); whatever its files say; of
//          the store, where EngineOptions::store_use requires one.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "application/lifecycle/answer_inbox.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "base/walk.h"
#include "cli/options.h"
#include "control/adapters/adapter_registry.h"
#include "control/api/control_port.h"
#include "control/api/tier_statistics.h"
#include "control/objects/miss_log.h"
#include "control/pages/page_cache.h"
#include "control/tiers/page_tiers.h"
#include "inference/api/backend.h"
#include "inference/api/text_codec.h"

namespace quire {

class Machine {
 public:
  // `tell_store_failure` hears of what fails with the files of the store, on the disk's thread; a program
  // hears no place of a file.
  using TellStoreFailure = std::function<void(const std::string& text)>;
  static Result<std::unique_ptr<Machine>> build(
      const cli::EngineOptions& options, const Clock& clock, WalkSink* walk = nullptr,
      const TellStoreFailure& tell_store_failure = warn_of_store);
  // The line on standard error of verbs without a log.
  static void warn_of_store(const std::string& text);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  control::ControlPort& control();
  // The first of the models, which is most often the only one, and what is its own.
  const control::ModelDescription& model() { return control().models().front(); }
  const inference::ModelInfo& model_info() const;
  const inference::BackendCapabilities& device() const;
  const inference::TextCodec& text() const;
  // The adapters of all models, by name.
  control::AdapterRegistry& adapters();
  lifecycle::AnswerInbox& answers();
  Wakeup& wakeup();
  std::uint32_t thread_count() const;
  // Why there are no snapshots although the options want them; empty: there are.
  const std::optional<Error>& store_error() const;
  // The content of the pool and of the tiers, to be drawn.
  const control::PageCache& pages() const;
  const control::PageTiers& page_tiers() const;
  // Why tokens were computed and not found; empty unless the options want it explained.
  const control::MissLog& misses() const;
  control::TierStatistics tiers() const;
  // The memory that the pages of all models and the tier of the host take once they are all used.
  std::uint64_t growth_bytes_max() const;

 private:
  struct Parts;
  explicit Machine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The device alone, for measurements without a control layer. It ends before `sink`.
Result<std::unique_ptr<inference::Backend>> open_device(const cli::EngineOptions& options,
                                                        inference::CompletionSink& sink);

// The model's text codec alone, for the verbs that need no engine.
Result<std::unique_ptr<inference::TextCodec>> open_text_codec(const std::string& model);

// "default", a name, a file or a folder: the path of the model. NotFound says how to get one.
Result<std::string> find_model(const std::string& model);

}  // namespace quire
