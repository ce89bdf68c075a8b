// The verbs that start no engine: models, text and tokens, programs, the machine.
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr const char* kModelSources =
    R"(From a repository, quire takes the GGUF file with the quantization QUANT (without one Q4_K_M, else the
only file that there is), and all shards of a model as one. A repository without GGUF files gives
config.json, the texts of its tokenizer and its safetensors. hf:USER/REPO@REVISION names a branch, tag
or commit. After a fetch that broke off, the same command goes on where it ended; `quire model remove`
forgets what has come. Every file is checked by the digest that the hub, or the list of names, has
for it.

  HF_TOKEN     A token for private and gated repositories. It goes to the hub alone, and to no other
               host that the hub redirects to; to another machine only by https.
  HF_ENDPOINT  Another hub with the same routes, as https://hub.example.com; http is taken as well.

Examples:
  quire model add smollm2-135m-instruct
  quire model add hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q8_0 --name qwen
  quire model add https://huggingface.co/Qwen/Qwen2.5-0.5B-Instruct
  quire model add model.gguf
  quire model add ./checkpoint --name mine)";

using ModelState = EngineState<ModelOptions>;

std::vector<Flag> model_rows(ModelState& state) {
  ModelOptions& options = state.options;
  switch (options.action) {
    case ModelAction::List:
      return {{"--available", "", &options.available,
               "The names that `quire model add` knows, with sizes and licenses"},
              json(options.output)};
    case ModelAction::Show:
      return {{"MODEL", "", &options.model, "A name, a GGUF file or a folder"},
              state.engine.model(),
              json(options.output)};
    case ModelAction::Add:
      return {Flag{"SOURCE", "", &options.model,
                   "A name that `quire model list --available` prints; a model of Hugging Face, as "
                   "hf:USER/REPO, hf:USER/REPO:QUANT or hf:USER/REPO/FILE (hf.co/... means the "
                   "same); a GGUF file (of a model in shards: any shard), a folder or a URL"}
                  .required(),
              {"--name", "NAME", &options.name, "What to call it"},
              json(options.output)};
    case ModelAction::Remove:
      return {Flag{"MODEL", "", &options.model, "A name"}.required(), json(options.output)};
    case ModelAction::Verify:
      break;
  }
  return {{"MODEL", "", &options.model, "A name"}, json(options.output)};
}

}  // namespace

void add_model(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* model = app.add_subcommand("model", "The models under the user's data folder");
  model->require_subcommand(1);
  model->footer(R"(Examples:
  quire model list
  quire model add smollm2-135m-instruct
  quire model add hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M
  quire model add ~/Downloads/model.gguf --name mine
  quire model show smollm2-135m-instruct)");

  const auto add = [&](const char* name, const char* about, ModelAction action,
                       const char* footer) {
    auto state = std::make_shared<ModelState>();
    state->options.action = action;
    Rows rows(*model, name, about);
    rows.add(model_rows(*state));
    if (action == ModelAction::Show) rows.add(state->engine.rows(), Part::Engine);
    verbs.push_back(rows.verb(footer, [state]() -> Result<Request> {
      state->options.engine = TRY(state->engine.finish());
      if (state->options.model.empty()) state->options.model = state->options.engine.model;
      return Request(state->options);
    }));
  };
  add("list", "Names, formats and sizes", ModelAction::List, R"(Examples:
  quire model list
  quire model list --available
  quire model list --json)");
  add("show", "Shape, formats, KV bytes per token, tokens that fit the pool", ModelAction::Show,
      R"(Examples:
  quire model show
  quire model show model.gguf --kv-memory 2GiB --json)");
  add("add", "Check a model and take it in under a name", ModelAction::Add, kModelSources);
  add("remove", "Forget a model and delete its copy", ModelAction::Remove, R"(Examples:
  quire model remove mine)");
  add("verify", "Read every byte again and compare checksums", ModelAction::Verify, R"(Examples:
  quire model verify
  quire model verify mine --json)");
}

Verb add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  Rows rows(app, "tokenize", "Text to token ids");
  rows.add({
      {"TEXT", "", &options->text, "The text; none: standard input"},
      {"--plain", "", &options->plain, "Special tokens in the text stay plain text"},
      {"--bos", "", &options->add_bos, "Prepend the begin-of-text token, if there is one"},
      model_flag(options->model),
      json(options->output),
  });
  return rows.verb(R"(Examples:
  quire tokenize "Hello, world"
  quire tokenize --json < text.txt)",
                   options);
}

Verb add_detokenize(CLI::App& app) {
  auto options = std::make_shared<DetokenizeOptions>();
  Rows rows(app, "detokenize", "Token ids to text");
  rows.add({
      {"IDS", "", &options->ids, "Token ids; none: standard input, a JSON array or words",
       whole_within(0, UINT32_MAX)},
      {"--skip-special", "", &options->skip_special, "Leave special tokens out"},
      model_flag(options->model),
  });
  return rows.verb(R"(Examples:
  quire detokenize 504 3575 282 4649 314
  quire tokenize "Hi" | quire detokenize)",
                   options);
}

Verb add_template(CLI::App& app) {
  auto options = std::make_shared<TemplateOptions>();
  Rows rows(app, "template", "Chat messages to a prompt, by the model's own template");
  rows.add({
      {"FILE", "", &options->messages_file,
       "JSON: {\"messages\": [...], \"tools\": [...]} or the array alone; none: standard input, "
       "unless --user is given"},
      {"--user", "TEXT", &options->user, "A message of the user; may be given again"},
      {"--system", "TEXT", &options->system, "The system message"},
      {"--ids", "", &options->ids, "Token ids instead of text"},
      {"--no-generation-prompt", "", &options->no_generation_prompt,
       "Do not open the assistant's turn"},
      model_flag(options->model),
      json(options->output),
  });
  return rows.verb(R"(Examples:
  quire template --user "Hello"
  quire template chat.json --ids --json)",
                   options);
}

Verb add_doctor(CLI::App& app) {
  auto state = std::make_shared<EngineState<DoctorOptions>>();
  Rows rows(app, "doctor", "What this machine has, what it lacks, what to do");
  rows.add({
      {"--tiers", "", &state->options.measures_tiers,
       "Run the model for some seconds and say what bringing pages back from host memory and from "
       "disk takes, what computing them does, and which is chosen"},
      Flag{"--sdk", "FOLDER", &state->options.sdk,
           "The C++ SDK to check; what lies beside quire where not given"}
          .from("QUIRE_SDK"),
      state->engine.model(),
      json(state->options.output),
  });
  rows.add(state->engine.rows(), Part::Engine);
  return engine_verb(
      rows,
      R"(Exit code 1 when something that Quire needs is missing. What --tiers measures depends on the engine's
flags; the rest does not.

Examples:
  quire doctor
  quire doctor --json
  quire doctor --tiers --threads 2)",
      state);
}

}  // namespace quire::cli
