// The verbs about the programs of a running server.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr std::uint64_t kInstanceNumberMax = (std::uint64_t{1} << 53) - 1;
constexpr std::size_t kNameDigits = 32;

std::vector<Flag> server_rows(ServerChoice& server) {
  return {{"--server", "URL", &server.url,
           "The server, as quire serve printed it: ws://HOST:PORT, or wss://HOST:PORT with TLS"},
          key_file(server.key_file)};
}

bool is_name(const std::string& word) {
  return word.size() == kNameDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::uint64_t> parse_instance(const std::string& word) {
  constexpr std::size_t kDigitsMax = 16;
  const bool is_number = !word.empty() && word.size() <= kDigitsMax &&
                         word.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t number = is_number ? std::stoull(word) : 0;
  if (number > 0 && number <= kInstanceNumberMax) return number;
  return Error(ErrorCode::InvalidArgument,
               "ID: " + in_quotes(word) +
                   " is not the number of an instance; quire ps lists them, and quire run --detach "
                   "prints one" +
                   (is_name(word) ? ". Only quire attach takes an instance's name" : ""));
}

Flag instance(std::uint64_t& number) {
  const auto read = [&number](const Words& words) -> Result<void> {
    number = TRY(parse_instance(words.back()));
    return {};
  };
  return Flag{"ID", "", Reader{.read = read}, "The number of the instance (quire ps)"}.required();
}

}  // namespace

Verb add_ps(CLI::App& app) {
  auto options = std::make_shared<PsOptions>();
  Rows rows(app, "ps", "List the programs that run on a server");
  rows.add(server_rows(options->server));
  rows.add({json(options->output)});
  return rows.verb(
      R"(A key needs the right see-tenant, and sees the instances of its tenant; with operate,
those of all. CLIENT is "attached", "detached" (none, and the program goes on alone) or
"gone" (none, and the server stops the program soon). An instance that a program or a
request launched has that for its client. With --json there is an object for each
instance.

Examples:
  quire ps
  quire ps --server wss://models.example.com:7847 --key-file alice.key
  quire ps --json | jq .instance)",
      options);
}

Verb add_attach(CLI::App& app) {
  auto options = std::make_shared<AttachOptions>();
  const auto read = [options](const Words& words) -> Result<void> {
    if (is_name(words.back())) {
      options->name = words.back();
    } else {
      options->instance = TRY(parse_instance(words.back()));
    }
    return {};
  };
  Rows rows(app, "attach", "Follow a program that runs on a server");
  rows.add(
      {Flag{"ID", "", Reader{.read = read},
            "The number of the instance (quire ps), or the name that quire run --detach --json "
            "prints"}
           .required()});
  rows.add(server_rows(options->server));
  rows.add({{"--take", "", &options->takes,
             "If another client is attached, detach that client, which learns why"},
            {"--save-files", "FOLDER", &options->save_folder,
             "Write the files that the program sends into FOLDER, over nothing that is there"},
            log_level(options->log_level, "lines of the program's log"),
            json(options->output)});
  return rows.verb(
      R"(It prints what the program sent while no client was attached, then what it sends, until
it ends. Lines of standard input reach its receive(). On a terminal Ctrl-D ends its
input; the end of a file or a pipe does not (quire send ID --end does). Ctrl-C detaches:
the program goes on, and quire abort ID stops it. The exit code is that of quire run.

Examples:
  quire attach 4151780396204927
  quire attach 4151780396204927 --take
  quire attach 4151780396204927 --json < /dev/null)",
      options);
}

Verb add_send(CLI::App& app) {
  auto options = std::make_shared<SendOptions>();
  Rows rows(app, "send", "Send to a program that runs on a server");
  rows.add({instance(options->instance),
            {"TEXT", "", &options->text,
             "A message. If nothing to send is given, or -, each line of standard input is one"},
            Flag{"--file", "FILE", &options->text_file,
                 "The text of FILE as one message, at most 1 MiB; - is standard input. The newline "
                 "that ends its last line is left out"}
                .excludes("TEXT"),
            {"--send-file", "PATH", &options->sent_files,
             "Send the file at PATH, for the program's receive_file(); may be repeated"},
            {"--end", "", &options->ends_input, "Then end the program's input"}});
  rows.add(server_rows(options->server));
  rows.add({json(options->output)});
  return rows.verb(
      R"(A message reaches the program's receive(), whether a client is attached or not. If its
inbox is full, quire waits until it receives.

Examples:
  quire send 4151780396204927 "go on"
  quire send 4151780396204927 --send-file table.csv
  quire send 4151780396204927 --file question.txt --end
  tail -f log.txt | quire send 4151780396204927)",
      [options]() -> Result<Request> {
        const bool has_other =
            !options->text_file.empty() || !options->sent_files.empty() || options->ends_input;
        options->reads_lines = options->text ? *options->text == "-" : !has_other;
        if (options->reads_lines) options->text.reset();
        return Request(*options);
      });
}

Verb add_abort(CLI::App& app) {
  struct State {
    AbortOptions options;
    Words words;
  };
  auto state = std::make_shared<State>();
  AbortOptions& options = state->options;
  Rows rows(app, "abort", "Stop programs that run on a server");
  rows.add({Flag{"ID", "", &state->words, "The numbers of instances (quire ps)"}.required()});
  rows.add(server_rows(options.server));
  rows.add({json(options.output)});
  return rows.verb(R"(Its client, and its end, report that it was aborted.

Examples:
  quire abort 4151780396204927
  quire ps --json | jq .instance | xargs quire abort)",
                   [state]() -> Result<Request> {
                     for (const std::string& each : state->words) {
                       state->options.instances.push_back(TRY(parse_instance(each)));
                     }
                     return Request(state->options);
                   });
}

}  // namespace quire::cli
