// The verbs that start an engine in this process.
#include <cstdlib>

#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<KvTreeStyle> kTreeStyles[] = {{"text", KvTreeStyle::Text},
                                               {"dot", KvTreeStyle::Dot}};

Flag server(std::string& url, const char* what_for, const char* and_then = "") {
  return {"--server", "URL", &url,
          std::string(what_for) +
              " at URL, as in ws://127.0.0.1:7847 (quire serve), or wss://HOST:PORT with TLS" +
              and_then};
}

Result<void> check_key_file(const std::string& server, const std::string& key_file) {
  if (!server.empty() || key_file.empty()) return {};
  return Error(ErrorCode::InvalidArgument, "--key-file is for a server, which --server names");
}

std::vector<Flag> program_rows(RunOptions& options) {
  return {
      Flag{
          "PROGRAM", "", &options.program,
          "A Wasm module, a script (.js, .mjs, .ts, .mts), a C++ file (compiled for this run), the "
          "folder of a project, or the name of a program that comes with quire. A project has "
          "Cargo.toml, main.ts, main.js or main.cpp. With --server also the name of a program "
          "there. PROGRAM --help prints the options of the program"}
          .required(),
      {"--bin", "NAME", &options.bin,
       "Of a Cargo project with several programs: this one, and not that of default-run"},
      server(options.server, "Run it on the server"),
      key_file(options.key_file),
      {"--each", "FILE", &options.each_file,
       "One instance for each line of FILE, all at once; a line is a JSON array of arguments, or "
       "an object with \"args\". What follows \"--\" goes before those of each line"},
      {"--detach", "", &options.launch.detaches,
       "With --server: print the number of the instance and return; the program goes on alone, and "
       "all that it sends waits for quire attach"},
      {"--watch", "", &options.watches,
       "Run PROGRAM again each time that its file changes, or one that it includes; the run before "
       "is ended"},
      Flag{"--program", "PATH", &options.further_programs,
           "A program that programs may launch by its name, that of the file (without its ending) "
           "or folder: a module, a script, a C++ file or Cargo project (compiled first), or a "
           "folder of these. May be given again"}
          .here(),
      {"--send-file", "PATH", &options.sent_files,
       "Send the file at PATH to the program, under its own name; may be repeated"},
      {"--save-files", "FOLDER", &options.save_folder,
       "Write the files that the program sends into FOLDER, over nothing that is there; with "
       "--each into a folder of the instance's number in it. Without, they are not kept"},
      {"--tenant", "N", &options.launch.tenant,
       "With --server: the tenant of it that the program belongs to and is charged to (quire "
       "serve --tenant)",
       whole_within(0, UINT32_MAX)},
      {"--deadline", "SECONDS", &options.launch.deadline_seconds,
       "Time after its launch by which the program should be done: of the work of one tenant "
       "and priority, the earlier deadline goes first. It promises nothing, and nothing ends when "
       "it is over; 0 for none",
       real_within(0.0, 1e6)},
      {"--seed", "N", &options.launch.seed,
       "Make the random numbers of the program, and of the programs that it launches, the same in "
       "each run with this N. Without --seed they differ. The seed for drawing tokens is an option "
       "of the program, after --",
       whole_within(0, (std::uint64_t{1} << 53) - 1)},
  };
}

std::vector<Flag> report_rows(RunOptions& options) {
  return {
      Flag{"--kv-tree{text}", "", one_of(options.kv_tree, "page graph", kTreeStyles),
           "In the end draw the page graph: what was shared, found, kept; =dot for Graphviz"}
          .here(),
      Flag{"--kv-why", "", &options.kv_why,
           "In the end say how many tokens each instance saved, and why not more"}
          .here(),
      Flag{"--kv-report", "FILE", &options.kv_report_file,
           "Write both to FILE, for `quire kv tree FILE` and `quire kv why FILE`"}
          .here(),
  };
}

constexpr const char* kRunNotes =
    R"(What the program sends goes to standard output, lines of standard input reach its
receive(), its log and a closing line go to standard error: tokens computed, tokens/s,
time to the first token, the most pages held at once, tokens found in the cache of those
asked for. Tokens of programs that it launched (its children) and tokens opened from a
snapshot are counted apart. Arguments of the program follow after "--", at most 1 MiB of
them. Its receive_file() gets the files of --send-file; the end of standard input comes
after them. A program has no other way to files: a long prompt reaches it by one of
these two.

A result that the program returns or sets is a line "result: ..." on standard error. With --json
each line is an object whose "event" says what it is: "message", "file", "end" (with the result),
and on standard error "totals".

With --server the program runs there and all else is the same: it is uploaded unless the server
has it, Ctrl-C stops it, and its limits are at most the server's. Flags of the engine are the
server's then. A name is that of a program of the server, or else of one that comes with quire
here, which is uploaded.

