// models: what is served.
#include "steps.h"

namespace quire::conformance {
namespace {

void program(Harness& t) {
  char text[512] = {};
  const std::int32_t count = t.ok("models.available-models", static_cast<void*>(text), 512);
  t.check(count > 0 && count < 512, "there is a model");
  const std::string names(text, static_cast<std::size_t>(count));
  const std::int32_t model = t.ok("models.get-model", names.substr(0, names.find('\n')));
  t.check(t.ok("models.model-name", model, static_cast<void*>(text), 512) > 0, "it has a name");
  t.check(names.starts_with(text), "its name is the one that was asked for");
  t.check(t.ok("models.available-traits", model, static_cast<void*>(text), 512) > 20,
          "it has traits");
  t.check(std::string_view(text).starts_with("allocate\n"), "it can allocate");
  t.check(t.ok("models.trait-version", model, "forward") >= 1, "traits have versions");
  std::uint32_t info[16] = {};
  t.check(t.ok("models.model-info", model, static_cast<void*>(info), 16) >= 7,
          "there are seven numbers and more");
  t.check(info[0] == kPageSlots && info[2] == kVocabulary, "it is the tiny model");
  // Numbers that do not fit are not written, and counted all the same.
  info[2] = 77;
  t.check(t.ok("models.model-info", model, static_cast<void*>(info), 2) >= 7 && info[2] == 77,
          "no more is written than fits");
  t.check(t.ok("models.model-name", model, kNull, 0) > 0, "a length can be asked for");

  t.refused("models.get-model", ErrorCode::NotFound, "nobody");
  t.refused("models.get-model", ErrorCode::TooLarge, std::string(256, 'a'));
  t.refused("models.get-model", ErrorCode::NotFound, std::string(255, 'a'));
  t.refused("models.trait-version", ErrorCode::NotFound, model, "telepathy");
  t.refused("models.trait-version", ErrorCode::NotFound, model, "");
  t.refused("models.trait-version", ErrorCode::TooLarge, model, std::string(256, 'a'));
  t.refused("models.trait-version", ErrorCode::NotSupported, model, "input_image");
  t.mistakes("models.available-models", static_cast<void*>(text), 512);
  t.mistakes("models.get-model", "");
  t.edges("models.get-model", "");
  t.mistakes("models.available-traits", model, static_cast<void*>(text), 512);
  t.mistakes("models.trait-version", model, "forward");
  t.edges("models.trait-version", model, "forward");
  t.mistakes("models.model-info", model, static_cast<void*>(info), 16);
  t.mistakes("models.model-name", model, static_cast<void*>(text), 512);
  t.drop(model);
  t.mistakes("models.model-name", t.model, static_cast<void*>(text), 512);

  Handles all;
  for (int i = 0; i < 300; ++i) {
    const std::int32_t each = abi::models::get_model(nullptr, 0);
    if (each < 0) break;
    all.push_back(each);
  }
  t.check(all.size() < 300, "handles of models have no bound");
  t.refused("models.get-model", ErrorCode::QuotaExceeded, "");
  give_back(t, all);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
