// The verbs that start an engine in this process.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "cli/verb.h"

namespace quire::cli {

namespace {

// What a client may say to a server.
constexpr std::string_view kRemoteRun[] = {
    "PROGRAM",           "--watch",      "--server",   "--key-file",   "--each",       "--json",
    "--send-file",       "--save-files", "--help",     "--memory-max", "--output-max", "--tenant",
    "--cpu-seconds-max", "--pages-max",  "--deadline", "--seed"};
constexpr std::string_view kRemoteChat[] = {"MESSAGE",    "--prompt-file", "--server",
                                            "--key-file", "--no-history",  "--json-schema",
                                            "--model",    "--help"};

// The rest is said where the engine is. Variables of the environment are not meant for this run.
Result<void> check_remote_flags(const CLI::App& verb, const std::vector<std::string_view>& remote,
                                const char* why) {
  for (const CLI::Option* each : verb.get_options()) {
    const std::string name = each->get_name();
    const bool is_remote = std::find(remote.begin(), remote.end(), name) != remote.end();
    const bool is_set_outside =
        !each->get_envname().empty() && std::getenv(each->get_envname().c_str()) != nullptr;
    if (each->count() == 0 || is_remote || is_set_outside) continue;
    return Error(ErrorCode::InvalidArgument, name + why);
  }
  return {};
}

// A model that the environment names is one of this machine.
Result<void> check_chat_of_server(const CLI::App& verb, EngineFlags& engine) {
  std::vector<std::string_view> remote(std::begin(kRemoteChat), std::end(kRemoteChat));
  CLI::App app;
  ChatSettings ignored;
  add_chat_settings(app, ignored);
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) names.push_back(each->get_name());
  remote.insert(remote.end(), names.begin(), names.end());
  TRY(check_remote_flags(verb, remote,
                         " is for an engine here, and not for the chat of a server (--server)"));
  const char* variable = std::getenv("QUIRE_MODEL");
  if (variable != nullptr && engine.model == variable) engine.model.clear();
  return {};
}

// Flags of the launch that are neither arguments nor limits of the program.
void add_launch(CLI::App& verb, RunOptions& options) {
  verb.add_option("--tenant", options.tenant,
                  "With --server: the tenant of it that the program belongs to and is charged to "
                  "(quire serve --tenant)")
      ->type_name("N")
      ->transform(whole_within(0, UINT32_MAX))
      ->capture_default_str();
  verb.add_option("--deadline", options.deadline_seconds,
                  "Seconds after its launch by which the program should be done: of the work of "
                  "one tenant and priority, the earlier deadline goes first. It promises nothing, "
                  "and nothing ends when it is over; 0 for none")
      ->type_name("S")
      ->check(real_within(0.0, 1e6))
      ->capture_default_str();
  verb.add_option("--seed", options.seed,
                  "Make the random numbers of the program, and of the programs that it launches, "
                  "the same in each run with this N. Without --seed they differ. The seed for "
                  "drawing tokens is an option of the program, after --")
      ->type_name("N")
      ->transform(whole_within(0, (std::uint64_t{1} << 53) - 1));
}

}  // namespace

