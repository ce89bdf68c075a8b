#pragma once
// The chat templates in the files of a model: their sources by name, and the special tokens that
// they use as variables. The rules are those of `transformers`.
//
// Thread   any; no state.
// Errors   InvalidArgument naming the file and the entry.
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "inference/architectures/model_files.h"
#include "inference/tokenizer/chat_template.h"

namespace quire::inference {

// Templates in files of their own replace those of tokenizer_config.json, which replace that of
// chat_template.json. A file chat_template.jinja is the one named "default".
Result<std::vector<ChatTemplateSource>> chat_template_sources(const TokenizerTexts& texts,
                                                              const Json& config);

// An object of named special tokens: bos_token and its kin, any further key that ends with
// "_token", and the keys of "extra_special_tokens". Entries of special_tokens_map.json win, but the
// file counts only if the config has no "added_tokens_decoder".
Result<Json> template_variables(const TokenizerTexts& texts, const Json& config);

}  // namespace quire::inference
