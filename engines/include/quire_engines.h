#pragma once
// C functions over what libquire_engines.a holds in Rust: tokenizers and chat templates. wasmtime's
// own C API (wasmtime.h) is in the same library and speaks for itself.
//
// Ownership  What a function gives through an out parameter is the caller's, and goes back through
//            the matching _delete. quire_bytes borrow: they need to live only as long as the call,
//            except those of quire_added_token, which live as long as their tokenizer.
// Threads    A tokenizer or template is immutable: any thread, many at once. Deleting needs that
//            nobody else uses it.
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

#ifdef __cplusplus
}
#endif
