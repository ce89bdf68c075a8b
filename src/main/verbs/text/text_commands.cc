#include "main/verbs/text/text_commands.h"

#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/text/chat_request.h"

namespace quire {
namespace {

using inference::TokenId;

constexpr std::uint64_t kMessagesBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kShownBytesMax = 40;  // Of an element that is not a token id.

int finish(const Result<void>& done) {
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

void print_ids(const std::vector<TokenId>& tokens, cli::OutputStyle style) {
  std::vector<std::uint32_t> ids;
  for (const TokenId token : tokens) ids.push_back(static_cast<std::uint32_t>(token));
  if (style == cli::OutputStyle::Json) {
    print(dump_json(nlohmann::json{{"ids", ids}}) + "\n");
    return;
  }
  std::string line;
  for (const std::uint32_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  print(line + "\n");
}

Result<void> tokenize(const cli::TokenizeOptions& options) {
  const std::unique_ptr<inference::TextCodec> codec = TRY(open_text_codec(options.model));
  const std::string text = options.text ? *options.text : TRY(read_standard_input());
  const std::vector<TokenId> tokens =
      TRY(codec->encode(text, {.parse_special = !options.plain, .add_bos = options.add_bos}));
  print_ids(tokens, options.output);
  return {};
}

Error no_ids(const std::string& what) {
  return Error(ErrorCode::InvalidArgument, what + ": token ids are whole numbers below 2^32");
}

// `json` is an array of ids, or an object whose "ids" is one.
Result<std::vector<TokenId>> json_ids(Json json) {
  if (json.is_object() && json.contains("ids")) json = Json(json["ids"]);
  if (!json.is_array()) return no_ids("an object without an array \"ids\"");
  std::vector<TokenId> tokens;
  for (const Json& each : json) {
    if (!each.is_number_unsigned() ||
        each.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      return no_ids(printable(dump_json(each).substr(0, kShownBytesMax)));
    }
    tokens.push_back(TokenId{each.get<std::uint32_t>()});
  }
  return tokens;
}

// A JSON array, {"ids": [...]}, or numbers with white space between.
Result<std::vector<TokenId>> parse_ids(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (text[first] == '[' || text[first] == '{');
  if (is_json) return json_ids(TRY(parse_json(text, "standard input")));
  std::vector<TokenId> tokens;
  std::uint64_t number = 0;
  bool inside = false;
  for (const char letter : text + " ") {
    if (letter >= '0' && letter <= '9') {
      number = number * 10 + static_cast<std::uint64_t>(letter - '0');
      if (number > std::numeric_limits<std::uint32_t>::max()) return no_ids(std::to_string(number));
      inside = true;
    } else if (std::isspace(static_cast<unsigned char>(letter)) != 0 || letter == ',') {
      if (inside) tokens.push_back(TokenId{static_cast<std::uint32_t>(number)});
      number = 0;
      inside = false;
    } else {
      return no_ids(in_quotes(std::string_view(&letter, 1)));
    }
  }
  return tokens;
}

Result<void> detokenize(const cli::DetokenizeOptions& options) {
  const std::unique_ptr<inference::TextCodec> codec = TRY(open_text_codec(options.model));
  std::vector<TokenId> tokens;
  if (options.ids.empty()) {
    const std::string text = TRY(read_standard_input());
    tokens = TRY(parse_ids(text));
  }
  for (const std::uint32_t id : options.ids) tokens.push_back(TokenId{id});
  const std::string text = TRY(codec->decode(tokens, !options.skip_special));
  print(text + "\n");
  return {};
}

Result<std::string> read_messages(const std::string& path) {
  Result<std::string> text = read_input_file(path, kMessagesBytesMax);
  if (text.ok() || text.error().code() != ErrorCode::NotFound) return text;
  return Error(ErrorCode::NotFound, std::string(text.error().message()) +
                                        "; give a file of messages in JSON, or --user TEXT");
}

// The request of TextCodec::apply_chat_template out of what the user gave.
Result<std::string> template_request(const cli::TemplateOptions& options) {
  const ChatRequestExtras extras{.system = options.system,
                                 .add_generation_prompt = !options.no_generation_prompt};
  if (options.user.empty()) {
    const std::string text = options.messages_file.empty()
                                 ? TRY(read_standard_input())
                                 : TRY(read_messages(options.messages_file));
    return chat_request(text, extras);
  }
  OrderedJson messages = OrderedJson::array();
  for (const std::string& message : options.user) {
    messages.push_back({{"role", "user"}, {"content", message}});
  }
  return chat_request(dump_json(messages), extras);
}

Result<void> apply_template(const cli::TemplateOptions& options) {
  const std::unique_ptr<inference::TextCodec> codec = TRY(open_text_codec(options.model));
  const std::string text = TRY(template_request(options));
  if (options.ids) {
    print_ids(TRY(codec->encode_chat(text)), options.output);
    return {};
  }
  const std::string prompt = TRY(codec->apply_chat_template(text));
  print(options.output == cli::OutputStyle::Json
            ? dump_json(nlohmann::json{{"text", prompt}}) + "\n"
            : prompt + "\n");
  return {};
}

}  // namespace

int tokenize_command(const cli::TokenizeOptions& options) {
  return finish(tokenize(options));
}
int detokenize_command(const cli::DetokenizeOptions& options) {
  return finish(detokenize(options));
}
int template_command(const cli::TemplateOptions& options) {
  return finish(apply_template(options));
}

}  // namespace quire
