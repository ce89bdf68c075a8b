// Questions of scripted guests about models and their launch, each with its one right answer, and
// text.
#include <array>
#include <numeric>

#include "simulation/guest_bytes.h"
#include "simulation/machine.h"

namespace quire::simulation {
namespace {

constexpr std::uint32_t kTextTokenCountMax = 150;  // Some are too many to be done at once.
constexpr std::uint32_t kWordCountMax = 40;

}  // namespace

// The output of a call, as text.
std::string ScriptedGuest::text_of(const char* import, std::initializer_list<std::int64_t> before) {
  std::vector<std::int64_t> all(before);
  all.push_back(kTakenBytes);
  all.push_back(kTakenBytesMax);
  const std::int64_t bytes =
      before.size() == 0 ? call(import, {all[0], all[1]}) : call(import, {all[0], all[1], all[2]});
  if (!check(import, bytes)) return "";
  return host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes));
}

void ScriptedGuest::look_at_models() {
  const auto expect_same = [this](const char* what, const auto& is, const auto& wanted) {
    if (is != wanted) find(std::string(what) + " gives something else");
  };
  std::string names;
  for (std::uint32_t model = 0; model < town_.knobs.model_count; ++model) {
    names += (model == 0 ? "" : "\n") + model_name(model);
  }
  expect_same("available-models", text_of("models.available-models", {}), names);
  expect_same("get-arg-count", call("runtime.get-arg-count", {}), depth_ == 0 ? 1 : 4);
  expect_same("get-version", text_of("runtime.get-version", {}), std::string(QUIRE_VERSION));
  if (models_.empty()) return;
  const std::uint32_t model = dice_.below(models_.size());
  const std::int64_t handle = models_[model];
  expect_same("model-name", text_of("models.model-name", {handle}), model_name(model));
  const std::string traits = "\n" + text_of("models.available-traits", {handle}) + "\n";
  for (const std::string name : {"forward", "tokenize", "adapter"}) {
    const bool has = traits.find("\n" + name + "\n") != std::string::npos;
    const std::int64_t at = put_bytes(name);
    expect_same("trait-version", call("models.trait-version", {handle, at, length_of(name)}),
                has ? 1 : kNotSupported);
  }
  const std::array<std::uint32_t, 8> info = {
      town_.knobs.page_size, 4096, kVocabularySize, 64, 1, 0, 1, 0};
  expect_same("model-info", call("models.model-info", {handle, kTakenBytes, info.size()}), 8);
  expect_same("model-info", host_->get(kTakenBytes, sizeof info),
              std::string(reinterpret_cast<const char*>(info.data()), sizeof info));
}

void ScriptedGuest::refuses(const char* import, std::initializer_list<std::int64_t> arguments) {
  const std::int64_t value = call(import, arguments);
  if (value != kNotSupported) find(std::string(import) + " gives " + std::to_string(value));
}

// No model here has these traits.
void ScriptedGuest::ask_for_absent_traits() {
  const Queue* queue = some_queue();
  if (queue == nullptr) return;
  const std::int64_t model = models_[queue->model];
  const std::int64_t of_queue = queue->handle;
  if (!town_.adapters.is_open()) ask_for_absent_adapters(model, of_queue);
  refuses("input-image.num-embs-needed", {model, 8, 8});
  refuses("input-image.embed-img", {of_queue, 0, 0, 0, 0, 0, 0});
  refuses("tokenize.apply-chat-template", {model, 0, 0});
  refuses("tokenize.tokenize-chat", {model, 0, 0});
  // No request launched the program either. A call that would give a future may find no room for
  // one.
  const auto refuses_or_is_full = [this](const char* import,
                                         std::initializer_list<std::int64_t> arguments) {
    const std::int64_t value = call(import, arguments);
    if (value != kNotSupported && value != -static_cast<std::int64_t>(ErrorCode::QuotaExceeded)) {
      find(std::string(import) + " gives " + std::to_string(value));
    }
  };
  refuses("serve.request-head", {kTakenBytes, 64});
  refuses_or_is_full("serve.read-request", {});
  refuses("serve.respond", {200, 0, 0, 0});
  refuses_or_is_full("serve.write-response", {0, 0});
  refuses("serve.finish-response", {});
}

void ScriptedGuest::detokenize() {
  if (models_.empty()) return;
  std::vector<std::uint32_t> tokens(dice_.between(1, kTextTokenCountMax));
  std::string text;
  for (std::uint32_t& each : tokens) {
    text.push_back(static_cast<char>('a' + dice_.below(26)));
    each = ByteCodec::kFirstByteToken + static_cast<unsigned char>(text.back());
  }
  const std::int64_t list = put_list(tokens);
  expect("detokenize", call("tokenize.detokenize", {models_.front(), list, length_of(tokens), 0}),
         Comes::Surely, [this, text](const Taken& taken) {
           if (!compute_failed("detokenize", taken) && taken.bytes != text) {
             find("detokenize gives another text");
           }
         });
}

void ScriptedGuest::read_vocabulary() {
  if (models_.empty()) return;
  const std::uint32_t first = 'a' + ByteCodec::kFirstByteToken + dice_.below(20);
  const std::uint32_t count = dice_.between(1, kWordCountMax);
  std::string words;
  for (std::uint32_t token = first; token < first + count; ++token) {
    words += std::string("\1\0\0\0", 4) + static_cast<char>(token - ByteCodec::kFirstByteToken);
  }
  expect("get-vocabs", call("tokenize.get-vocabs", {models_.front(), first, count}), Comes::Surely,
         [this, words](const Taken& taken) {
           if (!compute_failed("get-vocabs", taken) && taken.bytes != words) {
             find("get-vocabs gives another vocabulary");
           }
         });
}

}  // namespace quire::simulation
