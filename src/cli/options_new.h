#pragma once
// The options of `quire new`. src/main/verbs/make/new_command.h does the work.
#include <string>

namespace quire::cli {

struct NewOptions {
  std::string name = {};              // The project: letters, digits, '_' and '-', a letter first.
  std::string parent = {};            // Where its folder is made; empty: the current folder.
  std::string project_template = {};  // --template; empty: a program that answers a prompt.
  std::string language = "cpp";       // --language: cpp, rust, js or ts.
  std::string sdk = {};               // --sdk or QUIRE_SDK; empty: beside this program.
};

}  // namespace quire::cli
