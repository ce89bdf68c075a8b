#pragma once
// C functions over what libquire_engines.a holds in Rust: tokenizers, chat templates and grammars.
// wasmtime's own C API (wasmtime.h) is in the same library and speaks for itself.
//
// Ownership  What a function gives through an out parameter is the caller's, and goes back through
//            the matching _delete. quire_bytes borrow: they need to live only as long as the call,
//            except those of quire_added_token, which live as long as their tokenizer.
// Threads    Many threads may use a tokenizer, a template, a grammar's vocabulary or a grammar at
//            once, and one thread a matcher. No thread may use what is being deleted.
// Errors     A function that can fail gives a quire_status. Unless that is QUIRE_OK its out
//            parameter is untouched and *error holds a sentence, UTF-8, for quire_text_delete;
//            with QUIRE_OK *error is empty and needs no delete. A panic inside a library is
//            QUIRE_INTERNAL; nothing unwinds into the caller.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t quire_status;
enum {
  QUIRE_OK = 0,
  QUIRE_INVALID = 1,        // What was given cannot be used as it is; the text says why.
  QUIRE_NOT_SUPPORTED = 2,  // It may be right, but is of a kind that is not implemented.
  QUIRE_INTERNAL = 3,
  QUIRE_LIMIT = 4,    // It is larger than it may be; the text says what, and how much it may be.
  QUIRE_TIMEOUT = 5,  // It takes longer, or more steps, than it may.
  QUIRE_UNAVAILABLE = 6,  // The system has none left of what the call needs, such as a thread.
};

typedef struct {
  const uint8_t* data;  // May be null when count is 0.
  size_t count;
} quire_bytes;

typedef struct {
  uint8_t* data;
  size_t count;
} quire_text;

typedef struct {
  uint32_t* data;
  size_t count;
} quire_ids;

typedef struct {
  size_t* data;
  size_t count;
} quire_offsets;

// Each frees the buffer and empties the struct; an empty one is left as it is.
void quire_text_delete(quire_text* text);
void quire_ids_delete(quire_ids* ids);
void quire_offsets_delete(quire_offsets* offsets);

// ---- wasmtime ----------------------------------------------------------------------------------

struct wasmtime_store;
// One instance, table and memory. Growing beyond these ends the guest with an error that says
// "forcing trap when growing memory" (or table), where wasmtime_store_limiter would only refuse.
// The store is not in use. Cannot fail.
void quire_store_limits(struct wasmtime_store* store, uint64_t memory_bytes,
                        uint64_t table_elements);

struct wasm_config_t;
// When a guest has ended, _async_stack_keep_resident bytes of its stack are overwritten and stay,
// those that are used first; the rest is given back. Else all stays as the guest left it. Cannot
// fail.
void quire_config_resets_stacks(struct wasm_config_t* config);

// Whether the backtrace of a trap has the files and lines of a module with debugging information,
// which is read when it traps. No variable of the environment changes it. Cannot fail.
void quire_config_traps_tell_lines(struct wasm_config_t* config, bool lines);

// ---- tokenizers --------------------------------------------------------------------------------

typedef struct quire_tokenizer quire_tokenizer;

typedef struct {
  const quire_bytes* tokens;  // By id, UTF-8, in the byte alphabet of GPT-2.
  size_t token_count;
  const quire_bytes* merges;  // By rank: two tokens with one space between.
  size_t merge_count;
  const quire_bytes* patterns;  // Regular expressions; each cuts what the one before left.
  size_t pattern_count;
  bool ignore_merges;  // A word that is a token is that token, however it would merge.
  bool is_raw;  // Tokens are spelled as text; a character that is none becomes "<0x0A>" tokens.
  bool escapes_spaces;   // Raw text: a space is U+2581.
  bool whole_line_ends;  // Line ends in a row that are a token are that token.
} quire_bpe_parts;

quire_status quire_tokenizer_from_parts(const quire_bpe_parts* parts, quire_tokenizer** out,
                                        quire_text* error);
quire_status quire_tokenizer_from_json(quire_bytes json, quire_tokenizer** out, quire_text* error);
void quire_tokenizer_delete(quire_tokenizer* tokenizer);

// One more than the largest token id.
uint32_t quire_tokenizer_id_end(const quire_tokenizer* tokenizer);

