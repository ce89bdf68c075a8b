#include "main/verbs/models/model_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal.h"
#include "inference/model_store/known_models.h"
#include "inference/model_store/model_store.h"
#include "main/machine/machine.h"
#include "main/machine/model_facts.h"
#include "main/verbs/models/fetch_model.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using inference::KnownModel;
using inference::ModelStore;
using inference::StoredModel;

Result<ModelStore> open_store() {
  const std::string folder = TRY(inference::data_folder_from_environment());
  return ModelStore(folder);
}

// Reports to a line of progress; never stops the work.
inference::Progress report_to(cli::Progress& progress) {
  return [&progress](std::uint64_t done, std::uint64_t expected) {
    progress.update(done, expected);
    return true;
  };
}

nlohmann::json stored_json(const StoredModel& model) {
  return {{"name", model.name}, {"path", model.path}, {"bytes", model.bytes}};
}

nlohmann::json known_json(const KnownModel& model, bool is_here) {
  return {{"name", model.name},         {"bytes", model.bytes}, {"repository", model.repository},
          {"revision", model.revision}, {"file", model.file},   {"sha256", model.sha256},
          {"license", model.license},   {"here", is_here}};
}

// The names that `quire model add` knows.
Result<void> list_available(const cli::ModelOptions& options) {
  const ModelStore store = TRY(open_store());
  nlohmann::json json = nlohmann::json::array();
  std::size_t widest = 0;
  for (const KnownModel& model : inference::known_models()) {
    widest = std::max(widest, model.name.size());
  }
  std::string text;
  for (const KnownModel& model : inference::known_models()) {
    const std::string name(model.name);
    const bool is_here = store.has(name);
    json.push_back(known_json(model, is_here));
    char line[256];
    std::snprintf(line, sizeof line, "%-*s  %9s  %-10s  ", static_cast<int>(widest), name.c_str(),
                  cli::bytes_text(model.bytes).c_str(), std::string(model.license).c_str());
    text += line + std::string(model.note) + (is_here ? "  (here)" : "") + "\n";
  }
  print(options.output == cli::OutputStyle::Json ? dump_json(json) + "\n" : text);
  return {};
}

Result<void> list(const cli::ModelOptions& options) {
  if (options.available) return list_available(options);
  const ModelStore store = TRY(open_store());
  const std::vector<StoredModel> models = TRY(store.list());
  if (options.output == cli::OutputStyle::Json) {
    nlohmann::json json = nlohmann::json::array();
    for (const StoredModel& model : models) json.push_back(stored_json(model));
    print(dump_json(json) + "\n");
    return {};
  }
  std::size_t widest = 0;
  for (const StoredModel& model : models) widest = std::max(widest, model.name.size());
  for (const StoredModel& model : models) {
    print(model.name + std::string(widest - model.name.size() + 2, ' ') +
          cli::bytes_text(model.bytes) +
          (model.name == inference::kDefaultModel ? "  (default)" : "") + "\n");
  }
  if (models.empty()) {
    std::fprintf(stderr, "no model in %s; `quire model add %s` fetches the default one\n",
                 store.folder().c_str(), std::string(inference::kDefaultModel).c_str());
  }
  return {};
}

using Numbers = std::vector<std::uint32_t>;

// The numbers that layers have, each once, in the order of the layers.
struct LayerFacts {
  std::uint32_t attention_count = 0;
  std::uint32_t recurrent_count = 0;
  Numbers head_counts, kv_head_counts, head_dims, feed_forward_widths;
  Numbers recurrent_key_head_counts, recurrent_value_head_counts, recurrent_head_dims;
  Numbers expert_counts, used_expert_counts, expert_widths, shared_expert_widths;

  explicit LayerFacts(const inference::ModelSpec& spec) {
    for (const inference::LayerSpec& layer : spec.layers) {
      if (const inference::DeltaNetSpec* delta = layer.delta_net()) {
        recurrent_count += 1;
        add(recurrent_key_head_counts, delta->key_head_count);
        add(recurrent_value_head_counts, delta->value_head_count);
        add(recurrent_head_dims, delta->value_dim);
      }
      if (const inference::AttentionSpec* attention = layer.attention()) {
        attention_count += 1;
        add(head_counts, attention->head_count);
        add(kv_head_counts, attention->kv_head_count);
        add(head_dims, attention->head_dim);
      }
      if (const inference::DenseSpec* dense = layer.dense()) add(feed_forward_widths, dense->width);
      if (const inference::ExpertsSpec* experts = layer.experts()) {
        add(expert_counts, experts->expert_count);
        add(used_expert_counts, experts->used_count);
        add(expert_widths, experts->width);
        if (experts->has_shared()) add(shared_expert_widths, experts->shared_width);
      }
    }
  }

