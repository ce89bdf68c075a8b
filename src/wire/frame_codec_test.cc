#include "wire/frame_codec.h"

#include <gtest/gtest.h>
#include <quire_paths.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "base/seeds.h"
#include "wire/random_frames.h"

namespace quire::wire {
namespace {

Message text(std::string_view json) {
  return {false, std::string(json)};
}
Message binary(std::string_view header, std::string_view payload = "") {
  Message message{true, {}};
  for (int i = 0; i < 4; ++i) message.bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  message.bytes += header;
  message.bytes += payload;
  return message;
}

DecodedRequest decode(const Message& message) {
  return decode_request(message.is_binary, message.bytes);
}
std::string refusal(const Message& message) {
  const DecodedRequest decoded = decode(message);
  if (decoded.request.ok()) return "";
  return std::string(error_code_name(decoded.request.error().code())) + ": " +
         std::string(decoded.request.error().message());
}

TEST(FrameCodec, EveryRequestComesBackAsItWas) {
  for (const std::uint64_t seed : campaign_seeds(8000)) {
    SeededRandom random(seed);
    const Request request = random_request(random);
    const DecodedRequest decoded = decode(encode(request));
    ASSERT_TRUE(decoded.request.ok())
        << "seed " << seed << ": " << decoded.request.error().message();
    ASSERT_EQ(decoded.request.value(), request) << "seed " << seed;
    ASSERT_EQ(decoded.id, request.id) << "seed " << seed;
  }
}

TEST(FrameCodec, EveryServerFrameComesBackAsItWas) {
  for (const std::uint64_t seed : campaign_seeds(8000)) {
    SeededRandom random(seed);
    const ServerFrame frame = random_server_frame(random);
    const Message message = encode(frame);
    const Result<ServerFrame> decoded = decode_server_frame(message.is_binary, message.bytes);
    ASSERT_TRUE(decoded.ok()) << "seed " << seed << ": " << decoded.error().message();
    ASSERT_EQ(decoded.value(), frame) << "seed " << seed << ": " << message.bytes;
  }
}

TEST(FrameCodec, ChangedBytesGiveAnErrorOrAFrameThatIsWrittenBack) {
  for (const std::uint64_t seed : campaign_seeds(8000)) {
    SeededRandom random(seed);
    Message message = encode(random_request(random));
    for (std::uint64_t i = 0; i < 1 + random.next() % 3; ++i) {
      const std::uint64_t at = random.next() % message.bytes.size();
      if (random.next() % 2 == 0) {
        message.bytes[at] = static_cast<char>(random.next());
      } else {
        message.bytes.erase(at, 1 + random.next() % 4);
      }
      if (message.bytes.empty()) break;
    }
    const DecodedRequest decoded = decode(message);
    if (!decoded.request.ok()) continue;
    const DecodedRequest again = decode(encode(decoded.request.value()));
    ASSERT_TRUE(again.request.ok()) << "seed " << seed;
    ASSERT_EQ(again.request.value(), decoded.request.value()) << "seed " << seed;
  }
}

TEST(FrameCodec, AnErrorNamesTheVerbTheMemberAndWhatWasExpected) {
  EXPECT_EQ(
      refusal(text(R"({"verb":"lauch","id":1})")),
      "invalid-argument: request: \"verb\" is \"lauch\", none of find_program, upload, "
      "name_program, launch, send, close_input, send_file, attach, detach, abort, list, status, "
      "add_adapter, upload_adapter, remove_adapter, list_adapters");
  EXPECT_EQ(refusal(text(R"({"verb":"close_input","id":1,"instance":2,"instnce":3})")),
            "invalid-argument: close_input: \"instnce\" is unknown (known: verb, id, instance)");
  EXPECT_EQ(refusal(text(R"({"verb":"close_input","id":1})")),
            "invalid-argument: close_input: \"instance\" is missing");
  EXPECT_EQ(
      refusal(text(R"({"verb":"close_input","id":1,"instance":"2"})")),
      "invalid-argument: close_input: \"instance\" is \"\\x222\\x22\"; a whole number of 1 to "
      "2^53 - 1 was expected");
  EXPECT_EQ(refusal(text(R"({"verb":"launch","id":1,"program":"x","arguments":["a",7]})")),
            "invalid-argument: launch: \"arguments\" [1] is number, not a text");
  EXPECT_EQ(refusal(text(R"({"verb":"launch","id":1,"program":"x","arguments":[],)"
                         R"("limits":{"memory":1}})")),
            "invalid-argument: launch: \"limits\": \"memory\" is unknown (known: memory_bytes_max, "
            "cpu_ns_max, cpu_ns_between_waits_max, page_count_max, output_bytes_max)");
  EXPECT_EQ(refusal(text(R"({"verb":"launch","id":1,"program":"sha256:12","arguments":[]})")),
            "invalid-argument: launch: \"program\" \"12\" is not a SHA-256: 64 digits of 0-9 and "
            "a-f");
  const std::string naming =
      R"({"verb":"name_program","id":1,"program":"sha256:)" + std::string(64, '0') + "\",";
  EXPECT_EQ(refusal(text(naming + R"("name":"sha256:)" + std::string(64, '0') + "\"}")),
            "invalid-argument: name_program: \"name\" names a content, which needs no name");
  EXPECT_EQ(refusal(text(naming + R"("name":""})")),
            "invalid-argument: name_program: \"name\" program name is empty");
  EXPECT_EQ(refusal(text(R"({"verb":"launch","id":1,"program":"a/b","arguments":[]})")),
            "invalid-argument: launch: \"program\" program name has a \"/\" at byte 1");
  EXPECT_EQ(refusal(text(R"({"verb":"send","id":1,"instance":2})")),
            "invalid-argument: send has bytes: a binary frame was expected");
  EXPECT_EQ(refusal(binary(R"({"verb":"list","id":1})")),
            "invalid-argument: list has no bytes: a text frame was expected");
}

