#include "main/verbs/shared/parsed_answer.h"

#include <cstdio>

#include "main/verbs/shared/output.h"

namespace quire {

int print_answer(const cli::Parsed& parsed, bool has_no_words) {
  if (has_no_words) {
    std::fputs(parsed.text.c_str(), stderr);
  } else if (parsed.exit_code == cli::ExitCode::Ok) {
    print(parsed.text);
  } else {
    print_error(parsed.text);
  }
  return cli::number(parsed.exit_code);
}

}  // namespace quire