 private:
  static void add(Numbers& numbers, std::uint32_t number) {
    if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
  }
};

// "the vision tower (333 tensors, 668.5 MB) and ..."
std::string left_out_text(const ModelFacts& facts) {
  std::string text;
  for (const inference::WeightSource::LeftOut& each : facts.left_out) {
    text += (text.empty() ? "the " : " and the ") + each.part + " (" +
            std::to_string(each.tensor_count) + " tensors, " + cli::bytes_text(each.bytes) + ")";
  }
  return text;
}

std::string listed(const Numbers& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) {
    text += (text.empty() ? "" : " or ") + std::to_string(number);
  }
  return text;
}

void print_facts(const ModelFacts& facts) {
  const auto line = [](const char* name, const std::string& value) {
    char head[32];
    std::snprintf(head, sizeof head, "%-22s", name);
    print(head + value + "\n");
  };
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  line("name", facts.spec.name);
  line("path", facts.path);
  line("architecture", facts.spec.architecture);
  const bool is_mixture = has_experts(facts.spec);
  line("parameters",
       number(facts.parameter_count) +
           (is_mixture ? ", " + number(facts.parameters_per_token) + " for a token" : ""));
  const LayerFacts layers(facts.spec);
  const bool has_states = layers.recurrent_count > 0;
  line("layers", number(facts.spec.layer_count()) +
                     (has_states ? ": " + number(layers.attention_count) + " attend, " +
                                       number(layers.recurrent_count) + " keep a state"
                                 : ""));
  line("width", number(facts.spec.embedding_width));
  line("heads", listed(layers.head_counts) + " (" + listed(layers.kv_head_counts) +
                    " of keys and values, " + listed(layers.head_dims) + " wide)");
  if (has_states) {
    line("recurrent heads", listed(layers.recurrent_value_head_counts) + " (" +
                                listed(layers.recurrent_key_head_counts) + " of keys, " +
                                listed(layers.recurrent_head_dims) + " wide)");
  }
  if (!layers.feed_forward_widths.empty()) {
    line("feed forward", listed(layers.feed_forward_widths));
  }
  if (is_mixture) {
    line("experts",
         listed(layers.expert_counts) + ", " + listed(layers.used_expert_counts) +
             " of them for a token (" + listed(layers.expert_widths) + " wide" +
             (layers.shared_expert_widths.empty()
                  ? ")"
                  : "), and one for all (" + listed(layers.shared_expert_widths) + " wide)"));
  }
  line("vocabulary", number(facts.spec.vocabulary_size));
  line("context", number(facts.spec.context_length) + " tokens");
  std::string formats;
  for (const auto& [format, bytes] : facts.bytes_by_format) {
    formats += (formats.empty() ? "" : ", ") + format + " " + cli::bytes_text(bytes);
  }
  line("weights", cli::bytes_text(facts.weight_bytes) + " (" + formats + ")");
  line("weights per token", cli::bytes_text(facts.weight_bytes_per_token));
  if (!facts.left_out.empty()) line("left out", left_out_text(facts));
  line("KV format", facts.kv_format);
  line("KV bytes per token", number(facts.kv_bytes_per_token));
  if (has_states)
    line("state",
         cli::bytes_text(facts.state_bytes) + " each; " + number(facts.state_count) + " fit");
  line("KV pool", cli::bytes_text(facts.pool_bytes) + ": " + number(facts.pool_page_count) +
                      " pages of " + number(facts.page_size));
  line("tokens that fit", number(facts.pool_token_count));
}

// A number of all layers, or an array of those that some layers have.
nlohmann::json number_or_array(const Numbers& numbers) {
  return numbers.size() == 1 ? nlohmann::json(numbers.front()) : nlohmann::json(numbers);
}

// Members that models without experts lack.
void add_experts(nlohmann::json& json, const ModelFacts& facts, const LayerFacts& layers) {
  if (!has_experts(facts.spec)) return;
  json["expert_count"] = number_or_array(layers.expert_counts);
  json["expert_used_count"] = number_or_array(layers.used_expert_counts);
  json["expert_width"] = number_or_array(layers.expert_widths);
  json["shared_expert_width"] = number_or_array(layers.shared_expert_widths);
  json["expert_bytes"] = facts.expert_bytes;
}

