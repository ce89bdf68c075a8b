#pragma once
// The calling convention between a runtime's raw values and the functions of this folder: one
// function per WIT call, named interface_call, with the lowered types of its arguments. The table
// that the WIT generates checks each one's type, so drift fails the build.
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "application/hostcalls/guest_state.h"
#include "application/sandbox/wasm_runtime.h"

namespace quire::hostcalls {

using sandbox::CallOutcome;
using sandbox::RawValue;

struct HostCall {
  GuestState& guest;
  GuestMemory memory;
};

// A call that suspends: the value where there is one at once, empty where the guest parks.
using Suspension = std::optional<std::int32_t>;

// WASI calls return an errno, or end the guest.
enum class Errno : std::int32_t {
  Success = 0,
  BadDescriptor = 8,
  Quota = 19,
  Fault = 21,
  Invalid = 28,
  NotSupported = 58,
  SeekOnPipe = 70,
};
struct Exit {
  std::int32_t code = 0;
};

// The part that does a call's work: the device (`Cost: device` in its WIT), or any other.
enum class CallKind : std::uint8_t { Control, Device };

class ArgumentReader {
 public:
  explicit ArgumentReader(const RawValue* next) : next_(next) {}

  template <typename T>
  T read() {
    if constexpr (std::is_enum_v<T>) {
      return T{(next_++)->as<std::underlying_type_t<T>>()};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return (next_++)->as<T>();
    } else {  // GuestList
      const GuestAddress address{(next_++)->as<std::uint32_t>()};
      return T{address, (next_++)->as<std::uint32_t>()};
    }
  }

 private:
  const RawValue* next_;
};

template <typename T>
constexpr void add_letters(char*& out) {
  if constexpr (std::is_same_v<T, float>) {
    *out++ = 'f';
  } else if constexpr (std::is_same_v<T, double>) {
    *out++ = 'F';
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    *out++ = sizeof(T) == 8 ? 'I' : 'i';
  } else {
    *out++ = 'i';
    *out++ = 'i';
  }
}

template <typename Function>
struct Adapter;

template <typename R, typename... P>
struct Adapter<R (*)(HostCall&, P...)> {
  static constexpr bool kSuspends = std::is_same_v<R, Result<Suspension>>;

  // Whether the Wasm signature ("iiI>i") is that of these parameters; the result aside.
  static constexpr bool takes(std::string_view signature) {
    char letters[2 * sizeof...(P) + 1] = {};
    char* out = letters;
    (add_letters<P>(out), ...);
    return signature.substr(0, signature.find('>')) ==
           std::string_view(letters, static_cast<std::size_t>(out - letters));
  }

  template <R (*kFunction)(HostCall&, P...), CallKind kKind>
  static CallOutcome call(void* state, GuestMemory memory, RawValue* values) noexcept {
    HostCall call{*static_cast<GuestState*>(state), memory};
    ++(kKind == CallKind::Device ? call.guest.calls.device : call.guest.calls.control);
    ArgumentReader reader(values);
    std::tuple<HostCall&, P...> arguments{call, reader.template read<P>()...};
    return finish(call, std::apply(kFunction, arguments), values);
  }

 private:
  template <typename T>
  static CallOutcome finish(HostCall& call, Result<T> result, RawValue* values) {
    std::int32_t code = 0;
    if (!result.ok()) {
      call.guest.last_error = std::string(result.error().message());
      code = -static_cast<std::int32_t>(result.error().code());
    }
    if constexpr (std::is_same_v<T, Suspension>) {
      if (result.ok() && !result.value()) return CallOutcome::Suspend;
      values[0].set(result.ok() ? *result.value() : code);
    } else {
      values[0].set(result.ok() ? result.value() : static_cast<T>(code));
    }
    return CallOutcome::Return;
  }
  static CallOutcome finish(HostCall&, Errno code, RawValue* values) {
    values[0].set(static_cast<std::int32_t>(code));
    return CallOutcome::Return;
  }
  static CallOutcome finish(HostCall&, Exit end, RawValue* values) {
    values[0].set(end.code);
    return CallOutcome::End;
  }
};

// Result sizes and counts are s32; more than that fits no guest memory.
inline Result<std::int32_t> count_result(std::uint64_t count) {
  if (count > INT32_MAX) return Error(ErrorCode::TooLarge, std::to_string(count) + " elements");
  return static_cast<std::int32_t>(count);
}

// Writes what fits of `bytes` and returns how many there are.
Result<std::int32_t> give_bytes(HostCall& call, std::string_view bytes, GuestAddress buffer,
                                std::uint32_t capacity);

// The model of a handle; NotSupported when the call needs a trait that it lacks.
struct ModelView {
  control::ModelIndex index{};
  const control::ModelDescription& description;
};
ModelView model_at(const HostCall& call, std::uint8_t index);
Result<ModelView> find_model(const HostCall& call, GuestHandle model, const char* trait);
Result<ModelView> find_queue(const HostCall& call, GuestHandle queue, const char* trait);
// The adapter that the model was opened with by which a queue was made; null: none. Requires:
// find_queue() finds it.
control::ChosenAdaptersRef adapters_of_queue(const HostCall& call, GuestHandle queue);
Result<void> check_tokens(const std::vector<std::uint32_t>& tokens, const ModelView& model,
                          const char* what = "tokens");

// The handles of a list, all of one kind and model; `holes` lets 0 stand for none. TooLarge: more
// than the instance can hold, or the model's pool has.
Result<std::vector<control::ObjectId>> find_objects(const HostCall& call,
                                                    GuestList<std::int32_t> list, HandleKind kind,
                                                    const ModelView& model, const char* what,
                                                    bool holes = false);

// New handles of a kind, made in the queue and written to the guest; all of them or none.
Result<std::vector<control::ObjectId>> new_handles(HostCall& call, HandleKind kind,
                                                   GuestHandle queue, const char* trait,
                                                   std::uint32_t count, GuestAddress address);

// Checks the length of a text, request or message.
Result<void> check_text_bytes(const HostCall& call, std::uint32_t count, const char* what);

// A name that the guest gives, checked; `what` says of what kind.
Result<std::string> read_name(const HostCall& call, GuestList<std::uint8_t> name, const char* what);

// Both of one model that gives distributions.
Result<ModelView> check_output(const HostCall& call, GuestHandle queue, GuestHandle embed);
Result<std::int32_t> submit_output(HostCall& call, control::CommandBody body,
                                   std::uint64_t bytes = 0);

// A command with a future that is in no queue.
Result<std::int32_t> submit_unqueued(HostCall& call, control::CommandBody body,
                                     std::uint64_t bytes);

}  // namespace quire::hostcalls
