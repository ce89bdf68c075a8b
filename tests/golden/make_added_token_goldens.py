#!/usr/bin/env python3
"""Writes tokenizers/added_tokens.json: what the Python package tokenizers makes of texts with added
tokens that are normalized, single words, or take white space along, beside all kinds of letters.

usage: make_added_token_goldens.py     (needs tokenizers 0.23)

No special token is one of the model's own: plain text never becomes one here, but does there.
Each case is a normalizer, added tokens and texts with their ids; all share the rest of tokenizer.json.
"""
import json
import pathlib
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

HERE = pathlib.Path(__file__).resolve().parent
CONTENTS = ["cat", "Cat", "caf\u00e9", "\u00e9", "_x", "<m>", "<M>", "<|s|>", " b", "ab", "AB", "abc", "n\u0304", "\u4e2d", "\u0308x", "\u2460",
            "\ufb01", "\u0130", "yesterday", "[X]", "A B", "\n", "  ", "\u01c5", "\u3000", "'s", "1", "\U0001f600", "a_b"]
BETWEEN = ["", " ", "  ", "\u3000", "\n", "\u00a0", " \t\n ", "a", "\u00e9", "_", "1", "\u0663", "\u0301", "\u4e2d", "\U0001f600", ".", "\u200d", "\u24b6", "\u203f",
           "Yes", "\u2167", "\u0e33", "\u00aa", "\u2028"]
NORMALIZERS = [
    None, None, normalizers.Lowercase(), normalizers.NFKC(), normalizers.NFD(), normalizers.Prepend("\u2581"),
    normalizers.Replace(" ", "_"), normalizers.Sequence([normalizers.Prepend("_"), normalizers.Replace(" ", "_")]),
    normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    normalizers.Strip(), normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
]


def byte_level(normalizer, added):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tok = Tokenizer(models.BPE(vocab={text: index for index, text in enumerate(alphabet)}, merges=[]))
    if normalizer is not None:
        tok.normalizer = normalizer
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tok.decoder = decoders.ByteLevel()
    for token in added:
        (tok.add_special_tokens if token.special else tok.add_tokens)([token])
    return Tokenizer.from_str(tok.to_str())


def main():
    rng = random.Random(29)
    cases = []
    for _ in range(220):
        normalizer = rng.choice(NORMALIZERS)
        contents = rng.sample(CONTENTS, rng.randint(1, 6))
        flags = lambda: rng.random() < 0.4
        added = [AddedToken(content, single_word=flags(), lstrip=flags(), rstrip=flags(), normalized=rng.random() < 0.5,
                            special=rng.random() < 0.25 and len(content) > 1) for content in contents]
        tok = byte_level(normalizer, added)
        texts = []
        for _ in range(10):
            parts = []
            for _ in range(rng.randint(1, 5)):
                content = rng.choice(contents if rng.random() < 0.8 else CONTENTS)
                change = rng.choice([str, str, str, str.upper, str.lower])
                parts += [rng.choice(BETWEEN), rng.choice(BETWEEN) if rng.random() < 0.3 else "", change(content)]
            texts.append("".join(parts + [rng.choice(BETWEEN)]))
        ids = []
        for text in list(texts):
            try:
                ids.append(tok.encode(text, add_special_tokens=False).ids)
            except BaseException:  # A panic of the library: a token in what another took along.
                texts.remove(text)
        whole = json.loads(tok.to_str())
        cases.append({"normalizer": whole["normalizer"], "added_tokens": whole["added_tokens"], "texts": texts, "ids": ids})
    whole["normalizer"], whole["added_tokens"] = None, []
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    text = '{"tokenizer": ' + json.dumps(whole, separators=(",", ":")) + ',\n"cases": [\n' + lines + "\n]}\n"
    (HERE / "tokenizers/added_tokens.json").write_text(text)
    print(len(cases), "tokenizers,", sum(len(case["texts"]) for case in cases), "texts,", len(text), "bytes")


if __name__ == "__main__":
    main()
