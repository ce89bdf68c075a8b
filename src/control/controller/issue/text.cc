// Work on text, which a helper does.
#include <string>

#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const Tokenize& body) {
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const Detokenize& body) {
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command,
                   const ApplyChatTemplate& body) {
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetVocabulary& body) {
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetTokenKinds& body) {
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const CompileGrammar& body) {
  const auto index = static_cast<std::size_t>(body.model);
  if (index < to.models.size() && to.models[index].grammars == nullptr) {
    return Error(ErrorCode::NotSupported,
                 "model \"" + to.descriptions[index].name + "\" takes no grammars");
  }
  return to.start_text_job(instance, command, body.model);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const CheckText& body) {
  return to.start_text_job(instance, command, body.model);
}

}  // namespace quire::control
