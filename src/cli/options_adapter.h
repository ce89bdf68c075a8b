#pragma once
// The words of `quire adapter`. src/main/verbs/models/adapter_command.h does the work.
#include <cstdint>
#include <string>

#include "cli/options.h"

namespace quire::cli {

enum class AdapterAction : std::uint8_t { List, Show, Add, Remove };
struct AdapterOptions {
  AdapterAction action = AdapterAction::List;
  std::string name;        // Add, Remove: [MODEL:]NAME.
  std::string path;        // List: a folder, or empty; Show: a name or a path; Add: what to add.
  bool on_server = false;  // Add: the path lies in the server's folder of adapters.
  std::string model;       // List, Show: for which files are read; empty: the default model.
  bool has_server = false;
  std::string server = "ws://127.0.0.1:7847";
  std::string key_file = {};
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
