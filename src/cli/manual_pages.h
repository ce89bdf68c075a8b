#pragma once
// The manual pages, from the rows that make --help: quire.1, and one for each verb, as quire-model-add.1.
//
// Thread   any; plain functions.
#include <string>
#include <vector>

namespace quire::cli {

struct ManualPage {
  std::string file;  // "quire-run.1".
  std::string text;  // In the language of man(7).
};
std::vector<ManualPage> manual_pages();

}  // namespace quire::cli
