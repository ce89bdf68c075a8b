#include "main/verbs/text/chat_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/private_file.h"
#include "base/utf8.h"
#include "cli/spelling.h"
#include "main/verbs/text/chat_folder.h"

namespace quire {
namespace {

constexpr std::string_view kEnding = ".json";

Error damaged(const std::string& path, const std::string& what) {
  return Error(ErrorCode::Corrupted, path + " is not a saved chat: " + what);
}

Result<std::string> text_member(const OrderedJson& object, const char* name,
                                const std::string& where) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_string()) {
    return Error(ErrorCode::Corrupted, where + " has no text \"" + name + "\"");
  }
  return object[name].get<std::string>();
}

// A message of the system may be the first; users and the assistant alternate.
Result<SavedChat> read_chat(const OrderedJson& json) {
  SavedChat chat;
  chat.model = TRY(text_member(json, "model", "it"));
  if (!json.contains("messages") || !json["messages"].is_array()) {
    return Error(ErrorCode::Corrupted, "it has no array \"messages\"");
  }
  std::size_t index = 0;
  for (const OrderedJson& each : json["messages"]) {
    const std::string where = "messages[" + std::to_string(index++) + "]";
    const std::string role = TRY(text_member(each, "role", where));
    std::string content = TRY(text_member(each, "content", where));
    if (index == 1 && role == "system") {
      chat.system = std::move(content);
      continue;
    }
    const ChatRole expected = chat.messages.size() % 2 == 0 ? ChatRole::User : ChatRole::Assistant;
    if (role != role_name(expected)) {
      return Error(ErrorCode::Corrupted, where + " has the role " + in_quotes(role) + ", where " +
                                             role_name(expected) + " was expected");
    }
    chat.messages.push_back({expected, std::move(content)});
  }
  if (chat.messages.size() % 2 == 0) return chat;
  return Error(ErrorCode::Corrupted, "the last message has no answer");
}

}  // namespace

Result<std::string> ChatStore::path_of(const std::string& name) const {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool is_name = !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
                       name.front() != '-' && name.find_first_not_of(kLetters) == std::string::npos;
  if (is_name) return folder_ + "/" + name + std::string(kEnding);
  return Error(ErrorCode::InvalidArgument,
               in_quotes(name) + " cannot be the name of a chat: give 1 to " +
                   std::to_string(kNameBytesMax) +
                   " letters, digits, \"-\", \"_\" and \".\", beginning with a letter or a digit");
}

Result<ChatStore::Saved> ChatStore::save(const std::string& name, const SavedChat& chat) const {
  Saved saved{.path = TRY(path_of(name))};
  OrderedJson messages = OrderedJson::array();
  if (!chat.system.empty()) messages.push_back({{"role", "system"}, {"content", chat.system}});
  for (const ChatMessage& each : chat.messages) {
    messages.push_back({{"role", role_name(each.role)}, {"content", each.content}});
  }
  const OrderedJson json = {{"model", chat.model}, {"messages", std::move(messages)}};
  const std::string text = dump_json(json) + "\n";
  if (text.size() > kFileBytesMax) {
    return Error(ErrorCode::TooLarge, "the chat has " + std::to_string(text.size()) +
                                          " bytes; at most " + std::to_string(kFileBytesMax) +
                                          " can be saved");
  }
  TRY(make_chat_folder(folder_));
  std::error_code ignored;
  saved.is_replaced = std::filesystem::exists(saved.path, ignored);
  TRY(replace_private_file(saved.path, text));
  return saved;
}

Result<SavedChat> ChatStore::load(const std::string& name) const {
  const std::string path = TRY(path_of(name));
  Result<std::string> text = read_file(path, kFileBytesMax);
  if (!text.ok() && text.error().code() == ErrorCode::NotFound) {
    const std::vector<std::string> all = names();
    std::string what = "no chat is saved as " + in_quotes(name);
    const std::string near = cli::did_you_mean(name, all);
    if (!near.empty()) return Error(ErrorCode::NotFound, what + near);
    return Error(ErrorCode::NotFound,
                 what + (all.empty() ? "; /save NAME saves one" : "; /load lists those that are"));
  }
  if (!text.ok()) return std::move(text).take_error();
  const Result<OrderedJson> json = parse_ordered_json(text.value(), "the text");
  if (!json.ok()) return damaged(path, std::string(json.error().message()));
  Result<SavedChat> chat = read_chat(json.value());
  if (!chat.ok()) return damaged(path, std::string(chat.error().message()));
  return chat;
}

std::vector<std::string> ChatStore::names() const {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder_, failed)) {
    const std::string name = each.path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    const std::string stem = name.substr(0, name.size() - kEnding.size());
    if (path_of(stem).ok()) names.push_back(stem);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace quire
