#!/usr/bin/env python3
"""Writes recurrent/: small hybrids of attention and recurrent layers, and what transformers and llama.cpp give with them.

    make_recurrent_goldens.py --llama-source FOLDER --llama-server PROGRAM [OUTPUT_FOLDER]
                              (default: recurrent/ beside this file)

FOLDER is the source of llama.cpp b11434, whose converter writes the GGUF files; PROGRAM is its server.
Needs what make_expert_goldens.py needs, and no flash-linear-attention. Everything is a pure function of
the seeds and these versions, in float32 on one thread. README.md describes the files.

Weights are drawn and rounded to BF16. The decays of the heads go from 0.5 to 0.999, and the write
strengths from nearly 0 to nearly 1. The logits are those of the saved folder, as a user loads it. That
is the form of the delta rule in chunks of 64 tokens.

The script refuses a model in which two tokens or two experts are nearly equal, as for experts/. It also
refuses one whose logits do not depend on what the recurrent layers compute. Each of these has to
change them:

- one weight of one recurrent layer, changed by a tenth;
- all states cleared between two tokens, for the logits of tokens that come much later;
- key heads assigned to value heads in GGUF's order instead of that of safetensors.
"""
import argparse
import contextlib
import functools
import json
import pathlib
import shutil
import sys

from make_expert_goldens import (GREEDY_COUNT, HERE, ROUTER_GAP_MIN, TOKEN_GAP_MIN, VOCABULARY, Reference, convert,
                                 greedy_of_llama, small_tokenizer)
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import (AutoModelForCausalLM, Qwen3_5Config, Qwen3_5ForConditionalGeneration, Qwen3_5MoeTextConfig,
                          Qwen3_5TextConfig)
from transformers.models.qwen3_5 import modeling_qwen3_5
from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe

TOKEN_COUNT = 144       # More than two chunks of 64.
PROMPT_COUNT = 72       # More than one.
CLEARED_AT = 20         # The states are cleared before this token, and the logits from FAR_COUNT tokens later on are compared.
FAR_COUNT = 64
FORM_DIFFERENCE_MAX = 1e-4
CHANGE_MIN = 1e-2
DECAYS = (0.5, 0.999)

SHARED = {"vocab_size": VOCABULARY, "hidden_size": 32, "max_position_embeddings": 2048, "bos_token_id": 0, "eos_token_id": 0}
ROPE = {"rope_type": "default", "rope_theta": 10000000.0, "mrope_interleaved": True}
DENSE = SHARED | {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64, "intermediate_size": 64,
                  "rope_parameters": ROPE | {"mrope_section": [3, 3, 2], "partial_rotary_factor": 0.25}}


def linear_heads(key_count, value_count, width):
    return {"linear_num_key_heads": key_count, "linear_num_value_heads": value_count,
            "linear_key_head_dim": width, "linear_value_head_dim": width}


# name: (seed, configuration, what config.json says of the order of layers). GGUF files have the list, and an interval of 4
# even where it is 2: transformers drops config.json's interval before the converter sees it.
INTERVAL, LIST = "full_attention_interval", "layer_types"
MODELS = {
    "qwen35_4k4v": (70, Qwen3_5TextConfig(**DENSE, **linear_heads(4, 4, 32), num_hidden_layers=5, full_attention_interval=4,
                                          tie_word_embeddings=True), {INTERVAL: 4, LIST: True}),
    "qwen35_16k32v": (71, Qwen3_5TextConfig(**DENSE, **linear_heads(16, 32, 16), num_hidden_layers=3, full_attention_interval=2,
                                            tie_word_embeddings=False), {INTERVAL: 2, LIST: False}),
    "qwen35moe_2k4v": (74, Qwen3_5MoeTextConfig(**SHARED, **linear_heads(2, 4, 128), num_attention_heads=4, num_key_value_heads=2,
                                                head_dim=32, num_hidden_layers=3, full_attention_interval=2, num_experts=8,
                                                num_experts_per_tok=2, moe_intermediate_size=32,
                                                shared_expert_intermediate_size=32, tie_word_embeddings=False,
                                                rope_parameters=ROPE | {"partial_rotary_factor": 0.5}), {LIST: True}),
}
PUBLISHED, PUBLISHED_OF = "qwen35_published", "qwen35_4k4v"  # The same numbers in the form of published checkpoints.
VISION = {"depth": 1, "hidden_size": 16, "intermediate_size": 32, "num_heads": 2, "patch_size": 4,
          "out_hidden_size": SHARED["hidden_size"], "num_position_embeddings": 16}
KEPT_IN_F32 = ("linear_attn.A_log", "linear_attn.norm.weight")


def expect(is_true, message):
    if not is_true:
        sys.exit(f"make_recurrent_goldens: {message}: choose another seed")


