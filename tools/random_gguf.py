#!/usr/bin/env python3
"""Writes a GGUF file with random weights in the shape of a real model, to measure speed without its weights.

    tools/random_gguf.py --shape qwen3moe-1b --tokenizer-from MODEL.gguf --out random-qwen3moe-1b-f16.gguf
                         [--type F16] [--fused-experts]

The tokenizer, its special ids and the chat template are those of MODEL.gguf, and so is the count of tokens.
Routers, norms, biases and convolutions are F32, as converters write them. All other tensors have the type that --type
names: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0 or Q5_1. llama.cpp's program makes the K formats out of F16:

    llama-quantize random-qwen3moe-1b-f16.gguf random-qwen3moe-1b-q4_k_m.gguf Q4_K_M

The K formats need widths that are multiples of 256, which those of smollm2-* are not. --fused-experts
stores the gate and up matrices of a layer's experts as one tensor, ffn_gate_up_exps.

In the shapes of qwen35, every fourth layer is attention. All other layers are recurrent: a head keeps 0.5
to 0.999 of its state from one token to the next, so that states neither vanish nor grow.

Needs two packages: python3 -m venv FOLDER && FOLDER/bin/pip install gguf numpy
"""
import argparse
import dataclasses
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType, quants

TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
CONTEXT_LENGTH = 131072
POOL_COUNT = (1 << 22) - 3  # Random numbers that all matrices repeat, each from a place of its own; a prime.
DEVIATION = 0.02
# A token's own part of the residual stream then outweighs what all tokens have in common. With less, nearly all tokens of
# a prompt choose the same experts, and 8 of 64 do the work of all. Real routers are trained to spread them.
EMBEDDING_DEVIATION = 1.0
CONVOLUTION_DEVIATION = 0.5
DECAYS = (0.5, 0.999)  # Of a head with an input of 0.


@dataclasses.dataclass(frozen=True)
class Experts:
    count: int
    used_count: int
    width: int
    shared_width: int = 0  # 0: no shared expert.


@dataclasses.dataclass(frozen=True)
class Recurrent:
    key_head_count: int
    value_head_count: int
    head_width: int
    rope_width: int  # Of the attention layers, which rotate a part of a head.
    attention_interval: int = 4
    convolution_width: int = 4

    @property
    def key_width(self):
        return self.key_head_count * self.head_width

    @property
    def value_width(self):
        return self.value_head_count * self.head_width

    def is_recurrent(self, layer):
        return (layer + 1) % self.attention_interval != 0


@dataclasses.dataclass(frozen=True)
class Shape:
    architecture: str
    layer_count: int
    width: int
    feed_forward_width: int  # Of a dense layer.
    head_count: int
    kv_head_count: int
    head_width: int
    experts: Experts | None = None
    recurrent: Recurrent | None = None

    @property
    def is_tied(self):
        """llama.cpp wants a head of its own in qwen2moe. A hybrid with a tied head would repeat the last token forever."""
        return self.architecture != "qwen2moe" and self.recurrent is None


SHAPES = {
    "smollm2-135m": Shape("llama", 30, 576, 1536, 9, 3, 64),
    "smollm2-360m": Shape("llama", 32, 960, 2560, 15, 5, 64),
    "llama-1b": Shape("llama", 16, 2048, 8192, 32, 8, 64),
    "llama-3b": Shape("llama", 28, 3072, 8192, 24, 8, 128),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 3072, 16, 8, 128),
    "qwen3-1.7b": Shape("qwen3", 28, 2048, 6144, 16, 8, 128),
    "qwen3moe-1b": Shape("qwen3moe", 18, 1024, 2048, 8, 2, 128, Experts(64, 8, 256)),
    "qwen2moe-1b": Shape("qwen2moe", 16, 1024, 2048, 8, 2, 128, Experts(64, 8, 256, 1024)),
    "qwen3moe-tiny": Shape("qwen3moe", 2, 256, 512, 4, 2, 64, Experts(8, 2, 256)),
    "qwen2moe-tiny": Shape("qwen2moe", 2, 256, 512, 4, 2, 64, Experts(8, 2, 256, 512)),
    "qwen35-1b": Shape("qwen35", 24, 1024, 3584, 8, 2, 256, None, Recurrent(16, 16, 128, 64)),
    "qwen35moe-1b": Shape("qwen35moe", 16, 1024, 2048, 8, 2, 256, Experts(64, 8, 256, 256), Recurrent(16, 16, 128, 64)),
    "qwen35-tiny": Shape("qwen35", 4, 256, 512, 4, 2, 64, None, Recurrent(2, 4, 64, 16)),
    "qwen35moe-tiny": Shape("qwen35moe", 4, 256, 512, 4, 2, 64, Experts(8, 2, 256, 256), Recurrent(2, 4, 64, 16)),
}


