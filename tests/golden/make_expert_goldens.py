#!/usr/bin/env python3
"""Writes experts/: small mixtures of experts and what transformers and llama.cpp give with them.

    make_expert_goldens.py --llama-source FOLDER --llama-server PROGRAM [OUTPUT_FOLDER]
                           (default: experts/ beside this file)

FOLDER is the source of llama.cpp b11434, whose converter writes the GGUF files; PROGRAM is its server.
Needs: torch 2.15, transformers 5.24, safetensors, numpy, requests, sentencepiece. Everything is a pure
function of the seeds and these versions, in float32 on one thread. README.md describes the files.

Weights are drawn and rounded to BF16. The logits are those of the saved folder, as a user loads it. The
script refuses a model for which two experts or two tokens are nearly equal. In each row the last chosen
expert's router logit is ROUTER_GAP_MIN above the best of the rest. Each greedy token's logit is
TOKEN_GAP_MIN above the next. llama.cpp must give the same tokens, with gaps of that size.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, Qwen2MoeConfig, Qwen3MoeConfig

HERE = pathlib.Path(__file__).parent
VOCABULARY = 320        # The first tokens of tiny_llama's tokenizer: three special ones, the bytes and merges of them.
TOKEN_COUNT = 48
PROMPT_COUNT = 16
GREEDY_COUNT = 64
ROUTER_GAP_MIN = 1e-3
TOKEN_GAP_MIN = 2e-3

SHARED = {"vocab_size": VOCABULARY, "hidden_size": 32, "max_position_embeddings": 2048, "bos_token_id": 0, "eos_token_id": 0}
QWEN3 = SHARED | {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "tie_word_embeddings": True,
                  "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}}
TWO_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}  # Kernels take heads of 16 or more.

# name: (seed, configuration)
MODELS = {
    "qwen3moe_8": (60, Qwen3MoeConfig(**QWEN3, num_hidden_layers=2, num_experts=8, num_experts_per_tok=2,
                                      moe_intermediate_size=32, intermediate_size=96, norm_topk_prob=True)),
    # Layer 1 has experts. Layers 0 and 2 have none by the step, and layer 3 by the list.
    "qwen3moe_64": (61, Qwen3MoeConfig(**QWEN3, num_hidden_layers=4, num_experts=64, num_experts_per_tok=8,
                                       moe_intermediate_size=32, intermediate_size=96, norm_topk_prob=False,
                                       decoder_sparse_step=2, mlp_only_layers=[3])),
    "qwen2moe_8": (63, Qwen2MoeConfig(**SHARED, **TWO_HEADS, num_hidden_layers=2, num_experts=8, num_experts_per_tok=2,
                                      moe_intermediate_size=64, shared_expert_intermediate_size=96,
                                      intermediate_size=96, norm_topk_prob=False, tie_word_embeddings=False,
                                      rope_parameters={"rope_type": "default", "rope_theta": 10000.0})),
}
# llama.cpp renormalises in qwen3moe and not in qwen2moe, whatever the file says, and knows no dense layers there.
GGUF_MODELS = ["qwen3moe_8", "qwen2moe_8"]
STACKED, FUSED = "qwen3moe_8_stacked", "qwen3moe_8_fused.gguf"  # The numbers of qwen3moe_8, stored otherwise.


def small_tokenizer():
    """tiny_llama's tokenizer with its first VOCABULARY tokens. Merges are in the order of the tokens that they make."""
    tokenizer = json.loads((HERE / "tiny_llama/tokenizer.json").read_text())
    model = tokenizer["model"]
    model["vocab"] = {token: index for token, index in model["vocab"].items() if index < VOCABULARY}
    model["merges"] = [merge for merge in model["merges"] if "".join(merge) in model["vocab"]]
    return json.dumps(tokenizer, ensure_ascii=False)


def deviation_of(name, shape):
    """Wide enough that attention, norms and the choice of experts matter."""
    if ".mlp.gate.weight" in name:
        return 0.8
    if "shared_expert_gate" in name:
        return 0.4
    return 0.1 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5


def draw(config, seed):
    torch.manual_seed(seed)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            drawn = torch.randn(weight.shape) * deviation_of(name, weight.shape)
            weight.copy_((drawn + (1.0 if "norm" in name else 0.0)).bfloat16().float())
    return model.bfloat16()


def published_config(folder):
    """config.json as published checkpoints have it: rope_theta at the top, num_experts by that name."""
    config = json.loads((folder / "config.json").read_text())
    rope = config.pop("rope_parameters")
    config["num_experts"] = config.pop("num_local_experts", config.get("num_experts"))
    config |= {"rope_theta": rope["rope_theta"], "rope_scaling": None, "torch_dtype": config.pop("dtype")}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def save(model, folder, is_published):
    model.save_pretrained(folder, save_original_format=is_published)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if is_published:
        published_config(folder)
    (folder / "tokenizer.json").write_text(small_tokenizer())
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>", "tokenizer_class": "PreTrainedTokenizerFast"}) + "\n")


class Reference:
    """transformers with a saved folder. It keeps the least gap of the routers' choices in all rows that it saw."""

    def __init__(self, folder):
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        self.router_gap = float("inf")
        for name, module in self.model.named_modules():
            if name.endswith(".mlp.gate"):
                module.register_forward_hook(self.watch)

    def watch(self, router, _, outputs):
        top = torch.topk(outputs[0].double(), router.top_k + 1, dim=-1).values
        self.router_gap = min(self.router_gap, float((top[:, -2] - top[:, -1]).min()))

    def logits(self, ids):
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0]

    def greedy(self, ids):
        steps, ids = [], list(ids)
        for _ in range(GREEDY_COUNT):
            top = torch.topk(self.logits(ids)[-1].double(), 2)
            gap = float(top.values[0] - top.values[1])
            steps.append({"id": int(top.indices[0]), "logit": round(float(top.values[0]), 5), "gap": round(gap, 5)})
            ids.append(steps[-1]["id"])
        return steps


