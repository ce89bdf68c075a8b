// The verb that starts a server.
#include "cli/verb.h"

namespace quire::cli {

Verb add_serve(CLI::App& app) {
  struct State {
    ServeOptions options;
    EngineFlags engine;
    InstanceFlags instance;
  };
  auto state = std::make_shared<State>();
  ServeOptions& options = state->options;
  CLI::App* verb = app.add_subcommand("serve", "Let clients run programs on the engine here");
  verb->add_option("PROGRAM", options.programs,
                   "Modules that clients may launch by their name, the file's without .wasm; of a "
                   "folder, all in it. Clients may upload others");
  verb->add_option("--listen", options.listen,
                   "The address for clients; port 0 for any that is free. Others than this "
                   "machine's own need keys, which are not there yet")
      ->envname("QUIRE_LISTEN")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  verb->add_option("--instances", options.instance_count_max,
                   "Programs at once, until their last word was taken")
      ->envname("QUIRE_INSTANCES")
      ->type_name("N")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  verb->add_option("--launch-queue", options.waiting_launch_count_max,
                   "Launches that wait for one of them to go; a launch beyond is refused and told "
                   "when to try again")
      ->envname("QUIRE_LAUNCH_QUEUE")
      ->type_name("N")
      ->check(CLI::Range(0u, 65536u))
      ->capture_default_str();
  verb->add_option("--connections", options.connection_count_max, "Clients at once")
      ->envname("QUIRE_CONNECTIONS")
      ->type_name("N")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  verb->add_option("--grace", options.grace_seconds,
                   "How long a program goes on whose client is gone, unless it is detached or "
                   "another client attaches; and when the server is told to end")
      ->envname("QUIRE_GRACE")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb->add_option("--keep", options.keep_seconds,
                   "How long the last words of a detached program wait for a client")
      ->envname("QUIRE_KEEP")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  state->instance.add_all(*verb, 3600.0);
  state->engine.add_models(*verb);
  state->engine.add_rest(*verb);
  state->engine.add_store(*verb);
  add_json(*verb, options.output);
  verb->footer(
      R"(One line with the address is printed when clients may come; what happens is told on standard error.
Ctrl-C or SIGTERM ends the server: no new programs, --grace for those that run, the rest is stopped; a
second one stops them at once. docs/protocol.md is what clients speak, clients/python speaks it.

Examples:
  quire serve
  quire serve build/release/inferlets --listen 127.0.0.1:0 --instances 200
  quire run --server ws://127.0.0.1:7847 text_completion -- --prompt "Once upon a time")");
  return {verb, [state, verb]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            state->options.instance = TRY(state->instance.finish(*verb));
            return Request(state->options);
          }};
}

}  // namespace quire::cli
