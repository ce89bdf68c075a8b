#!/usr/bin/env python3
"""Cuts the reference answers to what the tests read, without changing a bit of any number kept.

    cut_goldens.py REFERENCE_FOLDER     (writes beside this file; needs numpy)

expected.npz: rows of the other masks that equal the causal rows bit for bit are stored once;
rows_NAME says which rows logits_NAME holds. quant_blocks.npz: the eleven formats that Quire reads.
"""
import pathlib
import sys

import numpy as np

FORMATS = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
OTHER_MASKS = ["sink4_window16", "window16", "drop_16_32", "modules"]


def cut_expected(source, target):
    arrays = dict(np.load(source))
    causal = arrays["logits_causal"].view(np.uint32)
    for name in OTHER_MASKS:
        logits = arrays[f"logits_{name}"]
        differs = (logits.view(np.uint32) != causal).any(axis=1)
        rows = np.flatnonzero(differs).astype(np.int32)
        arrays[f"rows_{name}"], arrays[f"logits_{name}"] = rows, logits[rows]
    np.savez_compressed(target, **arrays)


def main(reference):
    here = pathlib.Path(__file__).parent
    for model in ["tiny_llama", "tiny_qwen2", "tiny_qwen3"]:
        cut_expected(reference / model / "expected.npz", here / model / "expected.npz")
    blocks = np.load(reference / "quant_blocks.npz")
    kept = {f"{name}_{part}": blocks[f"{name}_{part}"] for name in FORMATS for part in ["bytes", "values"]}
    np.savez_compressed(here / "quant_blocks.npz", **kept)


main(pathlib.Path(sys.argv[1]))
