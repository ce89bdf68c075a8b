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

}  // namespace

void add_model(CLI::App& app, std::vector<Verb>& verbs) {
  struct State {
    ModelOptions options;
    EngineFlags engine;
  };
  CLI::App* model = app.add_subcommand("model", "The models under the user's data folder");
  model->require_subcommand(1);
  model->footer(R"(Examples:
  quire model list
  quire model add smollm2-135m-instruct
  quire model add hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M
  quire model add ~/Downloads/model.gguf --name mine
  quire model show smollm2-135m-instruct)");

  const auto add = [&](const char* name, const char* description, ModelAction action) {
    auto state = std::make_shared<State>();
    state->options.action = action;
    CLI::App* verb = model->add_subcommand(name, description);
    if (action == ModelAction::Add) {
      verb->add_option(
              "SOURCE", state->options.model,
              "A name that `quire model list --available` prints; a model of Hugging Face, as "
              "hf:USER/REPO, hf:USER/REPO:QUANT or hf:USER/REPO/FILE (hf.co/... means the "
              "same); a GGUF file (of a model in shards: any shard), a folder or a URL")
          ->required();
      verb->add_option("--name", state->options.name, "What to call it")->type_name("NAME");
    } else if (action == ModelAction::Show) {
      verb->add_option("MODEL", state->options.model, "A name, a GGUF file or a folder");
      state->engine.add_all(*verb);
    } else if (action == ModelAction::List) {
      verb->add_flag("--available", state->options.available,
                     "The names that `quire model add` knows, with sizes and licenses");
    } else {
      CLI::Option* which = verb->add_option("MODEL", state->options.model, "A name");
      if (action == ModelAction::Remove) which->required();
    }
    add_json(*verb, state->options.output);
    verbs.push_back({verb, [state]() -> Result<Request> {
                       state->options.engine = TRY(state->engine.finish());
                       if (state->options.model.empty()) {
                         state->options.model = state->options.engine.model;
                       }
                       return Request(state->options);
                     }});
    return verb;
  };
  add("list", "Names, formats and sizes", ModelAction::List)
      ->footer(
          "Examples:\n  quire model list\n  quire model list --available\n  quire model list "
          "--json");
  add("show", "Shape, formats, KV bytes per token, tokens that fit the pool", ModelAction::Show)
      ->footer(
          "Examples:\n  quire model show\n  quire model show model.gguf --kv-memory 2GiB --json");
  add("add", "Check a model and take it in under a name", ModelAction::Add)->footer(kModelSources);
  add("remove", "Forget a model and delete its copy", ModelAction::Remove)
      ->footer("Examples:\n  quire model remove mine");
  add("verify", "Read every byte again and compare checksums", ModelAction::Verify)
      ->footer("Examples:\n  quire model verify\n  quire model verify mine --json");
}

Verb add_tokenize(CLI::App& app) {
  struct State {
    TokenizeOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("tokenize", "Text to token ids");
  verb->add_option("TEXT", state->options.text, "The text; none: standard input");
  verb->add_flag("--plain", state->options.plain, "Special tokens in the text stay plain text");
  verb->add_flag("--bos", state->options.add_bos,
                 "Prepend the begin-of-text token, if there is one");
  state->engine.add_model(*verb);
  add_json(*verb, state->options.output);
  verb->footer("Examples:\n  quire tokenize \"Hello, world\"\n  quire tokenize --json < text.txt");
  return {verb, [state]() -> Result<Request> {
            state->options.model = state->engine.model;
            return Request(state->options);
          }};
}

Verb add_detokenize(CLI::App& app) {
  struct State {
    DetokenizeOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("detokenize", "Token ids to text");
  verb->add_option("IDS", state->options.ids,
                   "Token ids; none: standard input, a JSON array or words")
      ->transform(whole_within(0, UINT32_MAX));
  verb->add_flag("--skip-special", state->options.skip_special, "Leave special tokens out");
  state->engine.add_model(*verb);
  verb->footer(
      "Examples:\n  quire detokenize 504 3575 282 4649 314\n  quire tokenize \"Hi\" | quire "
      "detokenize");
  return {verb, [state]() -> Result<Request> {
            state->options.model = state->engine.model;
            return Request(state->options);
          }};
}

Verb add_template(CLI::App& app) {
  struct State {
    TemplateOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb =
      app.add_subcommand("template", "Chat messages to a prompt, by the model's own template");
  verb->add_option(
      "FILE", state->options.messages_file,
      "JSON: {\"messages\": [...], \"tools\": [...]} or the array alone; none: standard "
      "input, unless --user is given");
  verb->add_option("--user", state->options.user, "A message of the user")
      ->type_name("TEXT")
      ->expected(1);
  verb->add_option("--system", state->options.system, "The system message")->type_name("TEXT");
  verb->add_flag("--ids", state->options.ids, "Token ids instead of text");
  verb->add_flag("--no-generation-prompt", state->options.no_generation_prompt,
                 "Do not open the assistant's turn");
  state->engine.add_model(*verb);
  add_json(*verb, state->options.output);
  verb->footer(
      "Examples:\n  quire template --user \"Hello\"\n  quire template chat.json --ids --json");
  return {verb, [state]() -> Result<Request> {
            state->options.model = state->engine.model;
            return Request(state->options);
          }};
}

Verb add_doctor(CLI::App& app) {
  struct State {
    DoctorOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("doctor", "What this machine has, what it lacks, what to do");
  verb->add_flag("--tiers", state->options.measures_tiers,
                 "Run the model for some seconds and say what bringing pages back from host memory "
                 "and from disk takes, what computing them does, and which is chosen");
  verb->add_option("--sdk", state->options.sdk,
                   "The C++ SDK to check; what lies beside quire where not given")
      ->type_name("FOLDER")
      ->envname("QUIRE_SDK");
  state->engine.add_all(*verb);
  add_json(*verb, state->options.output);
  verb->footer(
      R"(Exit code 1 when something that Quire needs is missing. What --tiers measures depends on the engine's
flags; the rest does not.

Examples:
  quire doctor
  quire doctor --json
  quire doctor --tiers --threads 2)");
  return {verb, [state]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            return Request(state->options);
          }};
}

}  // namespace quire::cli
