// Tables of the patterns, and of the names that ask for them. A name in a file means what llama.cpp
// does with it, so the patterns are llama.cpp's. The behavior of its own engine is written out.
// "\s" takes all white space, and no other class takes any beyond ASCII. Its "\d" is "[0-9]", its
// categories of letters are all "\p{L}", and letters beyond ASCII have no case.
// tests/golden/make_pre_tokenizer_goldens.py makes the answers that tokenizer_golden_test.cc
// compares with.
#include "inference/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <string>

namespace quire::inference {
namespace {

#define QUIRE_GPT2 \
  R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re"
#define QUIRE_CONTRACTION R"re((?:'[sSdDmMtT]|'[rR][eE]|'[vV][eE]|'[lL][lL]))re"
// Han characters by the blocks that llama.cpp lists.
#define QUIRE_HAN                                                                   \
  R"re(\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2EBEF})re" \
  R"re(\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F})re"

constexpr std::string_view kLlama3[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)re"
    R"re(\s+(?!\S)|\s+)re"};
constexpr std::string_view kJais2[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)re"
    R"re(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|)re"
    R"re(\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})re"};
constexpr std::string_view kDeepseekLlm[] = {
    R"re([\r\n])re",
    R"re(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ)re"
    R"re(-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ)re"
    R"re(-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)re",
    R"re(\s?[!-/:-~！-／：-～‘-‟、-。]+)re",
    R"re(\s+\z)re",
    R"re([一-龥ࠀ-一가-퟿&&\S]+)re",
    R"re(\p{N}+)re"};
constexpr std::string_view kDeepseekCoder[] = {
    R"re([\r\n])re", R"re(\s?\p{L}+)re", R"re(\s?\p{P}+)re", R"re([一-龥ࠀ-一가-퟿&&\S]+)re",
    R"re(\p{N})re"};
constexpr std::string_view kDeepseekV3[] = {
    R"re(\p{N}{1,3})re", R"re([一-龥぀-ゟ゠-ヿ]+)re",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re"
    R"re([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|)re"
    R"re(\s+(?!\S)|\s+)re"};
constexpr std::string_view kSpark25[] = {
    R"re(\p{N}{1,3})re", R"re([一-龥぀-ゟ゠-ヿ]+)re",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re"
    R"re([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)re",
    R"re(\p{N})re"};
