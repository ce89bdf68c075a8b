#!/usr/bin/env python3
"""Writes layers.npz: what models give whose layers differ, computed in double precision (needs numpy).

windows: tiny_qwen3 with a window of 24 on its odd layers. Without it this file's arithmetic must give the logits of
transformers (expected.npz), which main() checks.
no_rope: tiny_llama without its RoPE scaling, as a SmolLM3 whose odd layers do not turn their heads.
norms_after: a model of seeded numbers as OLMo 2, with norms after each part and of the whole width of queries and keys.
heads: a model of seeded numbers, whose odd layers have other heads, another head size, another width and a window.
"""
import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent
HEADS = {"width": 64, "vocabulary": 96, "epsilon": 1e-5, "theta": 10000.0, "ids": [(7 * i + 3) % 96 for i in range(48)]}
HEADS_LAYERS = [{"heads": 4, "kv_heads": 2, "size": 16, "window": 0, "feed": 96},
                {"heads": 2, "kv_heads": 1, "size": 32, "window": 20, "feed": 160}] * 2
AFTER_LAYERS = [{"heads": 4, "kv_heads": 2, "size": 16, "window": 0, "feed": 96, "norms_whole": True}] * 3
WINDOW = 24
ROWS = list(range(4, 64, 5))


def rms(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def turned(x, theta):
    """RoPE of [token][head][size] at positions 0, 1, ..."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None, None] * theta ** (-np.arange(half) / half)
    return np.concatenate([x[..., :half] * np.cos(angle) - x[..., half:] * np.sin(angle),
                           x[..., half:] * np.cos(angle) + x[..., :half] * np.sin(angle)], -1)


def attention(x, weights, layer, model):
    count, size = len(x), layer["size"]
    q, k, v = (x @ weights[name].T for name in ("q", "k", "v"))
    is_whole = layer.get("norms_whole", False)
    if is_whole:
        q, k = rms(q, weights["q_norm"], model["epsilon"]), rms(k, weights["k_norm"], model["epsilon"])
    q, k, v = (np.reshape(each, (count, -1, size)) for each in (q, k, v))
    if "q_norm" in weights and not is_whole:
        q, k = rms(q, weights["q_norm"], model["epsilon"]), rms(k, weights["k_norm"], model["epsilon"])
    if layer.get("turns", True):
        q, k = turned(q, model["theta"]), turned(k, model["theta"])
    k, v = (np.repeat(each, layer["heads"] // layer["kv_heads"], axis=1) for each in (k, v))
    distance = np.arange(count)[:, None] - np.arange(count)
    is_seen = (distance >= 0) & (distance < (layer["window"] or count))
    score = np.where(is_seen, np.einsum("qhd,khd->hqk", q, k) / np.sqrt(size), -np.inf)
    score = np.exp(score - score.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", score / score.sum(-1, keepdims=True), v).reshape(count, -1) @ weights["o"].T


def logits(model, layers, weights):
    x = weights["embedding"][model["ids"]]
    for layer, own in zip(layers, weights["layers"]):
        def normed(name, x):
            return rms(x, own[name], model["epsilon"]) if name in own else x
        x = x + normed("attention_post_norm", attention(normed("attention_norm", x), own, layer, model))
        into = normed("feed_norm", x)
        gate = into @ own["gate"].T
        x = x + normed("feed_post_norm", (gate / (1 + np.exp(-gate)) * (into @ own["up"].T)) @ own["down"].T)
    return rms(x, weights["norm"], model["epsilon"]) @ weights["output"].T


def seeded(state, shape, is_norm=False):
    """Numbers that float32 holds exactly; layers_test.cc draws the same."""
    values = []
    for _ in range(int(np.prod(shape))):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        values.append(((state[0] >> 48) - 32768) / 32768)
    values = np.reshape(values, shape)
    return 1 + values / 4 if is_norm else values / 4


def seeded_weights(layers, is_after=False):
    """`is_after`: with norms after each part, and of the whole width of queries and keys."""
    state, width = [1], HEADS["width"]
    weights = {"embedding": seeded(state, (HEADS["vocabulary"], width)), "output": seeded(state, (HEADS["vocabulary"], width)),
               "norm": seeded(state, (width,), True), "layers": []}
    for layer in layers:
        q, kv, feed = layer["heads"] * layer["size"], layer["kv_heads"] * layer["size"], layer["feed"]
        own = {} if is_after else {"attention_norm": seeded(state, (width,), True)}
        own |= {name: seeded(state, shape) for name, shape in (("q", (q, width)), ("k", (kv, width)), ("v", (kv, width)),
                                                               ("o", (width, q)))}
        norms = {"q_norm": q, "k_norm": kv, "attention_post_norm": width} if is_after else {"feed_norm": width}
        own |= {name: seeded(state, (size,), True) for name, size in norms.items()}
        own |= {name: seeded(state, shape) for name, shape in (("gate", (feed, width)), ("up", (feed, width)),
                                                               ("down", (width, feed)))}
        if is_after:
            own["feed_post_norm"] = seeded(state, (width,), True)
        weights["layers"].append(own)
    return weights


def stored_weights(name, count):
    data = (HERE / name / "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {tensor: np.frombuffer(data[start:], np.float32, np.prod(each["shape"]), each["data_offsets"][0]).reshape(
        each["shape"]).astype(np.float64) for tensor, each in json.loads(data[8:start]).items() if tensor != "__metadata__"}
    own = {"attention_norm": "input_layernorm", "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
           "o": "self_attn.o_proj", "q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm",
           "feed_norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
    embedding = tensors["model.embed_tokens.weight"]
    return {"embedding": embedding, "output": tensors.get("lm_head.weight", embedding), "norm": tensors["model.norm.weight"],
            "layers": [{role: tensors[f"model.layers.{layer}.{place}.weight"] for role, place in own.items()
                        if f"model.layers.{layer}.{place}.weight" in tensors} for layer in range(count)]}


def stored(name):
    """A model, its layers and its weights."""
    config = json.loads((HERE / name / "config.json").read_text())
    model = {"epsilon": config["rms_norm_eps"], "theta": config.get("rope_theta") or config["rope_parameters"]["rope_theta"],
             "ids": np.load(HERE / name / "expected.npz")["ids"]}
    count, heads = config["num_hidden_layers"], config["num_attention_heads"]
    layers = [{"heads": heads, "kv_heads": config["num_key_value_heads"],
               "size": config.get("head_dim") or config["hidden_size"] // heads, "window": 0} for _ in range(count)]
    return model, layers, stored_weights(name, count)


def main():
    model, layers, weights = stored("tiny_qwen3")
    error = np.abs(logits(model, layers, weights) - np.load(HERE / "tiny_qwen3" / "expected.npz")["logits_causal"]).max()
    assert error < 1e-3, error
    for layer in layers[1::2]:
        layer["window"] = WINDOW
    llama, llama_layers, llama_weights = stored("tiny_llama")
    for layer in llama_layers[1::2]:
        layer["turns"] = False
    no_rope = logits({**llama, "theta": 10000.0}, llama_layers, llama_weights)
    np.savez_compressed(HERE / "layers.npz", windows=logits(model, layers, weights)[ROWS].astype(np.float32),
                        no_rope=no_rope[ROWS].astype(np.float32), rows=np.array(ROWS, np.int32),
                        heads=logits(HEADS, HEADS_LAYERS, seeded_weights(HEADS_LAYERS)).astype(np.float32),
                        norms_after=logits(HEADS, AFTER_LAYERS, seeded_weights(AFTER_LAYERS, True)).astype(np.float32),
                        heads_ids=np.array(HEADS["ids"], np.int32))
    print(f"without windows {error:.1e} from transformers")


main()