// Members that models without states lack.
void add_states(nlohmann::json& json, const ModelFacts& facts, const LayerFacts& layers) {
  if (!has_states(facts.spec)) return;
  json["attention_layers"] = layers.attention_count;
  json["recurrent_layers"] = layers.recurrent_count;
  json["recurrent_key_heads"] = number_or_array(layers.recurrent_key_head_counts);
  json["recurrent_value_heads"] = number_or_array(layers.recurrent_value_head_counts);
  json["recurrent_head_dim"] = number_or_array(layers.recurrent_head_dims);
  json["state_bytes"] = facts.state_bytes;
  json["state_count"] = facts.state_count;
}

// A member that models lack whose files are read whole.
void add_left_out(nlohmann::json& json, const ModelFacts& facts) {
  for (const inference::WeightSource::LeftOut& each : facts.left_out) {
    json["left_out"].push_back(
        {{"part", each.part}, {"tensors", each.tensor_count}, {"bytes", each.bytes}});
  }
}

nlohmann::json facts_json(const ModelFacts& facts) {
  const LayerFacts layers(facts.spec);
  nlohmann::json json = {{"name", facts.spec.name},
                         {"path", facts.path},
                         {"architecture", facts.spec.architecture},
                         {"parameters", facts.parameter_count},
                         {"layers", facts.spec.layer_count()},
                         {"embedding_width", facts.spec.embedding_width},
                         {"heads", number_or_array(layers.head_counts)},
                         {"kv_heads", number_or_array(layers.kv_head_counts)},
                         {"head_dim", number_or_array(layers.head_dims)},
                         {"feed_forward_width", number_or_array(layers.feed_forward_widths)},
                         {"vocabulary_size", facts.spec.vocabulary_size},
                         {"context_length", facts.spec.context_length},
                         {"weight_bytes", facts.weight_bytes},
                         {"weight_bytes_by_format", facts.bytes_by_format},
                         {"weight_bytes_per_token", facts.weight_bytes_per_token},
                         {"parameters_per_token", facts.parameters_per_token},
                         {"kv_format", facts.kv_format},
                         {"kv_bytes_per_token", facts.kv_bytes_per_token},
                         {"pool_bytes", facts.pool_bytes},
                         {"pool_pages", facts.pool_page_count},
                         {"page_size", facts.page_size},
                         {"pool_tokens", facts.pool_token_count}};
  add_experts(json, facts, layers);
  add_states(json, facts, layers);
  add_left_out(json, facts);
  return json;
}

Result<void> show(const cli::ModelOptions& options) {
  const ModelFacts facts = TRY(read_model_facts(options.model, options.engine));
  if (options.output == cli::OutputStyle::Json) {
    print(dump_json(facts_json(facts)) + "\n");
  } else {
    print_facts(facts);
  }
  return {};
}

void print_stored(const cli::ModelOptions& options, const char* what, const StoredModel& model) {
  print(options.output == cli::OutputStyle::Json
            ? dump_json(stored_json(model)) + "\n"
            : std::string(what) + " " + model.name + " (" + cli::bytes_text(model.bytes) + ")\n");
}

Result<void> add(const cli::ModelOptions& options) {
  const SteadyClock clock;
  const ModelStore store = TRY(open_store());
  const StoredModel model = TRY(add_model(store, options.model, options.name, clock));
  print_stored(options, "added", model);
  return {};
}

Result<void> remove(const cli::ModelOptions& options) {
  const ModelStore store = TRY(open_store());
  TRY(store.remove(options.model));
  print(options.output == cli::OutputStyle::Json
            ? dump_json(nlohmann::json{{"removed", options.model}}) + "\n"
            : "removed " + options.model + "\n");
  return {};
}

Result<void> verify(const cli::ModelOptions& options) {
  const SteadyClock clock;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const ModelStore store = TRY(open_store());
  const std::string name =
      options.model.empty() ? std::string(inference::kDefaultModel) : options.model;
  cli::Progress progress(terminal, clock, "read", {.counts_bytes = true});
  TRY(store.verify(name, report_to(progress)));
  progress.finish();
  print(options.output == cli::OutputStyle::Json
            ? dump_json(nlohmann::json{{"name", name}, {"ok", true}}) + "\n"
            : name + ": every byte as recorded\n");
  return {};
}

Result<void> act(const cli::ModelOptions& options) {
  switch (options.action) {
    case cli::ModelAction::List:
      return list(options);
    case cli::ModelAction::Show:
      return show(options);
    case cli::ModelAction::Add:
      return add(options);
    case cli::ModelAction::Remove:
      return remove(options);
    case cli::ModelAction::Verify:
      return verify(options);
  }
  return {};
}

}  // namespace

int model_command(const cli::ModelOptions& options) {
  const Result<void> done = act(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
