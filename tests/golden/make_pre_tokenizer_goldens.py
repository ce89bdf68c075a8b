#!/usr/bin/env python3
"""Writes tokenizers/pre_tokenizers.json: what llama.cpp's tokenizer makes of many texts for each
name that a GGUF file may give its pre-tokenizer ("tokenizer.ggml.pre").

usage: make_pre_tokenizer_goldens.py LLAMA_CPP LLAMA_TOKENIZE

LLAMA_CPP is the folder vendor/llama.cpp of the source package llama-cpp-python 0.3.36, LLAMA_TOKENIZE
the program built from it. Needs the packages gguf and tokenizers. The names are those that
src/llama-vocab.cpp compares with. All byte-level names share one small vocabulary, which is trained
here on the texts without cutting them, so that its merges cross every place where a name may cut;
the names that take text as it is share another.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import gguf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
SEPARATOR = "<|next|>"
RAW = ("gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace")
TEXTS = [
    "a\r\nb", "a\r\n\r\n  b\n\n", " \r \n\t\n x", "x \n", "x\n ", "\n\n\n", "  \n  \n  y", "\r\r\r", "end \t",
    "a  b   c    d", "   lead", "trail   ", "\u00a0\u00a0x\u3000\u3000y \u3000z", "a\u2028b\u0085c\u000bd\u000ce",
    "It's we'll THEY'VE I'm I'M you'd YOU'RE don't DON'T o'clock 'tis rock'n'roll s's 'S 'sing 'lla 're're",
    "x 's ''s '' ' 'a'b's' \u2019s \u2018t\u2019", "1 12 123 1234 12345 123456 1234567 a1b22c333d4444 3.14 1,000 0x1F",
    "\u0661\u0662\u0663\u0664\u0665 \u0967\u0968\u0969\u096a \u00bd\u00b2\u2167\u2460 12\u0663\u06644 \uff11\uff12\uff13\uff14",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01123\u4e2d\u65871a \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3002\u3005\u3006 \ud55c\uad6d\uc5b4 \uc548\ub155 \u3131\u314e",
    "caf\u00e9 cafe\u0301 n\u0303o \u0301start \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947 \u0644\u0651\u064e \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "\U0001f600\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 a\U0001f600b \U0001f1e9\U0001f1ea\ufe0f \u2764\ufe0f x\u200db\u00ad",
    "HelloWorld camelCaseHTTPServer ABCdef GHI \u00c9cole \u00e9COLE \u01c5\u02b0x \u0416\u0436\u0416 \u03a3\u03c3\u03c2",
    "foo/bar//baz\n/x\n\n/y path\\to\\file http://a.b/c?d=e&f=g#h", "!!! ??\n ...\r\n --- ~~~\n\n`code` $1.50 <a>|b|{c}[d](e)",
    ",b .c;d:e \u3001f\u3002g \u2026h \u060ci \u06d4j \u0964k (a|b) \u201cq\u201d", "\t\tif (x == 1) {\n\t\t    return y;  // done\n\t}\n\n",
    "    \n        deep\n    \n", "x" * 40 + " " * 40 + "7" * 40, "\u00b5\u00aa\u00ba\u0130\u0131\u1e9e\u00df\u017f\u212a \u1d43\ua7aa\uab30",
    "\u20ac\u00a3\u00a5\u00a9\u2122\u00b1\u00d7\u2211 +=<>^`|~ a+b=c \u00a7\u00b6", "\u0000\u0001\u001c\u001d\u001e\u001f\u007f\u0080x",
    "\ue000\uf8ff\ufffd\ufeffx \U0002000b\U00020000 \ufa11\u2e80\u3007", "<sentinel:12> IMGIMGABCZ IMGIMGABCDEFZ  \t\n x",
    "_a_b __init__ snake_case $var #tag @user", "a\n", "\na", " a", "a ", " ", "\n", "\t", "1", "'", "\u0301", "\u3000",
]


def names_of(source):
    names = re.findall(r'tokenizer_pre == "([^"]+)"', source)
    return sorted(set(names))


def trained(texts, raw):
    tok = Tokenizer(models.BPE())
    if raw:
        tok.normalizer = normalizers.Replace(" ", "\u2581")
        alphabet = []
    else:
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    size = 900 if raw else 1500
    limit = {"limit_alphabet": 150} if raw else {}  # Other characters become tokens of bytes.
    trainer = trainers.BpeTrainer(vocab_size=size, max_token_length=10, show_progress=False,
                                  initial_alphabet=alphabet, **limit)
    tok.train_from_iterator(texts * 4, trainer)
    model = json.loads(tok.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    types = [1] * len(tokens)
    if raw:
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
        types += [6] * 256
    tokens.append(SEPARATOR)
    types.append(3)
    return tokens, types, [" ".join(merge) for merge in model["merges"]]


def write_model(path, name, vocabulary):
    tokens, types, merges = vocabulary
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("pre-tokenizer golden")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(tokens) - 1)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def tokenize(program, model, text, *flags):
    """Nothing where the program ends with an assertion, as it does for line ends in raw text."""
    run = subprocess.run([program, "-m", model, "--stdin", "--ids", "--no-escape", "--log-disable",
                          *flags],
                         input=text.encode(), capture_output=True, check=False)
    if run.returncode != 0 and b"GGML_ASSERT" not in run.stderr:
        raise SystemExit(f"{model}: {run.stderr.decode(errors='replace')[-2000:]}")
    return json.loads(run.stdout) if run.returncode == 0 else None


def tokenize_all(program, model, texts, separator):
    ids = tokenize(program, model, SEPARATOR.join(texts), "--no-bos")
    if ids is None:
        return [tokenize(program, model, text, "--no-bos") for text in texts]
    parts = [[]]
    for token in ids:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) != len(texts):
        raise SystemExit(f"{model}: {len(parts)} answers to {len(texts)} texts")
    return parts


def main():
    source, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    names = names_of((source / "src/llama-vocab.cpp").read_text())
    texts = (source / "models/ggml-vocab-gpt-2.gguf.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    texts = [text for text in dict.fromkeys(texts + TEXTS) if text]
    vocabularies = {raw: trained(texts, raw) for raw in (False, True)}
    answers = {"texts": texts, "tokens": {}, "types": {}, "merges": {}, "ids": [[] for _ in texts], "names": {}}
    for raw, (tokens, types, merges) in vocabularies.items():
        key = "raw" if raw else "bytes"
        answers["tokens"][key], answers["types"][key], answers["merges"][key] = tokens, types, merges
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            raw = name in RAW
            path = pathlib.Path(folder) / "model.gguf"
            write_model(path, name, vocabularies[raw])
            separator = len(vocabularies[raw][0]) - 1
            parts = tokenize_all(program, str(path), texts, separator)
            first = (tokenize(program, str(path), "a") or [])[:1]
            choices = []
            for known, part in zip(answers["ids"], parts):
                if part not in known:
                    known.append(part)
                choices.append(known.index(part))
            answers["names"][name] = {"vocabulary": "raw" if raw else "bytes", "adds_bos": first == [separator],
                                      "answers": choices}
            print(f"{name}: {sum(part is not None for part in parts)} texts", file=sys.stderr)
    lines = [f'"{key}": {json.dumps(value, separators=(",", ":"))}' for key, value in answers.items()]
    (HERE / "tokenizers/pre_tokenizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
