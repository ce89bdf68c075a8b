// models and tokenize: what is served, and its text.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "application/hostcalls/calls.h"
#include "base/guest_name.h"
#include "base/utf8.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kParseSpecial = 1;
constexpr std::uint32_t kAddBos = 2;
constexpr std::uint32_t kKeepSpecial = 1;
constexpr std::uint32_t kVocabularyCountMax = 65'536;  // Tokens of one get-vocabs.

// Every trait of interface/, and its newest version: that of its import modules.
struct TraitVersion {
  const char* name;
  std::int32_t version = 0;
};
constexpr TraitVersion kTraits[] = {{"allocate", 1},    {"forward", 1},    {"input_text", 1},
                                    {"input_image", 1}, {"tokenize", 1},   {"output_text", 1},
                                    {"adapter", 1},     {"constraint", 1}, {"states", 1}};

Result<void> check_flags(std::uint32_t flags, std::uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return Error(ErrorCode::InvalidArgument,
               "flags: " + std::to_string(flags) + " has bits beyond " + std::to_string(known));
}

Result<std::string> read_text(const HostCall& call, GuestList<std::uint8_t> list,
                              const char* what) {
  const std::uint32_t bytes_max = call.guest.identity.limits.text_bytes_max;
  if (list.count > bytes_max) {
    return Error(ErrorCode::TooLarge, std::string(what) + ": " + std::to_string(list.count) +
                                          " bytes, text_bytes_max is " + std::to_string(bytes_max));
  }
  std::string text = TRY(call.memory.read_bytes(list, what));
  const std::size_t valid = utf8_valid_bytes(text);
  if (valid != text.size()) {
    return Error(ErrorCode::InvalidArgument,
                 std::string(what) + ": no UTF-8 at byte " + std::to_string(valid));
  }
  return text;
}

// Reads the name of a model or a trait; no name is longer.
Result<std::string> read_known_name(const HostCall& call, GuestList<std::uint8_t> list) {
  if (list.count > kGuestNameBytesMax) {
    return Error(ErrorCode::TooLarge, "name: " + std::to_string(list.count) + " bytes of at most " +
                                          std::to_string(kGuestNameBytesMax));
  }
  return read_text(call, list, "name");
}

Result<std::int32_t> submit_text(HostCall& call, control::CommandBody body, std::uint64_t bytes) {
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(call.guest.submit(std::move(body), bytes).handle);
}

Result<std::int32_t> chat(HostCall& call, GuestHandle handle, GuestList<std::uint8_t> request,
                          bool tokens) {
  const ModelView model = TRY(find_model(call, handle, "tokenize"));
  if (!model.description.has_chat_template) {
    return Error(ErrorCode::NotSupported,
                 "model " + model.description.name + " has no chat template");
  }
  std::string text = TRY(read_text(call, request, "request"));
  const std::size_t bytes = text.size();
  return submit_text(call, control::ApplyChatTemplate{model.index, std::move(text), tokens}, bytes);
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += (joined.empty() ? "" : "\n") + line;
  return joined;
}

}  // namespace

Result<std::int32_t> models_available_models(HostCall& call, GuestAddress buffer,
                                             std::uint32_t capacity) {
  std::vector<std::string> names;
  for (const control::ModelDescription& model : call.guest.models()) names.push_back(model.name);
  return give_bytes(call, join_lines(names), buffer, capacity);
}

namespace {

bool has_trait(const control::ModelDescription& model, const char* trait) {
  return std::find(model.traits.begin(), model.traits.end(), trait) != model.traits.end();
}

// "NAME" of an adapter, of whichever model has one first, or "BASE:NAME".
Result<HandleTable::Entry> find_adapter(HostCall& call, const std::string& name) {
  GuestState& guest = call.guest;
  const std::vector<control::ModelDescription>& models = guest.models();
  const control::CalledAdapter called = control::called_adapter(name);
  std::string known;
  for (std::size_t index = 0; index < models.size(); ++index) {
    known += (known.empty() ? "" : ", ") + models[index].name;
    if (!has_trait(models[index], "adapter")) continue;
    const control::ModelIndex model{static_cast<std::uint32_t>(index)};
    for (const auto& each : guest.host.adapters->list(guest.identity.tenant, model)) {
      known += ", " + models[index].name + ":" + each.name;
    }
    if (called.model && models[index].name != *called.model) continue;
    Result<control::ChosenAdaptersRef> set =
        guest.host.adapters->choose(guest.identity.tenant, model, {{called.name, 1.0f}});
    if (!set.ok()) continue;
    const std::uint32_t payload = guest.named_models.add({name, std::move(set).take()});
    return HandleTable::Entry{.model = static_cast<std::uint8_t>(index), .payload = payload};
  }
  return Error(ErrorCode::NotFound,
               "no model is named \"" + printable(name) + "\"; there are: " + known);
}

}  // namespace

Result<std::int32_t> models_get_model(HostCall& call, GuestList<std::uint8_t> list) {
  const std::string name = TRY(read_known_name(call, list));
  const std::vector<control::ModelDescription>& models = call.guest.models();
  const auto found = std::find_if(models.begin(), models.end(), [&](const auto& model) {
    return name.empty() || model.name == name;
  });
  HandleTable::Entry entry;
  if (found == models.end()) {
    entry = TRY(find_adapter(call, name));
  } else {
    entry.model = static_cast<std::uint8_t>(found - models.begin());
  }
  return static_cast<std::int32_t>(TRY(call.guest.handles.add(HandleKind::Model, entry)));
}

Result<std::int32_t> models_available_traits(HostCall& call, GuestHandle handle,
                                             GuestAddress buffer, std::uint32_t capacity) {
  const ModelView model = TRY(find_model(call, handle, nullptr));
  return give_bytes(call, join_lines(model.description.traits), buffer, capacity);
}

