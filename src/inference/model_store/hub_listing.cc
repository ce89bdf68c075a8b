#include "inference/model_store/hub_listing.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 50;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error not_listed(const std::string& source, const std::string& what) {
  return Error(ErrorCode::Corrupted, source + ": " + what);
}

// A member that is a text; empty if there is none.
std::string text_in(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string();
}

Result<std::uint64_t> bytes_in(const Json& object, const std::string& source,
                               const std::string& path) {
  const auto member = object.find("size");
  if (member == object.end() || !member->is_number_unsigned() ||
      member->get<std::uint64_t>() > kFileBytesMax) {
    return not_listed(source, "the file " + in_quotes(path) + " has no size");
  }
  return member->get<std::uint64_t>();
}

Result<HubFile> read_file_entry(const Json& entry, const std::string& source) {
  HubFile file{text_in(entry, "path")};
  if (file.path.empty() || file.path.size() > kPathBytesMax) {
    return not_listed(source, "a file has no path");
  }
  file.bytes = TRY(bytes_in(entry, source, file.path));
  file.git_blob = text_in(entry, "oid");
  if (!is_git_object(file.git_blob)) file.git_blob.clear();
  const auto lfs = entry.find("lfs");
  if (lfs == entry.end() || !lfs->is_object()) return file;
  file.sha256 = text_in(*lfs, "oid");
  if (!is_sha256(file.sha256)) {
    return not_listed(source, "the LFS file " + in_quotes(file.path) + " has no SHA-256");
  }
  file.bytes = TRY(bytes_in(*lfs, source, file.path));
  return file;
}

}  // namespace

Result<HubRevision> parse_hub_revision(std::string_view text, const std::string& source) {
  const Json json = TRY(parse_json(text, source));
  if (!json.is_object()) return not_listed(source, "it is not a JSON object");
  HubRevision revision{text_in(json, "sha")};
  if (!is_git_object(revision.commit)) {
    return not_listed(source, "\"sha\" is not a commit of 40 hexadecimal digits");
  }
  const auto gguf = json.find("gguf");
  if (gguf != json.end() && gguf->is_object())
    revision.architecture = text_in(*gguf, "architecture");
  return revision;
}

Result<void> parse_hub_tree(std::string_view text, const std::string& source,
                            std::vector<HubFile>& files) {
  const Json json = TRY(parse_json(text, source));
  if (!json.is_array()) return not_listed(source, "it is not a JSON array");
  for (const Json& entry : json) {
    if (!entry.is_object()) return not_listed(source, "an entry is not a JSON object");
    if (text_in(entry, "type") != "file") continue;
    files.push_back(TRY(read_file_entry(entry, source)));
    if (files.size() > kHubFileCountMax) {
      return Error(ErrorCode::TooLarge,
                   source + ": more than " + std::to_string(kHubFileCountMax) + " files");
    }
  }
  return {};
}

std::optional<std::string> next_page_of(std::string_view link) {
  while (!link.empty()) {
    const std::size_t begin = link.find('<');
    const std::size_t end = begin == std::string_view::npos ? begin : link.find('>', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view address = link.substr(begin + 1, end - begin - 1);
    link.remove_prefix(end + 1);
    const std::string_view parameters = link.substr(0, link.find('<'));
    if (parameters.find("rel=\"next\"") != std::string_view::npos ||
        parameters.find("rel=next") != std::string_view::npos) {
      return std::string(address);
    }
  }
  return std::nullopt;
}

bool is_sha256(std::string_view text) {
  return is_hex(text, 64);
}
bool is_git_object(std::string_view text) {
  return is_hex(text, 40);
}

std::string etag_text(std::string_view field) {
  if (field.starts_with("W/")) field.remove_prefix(2);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  return std::string(field.substr(1, field.size() - 2));
}

std::string git_blob_of(std::string_view bytes) {
  std::string object = "blob " + std::to_string(bytes.size());
  object += '\0';
  object += bytes;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(object.data()), object.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace quire::inference
