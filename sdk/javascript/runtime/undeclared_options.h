#pragma once
// The options of a script that declares none: --name VALUE and --flag as members, and `words`, the
// words of no option. All values are texts; a flag is true.
#include <string>
#include <vector>

#include "to_js.h"

namespace quire::javascript {

inline JSValue undeclared_options(JSContext* js, const std::vector<std::string>& words) {
  ObjectMaker out(js);
  std::vector<std::string> loose;
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_ended || !word.starts_with("--")) {
      loose.push_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name;
    for (std::size_t at = 2; at < equals; ++at) {
      const bool is_dash = word[at] == '-' && at + 1 < equals;
      const char each = is_dash ? word[++at] : word[at];
      name += is_dash && each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
    }
    if (equals < word.size()) {
      out.set(name.c_str(), word.substr(equals + 1));
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      out.set(name.c_str(), words[++i]);
    } else {
      out.set(name.c_str(), true);
    }
  }
  return out.set("words", loose).take();
}

}  // namespace quire::javascript