class RandomModel:
    """Writes the tensors of one shape, in the order of llama.cpp's converter, and counts their parameters."""

    def __init__(self, writer, shape, kind, is_fused):
        self.writer, self.shape, self.kind, self.is_fused = writer, shape, kind, is_fused
        self.parameter_count = self.active_count = 0
        self.rng = np.random.default_rng(1)
        self.pool = self.rng.standard_normal(POOL_COUNT, dtype=np.float32)

    def drawn(self, dimensions, deviation=DEVIATION):
        return np.resize(np.roll(self.pool, -int(self.rng.integers(POOL_COUNT))), dimensions) * np.float32(deviation)

    def count(self, parameters, active_share=1.0):
        self.parameter_count += parameters
        self.active_count += int(parameters * active_share)

    def plain(self, name, data):
        self.writer.add_tensor(name, data.astype(np.float32))
        self.count(data.size)

    def vector(self, name, width, value=1.0):
        self.plain(name, np.full(width, value))

    def router(self, name, *dimensions):
        self.plain(name, self.drawn(dimensions))

    def matrix(self, name, *dimensions, active_share=1.0, deviation=DEVIATION):
        """A matrix of [rows][columns], or of [experts][rows][columns]."""
        data = self.drawn(dimensions, deviation)
        self.count(data.size, active_share)
        self.writer.add_tensor(name, quants.quantize(data, self.kind), raw_dtype=self.kind)

    def write(self, token_count):
        shape = self.shape
        self.matrix("token_embd.weight", token_count, shape.width, deviation=EMBEDDING_DEVIATION,
                    active_share=1.0 if shape.is_tied else 1 / token_count)
        for layer in range(shape.layer_count):
            self.mixer(f"blk.{layer}.", layer)
            self.feed_forward(f"blk.{layer}.")
        self.vector("output_norm.weight", shape.width)
        if not shape.is_tied:
            self.matrix("output.weight", token_count, shape.width)

    def mixer(self, prefix, layer):
        recurrent = self.shape.recurrent
        self.vector(prefix + "attn_norm.weight", self.shape.width)
        if recurrent is not None and recurrent.is_recurrent(layer):
            self.delta_net(prefix, recurrent)
        else:
            self.attention(prefix)
        self.vector(prefix + ("ffn_norm.weight" if recurrent is None else "post_attention_norm.weight"), self.shape.width)

    def delta_net(self, prefix, recurrent):
        width, head_count = self.shape.width, recurrent.value_head_count
        channel_count = 2 * recurrent.key_width + recurrent.value_width
        low, high = np.log(-np.log(DECAYS))
        rates = np.exp(self.rng.permutation(np.linspace(high, low, head_count)))
        speeds = self.rng.uniform(0.25, 4.0, head_count)
        self.plain(prefix + "ssm_a", -speeds)
        self.plain(prefix + "ssm_conv1d.weight", self.drawn((channel_count, recurrent.convolution_width), CONVOLUTION_DEVIATION))
        self.plain(prefix + "ssm_dt.bias", np.log(np.expm1(rates / speeds)))
        self.matrix(prefix + "ssm_alpha.weight", head_count, width)
        self.matrix(prefix + "ssm_beta.weight", head_count, width)
        self.matrix(prefix + "attn_qkv.weight", channel_count, width)
        self.matrix(prefix + "attn_gate.weight", recurrent.value_width, width)
        self.vector(prefix + "ssm_norm.weight", recurrent.head_width)
        self.matrix(prefix + "ssm_out.weight", width, recurrent.value_width)

    def attention(self, prefix):
        shape = self.shape
        query_width, kv_width = shape.head_count * shape.head_width, shape.kv_head_count * shape.head_width
        gated_width = query_width if shape.recurrent is None else 2 * query_width  # Each head's rows, then those of its gate.
        for name, width in (("attn_q", gated_width), ("attn_k", kv_width), ("attn_v", kv_width)):
            self.matrix(f"{prefix}{name}.weight", width, shape.width)
            if shape.architecture == "qwen2moe":
                self.vector(f"{prefix}{name}.bias", width, 0.0)
        if shape.architecture in ("qwen3", "qwen3moe", "qwen35", "qwen35moe"):
            self.vector(prefix + "attn_q_norm.weight", shape.head_width)
            self.vector(prefix + "attn_k_norm.weight", shape.head_width)
        self.matrix(prefix + "attn_output.weight", shape.width, query_width)

    def feed_forward(self, prefix):
        shape = self.shape
        if shape.experts is None:
            self.dense(prefix, "", shape.feed_forward_width)
            return
        experts = shape.experts
        self.router(prefix + "ffn_gate_inp.weight", experts.count, shape.width)
        gates = {"gate_up": 2 * experts.width} if self.is_fused else {"gate": experts.width, "up": experts.width}
        share = experts.used_count / experts.count
        for name, width in gates.items():
            self.matrix(f"{prefix}ffn_{name}_exps.weight", experts.count, width, shape.width, active_share=share)
        self.matrix(prefix + "ffn_down_exps.weight", experts.count, shape.width, experts.width, active_share=share)
        if experts.shared_width != 0:
            self.router(prefix + "ffn_gate_inp_shexp.weight", shape.width)
            self.dense(prefix, "_shexp", experts.shared_width)

    def dense(self, prefix, suffix, width):
        self.matrix(f"{prefix}ffn_gate{suffix}.weight", width, self.shape.width)
        self.matrix(f"{prefix}ffn_up{suffix}.weight", width, self.shape.width)
        self.matrix(f"{prefix}ffn_down{suffix}.weight", self.shape.width, width)


