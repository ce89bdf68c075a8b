// constraint: grammars that say which tokens may come, and places in them.
#include <algorithm>
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "base/utf8.h"

namespace quire::hostcalls {
namespace {

constexpr const char* kConstraintTrait = "constraint";
constexpr std::uint32_t kGrammarKindCount = 3;
constexpr std::uint32_t kSourceBytesMax = 256u << 10;
constexpr std::uint32_t kAcceptCountMax = 65'536;  // Tokens of one accept-tokens.
constexpr std::uint32_t kForcedCountMax = 4096;
constexpr std::uint32_t kTextBytesMax = 1u << 20;  // Of fits.

Result<std::string> read_source(const HostCall& call, GuestList<std::uint8_t> list) {
  if (list.count > kSourceBytesMax) {
    return Error(ErrorCode::TooLarge, "source: " + std::to_string(list.count) +
                                          " bytes; a grammar has at most " +
                                          std::to_string(kSourceBytesMax));
  }
  std::string source = TRY(call.memory.read_bytes(list, "source"));
  const std::size_t valid = utf8_valid_bytes(source);
  if (valid == source.size()) return source;
  return Error(ErrorCode::InvalidArgument,
               "source: the bytes from " + std::to_string(valid) + " on are not UTF-8");
}

}  // namespace

Result<std::int32_t> constraint_compile_grammar(HostCall& call, GuestHandle handle,
                                                std::uint32_t kind, GuestList<std::uint8_t> list) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_model(call, handle, kConstraintTrait));
  if (kind >= kGrammarKindCount) {
    return Error(ErrorCode::InvalidArgument,
                 "kind: " + std::to_string(kind) +
                     " is none of 0 (JSON Schema), 1 (regular expression) and 2 (Lark)");
  }
  std::string source = TRY(read_source(call, list));
  const std::uint64_t bytes = source.size();
  TRY(guest.draws.check_grammar_room());
  TRY(guest.check_pending(bytes));
  TRY(guest.check_future_room());
  const GuestHandle grammar =
      TRY(guest.draws.reserve_grammar(static_cast<std::uint8_t>(model.index)));
  FutureRecord& future =
      guest.submit(control::CompileGrammar{.model = model.index,
                                           .kind = static_cast<inference::GrammarKind>(kind),
                                           .source = std::move(source)},
                   bytes);
  future.grammar = grammar;
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> constraint_fits(HostCall& call, GuestHandle handle,
                                     GuestList<std::uint8_t> list) {
  GuestState& guest = call.guest;
  const HandleTable::Entry entry = TRY(guest.handles.find(handle, HandleKind::Grammar));
  if (list.count > kTextBytesMax) {
    return Error(ErrorCode::TooLarge, "text: " + std::to_string(list.count) + " bytes; at most " +
                                          std::to_string(kTextBytesMax) + " can be asked about");
  }
  std::string text = TRY(call.memory.read_bytes(list, "text"));
  const std::uint64_t bytes = text.size();
  return submit_unqueued(call,
                         control::CheckText{.model = control::ModelIndex{entry.model},
                                            .grammar = guest.draws.grammar(handle),
                                            .text = std::move(text)},
                         bytes);
}

Result<std::int32_t> constraint_create_matcher(HostCall& call, GuestHandle handle) {
  GuestState& guest = call.guest;
  const HandleTable::Entry entry = TRY(guest.handles.find(handle, HandleKind::Grammar));
  TRY(guest.check_pending(0));
  const GuestHandle matcher = TRY(guest.draws.add_matcher(entry.model));
  guest.send(control::CreateMatcher{.matcher = object(matcher),
                                    .model = control::ModelIndex{entry.model},
                                    .grammar = guest.draws.grammar(handle)});
  return static_cast<std::int32_t>(matcher);
}

Result<std::int32_t> constraint_fork_matcher(HostCall& call, GuestHandle handle) {
  GuestState& guest = call.guest;
  const HandleTable::Entry entry = TRY(guest.draws.find_matcher(handle));
  TRY(guest.check_pending(0));
  const GuestHandle child = TRY(guest.draws.add_matcher(entry.model));
  guest.send(control::ForkMatcher{.matcher = object(handle), .child = object(child)});
  return static_cast<std::int32_t>(child);
}

Result<std::int32_t> constraint_token_mask(HostCall& call, GuestHandle handle) {
  TRY(call.guest.draws.find_matcher(handle));
  return submit_unqueued(call, control::GetTokenMask{object(handle)}, 0);
}

Result<std::int32_t> constraint_accept_tokens(HostCall& call, GuestHandle handle,
                                              GuestList<std::uint32_t> list) {
  const HandleTable::Entry entry = TRY(call.guest.draws.find_matcher(handle));
  if (list.count > kAcceptCountMax) {
    return Error(ErrorCode::TooLarge, "tokens: " + std::to_string(list.count) +
                                          " in one call; at most " +
                                          std::to_string(kAcceptCountMax) + " are allowed");
  }
  std::vector<std::uint32_t> tokens = TRY(call.memory.read(list, "tokens"));
  TRY(check_tokens(tokens, model_at(call, entry.model)));
  const std::uint64_t bytes = tokens.size() * sizeof(std::uint32_t);
  return submit_unqueued(call, control::AcceptTokens{object(handle), std::move(tokens)}, bytes);
}

Result<std::int32_t> constraint_roll_back(HostCall& call, GuestHandle handle, std::uint32_t count) {
  TRY(call.guest.draws.find_matcher(handle));
  return submit_unqueued(call, control::RollBackMatcher{object(handle), count}, 0);
}

Result<std::int32_t> constraint_forced_tokens(HostCall& call, GuestHandle handle,
                                              std::uint32_t count_max) {
  TRY(call.guest.draws.find_matcher(handle));
  const std::uint32_t most = std::min(count_max, kForcedCountMax);
  return submit_unqueued(call, control::GetForcedTokens{object(handle), most}, 0);
}

}  // namespace quire::hostcalls
