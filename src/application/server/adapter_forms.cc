#include "application/server/adapter_forms.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "application/server/error_forms.h"
#include "base/json.h"
#include "base/utf8.h"

namespace quire::server {
namespace {

// Members that vLLM has and that change nothing here.
constexpr std::array<std::string_view, 1> kPassedOver = {"lora_int_id"};

std::uint32_t status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::PermissionDenied:
      return 403;
    case ErrorCode::TooLarge:
      return 413;
    case ErrorCode::QuotaExceeded:
      return 429;
    case ErrorCode::Unavailable:
      return 503;
    case ErrorCode::Io:
    case ErrorCode::Internal:
      return 500;
    default:
      return 400;
  }
}

Result<std::string> text_member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
    return Error(ErrorCode::InvalidArgument,
                 std::string(key) + ": a text that is not empty was expected");
  }
  return found->get<std::string>();
}

// Each member of the body that asks for something else is refused by its name.
Result<Json> read_form(const std::string& body, std::span<const char* const> keys) {
  Json json = TRY(parse_json(body, "the body"));
  if (!json.is_object()) {
    return Error(ErrorCode::InvalidArgument, "the body: a JSON object was expected");
  }
  for (const auto& [name, value] : json.items()) {
    const bool is_known = std::ranges::find(keys, name) != keys.end() ||
                          std::ranges::find(kPassedOver, name) != kPassedOver.end();
    const bool is_off = value.is_null() || (value.is_boolean() && !value.get<bool>());
    if (!is_known && !is_off) {
      return Error(ErrorCode::NotSupported,
                   in_quotes(name) + " is not supported" +
                       (name == "load_inplace" ? ": unload the adapter first" : ""));
    }
  }
  return json;
}

HttpAnswer success(const std::string& name, const char* how) {
  return {.status = 200,
          .body = "Success: LoRA adapter '" + name + "' " + how + " successfully.",
          .content_type = "text/plain; charset=utf-8"};
}

}  // namespace

void AdapterForms::begin(Peer& peer, HttpRequest& request, std::uint64_t bytes) {
  Form& form = forms_[peer.connection->id];
  form = {*request.form, std::move(request.caller), std::move(request.target),
          std::move(request.request_id), std::move(request.body)};
  outlet_.push_control({peer.connection, Parked{}, 0, bytes});
  go_on(peer, form, request.is_body_whole);
}

void AdapterForms::body_part(Peer& peer, HttpBodyPart& part, std::uint64_t bytes) {
  Form& form = forms_.at(peer.connection->id);
  form.body += part.bytes;
  outlet_.push_control({peer.connection, Parked{}, 0, bytes});
  go_on(peer, form, part.is_last);
}

void AdapterForms::go_on(Peer& peer, Form& form, bool is_whole) {
  if (form.body.size() > kFormBytesMax) {
    refuse(peer, form,
           Error(ErrorCode::TooLarge,
                 "the body has more than " + std::to_string(kFormBytesMax) + " bytes"));
  } else if (!is_whole) {
    outlet_.push(peer, HttpAsk{});
  } else if (form.kind == AdapterForm::Load) {
    load(peer, form);
  } else {
    unload(peer, form);
  }
}

// The response is over: the connection may bring the next request.
void AdapterForms::answer(Peer& peer, HttpAnswer answer) {
  forms_.erase(peer.connection->id);
  outlet_.push(peer, std::move(answer));
}

void AdapterForms::refuse(Peer& peer, const Form& form, const Error& error) {
  answer(peer, refusal_for({form.target, form.request_id}, status_of(error.code()), error.code(),
                           std::string(error.message()), AdapterDesk::retry_after_ms(error)));
}

void AdapterForms::load(Peer& peer, const Form& form) {
  constexpr const char* kKeys[] = {"lora_name", "lora_path"};
  const auto begin_load = [&]() -> Result<void> {
    const Json json = TRY(read_form(form.body, kKeys));
    const std::string name = TRY(text_member(json, "lora_name"));
    const std::string path = TRY(text_member(json, "lora_path"));
    return desk_.add(
        *form.caller, name, path,
        [this, name, id = peer.connection->id](const Result<service::AdapterStatus>& loaded) {
          const auto found = forms_.find(id);
          if (found == forms_.end()) return;  // The client has left.
          Peer& waiting = *find_peer_(id);
          if (loaded.ok()) {
            answer(waiting, success(name, "added"));
          } else {
            refuse(waiting, found->second, loaded.error());
          }
        });
  };
  const Result<void> begun = begin_load();
  if (!begun.ok()) refuse(peer, form, begun.error());
}

void AdapterForms::unload(Peer& peer, const Form& form) {
  constexpr const char* kKeys[] = {"lora_name"};
  const auto remove = [&]() -> Result<std::string> {
    const Json json = TRY(read_form(form.body, kKeys));
    std::string name = TRY(text_member(json, "lora_name"));
    TRY(desk_.remove(*form.caller, name));
    return name;
  };
  const Result<std::string> removed = remove();
  if (removed.ok()) {
    answer(peer, success(removed.value(), "removed"));
  } else {
    refuse(peer, form, removed.error());
  }
}

}  // namespace quire::server