Result<std::int32_t> models_trait_version(HostCall& call, GuestHandle handle,
                                          GuestList<std::uint8_t> list) {
  TRY(find_model(call, handle, nullptr));
  const std::string name = TRY(read_known_name(call, list));
  const auto* found = std::find_if(std::begin(kTraits), std::end(kTraits),
                                   [&](const TraitVersion& each) { return name == each.name; });
  if (found == std::end(kTraits)) {
    return Error(ErrorCode::NotFound, "no trait is named " + printable(name));
  }
  TRY(find_model(call, handle, found->name));
  return found->version;
}

Result<std::int32_t> models_model_info(HostCall& call, GuestHandle handle, GuestAddress buffer,
                                       std::uint32_t capacity) {
  const ModelView model = TRY(find_model(call, handle, nullptr));
  const control::ModelDescription& about = model.description;
  std::vector<std::uint32_t> record = {
      about.page_size,
      about.context_length,
      about.vocabulary_size,
      about.embedding_width,
      static_cast<std::uint32_t>(about.bos_id),
      static_cast<std::uint32_t>(about.eos_id),
      static_cast<std::uint32_t>(about.stop_ids.size()),
  };
  record.insert(record.end(), about.stop_ids.begin(), about.stop_ids.end());
  const std::span<std::byte> into =
      TRY(call.memory.range<std::uint32_t>(buffer, capacity, "buffer"));
  const std::size_t bytes = std::min(into.size(), record.size() * sizeof(std::uint32_t));
  if (bytes > 0) std::memcpy(into.data(), record.data(), bytes);
  return count_result(record.size());
}

Result<std::int32_t> models_model_name(HostCall& call, GuestHandle handle, GuestAddress buffer,
                                       std::uint32_t capacity) {
  const ModelView model = TRY(find_model(call, handle, nullptr));
  const std::uint32_t named = call.guest.handles.find(handle, HandleKind::Model).value().payload;
  const std::string& name = call.guest.named_models.at(named).name;
  return give_bytes(call, named == 0 ? model.description.name : name, buffer, capacity);
}

Result<std::int32_t> tokenize_tokenize(HostCall& call, GuestHandle handle,
                                       GuestList<std::uint8_t> list, std::uint32_t flags) {
  const ModelView model = TRY(find_model(call, handle, "tokenize"));
  TRY(check_flags(flags, kParseSpecial | kAddBos));
  std::string text = TRY(read_text(call, list, "text"));
  const std::size_t bytes = text.size();
  return submit_text(
      call,
      control::Tokenize{.model = model.index,
                        .text = std::move(text),
                        .parse_special = (flags & kParseSpecial) != 0,
                        .add_bos = (flags & kAddBos) != 0 && model.description.add_bos},
      bytes);
}

Result<std::int32_t> tokenize_detokenize(HostCall& call, GuestHandle handle,
                                         GuestList<std::uint32_t> list, std::uint32_t flags) {
  const ModelView model = TRY(find_model(call, handle, "tokenize"));
  TRY(check_flags(flags, kKeepSpecial));
  const std::uint32_t count_max = call.guest.identity.limits.text_bytes_max / 4;
  if (list.count > count_max) {
    return Error(ErrorCode::TooLarge, "tokens: " + std::to_string(list.count) + " of at most " +
                                          std::to_string(count_max) + " (text_bytes_max)");
  }
  std::vector<std::uint32_t> tokens = TRY(call.memory.read(list, "tokens"));
  TRY(check_tokens(tokens, model));
  const std::size_t bytes = tokens.size() * sizeof(std::uint32_t);
  return submit_text(call,
                     control::Detokenize{.model = model.index,
                                         .tokens = std::move(tokens),
                                         .keep_special = (flags & kKeepSpecial) != 0},
                     bytes);
}

namespace {

// A part of the vocabulary that one call asks for.
Result<void> check_vocabulary_range(const ModelView& model, std::uint32_t first,
                                    std::uint32_t count) {
  const std::uint32_t size = model.description.vocabulary_size;
  if (count == 0 || count > kVocabularyCountMax) {
    return Error(ErrorCode::OutOfRange, "count: " + std::to_string(count) + " tokens; 1 to " +
                                            std::to_string(kVocabularyCountMax));
  }
  if (first >= size || count > size - first) {
    return Error(ErrorCode::OutOfRange, "tokens " + std::to_string(first) + " to " +
                                            std::to_string(std::uint64_t{first} + count) +
                                            " of a vocabulary of " + std::to_string(size));
  }
  return {};
}

}  // namespace

Result<std::int32_t> tokenize_get_vocabs(HostCall& call, GuestHandle handle, std::uint32_t first,
                                         std::uint32_t count) {
  const ModelView model = TRY(find_model(call, handle, "tokenize"));
  TRY(check_vocabulary_range(model, first, count));
  return submit_text(call, control::GetVocabulary{model.index, first, count}, 0);
}

Result<std::int32_t> tokenize_get_token_kinds(HostCall& call, GuestHandle handle,
                                              std::uint32_t first, std::uint32_t count) {
  const ModelView model = TRY(find_model(call, handle, "tokenize"));
  TRY(check_vocabulary_range(model, first, count));
  return submit_text(call, control::GetTokenKinds{model.index, first, count}, 0);
}

Result<std::int32_t> tokenize_apply_chat_template(HostCall& call, GuestHandle model,
                                                  GuestList<std::uint8_t> request) {
  return chat(call, model, request, false);
}

Result<std::int32_t> tokenize_tokenize_chat(HostCall& call, GuestHandle model,
                                            GuestList<std::uint8_t> request) {
  return chat(call, model, request, true);
}

}  // namespace quire::hostcalls
