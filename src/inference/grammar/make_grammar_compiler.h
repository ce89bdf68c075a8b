#pragma once
// GrammarCompiler over engines/, which runs llguidance.
//
// Thread   any.
// Errors   A build without engines/ makes a compiler whose every compile is NotSupported.
#include <memory>
#include <vector>

#include "inference/api/grammar.h"
#include "inference/api/text_codec.h"

namespace quire::inference {

// `codec` outlives the compiler, its grammars and their matchers. `stop_ids` end a text; a grammar
// allows them where it may end, and no other special token.
std::unique_ptr<GrammarCompiler> make_grammar_compiler(const TextCodec& codec,
                                                       std::vector<TokenId> stop_ids,
                                                       GrammarLimits limits = {});

}  // namespace quire::inference
