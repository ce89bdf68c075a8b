"""The tiny model in plain Python and 64-bit floats, for programs that decide which tokens see one another.

    reference = Reference()
    logits = reference.read(token, position, visible)

reads one token after another. `visible` holds the numbers of the earlier tokens that it may attend to, counted in the
order in which they were read. A token always sees itself. The test reference_test.py holds it against the golden masks. One
token takes about 40 ms.
"""
import array
import json
import math
import pathlib
import struct
import subprocess

import beside

TINY = beside.TINY


def tensors(path):
    """{name: (shape, numbers)} of a safetensors file of 32-bit floats."""
    data = pathlib.Path(path).read_bytes()
    head_bytes, = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + head_bytes])
    out = {}
    for name, entry in head.items():
        if name != "__metadata__":
            first, last = (8 + head_bytes + offset for offset in entry["data_offsets"])
            numbers = array.array("f")
            numbers.frombytes(data[first:last])
            out[name] = entry["shape"], numbers
    return out


def dot(a, b):
    return math.sumprod(a, b) if hasattr(math, "sumprod") else sum(map(float.__mul__, a, b))


def norm(x, weight, epsilon):
    scale = 1.0 / math.sqrt(dot(x, x) / len(x) + epsilon)
    return [a * scale * w for a, w in zip(x, weight)]


class Reference:
    """A Llama: rotary positions with Llama 3's scaling, grouped heads."""

    def __init__(self, folder=TINY):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {}
        for name, (shape, numbers) in tensors(folder / "model.safetensors").items():
            rows = numbers.tolist()
            width = shape[-1]
            self.weights[name] = rows if len(shape) == 1 else [rows[i:i + width] for i in range(0, len(rows), width)]
        self.head_width = self.config["head_dim"]
        self.frequencies = self._frequencies()
        self.forget()

    def forget(self):
        """Nothing is read yet."""
        self.cache = [[] for _ in range(self.config["num_hidden_layers"])]  # (keys, values) of each token, by head.
        return self

    def count(self):
        return len(self.cache[0])

    def _frequencies(self):
        scaling = self.config["rope_scaling"]
        length = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        out = []
        for i in range(0, self.head_width, 2):
            frequency = self.config["rope_theta"] ** (-i / self.head_width)
            turns = length * frequency / (2 * math.pi)
            share = min(1.0, max(0.0, (turns - low) / (high - low)))
            out.append(frequency * (share + (1 - share) / scaling["factor"]))
        return out

    def _heads(self, layer, name, x, position=None):
        row = [dot(each, x) for each in self.weights[f"model.layers.{layer}.self_attn.{name}_proj.weight"]]
        heads = [row[i:i + self.head_width] for i in range(0, len(row), self.head_width)]
        return heads if position is None else [self._turned(head, position) for head in heads]

    def _turned(self, head, position):
        half = self.head_width // 2
        turns = [(math.cos(position * f), math.sin(position * f)) for f in self.frequencies]
        first = [a * c - b * s for a, b, (c, s) in zip(head[:half], head[half:], turns)]
        return first + [b * c + a * s for a, b, (c, s) in zip(head[:half], head[half:], turns)]

    def _attended(self, layer, x, position, visible):
        queries = self._heads(layer, "q", x, position)
        self.cache[layer].append((self._heads(layer, "k", x, position), self._heads(layer, "v", x)))
        seen = [self.cache[layer][i] for i in visible] + [self.cache[layer][-1]]
        group = len(queries) // self.config["num_key_value_heads"]
        out = []
        for index, query in enumerate(queries):
            head = index // group
            scores = [dot(query, keys[head]) / math.sqrt(self.head_width) for keys, _ in seen]
            top = max(scores)
            shares = [math.exp(score - top) for score in scores]
            total = sum(shares)
            values = zip(*(values[head] for _, values in seen))
            out += [dot(shares, list(column)) / total for column in values]
        return out

    def read(self, token, position=None, visible=None):
        """The logits after `token`."""
        position = self.count() if position is None else position
        visible = list(range(self.count()) if visible is None else visible)
        epsilon = self.config["rms_norm_eps"]
        x = self.weights["model.embed_tokens.weight"][token]
        for layer in range(self.config["num_hidden_layers"]):
            def weight(name):
                return self.weights[f"model.layers.{layer}.{name}.weight"]
            attended = self._attended(layer, norm(x, weight("input_layernorm"), epsilon), position, visible)
            x = [a + dot(row, attended) for a, row in zip(x, weight("self_attn.o_proj"))]
            normed = norm(x, weight("post_attention_layernorm"), epsilon)
            gates = [dot(row, normed) for row in weight("mlp.gate_proj")]
            ups = [dot(row, normed) for row in weight("mlp.up_proj")]
            inner = [gate / (1.0 + math.exp(-gate)) * up for gate, up in zip(gates, ups)]
            x = [a + dot(row, inner) for a, row in zip(x, weight("mlp.down_proj"))]
        normed = norm(x, self.weights["model.norm.weight"], epsilon)
        return [dot(row, normed) for row in self.weights["lm_head.weight"]]


def best(logits):
    return max(range(len(logits)), key=logits.__getitem__)


def log_probability(logits, token):
    top = max(logits)
    return logits[token] - top - math.log(sum(math.exp(each - top) for each in logits))


def tokens_of(build, text):
    """The ids of a text, as the tiny model's tokenizer gives them."""
    answer = subprocess.run([build / "quire", "tokenize", "--model", TINY, "--json", text],
                            check=True, stdout=subprocess.PIPE, timeout=60, env=beside.environment())
    return json.loads(answer.stdout)["ids"]
