#include "control/api/command.h"
#include "control/api/answer.h"

namespace quire::control {

CommandBody::CommandBody() = default;
CommandBody::CommandBody(const CommandBody&) = default;
CommandBody::CommandBody(CommandBody&&) noexcept = default;
CommandBody& CommandBody::operator=(const CommandBody&) = default;
CommandBody& CommandBody::operator=(CommandBody&&) noexcept = default;
CommandBody::~CommandBody() = default;

AnswerBody::AnswerBody() = default;
AnswerBody::AnswerBody(const AnswerBody&) = default;
AnswerBody::AnswerBody(AnswerBody&&) noexcept = default;
AnswerBody& AnswerBody::operator=(const AnswerBody&) = default;
AnswerBody& AnswerBody::operator=(AnswerBody&&) noexcept = default;
AnswerBody::~AnswerBody() = default;

}  // namespace quire::control
