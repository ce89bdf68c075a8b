#pragma once
// Command: what a guest wants. One of the four nouns; values only. The structs of the commands are
// in page_commands.h, context_commands.h and text_commands.h, and command_kinds.inc has a row for
// each.
//
// Arguments were checked by the host call: sizes of lists, token ids below the vocabulary, handles
// of the right kind, numbers finite. The controller resolves ObjectIds, and answers NotFound for
// one that no longer exists. Commands of one queue take effect in the order they were submitted.
// A command with a future is answered exactly once, unless its instance ends first.
#include <variant>

#include "control/api/context_commands.h"
#include "control/api/page_commands.h"
#include "control/api/text_commands.h"
#include "control/api/types.h"

namespace quire::control {

// clang-format off: lines of preprocessor in a list.
// The answer will not be taken. Work not yet placed in a batch is taken back if it leaves no
// trace; anything else finishes unseen.
struct DropFuture { FutureId dropped{}; };

template <typename, typename... Commands>
struct VariantOf { using type = std::variant<Commands...>; };
using CommandVariant = VariantOf<void
#define QUIRE_COMMAND(name, steps, wanted) , name
#include "control/api/command_kinds.inc"
                                 >::type;

// Copied, moved and destroyed in command.cc. Otherwise the code for sixty alternatives takes the
// compiler two seconds in each file that includes this one.
struct CommandBody : CommandVariant {
  using CommandVariant::CommandVariant;
  CommandBody();
  CommandBody(const CommandBody&);
  CommandBody(CommandBody&&) noexcept;
  CommandBody& operator=(const CommandBody&);
  CommandBody& operator=(CommandBody&&) noexcept;
  ~CommandBody();
};

struct Command {
  InstanceId instance{};
  FutureId future = kNoFuture;                    // kNoFuture: the answer is not waited for.
  CommandBody body;
  std::uint32_t argument_bytes = 0;         // As the sender counts them: ControlPort::pending().
};
// clang-format on

}  // namespace quire::control