constexpr std::string_view kYoutu[] = {
    R"re([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)re",
    R"re([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)re" QUIRE_CONTRACTION
    R"re(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kFalcon[] = {R"re([\p{P}\$\+<=>\^~\|`]+)re", QUIRE_GPT2,
                                        R"re([0-9][0-9][0-9])re"};
constexpr std::string_view kDigits[] = {R"re(\p{N})re", QUIRE_GPT2};
constexpr std::string_view kGpt2[] = {QUIRE_GPT2};
constexpr std::string_view kQwen2[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kQwen35[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)re"
    R"re(\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kPoro[] = {R"re( ?[^(\s|.,!?…。，、।۔،)]+)re"};
constexpr std::string_view kViking[] = {R"re( ?[^(\s|.,!?…。，、।۔،)]+)re", R"re(\p{N})re"};
constexpr std::string_view kTekken[] = {
    R"re([^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|)re"
    R"re([^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}|)re"
    R"re( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kChameleon[] = {
    R"re(<sentinel:[0-9]+>)re",    R"re((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)re",
    R"re(([\t\n]|    |  ))re",     R"re(\p{N})re",
    R"re([\p{P}!-/:-@\[-`{-~])re", QUIRE_GPT2};
constexpr std::string_view kGpt4o[] = {
    R"re([^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+)re" QUIRE_CONTRACTION
    R"re(?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*)re" QUIRE_CONTRACTION
    R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kGraniteEmbedding[] = {
    R"re([^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]*[[\p{L}\p{M}]&&[^A-Z]]+)re" QUIRE_CONTRACTION
    R"re(?|[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]+[[\p{L}\p{M}]&&[^A-Z]]*)re" QUIRE_CONTRACTION
    R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kTinyAya[] = {
    R"re(\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))re",
    R"re([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)re" QUIRE_CONTRACTION
    R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kKimiK2[] = {
    R"re([)re" QUIRE_HAN R"re(]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^)re" QUIRE_HAN
    R"re(]]+)re" QUIRE_CONTRACTION
    R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kSuperbpe[] = {R"re(\p{N}+)re", R"re((?=(?:[0-9]{3})+(?![0-9])))re"};
constexpr std::string_view kBailing[] = {
    R"re('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)re"
    R"re( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)re"};
constexpr std::string_view kSeedCoder[] = {
    QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kUfakzeka[] = {
    R"re([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kAfmoe[] = {
    R"re(\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))re",
    R"re([一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+)re",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re"
    R"re([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|)re"
    R"re(\s+(?!\S)|\s+)re"};
constexpr std::string_view kLaguna[] = {
    R"re([^\n]+|[\n]+)re", QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kExaoneMoe[] = {
    QUIRE_CONTRACTION R"re(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)re"
                      R"re( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)re"};
constexpr std::string_view kLines[] = {R"re([^\n]+|[\n]+)re"};
constexpr std::string_view kMinicpm5[] = {
    R"re(\p{N}{1,3})re", QUIRE_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|)re"
    R"re(\s+)re"};
constexpr std::string_view kWords[] = {R"re(\S+)re"};
constexpr std::string_view kDefault[] = {R"re([\p{P}\$\+<=>\^~\|]+)re", QUIRE_GPT2, R"re(\p{N}+)re",
                                         R"re([0-9][0-9][0-9])re"};

#undef QUIRE_GPT2
#undef QUIRE_CONTRACTION
#undef QUIRE_HAN

// Properties that a name asks for in addition to its patterns.
enum Extras : std::uint32_t {
  kIgnoresMerges = 1,    // A word that is a token is that token.
  kAddsBos = 2,          // If the file does not say.
  kRawText = 4,          // Tokens are spelled as text, not in GPT-2's alphabet.
  kEscapesSpaces = 8,    // A space is U+2581.
  kWholeLineEnds = 16,   // Line ends in a row that are a token are that token.
  kMaskTakesSpaces = 32  // "<mask>" takes the white space before it along.
};

struct Row {
  std::string_view name;
  std::span<const std::string_view> patterns;
  std::uint32_t extras = 0;
};

// In the order of llama.cpp's list.
constexpr Row kRows[] = {
    {"default", kDefault},
    {"minicpm5", kMinicpm5, kIgnoresMerges},
    {"llama3", kLlama3, kIgnoresMerges | kAddsBos},
    {"llama-v3", kLlama3, kIgnoresMerges | kAddsBos},
    {"llama-bpe", kLlama3, kIgnoresMerges | kAddsBos},
    {"falcon3", kLlama3, kIgnoresMerges | kAddsBos},
    {"falcon-h1", kLlama3, kIgnoresMerges | kAddsBos},
    {"pixtral", kLlama3, kIgnoresMerges | kAddsBos},
    {"midm-2.0", kLlama3, kIgnoresMerges | kAddsBos},
    {"lfm2", kLlama3, kIgnoresMerges | kAddsBos},
    {"jina-v5-nano", kLlama3, kIgnoresMerges | kAddsBos},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3", kDeepseekV3},
    {"spark2_5", kSpark25},
    {"youtu", kYoutu, kIgnoresMerges},
    {"falcon", kFalcon},
    {"mpt", kGpt2},
    {"starcoder", kDigits},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"jina-es", kGpt2},
    {"jina-de", kGpt2},
    {"gigachat", kGpt2},
    {"jina-v2-es", kGpt2, kMaskTakesSpaces},
    {"jina-v2-de", kGpt2, kMaskTakesSpaces},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"modern-bert", kGpt2},
    {"jais-2", kJais2},
    {"gemma4", kLines, kRawText | kEscapesSpaces | kAddsBos | kWholeLineEnds},
    {"granite-embed-multi-311m", kLines, kRawText | kEscapesSpaces | kAddsBos | kWholeLineEnds},
    {"sarvam-moe", kLines, kRawText | kEscapesSpaces},
    {"jina-v1-en", kGpt2},
    {"jina-v2-code", kGpt2, kMaskTakesSpaces},
    {"roberta-bpe", kGpt2},
    {"whitespace", kWords, kRawText},
    {"refact", kDigits},
    {"command-r", kDigits},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"f2llmv2", kQwen2},
    {"qwen35", kQwen35},
    {"stablelm2", kQwen2},
    {"olmo", kGpt2},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"poro-chat", kPoro},
    {"chatglm-bpe", kLlama3},
    {"glm4", kLlama3, kIgnoresMerges},
    {"glm5", kLlama3, kIgnoresMerges},
    {"viking", kViking},
    {"jais", kGpt2},
    {"tekken", kTekken, kIgnoresMerges | kAddsBos},
    {"smollm", kDigits},
    {"codeshell", kDigits},
    {"bloom", kPoro},
    {"gpt3-finnish", kPoro},
    {"exaone", kDigits},
    {"exaone4", kGpt2},
    {"exaone-moe", kExaoneMoe},
    {"chameleon", kChameleon, kAddsBos},
    {"minerva-7b", kDigits},
    {"megrez", kQwen2},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"kanana2", kGpt4o},
    {"talkie", kGpt4o},
    {"granite-embed-multi-97m", kGraniteEmbedding, kIgnoresMerges},
    {"tiny_aya", kTinyAya},
    {"cohere2moe", kTinyAya},
    {"superbpe", kSuperbpe},
    {"trillion", kGpt2},
    {"granite-docling", kGpt2},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"hunyuan", kQwen2},
    {"hunyuan-dense", kDeepseekV3},
    {"hy_v4", kDeepseekV3},
    {"joyai-llm", kDeepseekV3},
    {"kimi-k2", kKimiK2},
    {"ufakzeka", kUfakzeka},
    {"grok-2", kQwen2},
    {"afmoe", kAfmoe},
    {"laguna", kLaguna},
    {"minimax-m2", kGpt4o},
    {"solar-open", kQwen2},
    {"mellum2", kDigits},
};

std::string supported_names() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace

Result<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  if (name.empty()) {
    return Error(ErrorCode::NotSupported, "tokenizer: the file names no pre-tokenizer");
  }
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.name == name; });
  if (row == std::end(kRows)) {
    return Error(ErrorCode::NotSupported, "tokenizer: unknown pre-tokenizer \"" +
                                              std::string(name) +
                                              "\" (supported: " + supported_names() + ")");
  }
  const auto has = [row](Extras extra) { return (row->extras & extra) != 0; };
  return PreTokenizer{.patterns = row->patterns,
                      .ignore_merges = has(kIgnoresMerges),
                      .adds_bos = has(kAddsBos),
                      .is_raw = has(kRawText),
                      .escapes_spaces = has(kEscapesSpaces),
                      .whole_line_ends = has(kWholeLineEnds),
                      .mask_takes_spaces = has(kMaskTakesSpaces)};
}

std::vector<std::string_view> pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace quire::inference