Verb add_run(CLI::App& app) {
  struct State {
    RunOptions options;
    EngineFlags engine;
    InstanceFlags instance;
    std::string kv_tree;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb =
      app.add_subcommand("run", "Run a program (an inferlet) in an engine here, or on a server");
  verb->add_option("PROGRAM", state->options.program,
                   "A Wasm module, a script (.js, .mjs, .ts, .mts), a C++ file or the folder of a "
                   "Cargo project, which is compiled for this run, or the name of a program that "
                   "comes with quire. With --server also the name of a program there. PROGRAM "
                   "--help prints the options of the program")
      ->required();
  verb->add_option("--server", state->options.server,
                   "Run it on the server at URL, as in ws://127.0.0.1:7847 (quire serve), or "
                   "wss://HOST:PORT with TLS")
      ->type_name("URL");
  add_key_file(*verb, state->options.key_file);
  verb->add_option(
          "--each", state->options.each_file,
          "One instance for each line of FILE, all at once; a line is a JSON array of "
          "arguments, or an object with \"args\". What follows \"--\" goes before those of each "
          "line")
      ->type_name("FILE");
  verb->add_flag(
      "--watch", state->options.watches,
      "Run PROGRAM again each time that its file changes, or one that it includes; the run before "
      "is ended");
  verb->add_option("--program", state->options.further_programs,
                   "A program that programs may launch by its name, that of the file (without its "
                   "ending) or folder: a module, a script, a C++ file or Cargo project (compiled "
                   "first), or a folder of these. May be given again")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb->add_option("--send-file", state->options.sent_files,
                   "Send the file at PATH to the program, under its own name; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb->add_option(
          "--save-files", state->options.save_folder,
          "Write the files that the program sends into FOLDER, over nothing that is there; "
          "with --each into a folder of the instance's number in it. Without, they are not "
          "kept")
      ->type_name("FOLDER");
  add_launch(*verb, state->options);
  state->instance.add_all(*verb, state->options.instance.cpu_seconds_max, "as many as there are");
  verb->add_flag("--kv-tree{text}", state->kv_tree,
                 "In the end draw the page graph: what was shared, found, kept; =dot for Graphviz")
      ->type_name("text|dot");
  verb->add_flag("--kv-why", state->options.kv_why,
                 "In the end say how many tokens each instance saved, and why not more");
  verb->add_option("--kv-report", state->options.kv_report_file,
                   "Write both to FILE, for `quire kv tree FILE` and `quire kv why FILE`")
      ->type_name("FILE");
  state->engine.add_models(*verb);
  state->engine.add_adapters(*verb, "for programs to use by NAME");
  state->engine.add_rest(*verb);
  state->engine.add_store(*verb);
  add_json(*verb, state->options.output);
  verb->footer(
      R"(What the program sends goes to standard output, lines of standard input reach its receive(), its log
and a closing line go to standard error: tokens computed, tokens/s, time to the first token, the most
pages held at once, tokens found in the cache of those asked for. Tokens of programs that it launched (its
children) and tokens opened from a snapshot are counted apart. Arguments of the program follow after
"--", at most 1 MiB of them. Its receive_file() gets the files of --send-file; the end of standard input
comes after them. A program has no other way to files: a long prompt reaches it by one of these two.

With --server the program runs there and all else is the same: it is uploaded unless the server has it,
Ctrl-C stops it, and its limits are at most the server's. Flags of the engine are the server's then.

A C++ file is compiled in about a second, without optimizing its own code; quire build optimizes. The module is
kept, and a run of the same source compiles nothing. A folder with Cargo.toml is a Rust program,
which cargo compiles.

Examples:
  quire run tree_of_thought --help
  quire run program.cpp -- --prompt "Once upon a time"
  quire run --watch program.cpp -- --prompt "Once upon a time"
  quire run my_project -- --prompt "Once upon a time"
  quire run build/release/inferlets/text_completion.wasm -- --prompt "Once upon a time" --max-tokens 64
  quire run program.wasm --each arguments.jsonl --json
  quire run program.wasm --send-file table.csv --save-files results
  quire run text_completion.wasm --send-file story.txt -- --prompt-file story.txt
  git diff | quire run text_completion.wasm -- --prompt -
  quire run build/release/inferlets/fetch.wasm --allow-http example.com -- https://example.com/
  quire run --server ws://127.0.0.1:7847 program.wasm -- --max-tokens 64
  quire run program.wasm --each arguments.jsonl --kv-tree=dot
  quire run program.wasm --each arguments.jsonl --kv-report report.json && quire kv why report.json)");
  return {verb, [state, verb]() -> Result<Request> {
            if (!state->options.server.empty()) {
              TRY(check_remote_flags(*verb, {std::begin(kRemoteRun), std::end(kRemoteRun)},
                                     " is for the engine, which is the server's with --server"));
            }
            if (state->options.server.empty() && state->options.tenant != 0) {
              return Error(ErrorCode::InvalidArgument,
                           "--tenant is one of a server, which --server names; programs that run "
                           "here are tenant 0");
            }
            if (state->options.server.empty() && !state->options.key_file.empty()) {
              return Error(ErrorCode::InvalidArgument,
                           "--key-file is for a server, which --server names");
            }
            state->options.engine = TRY(state->engine.finish());
            state->options.instance = TRY(state->instance.finish(*verb));
            const bool explains = state->options.kv_why || !state->options.kv_report_file.empty();
            if (explains) state->options.engine.misses = MissUse::Explain;
            if (!state->options.engine.further_models.empty() &&
                (explains || !state->kv_tree.empty())) {
              return Error(
                  ErrorCode::InvalidArgument,
                  "--kv-tree, --kv-why and --kv-report show one model's pages; give --model once");
            }
            if (state->kv_tree == "text") {
              state->options.kv_tree = KvTreeStyle::Text;
            } else if (state->kv_tree == "dot") {
              state->options.kv_tree = KvTreeStyle::Dot;
            } else if (!state->kv_tree.empty()) {
              return Error(ErrorCode::InvalidArgument,
                           "unknown page graph \"" + state->kv_tree + "\" (supported: text, dot)");
            }
            return Request(state->options);
          }};
}

Verb add_generate(CLI::App& app) {
  struct State {
    GenerateOptions options;
    EngineFlags engine;
    GrammarFlags grammar;
    std::string words;  // The prompt without its flag.
  };
  auto state = std::make_shared<State>();
  CLI::App* verb =
      app.add_subcommand("generate", "Continue a prompt with the host's own loop, without Wasm");
  CLI::Option* words =
      verb->add_option("PROMPT", state->words, "The text to continue, taken as it is");
  CLI::Option* prompt =
      verb->add_option("-p,--prompt", state->options.prompt.text, "The same; - is standard input")
          ->type_name("TEXT")
          ->excludes(words);
  verb->add_option(
          "--prompt-file", state->options.prompt.file,
          "A file or a pipe with the text, at most 64 MiB; - is standard input. The newline "
          "that ends its last line is left out")
      ->type_name("FILE")
      ->excludes(words)
      ->excludes(prompt);
  verb->add_option("-n,--max-tokens", state->options.max_tokens, "At most so many tokens")
      ->type_name("N")
      ->transform(whole_within(1, 1 << 24))
      ->capture_default_str();
  verb->add_flag("--ignore-eos", state->options.ignore_eos, "Go on past the end-of-text token");
  add_sampling(*verb, state->options.sampling);
  state->grammar.add_all(*verb);
  state->engine.add_all(*verb);
  state->engine.add_adapters(*verb, "and write under it; PATH@SCALE scales it");
  add_json(*verb, state->options.output);
  verb->footer(
      R"(Without a prompt, standard input is the prompt, unless it is a terminal.
With --json: prompt_ids, ids, text, finish_reason ("stop" or "length"), timing, pages.

Examples:
  quire generate "The capital of France is" --max-tokens 32
  quire generate --prompt-file story.txt
  git diff | quire generate --max-tokens 64
  quire generate --prompt "Once upon a time" --temperature 0.8 --seed 7 --json
  quire generate "My phone number is" --regex "[0-9]{3}-[0-9]{4}")");
  return {verb, [state, words]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            state->options.grammar = state->grammar.finish();
            if (words->count() > 0) state->options.prompt.text = state->words;
            return Request(state->options);
          }};
}

