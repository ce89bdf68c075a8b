#include "application/sandbox/fake_runtime.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::sandbox {
namespace {

constexpr std::uint64_t kFakeMemoryBytes = 1u << 16;
constexpr std::size_t kArgumentCountMax = 16;

class FakeProgram final : public Program {
 public:
  FakeProgram(FakeModule module, Effort effort, std::uint64_t code_bytes)
      : module_(std::move(module)), effort_(effort), code_bytes_(code_bytes) {}
  Effort effort() const override { return effort_; }
  std::uint64_t code_bytes() const override { return code_bytes_; }
  std::uint64_t first_memory_bytes() const override { return module_.memory_bytes_min; }
  const FakeModule& module() const { return module_; }

 private:
  FakeModule module_;
  const Effort effort_;
  const std::uint64_t code_bytes_;
};

class FakeInstance final : public Instance {
 public:
  FakeInstance(std::unique_ptr<FakeGuest> guest, std::span<const HostFunction> functions,
               void* host_state, std::uint64_t first_memory_bytes, std::uint64_t memory_bytes_max)
      : host_(functions, host_state, kFakeMemoryBytes), guest_(std::move(guest)) {
    host_.grow(first_memory_bytes);
    host_.set_memory_max(memory_bytes_max);
  }

  RunState resume(std::uint32_t) override {
    QUIRE_CHECK(!ended_ && (!waiting_ || host_.wait_result), "resumed only when it can go on");
    waiting_ = false;
    FakeAction action = guest_->step(host_);
    host_.wait_result.reset();
    switch (action.kind) {
      case FakeAction::Kind::Wait:
        waiting_ = true;
        return RunState::Waiting;
      case FakeAction::Kind::Yield:
        return RunState::Cut;
      case FakeAction::Kind::Finish:
        break;
      case FakeAction::Kind::Trap:
        ended_ = true;
        trap_message_ = std::move(action.message);
        return RunState::Trapped;
    }
    ended_ = true;
    exit_code_ = action.exit_code;
    return RunState::Finished;
  }

  void finish_wait(std::int32_t result) override {
    QUIRE_CHECK(waiting_ && !host_.wait_result, "the guest waits for one result");
    host_.wait_result = result;
  }
  std::int32_t exit_code() const override { return exit_code_; }
  const std::string& trap_message() const override { return trap_message_; }
  std::uint64_t memory_bytes() const override { return host_.memory_bytes(); }
  void set_memory_max(std::uint64_t bytes) override { host_.set_memory_max(bytes); }

 private:
  FakeHost host_;
  std::unique_ptr<FakeGuest> guest_;
  bool waiting_ = false;
  bool ended_ = false;
  std::int32_t exit_code_ = 0;
  std::string trap_message_;
};

}  // namespace

FakeHost::Outcome FakeHost::call(const HostFunction& function,
                                 std::span<const std::int64_t> arguments) {
  const std::string_view signature = function.signature;
  const std::string_view parameters = signature.substr(0, signature.find('>'));
  QUIRE_CHECK(parameters.size() == arguments.size() && arguments.size() <= kArgumentCountMax,
              "as many arguments as the signature has letters");
  RawValue values[kArgumentCountMax + 1] = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) values[i].set(arguments[i]);
  const GuestMemory memory(memory_.data(), memory_.size());
  const CallOutcome outcome = function.call(host_state_, memory, values);
  const bool wide = signature.back() == 'I';
  return {outcome, wide ? values[0].as<std::int64_t>() : values[0].as<std::int32_t>()};
}

FakeHost::Outcome FakeHost::call(std::string_view interface, std::string_view name,
                                 std::initializer_list<std::int64_t> arguments) {
  const std::string module = interface == "wasi" ? "wasi_snapshot_preview1"
                                                 : "quire:core/" + std::string(interface) + "@1";
  const auto found = std::find_if(functions_.begin(), functions_.end(), [&](const auto& each) {
    return module == each.module && name == each.name;
  });
  QUIRE_CHECK(found != functions_.end(), "an import that exists");
  return call(*found, std::span(arguments.begin(), arguments.size()));
}

std::int64_t FakeHost::put(std::uint32_t address, std::string_view bytes) {
  QUIRE_CHECK(address + bytes.size() <= memory_.size(), "inside the fake memory");
  bytes.copy(reinterpret_cast<char*>(memory_.data()) + address, bytes.size());
  return address;
}

std::string FakeHost::get(std::uint32_t address, std::uint32_t bytes) const {
  QUIRE_CHECK(std::uint64_t{address} + bytes <= memory_.size(), "inside the fake memory");
  return std::string(reinterpret_cast<const char*>(memory_.data()) + address, bytes);
}

void FakeRuntime::add_program(std::string name, std::function<std::unique_ptr<FakeGuest>()> make,
                              std::uint64_t memory_bytes_min) {
  programs_[std::move(name)] = {std::move(make), memory_bytes_min};
}

Result<std::shared_ptr<const Program>> FakeRuntime::compile(std::span<const std::byte> wasm,
                                                            Effort effort, Origin) {
  if (before_compiling) before_compiling();
  ++(effort == Effort::Quick ? quick_count : best_count);
  const std::string name(reinterpret_cast<const char*>(wasm.data()), wasm.size());
  const auto found = programs_.find(name);
  if (found == programs_.end()) {
    return Error(ErrorCode::InvalidArgument, "no fake program is named so");
  }
  return std::shared_ptr<const Program>(std::make_shared<const FakeProgram>(
      found->second, has_quick ? effort : Effort::Best, code_bytes));
}

Result<std::unique_ptr<Instance>> FakeRuntime::instantiate(std::shared_ptr<const Program> program,
                                                           void* host_state,
                                                           const InstanceOptions& options) {
  const auto* own = dynamic_cast<const FakeProgram*>(program.get());
  QUIRE_CHECK(own != nullptr, "compiled by this runtime");
  const FakeModule& module = own->module();
  TRY(check_first_memory(module.memory_bytes_min, options.memory_bytes_max));
  return std::unique_ptr<Instance>(std::make_unique<FakeInstance>(
      module.make(), functions_, host_state, module.memory_bytes_min, options.memory_bytes_max));
}

}  // namespace quire::sandbox
