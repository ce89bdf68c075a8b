// input and forward: one pass of the model by hand.
#include <algorithm>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/forward_pass.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kBeyondContext = 1;
constexpr std::uint32_t kMaskBytesMax = 4u << 20;  // Each is read and looked at in the call.

// One byte for each element, 0 or 1.
Result<std::vector<std::uint8_t>> read_flags(const HostCall& call, GuestList<std::uint8_t> list,
                                             std::uint64_t wanted, const char* what) {
  if (list.count != wanted) {
    return Error(ErrorCode::InvalidArgument, std::string(what) + ": " + std::to_string(list.count) +
                                                 " bytes, " + std::to_string(wanted) + " wanted");
  }
  std::vector<std::uint8_t> flags = TRY(call.memory.read(list, what));
  const auto other =
      std::find_if(flags.begin(), flags.end(), [](std::uint8_t flag) { return flag > 1; });
  if (other != flags.end()) {
    return Error(ErrorCode::InvalidArgument, std::string(what) + "[" +
                                                 std::to_string(other - flags.begin()) + "] is " +
                                                 std::to_string(*other) + ", not 0 or 1");
  }
  return flags;
}

}  // namespace

Result<std::int32_t> input_embed_txt(HostCall& call, GuestHandle queue,
                                     GuestList<std::int32_t> embeds,
                                     GuestList<std::uint32_t> tokens,
                                     GuestList<std::uint32_t> positions) {
  const ModelView model = TRY(find_queue(call, queue, "input_text"));
  if (embeds.count != tokens.count || embeds.count != positions.count) {
    return Error(ErrorCode::InvalidArgument, "embed_txt: " + std::to_string(embeds.count) +
                                                 " embeds, " + std::to_string(tokens.count) +
                                                 " tokens, " + std::to_string(positions.count) +
                                                 " positions");
  }
  const std::uint64_t bytes = std::uint64_t{12} * tokens.count;
  TRY(call.guest.check_pending(bytes));
  control::EmbedText body;
  body.queue = object(queue);
  body.embeds = TRY(find_objects(call, embeds, HandleKind::Embed, model, "embeds"));
  body.tokens = TRY(call.memory.read(tokens, "tokens"));
  TRY(check_tokens(body.tokens, model));
  body.positions = TRY(call.memory.read(positions, "positions"));
  if (tokens.count > 0) call.guest.send(std::move(body), bytes);
  return 0;
}

Result<std::int32_t> submit_pass(HostCall& call, GuestHandle queue, const PassLists& lists,
                                 control::ChosenAdaptersRef adapters) {
  const auto& [ikv, iemb, okv, oemb, mask, flags] = lists;
  const ModelView model = TRY(find_queue(call, queue, "forward"));
  if ((flags & ~kBeyondContext) != 0) {
    return Error(ErrorCode::InvalidArgument, "flags: " + std::to_string(flags) + " beyond 1");
  }
  if (iemb.count == 0 || oemb.count > iemb.count) {
    return Error(ErrorCode::InvalidArgument, "forward: outputs of the last " +
                                                 std::to_string(oemb.count) + " of " +
                                                 std::to_string(iemb.count) + " tokens");
  }
  if (mask.count > kMaskBytesMax) {
    return Error(ErrorCode::TooLarge, "mask: " + std::to_string(mask.count) + " bytes of at most " +
                                          std::to_string(kMaskBytesMax) + " a call");
  }
  const std::uint64_t bytes =
      std::uint64_t{4} * (std::uint64_t{ikv.count} + iemb.count + okv.count + oemb.count) +
      mask.count;
  TRY(call.guest.check_pending(bytes));
  control::Forward body;
  body.queue = object(queue);
  body.beyond_context = (flags & kBeyondContext) != 0;
  body.adapters = adapters == nullptr ? adapters_of_queue(call, queue) : std::move(adapters);
  body.input_pages = TRY(find_objects(call, ikv, HandleKind::Page, model, "ikv", true));
  body.input_embeds = TRY(find_objects(call, iemb, HandleKind::Embed, model, "iemb"));
  body.output_pages = TRY(find_objects(call, okv, HandleKind::Page, model, "okv"));
  body.output_embeds = TRY(find_objects(call, oemb, HandleKind::Embed, model, "oemb"));
  if (mask.count > 0) {
    // Each factor is below 2^32 / 4, so this stays below 2^64 for any page size.
    const std::uint64_t slots =
        (std::uint64_t{ikv.count} + okv.count) * model.description.page_size;
    body.mask =
        TRY(read_flags(call, mask, std::min(slots, UINT64_MAX / iemb.count) * iemb.count, "mask"));
  }
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(call.guest.submit(std::move(body), bytes).handle);
}

Result<std::int32_t> forward_forward(HostCall& call, GuestHandle queue, GuestList<std::int32_t> ikv,
                                     GuestList<std::int32_t> iemb, GuestList<std::int32_t> okv,
                                     GuestList<std::int32_t> oemb, GuestList<std::uint8_t> mask,
                                     std::uint32_t flags) {
  return submit_pass(call, queue, {ikv, iemb, okv, oemb, mask, flags}, nullptr);
}

Result<std::int32_t> forward_mask_kvpage(HostCall& call, GuestHandle queue, GuestHandle page,
                                         GuestList<std::uint8_t> mask) {
  const ModelView model = TRY(find_queue(call, queue, "forward"));
  const HandleTable::Entry entry = TRY(call.guest.handles.find(page, HandleKind::Page));
  if (entry.model != static_cast<std::uint32_t>(model.index)) {
    return Error(ErrorCode::InvalidArgument, "page belongs to another model than the queue");
  }
  control::MaskPage body;
  body.queue = object(queue);
  body.page = object(page);
  body.visible = TRY(read_flags(call, mask, model.description.page_size, "mask"));
  TRY(call.guest.check_pending(mask.count));
  call.guest.send(std::move(body), mask.count);
  return 0;
}

}  // namespace quire::hostcalls