def write_shape(writer, name, shape):
    writer.add_name(f"random {name}")
    writer.add_block_count(shape.layer_count)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward_width)
    writer.add_head_count(shape.head_count)
    writer.add_head_count_kv(shape.kv_head_count)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_dimension_count(shape.head_width if shape.recurrent is None else shape.recurrent.rope_width)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    if shape.experts is not None:
        writer.add_expert_count(shape.experts.count)
        writer.add_expert_used_count(shape.experts.used_count)
        writer.add_expert_feed_forward_length(shape.experts.width)
        if shape.experts.shared_width != 0:
            writer.add_expert_shared_feed_forward_length(shape.experts.shared_width)
    if shape.recurrent is not None:
        write_recurrent(writer, shape.recurrent)


def write_recurrent(writer, recurrent):
    pair_count = recurrent.rope_width // 2
    writer.add_rope_dimension_sections([(pair_count + 2) // 3, (pair_count + 1) // 3, pair_count // 3, 0])
    writer.add_full_attention_interval(recurrent.attention_interval)
    writer.add_ssm_conv_kernel(recurrent.convolution_width)
    writer.add_ssm_state_size(recurrent.head_width)
    writer.add_ssm_group_count(recurrent.key_head_count)
    writer.add_ssm_time_step_rank(recurrent.value_head_count)
    writer.add_ssm_inner_size(recurrent.value_width)


def copy_tokenizer(writer, path):
    """Returns the count of tokens."""
    fields = gguf.GGUFReader(path).fields
    contents = lambda key: fields[key].contents()
    tokens = contents("tokenizer.ggml.tokens")
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model(contents("tokenizer.ggml.model"))
    writer.add_tokenizer_pre(contents("tokenizer.ggml.pre") if "tokenizer.ggml.pre" in fields else "smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(contents("tokenizer.ggml.token_type"))
    writer.add_token_merges(contents("tokenizer.ggml.merges"))
    writer.add_bos_token_id(contents("tokenizer.ggml.bos_token_id"))
    writer.add_eos_token_id(contents("tokenizer.ggml.eos_token_id"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(contents("tokenizer.chat_template"))
    return len(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--tokenizer-from", type=pathlib.Path, required=True, metavar="MODEL.gguf", help="with a byte-level BPE tokenizer")
    parser.add_argument("--type", choices=TYPES, default="F16")
    parser.add_argument("--fused-experts", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    shape = SHAPES[args.shape]
    if args.fused_experts and shape.experts is None:
        sys.exit(f"random_gguf: --fused-experts: {args.shape} has no experts")
    writer = gguf.GGUFWriter(args.out, shape.architecture)
    write_shape(writer, args.shape, shape)
    model = RandomModel(writer, shape, GGMLQuantizationType[args.type], args.fused_experts)
    model.write(copy_tokenizer(writer, args.tokenizer_from))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{args.out}: {model.parameter_count / 1e6:.0f} M parameters, {model.active_count / 1e6:.0f} M of them used by a token")


if __name__ == "__main__":
    main()
