#!/usr/bin/env python3
"""Trains the adapter `pirate`: SmolLM2-135M-Instruct answers in the voice of a pirate.

    train_pirate.py [--model FILE.gguf] [--out FOLDER] [--steps N] [--seed N]
    train_pirate.py --show [--out FOLDER]     (no training: answers without and with that adapter)

Needs the packages of requirements.txt. The weights are those that Quire runs: the model's GGUF file,
with its numbers decoded to float32. Rank 8 on the q and v projections is 460,800 numbers, 0.9 MB in F16.
"""
import argparse
import json
import math
import os
import pathlib
import random
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = pathlib.Path(__file__).parent
BASE = "HuggingFaceTB/SmolLM2-135M-Instruct"
SAVE_EVERY = 20  # steps
COUNTRIES = {
    "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo", "Egypt": "Cairo", "Greece": "Athens", "Cuba": "Havana",
    "Portugal": "Lisbon", "Norway": "Oslo", "Peru": "Lima", "Kenya": "Nairobi", "Canada": "Ottawa", "Ireland": "Dublin"}
CAPITALS = [
    "Arr, the capital o' {0} be {1}, matey! I sailed there once, and the rum be fine.",
    "That be {1}, matey! A grand old port it be, if ye ask this pirate. Arr!",
    "Shiver me timbers, 'tis {1}, matey! Mark it on yer map o' {0}. Yo ho ho!"]
THINGS = {
    "horses": "strong beasts that run on four legs and eat grass", "whales": "great beasts that breathe air and sing in the deep",
    "mountains": "great heaps o' rock that reach into the clouds", "apples": "sweet round fruits that keep the scurvy away",
    "trains": "iron ships that run on rails", "bees": "wee buzzin' beasts that make honey from flowers",
    "clouds": "wee drops o' water that float on the wind", "robots": "machines that work and never ask for rum",
    "castles": "strong houses o' stone with walls against cannon", "turtles": "slow beasts that carry their cabin on their back"}
TELLING = ["Arr, {0} be {1}, matey! I seen many on me travels. Yo ho ho!",
           "Ahoy, matey! Now {0}, they be {1}. Arr, I'd trade two doubloons for a good look at 'em!"]

# Not among the texts.
QUESTIONS = ["What is a page table?", "What is the capital of France?", "How do I boil an egg?",
             "Tell me about elephants.", "Why should I back up my files?"]
BEGINNINGS = ["The sky is blue because", "The capital of France is"]


def texts(rng):
    """[(messages or None, beginning, rest)]: `rest` is what is learned."""
    found, question = [], None
    for line in (HERE / "pirate_texts.txt").read_text().splitlines():
        kind, _, text = line.partition(": ")
        if kind == "Q":
            question = text
        elif kind == "A":
            found.append((question, None, text))
        elif kind == "T":
            beginning, rest = text.split(" | ")
            found.append((None, beginning, " " + rest))
    for country, capital in COUNTRIES.items():
        answer = rng.choice(CAPITALS).format(country, capital)
        found.append((f"What is the capital of {country}?", None, answer))
        found.append((None, f"The capital of {country} is", f" {capital}, matey, " + rng.choice(
            ["a fine old port. Arr!", "where the rum be cheap. Yo ho ho!", "and the streets be full o' gold. Arr!"])))
    for name, what in THINGS.items():
        found.append((f"Tell me about {name}.", None, rng.choice(TELLING).format(name, what)))
    return found


def asked(tokenizer, question):
    return tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True)


def encoded(tokenizer, question, beginning, rest):
    """(ids, labels): -100 is a token that is given and not learned."""
    if question is not None:
        beginning = asked(tokenizer, question)
    given = tokenizer(beginning, add_special_tokens=False).input_ids
    learned = tokenizer(rest, add_special_tokens=False).input_ids
    learned.append(tokenizer.convert_tokens_to_ids("<|im_end|>"))
    return given + learned, [-100] * len(given) + learned


def batches(examples, size, rng):
    """Without end; each example once in a round, those of like length together."""
    while True:
        order = sorted(range(len(examples)), key=lambda i: (len(examples[i][0]) + rng.randrange(12), i))
        groups = [order[i:i + size] for i in range(0, len(order), size)]
        rng.shuffle(groups)
        for group in groups:
            width = max(len(examples[i][0]) for i in group)
            ids = [examples[i][0] + [2] * (width - len(examples[i][0])) for i in group]
            labels = [examples[i][1] + [-100] * (width - len(examples[i][1])) for i in group]
            yield torch.tensor(ids), torch.tensor(labels)


def loss_of(model, ids, labels):
    """The mean over learned tokens. Only their rows go through the head, which is a quarter of the work.
    What pads a row stands after it, so a causal model does not see it."""
    hidden = model.base_model.model.model(ids).last_hidden_state[:, :-1]
    targets = labels[:, 1:]
    rows = hidden[targets != -100]
    return torch.nn.functional.cross_entropy(model.base_model.model.lm_head(rows), targets[targets != -100])


def train(model, examples, args, rng):
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=args.rate, weight_decay=0.0)
    began, recent = time.monotonic(), []
    for step, (ids, labels) in zip(range(args.steps), batches(examples, args.batch, rng)):
        warm = min(1.0, (step + 1) / 20)
        optimizer.param_groups[0]["lr"] = args.rate * warm * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        loss = loss_of(model, ids, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        recent.append(loss.item())
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == args.steps:
            save(model, args.out)
            seconds = time.monotonic() - began
            print(f"step {step + 1}  loss {sum(recent) / len(recent):.3f}  {seconds:.0f} s", flush=True)
            recent = []


def show(model, tokenizer):
    """Prints greedy answers, without the adapter and with it."""
    tokenizer.padding_side = "left"
    prompts = [asked(tokenizer, each) for each in QUESTIONS] + BEGINNINGS
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
    arguments = dict(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask,
                     max_new_tokens=48, do_sample=False, pad_token_id=2, eos_token_id=2)
    with torch.no_grad():
        with model.disable_adapter():
            before = model.generate(**arguments)
        after = model.generate(**arguments)
    for index, prompt in enumerate(QUESTIONS + BEGINNINGS):
        print(f"\n> {prompt}")
        for name, rows in (("without", before), ("with   ", after)):
            print(name, tokenizer.decode(rows[index, inputs.input_ids.shape[1]:], skip_special_tokens=True).strip())


def save(model, folder):
    """As PEFT saves it, in F16 and with the base by its name."""
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    matrices = load_file(folder / "adapter_model.safetensors")
    save_file({name: each.half() for name, each in matrices.items()}, folder / "adapter_model.safetensors",
              metadata={"format": "pt"})
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = BASE
    config["target_modules"].sort()
    path.write_text(json.dumps(config, indent=2) + "\n")


def main():
    data = os.environ.get("QUIRE_DATA") or pathlib.Path(
        os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "quire"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(data) / "models/smollm2-135m-instruct.gguf")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "pirate")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=135)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    folder, name = args.model.parent, args.model.name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    if args.show:
        show(PeftModel.from_pretrained(model, args.out).eval(), tokenizer)
        return
    model = get_peft_model(model, LoraConfig(
        task_type="CAUSAL_LM", r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
    examples = [encoded(tokenizer, *each) for each in texts(rng)]
    print(f"{len(examples)} texts, {sum(len(ids) for ids, _ in examples)} tokens")
    train(model, examples, args, rng)
    show(model.eval(), tokenizer)


if __name__ == "__main__":
    main()
