#include "main/verbs/text/grammar_flags.h"

#include "inference/api/grammar.h"
#include "main/verbs/text/prompt_input.h"

namespace quire {

Result<void> constrain(HostGenerator& generator, const cli::GrammarOptions& options) {
  using Kind = cli::GrammarOptions::Kind;
  switch (options.kind) {
    case Kind::None:
      return {};
    case Kind::Regex:
      return generator.constrain(inference::GrammarKind::Regex, options.text);
    case Kind::JsonSchema:
    case Kind::Lark:
      break;
  }
  const std::string source = TRY(read_prompt({.text = std::nullopt, .file = options.text}));
  const bool is_schema = options.kind == Kind::JsonSchema;
  Result<void> constrained = generator.constrain(
      is_schema ? inference::GrammarKind::JsonSchema : inference::GrammarKind::Lark, source);
  if (constrained.ok()) return {};
  return std::move(constrained).take_error().while_(options.text);
}

}  // namespace quire