def deviation_of(name, shape):
    """Wide enough that attention, states, gates and the choice of experts matter."""
    if ".mlp.gate.weight" in name:
        return 0.8
    if "shared_expert_gate" in name:
        return 0.4
    if "in_proj_a" in name:
        return 0.5 / shape[-1] ** 0.5
    if "in_proj_b" in name:
        return 2.0 / shape[-1] ** 0.5
    return 0.2 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5


def draw_weight(name, weight):
    """Norms multiply by 1 + weight, except that of the recurrent output, which multiplies by the weight."""
    center = 1.0 if name.endswith("linear_attn.norm.weight") else 0.0
    weight.copy_((center + torch.randn(weight.shape) * deviation_of(name, weight.shape)).bfloat16().float())


def draw_decays(layer):
    """Spreads the decays of the heads over DECAYS, in equal steps of log(-log(decay)), in a random order."""
    low, high = (float(np.log(-np.log(decay))) for decay in DECAYS)
    count = layer.A_log.numel()
    rate = torch.linspace(high, low, count).exp()[torch.randperm(count)]
    layer.A_log.copy_((torch.rand(count) * 3.0 - 1.5).bfloat16().float())
    layer.dt_bias.copy_(torch.expm1(rate / layer.A_log.exp()).log().bfloat16().float())


def draw(config, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            draw_weight(name, weight)
        for module in model.modules():
            if hasattr(module, "A_log"):
                draw_decays(module)
    return model.bfloat16()


def write_tokenizer(folder):
    """All special tokens are named, because transformers adds those of Qwen that are not."""
    (folder / "tokenizer.json").write_text(small_tokenizer())
    names = {"eos_token": "<|end|>", "pad_token": "<|end|>", "unk_token": "<|end|>", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names) + "\n")


def edit_config(folder, edit):
    config = json.loads((folder / "config.json").read_text())
    edit(config)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def save(model, folder, order):
    """The folder has experts stacked, as published checkpoints of this family have them."""
    model.save_pretrained(folder, save_original_format=False)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_tokenizer(folder)

    def say_order(config):
        if not order[LIST]:
            del config["layer_types"]
        if INTERVAL in order:
            config[INTERVAL] = order[INTERVAL]
    edit_config(folder, say_order)


@contextlib.contextmanager
def delta_rule(change):
    """All recurrent layers compute change(rule, query, key, value, **options), where rule is the one in chunks."""
    modules = (modeling_qwen3_5, modeling_qwen3_5_moe)
    rules = [module.torch_chunk_gated_delta_rule for module in modules]
    for module, rule in zip(modules, rules):
        module.torch_chunk_gated_delta_rule = functools.partial(change, rule)
    yield
    for module, rule in zip(modules, rules):
        module.torch_chunk_gated_delta_rule = rule


def token_by_token(_, query, key, value, **options):
    return modeling_qwen3_5.torch_recurrent_gated_delta_rule(query, key, value, **options)


def cleared(rule, query, key, value, g, **options):
    g = g.clone()
    g[:, CLEARED_AT] = -100.0
    return rule(query, key, value, g=g, **options)


def tiled(rule, query, key, value, **options):
    times = value.shape[2] // key.shape[2]
    return rule(query.repeat(1, 1, times, 1), key.repeat(1, 1, times, 1), value, **options)


def difference(left, right):
    return float((left - right).abs().max())


def with_rule(reference, ids, change):
    with delta_rule(change):
        return reference.logits(ids)


def least_weight_change(reference, ids, logits):
    """The least change of any logit that a weight of one recurrent layer makes, and the weight."""
    changes = []
    for name, weight in reference.model.named_parameters():
        if "linear_attn." not in name:
            continue
        with torch.no_grad():
            kept = weight.clone()
            weight.copy_(kept + 0.1 if len(weight.shape) == 1 else kept * 1.1)
            changes.append((difference(reference.logits(ids), logits), name))
            weight.copy_(kept)
    return min(changes)


def check_recurrence(name, reference, ids, logits):
    form = difference(with_rule(reference, ids, token_by_token), logits)
    change, weight = least_weight_change(reference, ids, logits)
    far = slice(CLEARED_AT + FAR_COUNT, None)
    forgotten = difference(with_rule(reference, ids, cleared)[far], logits[far])
    text = reference.model.config
    changes = {"form": form, "weight": change, "forgotten": forgotten}
    if text.linear_num_key_heads != text.linear_num_value_heads:
        changes["order"] = difference(with_rule(reference, ids, tiled), logits)
    print(name, {key: f"{value:.1e}" for key, value in changes.items()}, weight)
    expect(form <= FORM_DIFFERENCE_MAX, f"{name}: token by token, a logit differs by {form:.1e}")
    for key in changes.keys() - {"form"}:
        expect(changes[key] >= CHANGE_MIN, f"{name}: '{key}' changes logits by {changes[key]:.1e} at most")


