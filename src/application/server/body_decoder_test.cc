#include "application/server/body_decoder.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <vector>

#include "application/server/body_decoder_test_support.h"
#include "base/random.h"
#include "base/seeds.h"
#include "support/deflated.h"

namespace quire::server {
namespace body_decoder_test {
namespace {

constexpr ContentCoding kCodings[] = {ContentCoding::Gzip, ContentCoding::Deflate,
                                      ContentCoding::Zstd};
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// A frame with a checksum, and without the size of its content, as a client that streams makes it.
std::string zstd(std::string_view text, int level, int window_log = 0) {
  ZSTD_CCtx* state = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, window_log);
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer from{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  EXPECT_EQ(ZSTD_isError(ZSTD_compressStream2(state, &to, &from, ZSTD_e_continue)), 0u);
  EXPECT_EQ(ZSTD_compressStream2(state, &to, &from, ZSTD_e_end), 0u);
  out.resize(to.pos);
  ZSTD_freeCCtx(state);
  return out;
}

std::string encoded(ContentCoding coding, std::string_view text, int level = 6) {
  if (coding == ContentCoding::Zstd) return zstd(text, level);
  return deflated(text, coding == ContentCoding::Gzip ? 15 + 16 : 15, level);
}

enum class Text : std::uint8_t { Words, Bytes, Runs };

std::string some_text(SeededRandom& random, std::size_t bytes, Text kind = Text::Words) {
  std::string text;
  while (text.size() < bytes) {
    if (kind == Text::Words) text += "{\"n\": " + std::to_string(random.next() % 1000) + "}, ";
    if (kind == Text::Bytes) text += static_cast<char>(random.next());
    if (kind == Text::Runs) text.append(1 + random.next() % 500, 'a');
  }
  text.resize(bytes);
  return text;
}

TEST(ContentCoding, IsTheOneThatTheHeadersName) {
  using Values = std::vector<std::string>;
  EXPECT_EQ(content_coding_of({}), ContentCoding::Identity);
  for (const Values& each : {Values{""}, Values{"identity"}, Values{" , Identity,"}}) {
    EXPECT_EQ(content_coding_of(each), ContentCoding::Identity);
  }
  for (const Values& each : {Values{"gzip"}, Values{"GZip"}, Values{"x-gzip"}, Values{"\tX-GZIP "},
                             Values{"identity, gzip"}, Values{"identity", "gzip,"}}) {
    EXPECT_EQ(content_coding_of(each), ContentCoding::Gzip) << each.front();
  }
  EXPECT_EQ(content_coding_of({"deflate"}), ContentCoding::Deflate);
  EXPECT_EQ(content_coding_of({"ZSTD"}), ContentCoding::Zstd);
  for (const Values& each :
       {Values{"br"}, Values{"compress"}, Values{"gzip, gzip"}, Values{"gzip", "zstd"},
        Values{"gzip;q=1"}, Values{"gzip zstd"}, Values{"*"}, Values{"gzip, br"},
        Values{"\"gzip\""}, Values{"gzip1"}, Values{"dcz"}}) {
    EXPECT_EQ(content_coding_of(each), std::nullopt) << each.front();
  }
}

TEST(BodyDecoder, GivesTheBodyInWhateverPiecesItComes) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SeededRandom random(seed);
    for (const ContentCoding coding : kCodings) {
      const std::size_t bytes =
          random.next() % 4 == 0 ? random.next() % 20 : random.next() % 300'000;
      const std::string text = some_text(random, bytes, static_cast<Text>(random.next() % 3));
      const std::string sent = encoded(coding, text, 1 + static_cast<int>(random.next() % 9));
      const std::size_t most = 1 + random.next() % 5000;
      const auto pieces = [&] { return 1 + random.next() % most; };
      const DecodedBody decoded = decode_body(coding, sent, pieces);
      ASSERT_EQ(decoded.end, "whole") << "seed " << seed << ": " << decoded.problem;
      ASSERT_TRUE(decoded.bytes == text) << "seed " << seed;
    }
  }
}

TEST(BodyDecoder, TakesABodyByteByByte) {
  SeededRandom random(7);
  for (const ContentCoding coding : kCodings) {
    for (const std::size_t bytes : {0u, 1u, 100u, 70'000u}) {
      const std::string text = some_text(random, bytes);
      const DecodedBody decoded =
          decode_body(coding, encoded(coding, text), [] { return std::size_t{1}; });
      EXPECT_EQ(decoded.end, "whole") << decoded.problem;
      EXPECT_TRUE(decoded.bytes == text);
    }
  }
}

TEST(BodyDecoder, ABodyWithoutBytesIsEmpty) {
  for (const ContentCoding coding : kCodings) {
    const DecodedBody decoded = decode_body(coding, "");
    EXPECT_EQ(decoded.end, "whole") << decoded.problem;
    EXPECT_EQ(decoded.bytes, "");
  }
}

TEST(BodyDecoder, TakesMembersOfGzipAndFramesOfZstdOneAfterAnother) {
  const std::string skipped = std::string("\x5a\x2a\x4d\x18\x03\0\0\0", 8) + "abc";
  const std::string frames = skipped + zstd("one ", 3) + skipped + zstd("", 3) + zstd("two", 19);
  const std::string members =
      deflated("one ", 15 + 16, 6) + deflated("", 15 + 16, 6) + deflated("two", 15 + 16, 0);
  for (const std::size_t piece_bytes : {1u, 3u, 1000u}) {
    const auto pieces = [&] { return piece_bytes; };
    EXPECT_EQ(decode_body(ContentCoding::Gzip, members, pieces).bytes, "one two");
    const DecodedBody decoded = decode_body(ContentCoding::Zstd, frames, pieces);
    EXPECT_EQ(decoded.bytes, "one two") << decoded.problem;
    EXPECT_EQ(decoded.end, "whole");
  }
}

TEST(BodyDecoder, ABodyThatEndsEarlyIsAProblem) {
  for (const ContentCoding coding : kCodings) {
    const std::string sent = encoded(coding, "{\"model\": \"a\", \"messages\": []}");
    for (std::size_t bytes = 1; bytes < sent.size(); ++bytes) {
      for (const std::size_t piece_bytes : {1u, 1000u}) {
        const auto pieces = [&] { return piece_bytes; };
        const DecodedBody decoded = decode_body(coding, sent.substr(0, bytes), pieces);
        EXPECT_EQ(decoded.end, "problem 400") << bytes;
        EXPECT_NE(decoded.problem.find("the body is cut short: it ends after " +
                                       std::to_string(bytes) + " bytes"),
                  std::string::npos)
            << decoded.problem;
      }
    }
  }
}

TEST(BodyDecoder, BytesAfterTheEndAreAProblem) {
  for (const ContentCoding coding : kCodings) {
    const std::string sent = encoded(coding, "text");
    for (const std::string& more : {std::string("x"), std::string("\r\n"), std::string(1, '\0'),
                                    std::string("GET / HTTP/1.1\r\n\r\n"), sent.substr(0, 5)}) {
      for (const std::size_t piece_bytes : {1u, 1000u}) {
        const auto pieces = [&] { return piece_bytes; };
        EXPECT_EQ(decode_body(coding, sent + more, pieces).end, "problem 400") << more;
      }
    }
  }
  EXPECT_EQ(
      decode_body(ContentCoding::Deflate, encoded(ContentCoding::Deflate, "text") + "x").problem,
      "Content-Encoding deflate: the body is not zlib (RFC 1950): bytes follow its end, near "
      "byte 12");
}

TEST(BodyDecoder, WrongBytesAreAProblemAndNeverAnotherBody) {
  SeededRandom random(3);
  const std::string text = some_text(random, 3000);
  for (const ContentCoding coding : kCodings) {
    const std::string sent = encoded(coding, text);
    for (std::size_t at = 0; at < sent.size(); ++at) {
      std::string bad = sent;
      bad[at] = static_cast<char>(bad[at] ^ (1 + random.next() % 255));
      const DecodedBody decoded = decode_body(coding, bad, [] { return std::size_t{700}; });
      // The head of gzip has a time and a system that nothing depends on.
      if (decoded.end == "whole") {
        EXPECT_TRUE(decoded.bytes == text) << at;
      } else {
        EXPECT_EQ(decoded.end, "problem 400") << decoded.problem;
      }
    }
  }
  EXPECT_EQ(decode_body(ContentCoding::Gzip, "{\"model\": 1}").problem,
            "Content-Encoding gzip: the body is not gzip: incorrect header check, near byte 2");
  EXPECT_EQ(decode_body(ContentCoding::Zstd, "{\"model\": 1}").problem,
            "Content-Encoding zstd: the body is not zstd: no frame begins, near byte 0");
}

TEST(BodyDecoder, AnotherCodingThanTheHeaderNamesIsAProblem) {
  for (const ContentCoding coding : kCodings) {
    for (const ContentCoding other : kCodings) {
      if (coding == other) continue;
      EXPECT_EQ(decode_body(coding, encoded(other, "text")).end, "problem 400");
    }
  }
  // Raw deflate (RFC 1951), which some programs send under this name.
  EXPECT_EQ(decode_body(ContentCoding::Deflate, deflated("text", -15, 6)).end, "problem 400");
}

TEST(BodyDecoder, ABodyBeyondTheLimitIsAProblemAtItsFirstByteTooMany) {
  SeededRandom random(5);
  const std::string text = some_text(random, 100'000);
  for (const ContentCoding coding : kCodings) {
    const std::string sent = encoded(coding, text);
    for (const std::size_t piece_bytes : {1u, 999u, 1u << 20}) {
      const auto pieces = [&] { return piece_bytes; };
      EXPECT_EQ(decode_body(coding, sent, pieces, {text.size(), 100}).end, "whole");
      const DecodedBody decoded = decode_body(coding, sent, pieces, {text.size() - 1, 100});
      EXPECT_EQ(decoded.end, "problem 413");
      EXPECT_NE(decoded.problem.find(
                    "request_body_bytes_max: the decoded body has more than 99999 bytes"),
                std::string::npos)
          << decoded.problem;
    }
  }
}

// Blocks that repeat one byte 128 KiB times in 4 bytes each, with a window of 8 MiB.
std::string zstd_bomb(std::size_t block_count) {
  std::string frame("\x28\xb5\x2f\xfd\x00\x68", 6);
  for (std::size_t i = 0; i < block_count; ++i) {
    const std::uint32_t head = (128u << 10) << 3 | 1u << 1 | (i + 1 == block_count ? 1 : 0);
    for (int shift = 0; shift < 24; shift += 8) frame += static_cast<char>(head >> shift);
    frame += 'a';
  }
  return frame;
}

TEST(BodyDecoder, ABombIsRefusedSoonAfterTheFirstMebibyte) {
  const std::string zeros(64 * kMebibyte, '\0');
  const BodyDecoderLimits limits = {.body_bytes_max = 32 * kMebibyte, .ratio_max = 100};
  for (const ContentCoding coding : kCodings) {
    const std::string bomb =
        coding == ContentCoding::Zstd ? zstd_bomb(8192) : encoded(coding, zeros, 9);
    for (const std::size_t piece_bytes : {1u, 100u, 1u << 20}) {
      const auto pieces = [&] { return piece_bytes; };
      const DecodedBody decoded = decode_body(coding, bomb, pieces, limits);
      EXPECT_EQ(decoded.end, "problem 413");
      EXPECT_NE(decoded.problem.find("decompression_ratio_max: "), std::string::npos)
          << decoded.problem;
      EXPECT_LT(decoded.bytes.size(), kMebibyte + HttpReader::kPartBytesMax);
    }
  }
}

TEST(BodyDecoder, AMebibyteMayHaveAnyRatioAndMoreOneBelowTheLimit) {
  SeededRandom random(9);
  std::string text(kMebibyte, 'a');
  for (const ContentCoding coding : kCodings) {
    EXPECT_EQ(decode_body(coding, encoded(coding, text)).end, "whole");
  }
  text = some_text(random, 40'000, Text::Bytes) + std::string(3 * kMebibyte, 'a');
  for (const ContentCoding coding : kCodings) {
    const DecodedBody decoded = decode_body(coding, encoded(coding, text));
    EXPECT_EQ(decoded.end, "whole") << decoded.problem;
    EXPECT_TRUE(decoded.bytes == text);
  }
}

TEST(BodyDecoder, TheWindowOfZstdIsLimited) {
  SeededRandom random(11);
  const std::string text = some_text(random, 3000);
  EXPECT_EQ(decode_body(ContentCoding::Zstd, zstd(text, 3, kZstdWindowLogMax)).end, "whole");
  const DecodedBody larger = decode_body(ContentCoding::Zstd, zstd(text, 3, kZstdWindowLogMax + 1));
  EXPECT_EQ(larger.end, "problem 400");
  EXPECT_NE(larger.problem.find("needs a window of more than 8388608 bytes"), std::string::npos)
      << larger.problem;
}

TEST(BodyDecoder, FormatsFromBeforeTheStandardOfZstdAreNotRead) {
  for (const char first : {'\x1e', '\x22', '\x23', '\x24', '\x25', '\x26', '\x27', '\x29'}) {
    const std::string frame = std::string(1, first) + "\xb5\x2f\xfd" + std::string(20, '\0');
    EXPECT_EQ(decode_body(ContentCoding::Zstd, frame).problem,
              "Content-Encoding zstd: the body is not zstd: no frame begins, near byte 0");
    EXPECT_EQ(decode_body(ContentCoding::Zstd, zstd("text", 3) + frame).end, "problem 400");
  }
}

}  // namespace
}  // namespace body_decoder_test
}  // namespace quire::server