TEST(FrameCodec, AnIdIsToldEvenIfTheRestIsWrong) {
  EXPECT_EQ(decode(text(R"({"verb":"lauch","id":77})")).id, 77u);
  EXPECT_EQ(decode(text(R"({"id":9007199254740991})")).id, 9007199254740991u);
  for (const char* each :
       {R"({"verb":"list"})", R"({"verb":"list","id":0})", R"({"verb":"list","id":-1})",
        R"({"verb":"list","id":1.0})", R"({"verb":"list","id":9007199254740992})", R"([1])", R"(7)",
        R"({)", "", "{\"verb\":\"list\",\"id\":1,\"\xff\":1}",
        R"({"verb":"list","id":1,"id":2})"}) {
    EXPECT_EQ(decode(text(each)).id, 0u) << each;
    EXPECT_FALSE(decode(text(each)).request.ok()) << each;
  }
}

TEST(FrameCodec, AnIdIsToldOfARequestWithTooManyBytes) {
  const std::string too_many(kPayloadBytesMax + 1, 'x');
  const DecodedRequest decoded = decode(binary(R"({"verb":"send","id":7,"instance":2})", too_many));
  EXPECT_EQ(decoded.id, 7u);
  ASSERT_FALSE(decoded.request.ok());
  EXPECT_EQ(decoded.request.error().code(), ErrorCode::TooLarge);
  EXPECT_EQ(decode(binary(R"({"verb":"send","instance":2})", too_many)).id, 0u);
}

TEST(FrameCodec, AServerFrameWithTooManyBytesIsRefused) {
  const Message message =
      binary(R"({"event":"message","instance":2})", std::string(kPayloadBytesMax + 1, 'x'));
  const Result<ServerFrame> frame = decode_server_frame(message.is_binary, message.bytes);
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().message(), "payload of 1048577 bytes; at most 1048576 are allowed");
}