def write_expected(folder, seed):
    reference = Reference(folder)
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode((HERE / "text.txt").read_text()).ids[:TOKEN_COUNT]
    logits = reference.logits(ids)
    check_recurrence(folder.name, reference, ids, logits)
    np.savez_compressed(folder / "expected.npz", ids=np.array(ids, np.int32), logits=logits.numpy())
    reference.router_gap = float("inf")  # The changed models above are not the one that is tested.
    reference.logits(ids)
    steps = reference.greedy(ids[:PROMPT_COUNT])
    facts = {"token_gap": min(step["gap"] for step in steps)}
    if reference.router_gap != float("inf"):
        facts["router_gap"] = round(reference.router_gap, 6)
        expect(facts["router_gap"] >= ROUTER_GAP_MIN, f"{folder.name}, seed {seed}: two experts are {facts['router_gap']:.1e} apart")
    expect(facts["token_gap"] >= TOKEN_GAP_MIN, f"{folder.name}, seed {seed}: two tokens are {facts['token_gap']:.1e} apart")
    (folder / "greedy.json").write_text(json.dumps(facts | {"ids": ids[:PROMPT_COUNT], "greedy": steps}, indent=0) + "\n")
    print(folder.name, facts)
    return {"tokens": [step["id"] for step in steps], "prompt": ids[:PROMPT_COUNT]}


def next_token_tensors(text, tensors):
    """A random block for a second next token: published checkpoints have one, and it has no part in the logits."""
    last_attention = max(index for index, kind in enumerate(text.layer_types) if kind == "full_attention")
    prefix = f"model.language_model.layers.{last_attention}."
    shapes = {"mtp.layers.0." + name[len(prefix):]: tensor.shape for name, tensor in tensors.items() if name.startswith(prefix)}
    shapes["mtp.fc.weight"] = (text.hidden_size, 2 * text.hidden_size)
    shapes |= {f"mtp.{name}.weight": (text.hidden_size,) for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden")}
    return {name: (torch.randn(shape) * deviation_of(name, shape)).bfloat16() for name, shape in shapes.items()}


def write_published(text_folder, folder):
    """The numbers of text_folder as the published checkpoints have them: with a vision tower, in two number formats."""
    torch.manual_seed(MODELS[PUBLISHED_OF][0])
    text = AutoModelForCausalLM.from_pretrained(text_folder, dtype=torch.bfloat16)
    members = {name: value for name, value in text.config.to_dict().items() if name not in ("architectures", "_name_or_path")}
    model = Qwen3_5ForConditionalGeneration(Qwen3_5Config(text_config=members, vision_config=VISION,
                                                          tie_word_embeddings=text.config.tie_word_embeddings)).bfloat16()
    model.model.language_model.load_state_dict(text.model.state_dict())
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_tokenizer(folder)
    tensors = load_file(folder / "model.safetensors")
    tensors |= next_token_tensors(text.config, tensors)
    tensors = {name: tensor.float() if name.endswith(KEPT_IN_F32) else tensor for name, tensor in tensors.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    edit_config(folder, lambda config: config["text_config"].update(
        {INTERVAL: MODELS[PUBLISHED_OF][2][INTERVAL], "attn_output_gate": True, "mamba_ssm_dtype": "float32",
         "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False}))


def check_published(folder, answers):
    expected = np.load(answers / "expected.npz")
    model = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        logits = model(torch.tensor(expected["ids"][None].astype(np.int64))).logits[0]
    if not np.array_equal(logits.numpy(), expected["logits"]):
        sys.exit(f"{folder.name}: transformers gives other logits than with {answers.name}")


def write_gguf(args, folder, facts, *flags):
    path = args.output / f"{folder.name}.gguf"
    convert(args.llama_source, folder, path, *flags)
    tokens, gap = greedy_of_llama(args.llama_server, path, facts["prompt"])
    expect(tokens == facts["tokens"], f"{path.name}: llama.cpp gives {tokens}, transformers {facts['tokens']}")
    expect(gap >= TOKEN_GAP_MIN, f"{path.name}: in llama.cpp two tokens are {gap:.1e} apart")
    print(f"{path.name}: llama.cpp gives the same {GREEDY_COUNT} tokens, with a least gap of {gap:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-source", type=pathlib.Path, required=True)
    parser.add_argument("--llama-server", type=pathlib.Path, required=True)
    parser.add_argument("output", type=pathlib.Path, nargs="?", default=HERE / "recurrent")
    args = parser.parse_args()
    torch.set_num_threads(1)
    shutil.rmtree(args.output, ignore_errors=True)
    facts = {}
    for name, (seed, config, order) in MODELS.items():
        folder = args.output / name
        save(draw(config, seed), folder, order)
        facts[name] = write_expected(folder, seed)
        write_gguf(args, folder, facts[name], "--no-mtp")
    published, answers = args.output / PUBLISHED, args.output / PUBLISHED_OF
    write_published(answers, published)
    check_published(published, answers)
    write_gguf(args, published, facts[PUBLISHED_OF])


if __name__ == "__main__":
    main()
