#pragma once
// complete() finds what a word of a command line may become, from the rows that make --help.
//
// Thread   any; plain functions.
#include <string>
#include <vector>

namespace quire::cli {

struct CompletedWord {
  std::string word;
  std::string help;  // A line; may be empty.
};

// The words that are known here. The caller adds files, folders, models and programs as the flags
// of this struct ask for them.
struct Completion {
  std::vector<CompletedWord> words;
  std::string
      begin;  // Of the value that is completed; the words below begin with it, after `before`.
  std::string before;  // "--model=", where flag and value are one word.
  bool takes_files = false;
  bool takes_folders = false;
  bool takes_models = false;     // Names of models.
  bool takes_programs = false;   // Names of programs that come with quire.
  bool takes_instances = false;  // Numbers of instances of the server that the words name.
  std::string server;            // The values of --server and --key-file; empty: not given.
  std::string key_file;
};

// `words` without "quire"; the last one is completed, and may be empty.
Completion complete(const std::vector<std::string>& words);

}  // namespace quire::cli
