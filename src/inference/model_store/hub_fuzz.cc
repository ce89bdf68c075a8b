// Random texts of a user and of a hub. The first byte chooses the kind: a reference of a model, a
// revision, a list of files from which a model is chosen, or the head of an answer. Each gives an
// error or a value that holds the promises of its header.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "inference/model_store/hub_answer.h"
#include "inference/model_store/hub_choice.h"
#include "inference/model_store/hub_listing.h"
#include "inference/model_store/model_reference.h"

using quire::Error;
using quire::Result;
using namespace quire::inference;

namespace {

void check_error(const Error& error) {
  QUIRE_CHECK(!error.message().empty(), "an error says what is wrong");
  QUIRE_CHECK(quire::printable_lines(error.message()) == error.message(),
              "an error drives no terminal");
}

void check_reference(const std::string& text) {
  Result<ModelReference> reference = ModelReference::parse(text);
  if (!reference.ok()) return check_error(reference.error());
  QUIRE_CHECK(ModelReference::names_hub(text), "what is parsed names a hub");
  QUIRE_CHECK(("/" + reference.value().file + "/").find("/../") == std::string::npos,
              "a file lies in its repository");
  Result<ModelReference> again = ModelReference::parse(reference.value().text());
  QUIRE_CHECK(again.ok() && again.value().text() == reference.value().text(),
              "text() is the same reference");
}

void check_tree(const std::string& text) {
  QUIRE_CHECK(is_git_object(git_blob_of(text)), "any bytes are a blob");
  std::vector<HubFile> files;
  const Result<void> parsed = parse_hub_tree(text, "fuzz", files);
  if (!parsed.ok()) return check_error(parsed.error());
  for (const char* reference : {"hf:a/b", "hf:a/b:Q8_0", "hf:a/b/m.gguf"}) {
    Result<ChosenModel> model = choose_model(ModelReference::parse(reference).value(), files);
    if (!model.ok()) {
      check_error(model.error());
      continue;
    }
    QUIRE_CHECK(!model.value().files.empty(), "a model has files");
    for (std::size_t i = 0; i < model.value().files.size(); ++i) {
      const std::string name = model.value().stored_name(i, "name");
      const std::string_view folder = "additional_chat_templates/";
      const std::string_view rest =
          std::string_view(name).substr(name.starts_with(folder) ? folder.size() : 0);
      QUIRE_CHECK(rest.find_first_of("/\\") == std::string_view::npos && !rest.starts_with('.'),
                  "a file is stored in its model's folder");
    }
  }
}

void check_head(std::string_view text) {
  HttpHead head;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_head_line(head, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  check_error(refusal_of(head, "a/b", head.status % 2 == 0));
  (void)next_page_of(head.field("link"));
  (void)etag_text(head.field("x-linked-etag"));
  const auto range = parse_content_range(head.field("content-range"));
  QUIRE_CHECK(!range || (range->first <= range->last && range->last < range->bytes),
              "a range lies in its file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
  if (data[0] == 'r') check_reference(text);
  if (data[0] == 't') check_tree(text);
  if (data[0] == 'h') check_head(text);
  if (data[0] == 'v') {
    const Result<HubRevision> revision = parse_hub_revision(text, "fuzz");
    if (!revision.ok()) check_error(revision.error());
  }
  return 0;
}
