#pragma once
// AuditedControl stands between the application and the control layer, in both directions, and
// notes what passes. It changes nothing.
//
// It looks for wrong answers: one without a question, a second one, or one after its future was
// dropped or its instance has ended. It also looks for an instance that starts or ends twice, and
// in the end for a command without its answer.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "control/api/control_port.h"
#include "simulation/findings.h"
#include "simulation/trace.h"

namespace quire::simulation {

class AuditedControl final : public control::ControlPort, public control::AnswerSink {
 public:
  AuditedControl(control::AnswerSink& answers, Trace& trace, Findings& findings)
      : answers_(answers), trace_(trace), findings_(findings) {}
  void set_control(control::ControlPort& inner) { inner_ = &inner; }

  const std::vector<control::ModelDescription>& models() const override { return inner_->models(); }
  void start_instance(control::InstanceId instance, control::TenantId tenant,
                      const control::InstanceLimits& limits) override;
  void set_tenant(control::TenantId tenant, const control::TenantOptions& options) override {
    inner_->set_tenant(tenant, options);
  }
  void set_limits(control::InstanceId instance, const control::InstanceLimits& limits) override;
  void end_instance(control::InstanceId instance) override;
  void submit(control::Command command) override;
  bool poll() override { return inner_->poll(); }
  bool dispatch() override { return inner_->dispatch(); }
  std::optional<std::uint64_t> next_dispatch_in_ns() const override {
    return inner_->next_dispatch_in_ns();
  }
  bool idle() const override { return inner_->idle(); }
  control::ControlStatistics statistics() const override { return inner_->statistics(); }
  control::ControlHistograms histograms() const override { return inner_->histograms(); }
  control::InstanceStatistics statistics(control::InstanceId instance) const override {
    return inner_->statistics(instance);
  }
  std::optional<std::vector<control::InstanceMiss>> misses(
      control::InstanceId instance) const override {
    return inner_->misses(instance);
  }
  control::PendingCommands pending(control::InstanceId instance) const override {
    return inner_->pending(instance);
  }

  void answer(control::Answer answer) override;
  void lost(control::InstanceId instance, const Error& error) override;

  const std::set<control::InstanceId>& live() const { return live_; }
  // Tokens that were metered of each that has ended.
  const std::map<control::InstanceId, std::uint64_t>& spent() const { return spent_; }
  // No instance is left.
  void check_over() const;

 private:
  using Question = std::pair<control::InstanceId, control::FutureId>;
  std::string name_of(const Question& question) const;

  control::ControlPort* inner_ = nullptr;
  control::AnswerSink& answers_;
  Trace& trace_;
  Findings& findings_;
  std::set<control::InstanceId> live_;
  std::set<control::InstanceId> ended_;
  std::map<control::InstanceId, std::uint64_t> spent_;
  std::map<Question, std::size_t> open_;  // Which command it is.
  std::set<Question> dropped_;
};

}  // namespace quire::simulation