def expect(is_true, message):
    if not is_true:
        sys.exit(f"make_expert_goldens: {message}: choose another seed")


def write_expected(folder, seed):
    reference = Reference(folder)
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode((HERE / "text.txt").read_text()).ids[:TOKEN_COUNT]
    np.savez_compressed(folder / "expected.npz", ids=np.array(ids, np.int32), logits=reference.logits(ids).numpy())
    steps = reference.greedy(ids[:PROMPT_COUNT])
    token_gap = min(step["gap"] for step in steps)
    expect(reference.router_gap >= ROUTER_GAP_MIN, f"{folder.name}, seed {seed}: two experts are {reference.router_gap:.1e} apart")
    expect(token_gap >= TOKEN_GAP_MIN, f"{folder.name}, seed {seed}: two tokens are {token_gap:.1e} apart")
    facts = {"router_gap": round(reference.router_gap, 6), "token_gap": token_gap}
    (folder / "greedy.json").write_text(json.dumps(facts | {"ids": ids[:PROMPT_COUNT], "greedy": steps}, indent=0) + "\n")
    return facts | {"tokens": [step["id"] for step in steps], "prompt": ids[:PROMPT_COUNT]}


def write_stacked(published, stacked):
    """The same numbers under the names that transformers 5 has in memory."""
    model = AutoModelForCausalLM.from_pretrained(published, dtype=torch.bfloat16)
    save(model, stacked, is_published=False)
    return {name: list(tensor.shape) for name, tensor in load_file(stacked / "model.safetensors").items() if "experts" in name}


CONVERT = """import runpy, sys
source = sys.argv.pop(1)
sys.path[:0] = [source, source + "/gguf-py"]
import gguf
from conversion.base import TextModel
# The converter fuses gate and up only in architectures whose own list has the tensor.
gguf.MODEL_TENSORS[gguf.MODEL_ARCH.QWEN3MOE].append(gguf.MODEL_TENSOR.FFN_GATE_UP_EXP)
TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"  # The converter knows published vocabularies alone.
sys.argv[0] = source + "/convert_hf_to_gguf.py"
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def convert(source, folder, path, *flags):
    done = subprocess.run([sys.executable, "-c", CONVERT, str(source), str(folder), "--outfile", str(path), "--outtype", "f32",
                           "--model-name", path.stem, *flags], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the converter failed with {folder}:\n{done.stderr[-3000:]}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answer_of(request):
    """The server's answer. It refuses connections, then requests, while it loads."""
    for _ in range(100):
        try:
            return json.load(urllib.request.urlopen(request))
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{request.full_url} does not answer")


def greedy_of_llama(program, path, prompt):
    """llama.cpp's greedy tokens and the least gap of one's logit to the next, on one thread with F32 keys and values."""
    port = free_port()
    server = subprocess.Popen([program, "--model", str(path), "--host", "127.0.0.1", "--port", str(port), "--threads", "1",
                               "--ctx-size", "512", "--parallel", "1", "--cache-type-k", "f32", "--cache-type-v", "f32",
                               "--flash-attn", "off", "--no-warmup"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ask = {"prompt": prompt, "n_predict": GREEDY_COUNT, "temperature": 0, "n_probs": 2,
               "cache_prompt": False, "return_tokens": True}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(ask).encode(),
                                         {"Content-Type": "application/json"})
        answer = answer_of(request)
    finally:
        server.terminate()
        server.wait()
    tops = [step["top_logprobs"] for step in answer["completion_probabilities"]]
    return answer["tokens"], min(top[0]["logprob"] - top[1]["logprob"] for top in tops)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-source", type=pathlib.Path, required=True)
    parser.add_argument("--llama-server", type=pathlib.Path, required=True)
    parser.add_argument("output", type=pathlib.Path, nargs="?", default=HERE / "experts")
    args = parser.parse_args()
    torch.set_num_threads(1)
    shutil.rmtree(args.output, ignore_errors=True)
    for name, (seed, config) in MODELS.items():
        folder = args.output / name
        save(draw(config, seed), folder, is_published=True)
        facts = write_expected(folder, seed)
        print(name, {key: facts[key] for key in ("router_gap", "token_gap")})
        if name in GGUF_MODELS:
            path = args.output / f"{name}.gguf"
            convert(args.llama_source, folder, path)
            tokens, gap = greedy_of_llama(args.llama_server, path, facts["prompt"])
            expect(tokens == facts["tokens"], f"{name}: llama.cpp gives {tokens}, transformers {facts['tokens']}")
            expect(gap >= TOKEN_GAP_MIN, f"{name}: in llama.cpp two tokens are {gap:.1e} apart")
            print(f"{path.name}: llama.cpp gives the same {len(tokens)} tokens, with a least gap of {gap:.1e}")
    for name, shape in write_stacked(args.output / "qwen3moe_8", args.output / STACKED).items():
        print(STACKED, name, shape)
    convert(args.llama_source, args.output / "qwen3moe_8", args.output / FUSED, "--fuse-gate-up-exps")


if __name__ == "__main__":
    main()
