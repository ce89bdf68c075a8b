#include "simulation/audited_control.h"

namespace quire::simulation {
std::string AuditedControl::name_of(const Question& question) const {
  return "future " + std::to_string(static_cast<std::uint32_t>(question.second)) + " of instance " +
         std::to_string(number(question.first));
}

void AuditedControl::start_instance(control::InstanceId instance, control::TenantId tenant,
                                    const control::InstanceLimits& limits) {
  trace_.note({"control", number(instance)}, "start", static_cast<std::int64_t>(tenant));
  if (!live_.insert(instance).second || ended_.contains(instance)) {
    findings_.add("instance " + std::to_string(number(instance)) + " started twice");
  }
  inner_->start_instance(instance, tenant, limits);
}

void AuditedControl::set_limits(control::InstanceId instance,
                                const control::InstanceLimits& limits) {
  trace_.note({"control", number(instance)}, "limits", limits.page_count_max);
  inner_->set_limits(instance, limits);
}

void AuditedControl::end_instance(control::InstanceId instance) {
  trace_.note({"control", number(instance)}, "end", 0);
  if (live_.erase(instance) == 0) {
    findings_.add("instance " + std::to_string(number(instance)) + " ended and did not live");
  }
  ended_.insert(instance);
  spent_[instance] = inner_->statistics(instance).metered_token_count;
  std::erase_if(open_, [&](const auto& each) { return each.first.first == instance; });
  inner_->end_instance(instance);
}

void AuditedControl::submit(control::Command command) {
  const Question question{command.instance, command.future};
  trace_.note({"control", number(command.instance)}, "submit",
              static_cast<std::int64_t>(command.body.index()));
  if (!live_.contains(command.instance)) {
    findings_.add("a command of instance " + std::to_string(number(command.instance)) +
                  ", which does not live");
  }
  if (const auto* drop = std::get_if<control::DropFuture>(&command.body)) {
    open_.erase({command.instance, drop->dropped});
    dropped_.insert({command.instance, drop->dropped});
  }
  if (command.future != control::kNoFuture &&
      !open_.emplace(question, command.body.index()).second) {
    findings_.add(name_of(question) + " asked twice");
  }
  inner_->submit(std::move(command));
}

void AuditedControl::answer(control::Answer answer) {
  const Question question{answer.instance, answer.future};
  trace_.note({"control", number(answer.instance)}, "answer",
              answer.body.ok() ? static_cast<std::int64_t>(answer.body.value().index())
                               : -static_cast<std::int64_t>(answer.body.error().code()));
  if (open_.erase(question) == 0) {
    findings_.add("an answer to " + name_of(question) +
                  (ended_.contains(answer.instance) ? ", which has ended"
                   : dropped_.contains(question)    ? ", which was dropped"
                                                    : ", which asked nothing, or has it already"));
  }
  answers_.answer(std::move(answer));
}

void AuditedControl::lost(control::InstanceId instance, const Error& error) {
  trace_.note({"control", number(instance)}, "lost", static_cast<std::int64_t>(error.code()));
  answers_.lost(instance, error);
}

void AuditedControl::check_over() const {
  for (const control::InstanceId instance : live_) {
    findings_.add("instance " + std::to_string(number(instance)) + " was never ended");
  }
  for (const auto& [question, command] : open_) {
    findings_.add(name_of(question) + " has no answer (command " + std::to_string(command) + ")");
  }
}

}  // namespace quire::simulation
