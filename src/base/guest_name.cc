#include "base/guest_name.h"

#include <string>

#include "base/utf8.h"

namespace quire {
namespace {

bool is_control(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte == 0x7f) return true;
  // U+0080 to U+009F: C2 80 to C2 9F.
  return byte == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

}  // namespace

Result<void> check_guest_name(std::string_view name, std::string_view what) {
  const auto offence = [&](const std::string& how) {
    return Error(ErrorCode::InvalidArgument, std::string(what) + " " + how);
  };
  if (name.empty()) return offence("is empty");
  if (name.size() > kGuestNameBytesMax) {
    return offence("has " + std::to_string(name.size()) + " bytes; at most " +
                   std::to_string(kGuestNameBytesMax) + " are allowed");
  }
  const std::size_t valid = utf8_valid_bytes(name);
  if (valid < name.size()) return offence("is not UTF-8 at byte " + std::to_string(valid));
  for (std::size_t at = 0; at < name.size(); ++at) {
    const std::string where = " at byte " + std::to_string(at);
    if (is_control(name, at)) return offence("has a control character" + where);
    if (name[at] == '/' || name[at] == '\\') {
      return offence(std::string("has a \"") + name[at] + "\"" + where);
    }
  }
  if (name == "." || name == "..") return offence("\"" + std::string(name) + "\" is reserved");
  return {};
}

}  // namespace quire
