// input and tokenize: text, tokens and their embeddings. On a model with a chat template ("chat")
// and on one without.
#include "steps.h"

namespace quire::conformance {
namespace {

void embeds_tokens(Harness& t) {
  const Handles embeds = embeds_of(t, 3);
  t.ok("input.embed-txt", t.queue, embeds, Tokens{1, 2, 1023}, Tokens{0, 1, 2});
  t.ok("input.embed-txt", t.queue, Handles{}, Tokens{}, Tokens{});
  t.refused("input.embed-txt", ErrorCode::OutOfRange, t.queue, embeds, Tokens{1, 2, kVocabulary},
            Tokens{0, 1, 2});
  t.refused("input.embed-txt", ErrorCode::OutOfRange, t.queue, embeds, Tokens{1, 2, 0xFFFF'FFFF},
            Tokens{0, 1, 2});
  t.refused("input.embed-txt", ErrorCode::InvalidArgument, t.queue, embeds, Tokens{1, 2},
            Tokens{0, 1, 2});
  t.refused("input.embed-txt", ErrorCode::InvalidArgument, t.queue, embeds, Tokens{1, 2, 3},
            Tokens{0, 1});
  t.refused("input.embed-txt", ErrorCode::InvalidArgument, t.queue, Handles{}, Tokens{1},
            Tokens{0});
  t.mistakes("input.embed-txt", t.queue, embeds, Tokens{1, 2, 3}, Tokens{0, 1, 2});
  t.edges("input.embed-txt", t.queue, embeds, Tokens{1, 2, 3}, Tokens{0, 1, 2});
  give_back(t, embeds);
}

void tokenizes(Harness& t) {
  const std::string tokens = t.result("tokenize.tokenize", t.model, "the pages of a book", 3);
  t.check(!tokens.empty() && tokens.size() % 4 == 0, "there are tokens");
  Tokens ids(tokens.size() / 4);
  std::memcpy(ids.data(), tokens.data(), tokens.size());
  t.check(t.result("tokenize.detokenize", t.model, ids, 0) == "the pages of a book", "and back");
  t.check(t.result("tokenize.tokenize", t.model, "", 0).empty(), "of nothing, nothing");
  t.check(t.result("tokenize.detokenize", t.model, Tokens{}, 1).empty(), "of none, none");
  t.refused("tokenize.tokenize", ErrorCode::TooLarge, t.model, std::string(kTextBytesMax + 1, 'a'),
            0);
  t.refused("tokenize.tokenize", ErrorCode::InvalidArgument, t.model, "a", 4);
  t.refused("tokenize.detokenize", ErrorCode::OutOfRange, t.model, Tokens{1, kVocabulary}, 0);
  t.refused("tokenize.detokenize", ErrorCode::TooLarge, t.model, Tokens(kTextBytesMax / 4 + 1, 1),
            0);
  t.mistakes("tokenize.tokenize", t.model, "text", 0);
  t.edges("tokenize.tokenize", t.model, "text", 0);
  t.mistakes("tokenize.detokenize", t.model, Tokens{1, 2}, 0);
  t.edges("tokenize.detokenize", t.model, Tokens{1, 2}, 0);

  t.check(t.result("tokenize.get-token-kinds", t.model, 0, kVocabulary).size() == kVocabulary,
          "a kind for each");
  t.refused("tokenize.get-token-kinds", ErrorCode::OutOfRange, t.model, kVocabulary, 1);
  t.refused("tokenize.get-token-kinds", ErrorCode::NotFound, t.queue, 0, 1);
  const std::string words = t.result("tokenize.get-vocabs", t.model, 0, kVocabulary);
  t.check(words.size() > 4 * kVocabulary, "the whole vocabulary");
  t.result("tokenize.get-vocabs", t.model, kVocabulary - 1, 1);
  for (const std::uint32_t count : {0u, kVocabulary + 1, 65'537u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused("tokenize.get-vocabs", ErrorCode::OutOfRange, t.model, 0, count);
    t.refused("tokenize.get-vocabs", ErrorCode::OutOfRange, t.model, count, 0xFFFF'FFFF);
  }
  t.refused("tokenize.get-vocabs", ErrorCode::OutOfRange, t.model, kVocabulary, 1);
  t.mistakes("tokenize.get-vocabs", t.model, 0, 1);
}

void chats(Harness& t) {
  const char* request = R"({"messages": [{"role": "user", "content": "hi"}]})";
  for (const char* call : {"tokenize.apply-chat-template", "tokenize.tokenize-chat"}) {
    if (Harness::argument() != "chat") {
      t.refused(call, ErrorCode::NotSupported, t.model, request);
      continue;
    }
    t.check(!t.result(call, t.model, request).empty(), "there is a chat");
    for (const char* bad : {"", "{", "null", "[]", "{\"messages\": 7}"}) {
      t.refused(call, ErrorCode::InvalidArgument, t.model, bad);
    }
    t.refused(call, ErrorCode::InvalidArgument, t.model, std::string(100'000, '['));
    t.refused(call, ErrorCode::TooLarge, t.model, std::string(kTextBytesMax + 1, ' '));
    t.mistakes(call, t.model, request);
    t.edges(call, t.model, request);
  }
}

void program(Harness& t) {
  embeds_tokens(t);
  tokenizes(t);
  chats(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
