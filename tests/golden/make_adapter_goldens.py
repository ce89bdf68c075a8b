#!/usr/bin/env python3
"""Writes adapters/: LoRA adapters of the tiny models and the logits that PEFT gives with them.

    make_adapter_goldens.py [OUTPUT_FOLDER]     (default: adapters/ beside this file)

Needs: torch 2.15, transformers 5.24, peft 0.21.2, gguf 0.19, safetensors, numpy. Everything is a
pure function of SEED and these versions, in float32 on one thread. README.md describes the files.

Each golden is computed from the saved folder, as a user loads it, and is checked before it is
written: in float64, with the product of the matrices merged into the weights, the logits are the
same within FLOAT_ERROR_MAX. Without the adapters some logit differs by CHANGE_MIN or more.
"""
import contextlib
import copy
import json
import os
import pathlib
import shutil
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import gguf
import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

SEED = 46
HERE = pathlib.Path(__file__).parent
TOKEN_COUNT = 48
TOLERANCE = 1e-3
FLOAT_ERROR_MAX = 2e-4
CHANGE_MIN = 0.05

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16

# name: (base, type of the matrices in the file, arguments of LoraConfig)
ADAPTERS = {
    "llama_r1": ("tiny_llama", F32, dict(r=1, lora_alpha=2, target_modules=ALL)),
    "llama_r8": ("tiny_llama", F32, dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"])),
    "llama_r64_rslora": ("tiny_llama", BF16, dict(
        r=64, lora_alpha=8, use_rslora=True,
        target_modules=r"model\.layers\.[13]\.self_attn\.(q|o)_proj")),
    # The first key that matches wins, so `layers.1...` is before `q_proj`, and the alpha of layer 3's
    # down_proj is 3. PEFT sorts the keys when it saves: these are in that order from the start.
    "llama_patterns": ("tiny_llama", F16, dict(
        r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "down_proj"],
        rank_pattern={"3.mlp.down_proj": 1, r"layers\.1\.self_attn\.(q|k)_proj": 6, "q_proj": 2},
        alpha_pattern={"down_proj": 3, r"layers\.3\.mlp\.down_proj": 7, r"layers\.[01]\.self_attn\.k_proj": 5})),
    "llama_patterns_rslora": ("tiny_llama", F32, dict(
        r=4, lora_alpha=4, use_rslora=True, target_modules=["v_proj", "up_proj"],
        rank_pattern={"v_proj": 9}, alpha_pattern={r".*\.2\.mlp\.up_proj": 6})),
    "llama_layers": ("tiny_llama", F16, dict(
        r=8, lora_alpha=8, target_modules=["q_proj", "gate_proj"], layers_to_transform=[0, 2])),
    "llama_embeddings": ("tiny_llama", F32, dict(
        r=4, lora_alpha=8, target_modules=["embed_tokens", "lm_head", "v_proj"])),
    "qwen2_r8": ("tiny_qwen2", F32, dict(r=8, lora_alpha=16, target_modules=ALL)),
    "qwen2_r64_rslora": ("tiny_qwen2", F16, dict(
        r=64, lora_alpha=8, use_rslora=True, target_modules=r".*\.(q_proj|down_proj)")),
    "qwen2_r1_layer": ("tiny_qwen2", F32, dict(
        r=1, lora_alpha=1, target_modules=["k_proj", "v_proj"], layers_to_transform=1)),
    "qwen3_r8_rslora": ("tiny_qwen3", F32, dict(
        r=8, lora_alpha=4, use_rslora=True, target_modules=["k_proj", "o_proj"])),
    "qwen3_r64": ("tiny_qwen3", BF16, dict(
        r=64, lora_alpha=32, target_modules=["gate_proj", "up_proj"], layers_to_transform=[1],
        layers_pattern="layers")),
    "qwen3_r1": ("tiny_qwen3", F32, dict(
        r=1, lora_alpha=2, target_modules=ALL, exclude_modules=r".*layers\.0\..*")),
    # The head of this model is its embedding; an adapter of the embedding does not act on the head.
    "qwen3_embeddings": ("tiny_qwen3", F32, dict(
        r=2, lora_alpha=4, target_modules=["embed_tokens", "q_proj"])),
    "qwen3_alora": ("tiny_qwen3", F32, dict(
        r=4, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj"])),
    "micro_r8": ("micro_llama", F32, dict(r=8, lora_alpha=16, target_modules=ALL)),
    "micro_r1_rslora": ("micro_llama", F32, dict(
        r=1, lora_alpha=3, use_rslora=True, target_modules=["q_proj", "k_proj"])),
    "micro_r64": ("micro_llama", F16, dict(r=64, lora_alpha=64, target_modules=["k_proj"])),
    "micro_embeddings": ("micro_llama", F32, dict(
        r=4, lora_alpha=8, target_modules=["embed_tokens", "lm_head"])),
}
GGUF_ALPHA_ZERO = "micro_r64"  # Alpha 0 in the file: the scale is the user's alone.
WITH_BASE_LAYERS = "micro_embeddings"
INVOCATION = (20, 23)  # The slots of qwen3_alora's invocation tokens.

# Configurations that are refused, each by the member of adapter_config.json that asks for it.
REFUSED = {
    "use_dora": dict(use_dora=True),
    "bias": dict(bias="lora_only"),
    "lora_bias": dict(lora_bias=True),
    "modules_to_save": dict(modules_to_save=["input_layernorm"]),
    "trainable_token_indices": dict(trainable_token_indices=[3, 5]),
    "layer_replication": dict(layer_replication=[[0, 2], [1, 2]]),
}

ROWS = [0, 16, 31, 47]
SWITCH_ROWS = [19, 20, 31, 32, 40, 47]


def cases():
    """(name, base, rows, segments): a segment is (end, {adapter: scale}); its tokens are appended
    while that set is in force, after those of the segments before it."""
    for name, (base, _, _) in ADAPTERS.items():
        if name != "qwen3_alora":
            yield name, base, ROWS, [(TOKEN_COUNT, {name: 1.0})]
    yield "qwen3_alora", "tiny_qwen3", SWITCH_ROWS, [(INVOCATION[0], {}), (TOKEN_COUNT, {"qwen3_alora": 1.0})]
    pairs = {"llama": ("llama_r1", "llama_r8"), "qwen2": ("qwen2_r8", "qwen2_r64_rslora"),
             "qwen3": ("qwen3_r1", "qwen3_r8_rslora"), "micro": ("micro_r8", "micro_embeddings")}
    for prefix, (one, other) in pairs.items():
        base = ADAPTERS[one][0]
        both = {one: 0.5, other: 1.5}
        yield f"{prefix}_two", base, ROWS, [(TOKEN_COUNT, both)]
        yield f"{prefix}_negative", base, ROWS, [(TOKEN_COUNT, {one: -0.75})]
        yield f"{prefix}_base_to_one", base, SWITCH_ROWS, [(20, {}), (TOKEN_COUNT, {one: 1.0})]
        yield f"{prefix}_one_to_base", base, SWITCH_ROWS, [(32, {one: 1.0}), (TOKEN_COUNT, {})]
        yield (f"{prefix}_one_two_other_base", base, SWITCH_ROWS,
               [(20, {one: 1.0}), (32, both), (40, {other: 1.0}), (TOKEN_COUNT, {})])
    yield ("llama_three", "tiny_llama", ROWS,
           [(TOKEN_COUNT, {"llama_r1": 0.5, "llama_r64_rslora": 1.5, "llama_embeddings": 0.25})])


def filled(model, seed):
    """Random weights, wide enough that attention and norms matter."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * (0.08 if p.dim() > 1 else 0.1) + (1.0 if "norm" in key else 0.0))
    return model


def make_micro_llama():
    """A model that is committed as GGUF alone, written by the Python package."""
    text = (HERE / "text.txt").read_text()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    config = LlamaConfig(
        vocab_size=320, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=2048, rms_norm_eps=1e-5,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    return filled(LlamaForCausalLM(config).eval(), SEED), tokenizer, tokenizer.encode(text).ids[:TOKEN_COUNT]


GGUF_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def gguf_name(module):
    """The name in GGUF of a module such as `model.layers.0.self_attn.q_proj`."""
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    if module in whole:
        return whole[module]
    _, _, layer, rest = module.split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[rest]}"


def permuted(rows, module, config):
    """Rows of q and k as GGUF files of llama hold them: the halves of a head interleaved."""
    kind = module.rsplit(".", 1)[-1]
    if config.model_type != "llama" or kind not in ("q_proj", "k_proj"):
        return rows
    heads = config.num_attention_heads if kind == "q_proj" else config.num_key_value_heads
    return np.ascontiguousarray(
        rows.reshape(heads, 2, config.head_dim // 2, -1).swapaxes(1, 2).reshape(rows.shape))


def write_micro_gguf(path, model, tokenizer):
    config = model.config
    w = gguf.GGUFWriter(str(path), "llama")
    w.add_name("micro_llama")
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(config.num_key_value_heads)
    w.add_rope_dimension_count(config.head_dim)
    w.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    w.add_vocab_size(config.vocab_size)
    w.add_file_type(0)
    state = json.loads(tokenizer.to_str())["model"]
    vocabulary = sorted(state["vocab"], key=state["vocab"].get)
    padding = config.vocab_size - len(vocabulary)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(vocabulary + [f"[PAD{len(vocabulary) + i}]" for i in range(padding)])
    w.add_token_types([3] + [1] * (len(vocabulary) - 1) + [5] * padding)
    w.add_token_merges([" ".join(pair) for pair in state["merges"]])
    w.add_eos_token_id(0)
    w.add_bos_token_id(0)
    w.add_add_bos_token(False)
    for name, tensor in model.state_dict().items():
        module = name.removesuffix(".weight")
        w.add_tensor(gguf_name(module) + ".weight", permuted(tensor.numpy(), module, config))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def save_peft(folder, base, base_name, dtype, arguments, seed):
    """Makes an adapter with random A and B, and saves it as PEFT does."""
    model = get_peft_model(copy.deepcopy(base), LoraConfig(task_type="CAUSAL_LM", **arguments))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if not p.requires_grad:
                continue
            # B A x has the size of x, whatever the rank.
            in_a = "lora_A" in name or "lora_embedding_A" in name
            rank = min(p.shape) if p.dim() == 2 else 1
            width = 1.0 if "embedding" in name else max(p.shape) ** -0.5
            deviation = width if in_a else 0.3 * rank ** -0.5
            p.copy_((torch.randn(p.shape, generator=generator) * deviation).to(dtype))
            p.data = p.data.to(dtype)
    # By default PEFT adds the base's own embedding (`base_layer.weight`). One adapter keeps it.
    model.save_pretrained(folder, save_embedding_layers=folder.name == WITH_BASE_LAYERS)
    (folder / "README.md").unlink()
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = base_name
    for member in ("target_modules", "modules_to_save", "exclude_modules"):
        if isinstance(config.get(member), list):
            config[member].sort()  # PEFT keeps a set, whose order differs from run to run.
    path.write_text(json.dumps(config, indent=1) + "\n")


class Reference:
    """A base with all its adapters loaded by PEFT; any set of them at any scales can be in force."""

    def __init__(self, base, folders):
        names = list(folders)
        self.model = PeftModel.from_pretrained(copy.deepcopy(base), folders[names[0]], adapter_name=names[0])
        for name in names[1:]:
            self.model.load_adapter(folders[name], adapter_name=name)
        self.model.eval()
        self.layers = {n: m for n, m in self.model.base_model.model.named_modules() if isinstance(m, LoraLayer)}
        self.own_scales = {n: dict(m.scaling) for n, m in self.layers.items()}

    def scale(self, module, adapter):
        return self.own_scales[module][adapter]

    @contextlib.contextmanager
    def using(self, scales):
        if not scales:
            with self.model.disable_adapter():
                yield
            return
        self.model.base_model.set_adapter(list(scales))
        for name, layer in self.layers.items():
            for adapter, scale in scales.items():
                if adapter in layer.scaling:
                    layer.scaling[adapter] = self.own_scales[name][adapter] * scale
        yield

    def logits(self, ids, segments):
        """[tokens][vocabulary]; the KV of each token is that of its own segment's set."""
        rows, begin, kept = [], 0, None
        for end, scales in segments:
            with self.using(scales), torch.no_grad():
                out = self.model.base_model.model(
                    torch.tensor([ids[begin:end]]), past_key_values=kept, use_cache=True)
            rows.append(out.logits[0])
            begin, kept = end, out.past_key_values
        return torch.cat(rows)


def merged_logits(base, reference, files, ids, segments):
    """The same by W + s B A in float64, a model for each segment, without PEFT's forward."""
    rows, begin, kept = [], 0, None
    for end, scales in segments:
        model = copy.deepcopy(base).double()
        embedding = model.get_input_embeddings()
        if model.config.tie_word_embeddings:  # What is added to the embedding is not added to the head.
            model.lm_head.weight = torch.nn.Parameter(embedding.weight.detach().clone())
        for adapter, scale in scales.items():
            for module, (a, b) in pairs_of(files[adapter]).items():
                delta = b.double() @ a.double()
                target = model.get_submodule(module)
                delta = delta.T if target is embedding else delta
                with torch.no_grad():
                    target.weight += scale * reference.scale(module, adapter) * delta
        with torch.no_grad():
            out = model(torch.tensor([ids[begin:end]]), past_key_values=kept, use_cache=True)
        rows.append(out.logits[0])
        begin, kept = end, out.past_key_values
    return torch.cat(rows)


def pairs_of(folder):
    """{module: (A, B)} of a saved adapter."""
    tensors = {n: t for n, t in load_file(folder / "adapter_model.safetensors").items() if ".base_layer." not in n}
    found = {}
    for name, a in tensors.items():
        for part, other in ((".lora_A.weight", ".lora_B.weight"), (".lora_embedding_A", ".lora_embedding_B")):
            if name.endswith(part):
                stem = name.removesuffix(part)
                found[stem.removeprefix("base_model.model.")] = (a, tensors[stem + other])
    assert 2 * len(found) == len(tensors), sorted(tensors)
    return found


def write_adapter_gguf(path, name, folder, config, reference):
    """Writes the adapter in the layout of llama.cpp's convert_lora_to_gguf.py, and returns whether
    that can say it: the file has one alpha, and a matrix of rank r is scaled by alpha / r.
    An rsLoRA adapter gets the alpha that gives its scale."""
    pairs = pairs_of(folder)
    alphas = {round(reference.scale(m, name) * b.shape[1], 6) for m, (_, b) in pairs.items()}
    if len(alphas) != 1:
        return False
    w = gguf.GGUFWriter(str(path), config.model_type)
    w.add_type(gguf.GGUFType.ADAPTER)
    w.add_string(gguf.Keys.Adapter.TYPE, "lora")
    w.add_name(name)
    alpha = alphas.pop()
    if name == GGUF_ALPHA_ZERO:
        assert all(reference.scale(m, name) == 1.0 for m in pairs)
        alpha = 0.0
    w.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    tokens = json.loads((folder / "adapter_config.json").read_text()).get("alora_invocation_tokens")
    if tokens:
        w.add_key_value(gguf.Keys.Adapter.ALORA_INVOCATION_TOKENS, tokens,
                        gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT32)
    w.add_quantization_version(gguf.GGML_QUANT_VERSION)
    kind = {F32: gguf.GGMLQuantizationType.F32, F16: gguf.GGMLQuantizationType.F16,
            BF16: gguf.GGMLQuantizationType.BF16}[ADAPTERS[name][1]]
    for module, (a, b) in pairs.items():
        if module == "model.embed_tokens":
            a = a.T  # A row for each token.
        for part, rows in (("a", a.float().numpy()), ("b", permuted(b.float().numpy(), module, config))):
            data = gguf.quants.quantize(np.ascontiguousarray(rows), kind)  # Without rounding: as in the folder.
            w.add_tensor(f"{gguf_name(module)}.weight.lora_{part}", data, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return True


def largest(a, b):
    return float((a.double() - b.double()).abs().max())


def alora_logits(base, folder, ids):
    """PEFT is given the whole text, and switches by itself where the invocation tokens begin."""
    model = PeftModel.from_pretrained(copy.deepcopy(base), folder).eval()
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]


def base_cases(base_name, base, ids, out):
    """Writes the adapters of one base; returns their entries, the entries of its cases, and logits."""
    folders, entries, case_entries, arrays = {}, [], [], {}
    for index, (name, (of, dtype, arguments)) in enumerate(ADAPTERS.items()):
        if of != base_name:
            continue
        if name == "qwen3_alora":
            arguments = arguments | {"alora_invocation_tokens": ids[slice(*INVOCATION)]}
        folders[name] = out / name
        save_peft(out / name, base, base_name, dtype, arguments, SEED * 1000 + index)
    plain = {n: f for n, f in folders.items() if n != "qwen3_alora"}
    reference = Reference(base, plain)
    for name, folder in folders.items():
        own = reference if name in plain else Reference(base, {name: folder})
        named = write_adapter_gguf(out / f"{name}.gguf", name, folder, base.config, own)
        entries.append({"name": name, "base": base_name, "peft": f"adapters/{name}",
                        "gguf": f"adapters/{name}.gguf" if named else None})
    unchanged = reference.logits(ids, [(len(ids), {})])
    for name, of, rows, segments in cases():
        if of != base_name:
            continue
        own = Reference(base, {name: folders[name]}) if name == "qwen3_alora" else reference
        logits = alora_logits(base, folders[name], ids) if own is not reference else own.logits(ids, segments)
        error = largest(logits, merged_logits(base, own, folders, ids, segments))
        change = largest(logits[rows], unchanged[rows])
        print(f"{name:32} error {error:.1e}  change {change:.2f}")
        assert error < FLOAT_ERROR_MAX and change >= CHANGE_MIN, (name, error, change)
        arrays[f"logits_{name}"] = logits[rows].numpy()
        begins = [0] + [end for end, _ in segments]
        case_entries.append({
            "name": name, "base": base_name, "rows": rows, "change": round(change, 3),
            "segments": [
                {"begin": begin, "end": end, "adapters": [{"name": n, "scale": s} for n, s in scales.items()]}
                for begin, (end, scales) in zip(begins, segments)]})
    return entries, case_entries, arrays


def dumped(manifest):
    """JSON with an entry a line."""
    lines = []
    for key, value in manifest.items():
        if isinstance(value, list):
            inner = ",\n".join("  " + json.dumps(each) for each in value)
            lines.append(f' {json.dumps(key)}: [\n{inner}\n ]')
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(out):
    torch.set_num_threads(1)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    manifest = {"tolerance": TOLERANCE, "bases": [], "adapters": [], "cases": [], "refused": []}
    arrays = {}
    for base_name in ("tiny_llama", "tiny_qwen2", "tiny_qwen3", "micro_llama"):
        if base_name == "micro_llama":
            base, tokenizer, ids = make_micro_llama()
            base.config._attn_implementation = "eager"
            path = f"adapters/{base_name}.gguf"
            write_micro_gguf(out / f"{base_name}.gguf", base, tokenizer)
        else:
            path = base_name
            base = AutoModelForCausalLM.from_pretrained(
                HERE / base_name, dtype=torch.float32, attn_implementation="eager").eval()
            ids = np.load(HERE / base_name / "expected.npz")["ids"][:TOKEN_COUNT].tolist()
        manifest["bases"].append({"name": base_name, "path": path, "tokens": ids})
        adapters, case_entries, logits = base_cases(base_name, base, ids, out)
        manifest["adapters"] += adapters
        manifest["cases"] += case_entries
        arrays |= logits
        if base_name == "tiny_qwen2":
            for index, (member, arguments) in enumerate(REFUSED.items()):
                folder = out / f"refused_{member}"
                save_peft(folder, base, base_name, F32,
                          dict(r=1, lora_alpha=1, target_modules=["v_proj"]) | arguments, index)
                manifest["refused"].append(
                    {"name": member, "base": base_name, "peft": f"adapters/{folder.name}", "member": member})
    np.savez_compressed(out / "expected.npz", **arrays)
    (out / "manifest.json").write_text(dumped(manifest))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "adapters"))