TEST(FrameCodec, SizesAreBounded) {
  const std::string long_name(256, 'x');
  EXPECT_EQ(refusal(text(R"({"verb":"attach","id":1,"name":")" + long_name + "\"}")),
            "invalid-argument: attach: \"name\" has 256 bytes; at most 255 are allowed");
  EXPECT_EQ(refusal(text(std::string(kTextFrameBytesMax + 1, ' '))),
            "too-large: text frame of 2097153 bytes; at most 2097152 are allowed");
  const std::string send = R"({"verb":"send","id":1,"instance":2})";
  EXPECT_EQ(refusal(binary(send, std::string(kPayloadBytesMax, 'x'))), "");
  EXPECT_EQ(refusal(binary(send, std::string(kPayloadBytesMax + 1, 'x'))),
            "too-large: payload of 1048577 bytes; at most 1048576 are allowed");
  EXPECT_EQ(refusal(binary(send + std::string(kHeaderBytesMax, ' '))),
            "too-large: header of a binary frame of 65571 bytes; at most 65536 are allowed");
  EXPECT_EQ(refusal({true, std::string("\x05\0\0\0{}", 6)}),
            "invalid-argument: binary frame: a header of 5 bytes was announced, 2 are there");
  EXPECT_EQ(refusal({true, "abc"}),
            "invalid-argument: binary frame of 3 bytes: it begins with 4 that count those of its "
            "header");
  EXPECT_EQ(refusal(text(R"({"verb":"list","id":1,"x":)" + std::string(100, '['))).substr(0, 60),
            "invalid-argument: frame: byte 89: JSON nested deeper than 64");
  std::string many = R"({"verb":"launch","id":1,"program":"x","arguments":[""])";
  for (std::uint32_t i = 0; i < kArgumentCountMax; ++i) many.insert(many.size() - 1, R"(,"")");
  EXPECT_EQ(refusal(text(many + "}")),
            "invalid-argument: launch: \"arguments\" has 4097 elements; at most 4096 are allowed");
}

TEST(FrameCodec, AFigureOfAnotherFormIsRefusedWithTheFormThatIsExpected) {
  StatusReply status;
  status.version = "1";
  status.detail.emplace().figures["programs"] = {.used = 5, .maximum = 6};
  const std::string right = encode(ServerFrame(Reply{1, status})).bytes;
  const std::string figure = R"("programs":[5,6])";
  const std::size_t at = right.find(figure);
  ASSERT_NE(at, std::string::npos) << right;
  EXPECT_TRUE(decode_server_frame(false, right).ok());
  const auto refusal_of = [&](const std::string& values) {
    std::string wrong = right;
    wrong.replace(at, figure.size(), "\"programs\":" + values);
    const Result<ServerFrame> frame = decode_server_frame(false, wrong);
    return frame.ok() ? "" : std::string(frame.error().message());
  };
  for (const char* values : {"5", "[]", "[5,6,7]", "{}"}) {
    EXPECT_NE(refusal_of(values).find("of \"programs\": expected [used] or [used, maximum]"),
              std::string::npos)
        << values << ": " << refusal_of(values);
  }
  for (const char* values : {"[-1]", "[5,null]", "[9007199254740992]"}) {
    EXPECT_NE(refusal_of(values).find("of \"programs\": expected counts of at most 2^53 - 1"),
              std::string::npos)
        << values << ": " << refusal_of(values);
  }
}

TEST(FrameCodec, APartLiesWithinItsFile) {
  const auto part = [](const char* offset, const char* bytes) {
    return binary(std::string(R"({"verb":"send_file","id":1,"instance":2,"name":"a",)") +
                      R"("media_type":"text/plain","file_bytes":5,"offset":)" + offset + "}",
                  bytes);
  };
  EXPECT_EQ(refusal(part("2", "abc")), "");
  EXPECT_EQ(refusal(part("5", "")), "");
  EXPECT_EQ(refusal(part("3", "abc")), "invalid-argument: a part of 3 bytes at 3 of a file of 5");
  EXPECT_EQ(refusal(part("6", "")), "invalid-argument: a part of 0 bytes at 6 of a file of 5");
}

TEST(FrameCodec, BytesOfAFrameAreTheOnesThatTheDocumentShows) {
  const Message send = encode(Request{4, Send{17, "hi"}});
  EXPECT_TRUE(send.is_binary);
  EXPECT_EQ(send.bytes,
            std::string("\x24\0\0\0", 4) + R"({"verb":"send","id":4,"instance":17})" + "hi");
  const Message event = encode(ServerFrame(MessageEvent{17, "hi"}));
  EXPECT_TRUE(event.is_binary);
  EXPECT_EQ(event.bytes,
            std::string("\x21\0\0\0", 4) + R"({"event":"message","instance":17})" + "hi");
}

