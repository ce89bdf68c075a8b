#include "main/verbs/text/chat_commands.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "cli/chat_settings.h"
#include "cli/spelling.h"

namespace quire {
namespace {

enum class Verb : unsigned char { Set, Save, Load, Clear, Help, Quit };
struct Command {
  const char* name;
  Verb verb;
  const char* help;  // A line for each form.
};
constexpr Command kCommands[] = {
    {"set", Verb::Set,
     "/set               Show the settings.\n"
     "/set NAME VALUE    Change a setting, as in /set temperature 0.7.\n"},
    {"save", Verb::Save, "/save NAME         Keep the conversation under a name.\n"},
    {"load", Verb::Load,
     "/load              List the names that are kept.\n"
     "/load NAME         Go on with a conversation that was kept.\n"},
    {"clear", Verb::Clear, "/clear             Forget the conversation.\n"},
    {"help", Verb::Help, "/help              Show this list.\n"},
    {"quit", Verb::Quit, "/quit              End the chat, as Ctrl-D does.\n"},
};
constexpr const char* kFurtherHelp =
    "\"\"\"                Begin a message of several lines; another \"\"\" ends it.\n"
    "Alt-Enter          Insert a new line within the message.\n"
    "Up, Ctrl-R         Go through earlier messages; search them.\n"
    "Ctrl-C             Stop the reply, or give up the line.\n"
    "Every other line is a message to the model.\n";

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

// The first word, and what follows it.
struct Words {
  std::string first;
  std::string rest;
};
Words split(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
  return {std::string(text.substr(0, end)), std::string(text.substr(next))};
}

const Command* find(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                   [&](const Command& each) { return name == each.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

Error unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& each : kCommands) names.push_back(std::string("/") + each.name);
  const std::string near = cli::did_you_mean("/" + name, names);
  return Error(ErrorCode::InvalidArgument,
               "there is no command /" + printable(name) +
                   (near.empty() ? "; /help lists those that are." : near) +
                   " A message that begins with / goes between two \"\"\"");
}

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Result<ChatCommands::Then> ChatCommands::run(const std::string& line) {
  const auto [name, rest] = split(line);
  const Command* command = find(name);
  if (command == nullptr) return unknown(name);
  switch (command->verb) {
    case Verb::Set: {
      const Words words = split(rest);
      TRY(set(words.first, words.rest));
      return Then::GoOn;
    }
    case Verb::Save:
      TRY(save(rest));
      return Then::GoOn;
    case Verb::Load:
      TRY(load(rest));
      return Then::GoOn;
    case Verb::Clear:
      partner_.clear();
      return Then::GoOn;
    case Verb::Help:
      for (const Command& each : kCommands) say(each.help);
      say(kFurtherHelp);
      return Then::GoOn;
    case Verb::Quit:
      break;
  }
  return Then::Quit;
}

Result<void> ChatCommands::set(const std::string& name, const std::string& value) {
  const std::string spelled = name.starts_with("--") ? name.substr(2) : name;
  if (value.empty()) {
    std::size_t shown = 0;
    for (const cli::ShownSetting& each : cli::shown_chat_settings(settings_)) {
      if (!name.empty() && each.name != spelled) continue;
      const std::string line = each.name + " " + each.value;
      say(line + std::string(line.size() < 30 ? 30 - line.size() : 1, ' ') + each.help + "\n");
      ++shown;
    }
    if (shown > 0) return {};
  }
  cli::ChatSettings changed = settings_;
  TRY(cli::change_chat_setting(changed, spelled, value == "\"\"" ? "" : value));
  TRY(partner_.check(changed));
  settings_ = changed;
  return {};
}

Result<ChatStore> ChatCommands::store() const {
  if (!folder_.ok()) return folder_.error().copy();
  return ChatStore(folder_.value());
}

Result<void> ChatCommands::save(const std::string& name) {
  if (name.empty())
    return Error(ErrorCode::InvalidArgument, "/save needs a name, as in /save plan");
  if (partner_.messages().empty()) {
    return Error(ErrorCode::InvalidArgument, "there is nothing to save: no message was answered");
  }
  const ChatStore store = TRY(this->store());
  const ChatStore::Saved saved = TRY(store.save(
      name,
      {.model = partner_.model(), .system = settings_.system, .messages = partner_.messages()}));
  say("saved " + count_text(partner_.messages().size(), "message") + " as " + saved.path +
      (saved.is_replaced ? ", in place of those that were there" : "") + "\n");
  return {};
}

Result<void> ChatCommands::load(const std::string& name) {
  const ChatStore store = TRY(this->store());
  if (name.empty()) {
    const std::vector<std::string> names = store.names();
    for (const std::string& each : names) say(each + "\n");
    if (names.empty()) say("no chat is saved; /save NAME saves one\n");
    return {};
  }
  SavedChat chat = TRY(store.load(name));
  const std::size_t count = chat.messages.size();
  settings_.system = std::move(chat.system);
  partner_.restore(std::move(chat.messages));
  say("loaded " + count_text(count, "message") +
      (settings_.system.empty() ? "" : " and a system message") +
      (chat.model == partner_.model() ? "" : ", which were of " + printable(chat.model)) + "\n");
  return {};
}

std::vector<std::string> ChatCommands::completions(const std::string& before) const {
  std::vector<std::string> all;
  if (!before.starts_with('/')) return all;
  const std::size_t space = before.find(' ');
  const std::string head = before.substr(0, space);
  if (space == std::string::npos) {
    for (const Command& each : kCommands) all.push_back(std::string("/") + each.name);
  } else if (head == "/set") {
    for (const std::string& each : cli::chat_setting_names()) all.push_back("/set " + each);
  } else if (head == "/load" || head == "/save") {
    if (!folder_.ok()) return all;
    for (const std::string& each : ChatStore(folder_.value()).names()) {
      all.push_back(head + " " + each);
    }
  }
  std::erase_if(all, [&](const std::string& each) { return !each.starts_with(before); });
  if (all.empty()) all.push_back(before);  // No tab in a command.
  return all;
}

}  // namespace quire
