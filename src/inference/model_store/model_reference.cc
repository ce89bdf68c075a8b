#include "inference/model_store/model_reference.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "inference/model_store/web_url.h"

namespace quire::inference {
namespace {

constexpr std::size_t kPartBytesMax =
    96;  // Of a user's and a repository's name, as the hub has it.
constexpr std::size_t kReferenceBytesMax = 2048;

// The forms of "a hub" at the beginning, longest first.
constexpr std::array<std::string_view, 10> kHubPrefixes = {"https://huggingface.co/",
                                                           "http://huggingface.co/",
                                                           "https://www.huggingface.co/",
                                                           "https://hf.co/",
                                                           "http://hf.co/",
                                                           "huggingface.co/",
                                                           "www.huggingface.co/",
                                                           "hf.co/",
                                                           "hf://",
                                                           "hf:"};

std::optional<std::string_view> hub_prefix(std::string_view text) {
  for (const std::string_view prefix : kHubPrefixes) {
    if (text.starts_with(prefix)) return prefix;
  }
  return std::nullopt;
}

bool is_letter_of_name(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9') || each == '.' || each == '_' || each == '-';
}

// Whether it is a valid name of a user, a repository, a revision or a quantization.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kPartBytesMax && text.front() != '.' &&
         text.front() != '-' && std::ranges::all_of(text, is_letter_of_name);
}

bool is_file_segment(std::string_view text) {
  const auto is_control = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte < 0x20 || byte == 0x7f;
  };
  return !text.empty() && text != "." && text != ".." && std::ranges::none_of(text, is_control) &&
         utf8_valid_bytes(text) == text.size();
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(at, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// Reads one reference; each step takes what is left.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Result<ModelReference> read() {
    const std::optional<std::string_view> prefix = hub_prefix(text_);
    if (!prefix) return wrong("it does not begin with hf: or hf.co/");
    if (text_.size() > kReferenceBytesMax) {
      return wrong("it is longer than " + std::to_string(kReferenceBytesMax) + " bytes");
    }
    std::string rest = text_.substr(prefix->size());
    // An address from a browser has a query and escapes.
    if (prefix->find("://") != std::string_view::npos && !prefix->starts_with("hf")) {
      rest.resize(std::min(rest.find_first_of("?#"), rest.size()));
      is_page_ = true;
    }
    std::vector<std::string> parts = split(rest, '/');
    if (is_page_ && parts.size() > 2 && parts.back().empty()) parts.pop_back();
    if (parts.size() < 2) return wrong("a repository is USER/REPO");
    TRY(take_repository(parts));
    TRY(take_page(parts));
    TRY(take_file(parts));
    return std::move(reference_);
  }

 private:
  Error wrong(const std::string& what) const {
    return Error(ErrorCode::InvalidArgument, in_quotes(text_) +
                                                 " is not a model of a hub, which is hf:USER/REPO, "
                                                 "hf:USER/REPO:QUANT or hf:USER/REPO/FILE: " +
                                                 what);
  }

  // USER and REPO@REVISION:QUANT.
  Result<void> take_repository(std::vector<std::string>& parts) {
    std::string repository = parts[1];
    if (const std::size_t colon = repository.find(':'); colon != std::string::npos) {
      TRY(take_quant(repository.substr(colon + 1)));
      repository.resize(colon);
    }
    if (const std::size_t at = repository.find('@'); at != std::string::npos) {
      TRY(take_revision(repository.substr(at + 1)));
      repository.resize(at);
    }
    for (const std::string& name : {parts[0], repository}) {
      if (is_plain_name(name)) continue;
      return wrong("the name " + in_quotes(name) +
                   " is not of 1 to 96 letters, digits, \".\", \"_\" and \"-\"");
    }
    reference_.repository = parts[0] + "/" + repository;
    parts.erase(parts.begin(), parts.begin() + 2);
    return {};
  }

  Result<void> take_quant(const std::string& quant) {
    if (!is_plain_name(quant)) return wrong("the quantization is a word such as Q4_K_M");
    has_quant_ = true;
    // The name that other programs give to what a repository has by default.
    if (quant != "latest") reference_.quant = quant;
    return {};
  }

  Result<void> take_revision(const std::string& revision) {
    if (!is_plain_name(revision)) {
      return wrong("the revision " + in_quotes(revision) + " is not a branch, tag or commit");
    }
    reference_.revision = revision;
    has_revision_ = true;
    return {};
  }

  // blob/REVISION, resolve/REVISION or tree/REVISION.
  Result<void> take_page(std::vector<std::string>& parts) {
    const bool is_page =
        parts.size() >= 2 && (parts[0] == "blob" || parts[0] == "resolve" || parts[0] == "tree");
    if (!is_page || has_revision_ || has_quant_) return {};
    if (parts[0] == "tree" && parts.size() > 2) {
      return wrong("a folder of a repository is not a model; name a file in it");
    }
    TRY(take_revision(parts[1]));
    parts.erase(parts.begin(), parts.begin() + 2);
    return {};
  }

  Result<void> take_file(const std::vector<std::string>& parts) {
    for (const std::string& each : parts) {
      const std::string segment = is_page_ ? url_decoded(each) : each;
      if (!is_file_segment(segment) || segment.find('/') != std::string::npos) {
        return wrong(in_quotes(segment) + " is not a file or folder of a repository");
      }
      reference_.file += (reference_.file.empty() ? "" : "/") + segment;
    }
    if (has_quant_ && !parts.empty()) return wrong("give a quantization or a file, not both");
    return {};
  }

  const std::string& text_;
  ModelReference reference_;
  bool is_page_ = false;
  bool has_quant_ = false;
  bool has_revision_ = false;
};

}  // namespace

bool ModelReference::names_hub(std::string_view text) {
  return hub_prefix(text).has_value();
}

Result<ModelReference> ModelReference::parse(const std::string& text) {
  return Reader(text).read();
}

std::string ModelReference::text() const {
  std::string whole = "hf:" + repository;
  if (revision != "main") whole += "@" + revision;
  if (!quant.empty()) whole += ":" + quant;
  if (!file.empty()) whole += "/" + file;
  return whole;
}

}  // namespace quire::inference