A C++ file is compiled in about a second, without optimizing its own code; quire build optimizes.
The module is kept, and a run of the same source compiles nothing. A folder with Cargo.toml is a
Rust program, which cargo compiles: of several the one that default-run in Cargo.toml names, or
--bin. Another folder is the program in its main.ts, main.js or main.cpp.

Examples:
  quire run tree_of_thought --help
  quire run program.cpp -- --prompt "Once upon a time"
  quire run --watch program.cpp -- --prompt "Once upon a time"
  quire run ./my_project -- --prompt "Once upon a time"
  quire run text_completion -- --prompt "Once upon a time" --max-tokens 64
  quire run program.wasm --each arguments.jsonl --json
  quire run program.wasm --send-file table.csv --save-files results
  quire run text_completion --send-file story.txt -- --prompt-file story.txt
  git diff | quire run text_completion -- --prompt -
  quire run fetch --allow-http example.com -- https://example.com/
  quire run --server ws://127.0.0.1:7847 text_completion -- --prompt "Once upon a time"
  quire run --server ws://127.0.0.1:7847 --detach program.wasm -- --max-tokens 64
  quire run program.wasm --each arguments.jsonl --kv-tree=dot
  quire run program.wasm --each arguments.jsonl --kv-report report.json && quire kv why report.json)";

Result<void> check_detach(const RunOptions& options) {
  if (!options.launch.detaches) return {};
  if (options.server.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "--detach is for a server, which --server names: a program that runs here ends "
                 "with quire");
  }
  if (options.watches) {
    return Error(
        ErrorCode::InvalidArgument,
        "--detach and --watch exclude each other: a detached program is not ended when its "
        "file changes");
  }
  if (!options.sent_files.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "--send-file needs a client that stays, and --detach returns at once; send the "
                 "file after it, with quire send ID --send-file PATH");
  }
  if (options.save_folder.empty()) return {};
  return Error(ErrorCode::InvalidArgument,
               "--save-files needs a client that stays, and --detach returns at once; keep them "
               "with quire attach ID --save-files FOLDER");
}

Result<void> check_run(RunOptions& options) {
  if (options.server.empty() && options.launch.tenant != 0) {
    return Error(ErrorCode::InvalidArgument,
                 "--tenant is one of a server, which --server names; programs that run here are "
                 "tenant 0");
  }
  TRY(check_key_file(options.server, options.key_file));
  TRY(check_detach(options));
  const bool explains = options.kv_why || !options.kv_report_file.empty();
  if (explains) options.engine.misses = MissUse::Explain;
  const bool shows_pages = explains || options.kv_tree != KvTreeStyle::None;
  if (options.engine.further_models.empty() || !shows_pages) return {};
  return Error(ErrorCode::InvalidArgument,
               "--kv-tree, --kv-why and --kv-report show one model's pages; give --model once");
}

}  // namespace

Verb add_run(CLI::App& app) {
  struct State {
    RunOptions options;
    EngineFlags engine;
    InstanceFlags instance;
  };
  auto state = std::make_shared<State>();
  RunOptions& options = state->options;
  auto rows = std::make_shared<Rows>(
      app, "run", "Run a program (an inferlet) in an engine here, or on a server");
  rows->add(program_rows(options));
  rows->add({log_level(state->instance.options.log_level, "lines of the program's log")});
  rows->add(report_rows(options));
  rows->add(state->instance.grants());
  rows->add(
      {state->engine.models(), state->engine.adapters_by_name("programs"), json(options.output)});
  rows->add(state->instance.limits(options.instance.cpu_seconds_max, "as many as there are"),
            Part::Limits);
  rows->add(state->engine.rows(), Part::Engine);
  rows->add(state->engine.store_rows(), Part::Engine);
  return rows->verb(kRunNotes, [state, rows]() -> Result<Request> {
    RunOptions& run = state->options;
    if (!run.server.empty()) {
      TRY(rows->check_remote(" is for the engine, which is the server's with --server"));
    }
    run.engine = TRY(state->engine.finish());
    run.instance = state->instance.finish(*rows);
    TRY(check_run(run));
    return Request(run);
  });
}