// The text of token `id` as the vocabulary spells it; empty where the id names none.
quire_status quire_tokenizer_token(const quire_tokenizer* tokenizer, uint32_t id, quire_text* out,
                                   quire_text* error);

typedef uint32_t quire_alphabet;
enum {
  QUIRE_ALPHABET_BYTE_LEVEL = 0,      // Each character stands for one byte.
  QUIRE_ALPHABET_SENTENCE_PIECE = 1,  // U+2581 is a space, <0x0A> a byte, all else itself.
};
quire_alphabet quire_tokenizer_alphabet(const quire_tokenizer* tokenizer);

// The tokens that the file's post-processor puts around an empty text.
quire_status quire_tokenizer_prefix(const quire_tokenizer* tokenizer, quire_ids* out,
                                    quire_text* error);

// The file's "added_tokens", by id. Encoding does not look for them: the caller does.
typedef struct {
  quire_bytes text;
  uint32_t id;
  bool special;
  bool single_word;  // Only between characters that are not of a word.
  bool strip_left;   // Takes the white space before it along.
  bool strip_right;
  bool normalized;  // Looked for in normalized text, as what the normalizer makes of its own:
  quire_bytes normalized_text;
} quire_added_token;
size_t quire_tokenizer_added_count(const quire_tokenizer* tokenizer);
quire_status quire_tokenizer_added(const quire_tokenizer* tokenizer, size_t index,
                                   quire_added_token* out, quire_text* error);

// Whether the file has a normalizer, and what that makes of a text. `begins` and `ends`, unless
// null, get an offset for each byte of the result: where the characters begin and end that it comes
// from.
bool quire_tokenizer_normalizes(const quire_tokenizer* tokenizer);
quire_status quire_tokenizer_normalize(const quire_tokenizer* tokenizer, quire_bytes text,
                                       quire_text* out, quire_offsets* begins, quire_offsets* ends,
                                       quire_text* error);

// Whether `code` is part of a word, as Unicode's "\w" has it.
bool quire_is_word_character(uint32_t code);

// `text` is normalized; `pieces` cover all of it in order, each plain text (token < 0) or already a
// token.
typedef struct {
  size_t begin;  // Byte offsets.
  size_t end;
  int64_t token;
} quire_piece;
quire_status quire_tokenizer_encode(const quire_tokenizer* tokenizer, quire_bytes text,
                                    const quire_piece* pieces, size_t piece_count, quire_ids* out,
                                    quire_text* error);

// ---- chat templates ----------------------------------------------------------------------------

typedef struct quire_template quire_template;

typedef struct {
  quire_bytes name;    // "default", "tool_use", or one that a request may choose.
  quire_bytes source;  // Jinja.
} quire_named_template;

// A template that does not compile fails each rendering that chooses it.
quire_status quire_template_compile(const quire_named_template* templates, size_t count,
                                    quire_template** out, quire_text* error);
void quire_template_delete(quire_template* chat_template);

typedef struct {
  quire_bytes request;          // JSON object with "messages"; each entry is a variable.
  quire_bytes variables;        // The model's own (bos_token, ...); the request's win.
  int64_t now_unix_seconds;     // For strftime_now.
  const quire_bytes* shielded;  // Special tokens that no text of the request may become.
  size_t shielded_count;
} quire_render_request;

typedef struct {
  quire_text text;
  // Ascending byte offsets of characters in `text` that came with the request and could be part of
  // a special token. A match that covers one of them is what a user wrote, not the template.
  quire_offsets shielded_offsets;
} quire_rendered;

quire_status quire_template_render(const quire_template* chat_template,
                                   const quire_render_request* request, quire_rendered* out,
                                   quire_text* error);

// ---- grammars ----------------------------------------------------------------------------------

typedef struct quire_grammar_vocabulary quire_grammar_vocabulary;
typedef struct quire_grammar quire_grammar;
typedef struct quire_matcher quire_matcher;

// Encodes UTF-8 text that stands inside a longer one; writes at most `capacity` ids and returns how
// many there are. It must not unwind, and is called by any thread, by many at once.
typedef size_t (*quire_encode_callback)(const void* context, quire_bytes text, uint32_t* ids,
                                        size_t capacity);

