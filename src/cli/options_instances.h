#pragma once
// The options of the verbs about the programs of a running server: `quire ps`, `attach`, `send` and
// `abort`. src/main/verbs/instances does the work.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace quire::cli {

struct ServerChoice {
  std::string url = "ws://127.0.0.1:7847";
  std::string key_file = {};  // Empty: $QUIRE_KEY, if any.
};

struct PsOptions {
  ServerChoice server;
  OutputStyle output = OutputStyle::Text;
};

struct AttachOptions {
  ServerChoice server;
  std::uint64_t instance = 0;  // 0: by `name`.
  std::string name;
  bool takes = false;       // From a client that is attached.
  std::string save_folder;  // Where files of the program go; empty: nowhere.
  LogLevel log_level = LogLevel::Debug;
  OutputStyle output = OutputStyle::Text;
};

struct SendOptions {
  ServerChoice server;
  std::uint64_t instance = 0;
  std::optional<std::string> text;      // A message.
  bool reads_lines = false;             // A message for each line of standard input.
  std::string text_file;                // Its text is a message.
  std::vector<std::string> sent_files;  // Paths, for the program's receive_file().
  bool ends_input = false;              // After all of it.
  OutputStyle output = OutputStyle::Text;
};

struct AbortOptions {
  ServerChoice server;
  std::vector<std::uint64_t> instances;
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