TEST(FrameCodec, TheReplyToALaunchIsWrittenAsTheDocumentShows) {
  EXPECT_EQ(encode(ServerFrame(Reply{5, InstanceReply{17, "5f0c", Digest{}, true}})).bytes,
            R"({"reply":"instance","id":5,"instance":17,"name":"5f0c","program":"sha256:)" +
                std::string(64, '0') + R"(","detached":true})");
}

TEST(FrameCodec, AClientPassesOverWhatALaterServerAdds) {
  const Result<ServerFrame> frame =
      decode_server_frame(false, R"({"reply":"done","id":3,"colour":"blue"})");
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value(), ServerFrame(Reply{3, Done{}}));
  EXPECT_FALSE(decode_server_frame(false, R"({"event":"colour"})").ok());
  EXPECT_FALSE(decode_server_frame(false, R"({"reply":"error","id":1,"code":"unknown",)"
                                          R"("message":""})")
                   .ok());
}

TEST(FrameCodec, AnEndOfAnEarlierServerIsWithoutTheCountsThatCameLater) {
  const std::string earlier =
      R"({"event":"ended","instance":7,"end":"finished","exit_code":0,"message":"","limit":"",)"
      R"("duration_ns":1,"first_message_ns":2,"cpu_ns":3,"asked_token_count":4,)"
      R"("computed_token_count":5,"found_token_count":6,"page_count_max":7})";
  const Message message = binary(earlier);
  const Result<ServerFrame> decoded = decode_server_frame(message.is_binary, message.bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message();
  const service::End& end = std::get<EndedEvent>(decoded.value()).end;
  EXPECT_EQ(end.page_count_max, 7u);
  EXPECT_EQ(end.first_token_ns + end.opened_token_count + end.children_computed_token_count, 0u);
}

TEST(FrameCodec, TextThatIsNoUtf8IsWrittenAsTextThatIs) {
  const Message message = encode(ServerFrame(ErrorEvent{ErrorCode::Io, "bad \xff byte"}));
  const Result<ServerFrame> frame = decode_server_frame(false, message.bytes);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(std::get<ErrorEvent>(frame.value()).message, "bad \xef\xbf\xbd byte");
}

// Else it does not get far: a frame that was changed by chance is rarely one of another kind.
TEST(FrameCodec, SeedsOfItsFuzzerAreFramesOfEveryKind) {
  std::set<std::size_t> requests, frames, replies;
  bool has_detail = false;
  for (const auto& entry :
       std::filesystem::directory_iterator(QUIRE_SOURCE_DIR "/tests/fuzz/frame_codec_fuzz")) {
    SCOPED_TRACE(entry.path().filename().string());
    const Result<std::string> seed = read_file(entry.path().string(), 1u << 20);
    ASSERT_TRUE(seed.ok() && !seed.value().empty());
    // As the fuzzer takes it.
    const bool is_binary = (seed.value()[0] & 1) != 0;
    const std::string_view bytes = std::string_view(seed.value()).substr(1);
    if ((seed.value()[0] & 2) == 0) {
      const DecodedRequest decoded = decode_request(is_binary, bytes);
      ASSERT_TRUE(decoded.request.ok()) << decoded.request.error().message();
      requests.insert(decoded.request.value().body.index());
      continue;
    }
    const Result<ServerFrame> frame = decode_server_frame(is_binary, bytes);
    ASSERT_TRUE(frame.ok()) << frame.error().message();
    frames.insert(frame.value().index());
    if (const auto* reply = std::get_if<Reply>(&frame.value())) {
      replies.insert(reply->body.index());
      const auto* status = std::get_if<StatusReply>(&reply->body);
      has_detail = has_detail || (status != nullptr && status->detail);
    }
  }
  EXPECT_EQ(requests.size(), std::variant_size_v<RequestBody>);
  EXPECT_EQ(frames.size(), std::variant_size_v<ServerFrame>);
  EXPECT_EQ(replies.size(), std::variant_size_v<ReplyBody>);
  EXPECT_TRUE(has_detail);
}

}  // namespace
}  // namespace quire::wire