typedef struct {
  const quire_bytes* tokens;  // By id: the bytes it stands for. Empty: no text spells it.
  size_t token_count;
  const uint32_t* stop_ids;  // Tokens that end a text; their bytes are not looked at.
  size_t stop_count;
  quire_encode_callback encode;  // Null: no token is ever forced.
  const void* encode_context;    // Outlives the vocabulary, its grammars and their matchers.
} quire_grammar_vocabulary_parts;

// Takes about a second for 250,000 tokens.
quire_status quire_grammar_vocabulary_create(const quire_grammar_vocabulary_parts* parts,
                                             quire_grammar_vocabulary** out, quire_text* error);
// Grammars and matchers keep what they need of it.
void quire_grammar_vocabulary_delete(quire_grammar_vocabulary* vocabulary);

typedef uint32_t quire_grammar_kind;
enum {
  QUIRE_GRAMMAR_JSON_SCHEMA = 0,
  QUIRE_GRAMMAR_REGEX = 1,
  QUIRE_GRAMMAR_LARK = 2,
};

typedef struct {
  size_t source_bytes_max;
  size_t grammar_bytes_max;  // Of a compiled grammar.
  size_t matcher_bytes_max;  // That a matcher adds, also to what it shares with other matchers.
  uint64_t compile_us_max;   // Time that the thread computes.
  uint64_t mask_us_max;      // Of any call of a matcher; time that its thread computes.
  size_t text_bytes_max;     // Of a text that quire_grammar_fits is asked about,
  uint64_t fits_us_max;      // and how long that may take; time that the thread computes.
} quire_grammar_limits;

// Compiles in a thread of its own, which gives way to all others, and waits for it: until it has
// computed for `compile_us_max`, or for ten times that time. Three sources are compiled at a time; a
// further one waits at most for `compile_us_max`. QUIRE_LIMIT and QUIRE_TIMEOUT name the limit.
quire_status quire_grammar_compile(const quire_grammar_vocabulary* vocabulary,
                                   quire_grammar_kind kind, quire_bytes source,
                                   const quire_grammar_limits* limits, quire_grammar** out,
                                   quire_text* error);
void quire_grammar_delete(quire_grammar* grammar);  // Its matchers go on.
size_t quire_grammar_bytes(const quire_grammar* grammar);
// Whether a text fits the grammar as a whole, also if no matcher led to it. Of a JSON schema:
// whether it is JSON and an instance of the schema, in any order of members, with any blanks,
// escapes and spellings of numbers. If a name comes twice in an object, each of its values must
// fit. QUIRE_LIMIT and QUIRE_TIMEOUT name the limit.
quire_status quire_grammar_fits(const quire_grammar* grammar, quire_bytes text, bool* out,
                                quire_text* error);

// A matcher has accepted nothing yet; a fork has accepted what its origin has. A call of a matcher
// that fails with anything but QUIRE_INVALID ends it: all further calls fail alike.
quire_status quire_grammar_matcher(const quire_grammar* grammar, quire_matcher** out,
                                   quire_text* error);
quire_status quire_matcher_fork(const quire_matcher* matcher, quire_matcher** out,
                                quire_text* error);
void quire_matcher_delete(quire_matcher* matcher);

// Bit i % 32 of word i / 32: token i may come next. All further bits are 0. The mask is empty where
// no token can follow; that is so after a token that ends a text.
quire_status quire_matcher_mask(quire_matcher* matcher, uint32_t* words, size_t word_count,
                                quire_text* error);
// All of the tokens or none; QUIRE_INVALID names the first that may not follow.
quire_status quire_matcher_accept(quire_matcher* matcher, const uint32_t* tokens,
                                  size_t token_count, quire_text* error);
quire_status quire_matcher_roll_back(quire_matcher* matcher, size_t count, quire_text* error);
// At most `most` tokens: the beginning of the text that must follow, as the encoder spells it.
quire_status quire_matcher_forced(quire_matcher* matcher, size_t most, quire_ids* out,
                                  quire_text* error);
bool quire_matcher_may_end(const quire_matcher* matcher);
// No text can follow: a token that ends a text may, or was accepted.
bool quire_matcher_is_complete(const quire_matcher* matcher);
size_t quire_matcher_bytes(const quire_matcher* matcher);  // That it added.

#ifdef __cplusplus
}
#endif