Verb add_generate(CLI::App& app) {
  struct State {
    GenerateOptions options;
    EngineFlags engine;
    GrammarFlags grammar;
    std::optional<std::string> words;  // The prompt without its flag.
  };
  auto state = std::make_shared<State>();
  GenerateOptions& options = state->options;
  Rows rows(app, "generate", "Continue a prompt with the host's own loop, without Wasm");
  rows.add({
      {"PROMPT", "", &state->words, "The text to continue, taken as it is"},
      Flag{"-p,--prompt", "TEXT", &options.prompt.text, "The same; - is standard input"}.excludes(
          "PROMPT"),
      Flag{"--prompt-file", "FILE", &options.prompt.file,
           "A file or a pipe with the text, at most 64 MiB; - is standard input. The newline that "
           "ends its last line is left out"}
          .excludes("PROMPT")
          .excludes("--prompt"),
      {"-n,--max-tokens", "N", &options.max_tokens, "At most so many tokens",
       whole_within(1, 1 << 24)},
      {"--ignore-eos", "", &options.ignore_eos, "Go on past the end-of-text token"},
  });
  rows.add(sampling_rows(options.sampling));
  rows.add(state->grammar.rows());
  rows.add({state->engine.model(), state->engine.adapters_in_force(), json(options.output)});
  rows.add(state->engine.rows(), Part::Engine);
  return rows.verb(
      R"(Without a prompt, standard input is the prompt, unless it is a terminal.
With --json: prompt_ids, ids, text, finish_reason ("stop" or "length"), timing, pages.

Examples:
  quire generate "The capital of France is" --max-tokens 32
  quire generate --prompt-file story.txt
  git diff | quire generate --max-tokens 64
  quire generate --prompt "Once upon a time" --temperature 0.8 --seed 7 --json
  quire generate "My phone number is" --regex "[0-9]{3}-[0-9]{4}")",
      [state]() -> Result<Request> {
        state->options.engine = TRY(state->engine.finish());
        state->options.grammar = state->grammar.finish();
        if (state->words) state->options.prompt.text = state->words;
        return Request(state->options);
      });
}

Verb add_chat(CLI::App& app) {
  struct State {
    ChatOptions options;
    EngineFlags engine;
    GrammarFlags grammar;
  };
  auto state = std::make_shared<State>();
  ChatOptions& options = state->options;
  auto rows = std::make_shared<Rows>(app, "chat", "Talk to a model; one context holds the history");
  rows->add({
      {"MESSAGE", "", &options.message.text,
       "One message and its reply; - is all of standard input. None: a conversation, a message in "
       "each line"},
      Flag{"--prompt-file", "FILE", &options.message.file,
           "A file or a pipe with the message, at most 64 MiB; - is standard input"}
          .excludes("MESSAGE"),
      server(options.server, "Talk to a model of the server",
             "; --model is then the name of one there"),
      key_file(options.key_file),
  });
  rows->add(chat_rows(options.settings));
  rows->add({{"--load", "NAME", &options.saved,
              "Go on with a conversation that /save NAME kept, here or on another server"}});
  rows->add({{"--no-history", "", [&options] { options.keeps_history = false; },
              "Neither read nor keep the lines that you type (docs/guide/chat.md)"}});
  rows->add(state->grammar.rows());
  rows->add({state->engine.model(), state->engine.adapters_in_force()});
  rows->add(state->engine.rows(), Part::Engine);
  return rows->verb(
      R"(Ctrl-C stops a reply, not the chat; Ctrl-D or /quit ends it; /clear forgets the conversation. On a
terminal lines are edited, """ begins and ends a message of several, and there are /set, /save and /load;
/help lists all.

Examples:
  quire chat
  quire chat --prompt-file question.txt
  quire chat --system "Answer in one sentence." "What is a page table?"
  quire chat --load plan
  quire chat --server ws://127.0.0.1:7847
  quire chat --json-schema person.json "Invent a person.")",
      [state, rows]() -> Result<Request> {
        ChatOptions& chat = state->options;
        chat.engine = TRY(state->engine.finish());
        chat.grammar = state->grammar.finish();
        TRY(check_key_file(chat.server, chat.key_file));
        if (chat.server.empty()) return Request(chat);
        TRY(rows->check_remote(
            " is for an engine here, and not for the chat of a server (--server)"));
        // A model that the environment names is one of this machine.
        const char* variable = std::getenv("QUIRE_MODEL");
        if (variable != nullptr && chat.engine.model == variable) chat.engine.model.clear();
        return Request(chat);
      });
}

Verb add_eval(CLI::App& app) {
  auto state = std::make_shared<EngineState<EvalOptions>>();
  EvalOptions& options = state->options;
  Rows rows(app, "eval", "Score a text: mean_nll, perplexity, all logits");
  rows.add_choice("Input", "What to score",
                  {
                      {"TEXT", "", &options.text, "The text itself"},
                      {"--text-file", "FILE", &options.text_file, "A file of UTF-8 text"},
                      {"--ids", "FILE.json", &options.ids_file, "A JSON array of token ids"},
                  });
  rows.add({
      {"--mask", "M.npy", &options.mask_file, "bool [n][n]: row = query, true = may attend"},
      {"--positions", "P.npy", &options.positions_file, "integers [n]"},
      {"--logits", "OUT.npy", &options.logits_file, "Writes F32 [n][vocabulary]"},
      {"--chunk", "N", &options.chunk, "Tokens of one forward pass; any gives the same bits",
       whole_within(1, 2048)},
      state->engine.model(),
      json(options.output),
  });
  rows.add(state->engine.rows(), Part::Engine);
  return engine_verb(rows, R"(Examples:
  quire eval "The capital of France is Paris."
  quire eval --text-file README.md
  quire eval --model tests/golden/tiny_llama --ids ids.json --mask mask.npy --positions positions.npy \
    --logits logits.npy --backend scalar --kv-format f32 --json)",
                     state);
}

}  // namespace quire::cli