Verb add_chat(CLI::App& app) {
  struct State {
    ChatOptions options;
    EngineFlags engine;
    GrammarFlags grammar;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("chat", "Talk to a model; one context holds the history");
  CLI::Option* message = verb->add_option(
      "MESSAGE", state->options.message.text,
      "One message and its reply; - is all of standard input. None: a conversation, "
      "a message in each line");
  verb->add_option("--prompt-file", state->options.message.file,
                   "A file or a pipe with the message, at most 64 MiB; - is standard input")
      ->type_name("FILE")
      ->excludes(message);
  verb->add_option(
          "--server", state->options.server,
          "Talk to a model of the server at URL, as in ws://127.0.0.1:7847 (quire serve), or "
          "wss://HOST:PORT with TLS; --model is then the name of one there")
      ->type_name("URL");
  add_key_file(*verb, state->options.key_file);
  add_chat_settings(*verb, state->options.settings);
  verb->add_flag_callback(
      "--no-history", [state] { state->options.keeps_history = false; },
      "Neither read nor keep the lines that you type (docs/guide/chat.md)");
  state->grammar.add_all(*verb);
  state->engine.add_all(*verb);
  state->engine.add_adapters(*verb, "and write under it; PATH@SCALE scales it");
  verb->footer(
      R"(Ctrl-C stops a reply, not the chat; Ctrl-D or /quit ends it; /clear forgets the conversation. On a
terminal lines are edited, """ begins and ends a message of several, and there are /set, /save and /load;
/help lists all.

Examples:
  quire chat
  quire chat --prompt-file question.txt
  quire chat --system "Answer in one sentence." "What is a page table?"
  quire chat --server ws://127.0.0.1:7847
  quire chat --json-schema person.json "Invent a person.")");
  return {verb, [state, verb]() -> Result<Request> {
            if (!state->options.server.empty()) TRY(check_chat_of_server(*verb, state->engine));
            if (state->options.server.empty() && !state->options.key_file.empty()) {
              return Error(ErrorCode::InvalidArgument,
                           "--key-file is for a server, which --server names");
            }
            state->options.engine = TRY(state->engine.finish());
            state->options.grammar = state->grammar.finish();
            return Request(state->options);
          }};
}

Verb add_eval(CLI::App& app) {
  struct State {
    EvalOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("eval", "Score a text: mean_nll, perplexity, all logits");
  CLI::Option_group* input = verb->add_option_group("Input", "What to score");
  input->add_option("TEXT", state->options.text, "The text itself");
  input->add_option("--text-file", state->options.text_file, "A file of UTF-8 text")
      ->type_name("FILE");
  input->add_option("--ids", state->options.ids_file, "A JSON array of token ids")
      ->type_name("FILE.json");
  input->require_option(1);
  verb->add_option("--mask", state->options.mask_file,
                   "bool [n][n]: row = query, true = may attend")
      ->type_name("M.npy");
  verb->add_option("--positions", state->options.positions_file, "integers [n]")
      ->type_name("P.npy");
  verb->add_option("--logits", state->options.logits_file, "Writes F32 [n][vocabulary]")
      ->type_name("OUT.npy");
  verb->add_option("--chunk", state->options.chunk,
                   "Tokens of one forward pass; any gives the same bits")
      ->type_name("N")
      ->transform(whole_within(1, 2048))
      ->capture_default_str();
  state->engine.add_all(*verb);
  add_json(*verb, state->options.output);
  verb->footer(R"(Examples:
  quire eval "The capital of France is Paris."
  quire eval --text-file README.md
  quire eval --model tests/golden/tiny_llama --ids ids.json --mask mask.npy --positions positions.npy \
    --logits logits.npy --backend scalar --kv-format f32 --json)");
  return {verb, [state]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            return Request(state->options);
          }};
}

}  // namespace quire::cli
