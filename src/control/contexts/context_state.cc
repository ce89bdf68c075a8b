#include "control/contexts/context_state.h"

namespace quire::control {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::uint8_t kBeyondContext = 1, kUnnamedStart = 2;

}  // namespace

std::vector<std::byte> encode_context_state(const Context& context) {
  std::vector<std::uint8_t> bytes{
      kVersion,
      static_cast<std::uint8_t>((context.wishes().is_beyond_context ? kBeyondContext : 0) |
                                (context.working().has_unnamed_start() ? kUnnamedStart : 0)),
      static_cast<std::uint8_t>(context.wishes().hint)};
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::uint8_t>(context.wishes().hint_seconds >> shift));
  }
  context.view().serialise(bytes);
  const auto all = std::as_bytes(std::span(bytes));
  return {all.begin(), all.end()};
}

Result<SavedContextState> decode_context_state(std::span<const std::byte> bytes,
                                               std::uint32_t length) {
  const auto at = [&](std::size_t index) { return static_cast<std::uint8_t>(bytes[index]); };
  if (bytes.size() < kHeaderBytes || at(0) != kVersion) {
    return Error(ErrorCode::Corrupted, "the snapshot's context state is of no known version");
  }
  const std::uint8_t flags = at(1);
  const std::uint8_t hint = at(2);
  if ((flags & ~(kBeyondContext | kUnnamedStart)) != 0 ||
      hint > static_cast<std::uint8_t>(ContextHintKind::SharedPrefix)) {
    return Error(ErrorCode::Corrupted, "the snapshot's context state has unknown flags");
  }
  std::vector<std::uint8_t> rest;
  for (std::size_t index = kHeaderBytes; index < bytes.size(); ++index) rest.push_back(at(index));
  std::optional<SlotView> view = SlotView::deserialise(rest, length);
  if (!view) {
    return Error(ErrorCode::Corrupted, "the snapshot's dropped ranges contradict themselves");
  }
  SavedContextState state{
      .view = *std::move(view),
      .wishes = {.hint = ContextHintKind{hint}, .is_beyond_context = (flags & kBeyondContext) != 0},
      .has_unnamed_start = (flags & kUnnamedStart) != 0};
  for (std::size_t index = 0; index < 4; ++index) {
    state.wishes.hint_seconds |= std::uint32_t{at(3 + index)} << (8 * index);
  }
  return state;
}

}  // namespace quire::control
