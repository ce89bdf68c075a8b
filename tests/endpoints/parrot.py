"""A model that says one text for each turn of a conversation, whatever it was asked.

Its one layer adds nothing, so that the last token alone decides the next one. The template ends a prompt with a token
that counts the turns of the assistant so far, and each text is a chain of tokens that begins there.
"""
import json
import pathlib
import random
import struct

HIDDEN = 192
TEMPLATE = (
    "{% set turns = namespace(count=0) %}"
    "{% for message in messages %}{% if message.role == 'assistant' %}{% set turns.count = turns.count + 1 %}{% endif %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<|turn{{ turns.count }}|>{% endif %}")


# One with tools, calls and results. A turn of the assistant in a conversation is written as it was begun and drawn.
TOOL_TEMPLATE = (
    "{% set turns = namespace(count=0) %}"
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% if message.role == 'assistant' %}"
    "<|turn{{ turns.count }}|>{% set turns.count = turns.count + 1 %}{% endif %}{{ message.content }}"
    "{% for call in message.tool_calls %}CALL{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<|turn{{ turns.count }}|>{% endif %}")


def byte_characters():
    """The characters for each byte in the vocabulary of a byte-level tokenizer."""
    plain = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [each for each in range(256) if each not in plain]
    return [chr(each) if each in plain else chr(256 + others.index(each)) for each in range(256)]


def matrix(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def weights(count, chains, layers):
    """The tensors of a model with `count` tokens that goes on along the chains. Its layers add nothing."""
    rng = random.Random(5)
    embedding = []
    for _ in range(count):
        row = [rng.gauss(0, 1) for _ in range(HIDDEN)]
        length = sum(each * each for each in row) ** 0.5
        embedding.append([each / length for each in row])
    head = matrix(count, HIDDEN)
    for chain in chains:
        for before, after in zip(chain, chain[1:]):
            head[after] = [old + 3 * new for old, new in zip(head[after], embedding[before])]
    ones = [[1.0] * HIDDEN]
    tensors = {"model.embed_tokens.weight": embedding, "lm_head.weight": head, "model.norm.weight": ones}
    for number in range(layers):
        layer = f"model.layers.{number}."
        tensors |= {layer + "input_layernorm.weight": ones, layer + "post_attention_layernorm.weight": ones,
                    layer + "mlp.gate_proj.weight": matrix(32, HIDDEN),
                    layer + "mlp.up_proj.weight": matrix(32, HIDDEN), layer + "mlp.down_proj.weight": matrix(HIDDEN, 32)}
        tensors |= {layer + f"self_attn.{each}_proj.weight": matrix(HIDDEN, HIDDEN) for each in "qkvo"}
    return tensors


def write_weights(path, tensors):
    header, data = {}, bytearray()
    for name, rows in tensors.items():
        begin = len(data)
        for row in rows:
            data += struct.pack(f"<{len(row)}f", *row)
        shape = [len(rows[0])] if "norm" in name else [len(rows), len(rows[0])]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def parrot(folder, turns, context=8192, layers=1, template=TEMPLATE, marks=None):
    """`turns`: for each turn of the assistant the pieces of what it says, which are tokens. All of them differ.
    More layers take more time, and change nothing else. `marks`: what the template ends a prompt with, for each turn."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    pieces = [piece for turn in turns for piece in turn]
    assert len(set(pieces)) == len(pieces)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    marks = marks or [f"<|turn{number}|>" for number in range(len(turns))]
    added = [*special, *marks, *pieces]
    ids = {text: 256 + number for number, text in enumerate(added)}
    chains = [[ids[mark], *(ids[piece] for piece in turn), ids["<|im_end|>"]] for mark, turn in zip(marks, turns)]
    write_weights(folder / "model.safetensors", weights(256 + len(added), chains, layers))
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 256 + len(added),
              "hidden_size": HIDDEN, "num_hidden_layers": layers, "num_attention_heads": 3, "num_key_value_heads": 3,
              "intermediate_size": 32, "max_position_embeddings": context, "rms_norm_eps": 1e-5,
              "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "float32",
              "eos_token_id": ids["<|im_end|>"]}
    (folder / "config.json").write_text(json.dumps(config))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": ids[text], "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": text in special} for text in added],
        "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {each: number for number, each in enumerate(byte_characters())}, "merges": []}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"bos_token": None, "eos_token": "<|im_end|>", "chat_template": template}))
    return folder
