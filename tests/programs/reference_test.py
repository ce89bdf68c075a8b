#!/usr/bin/env python3
"""The reference of the other tests gives the logits of the golden masks, so that it may stand in for them."""
import array
import ast
import struct
import unittest
import zipfile

import harness
import reference

BOUND = 1e-3  # The goldens are of 32-bit floats.


def golden(name):
    """An array of expected.npz: its shape and its numbers, in a row."""
    with zipfile.ZipFile(reference.TINY / "expected.npz") as file:
        data = file.read(name + ".npy")
    head_bytes, = struct.unpack_from("<H", data, 8)
    head = ast.literal_eval(data[10:10 + head_bytes].decode())
    numbers = array.array({"<i4": "i", "<i8": "q", "<f4": "f", "|b1": "b"}[head["descr"]])
    numbers.frombytes(data[10 + head_bytes:])
    return head["shape"], numbers.tolist()


class ReferenceTest(unittest.TestCase):

    def check(self, name):
        ids = golden("ids")[1]
        mask, positions, rows = (golden(f"{what}_{name}")[1] for what in ("mask", "positions", "rows"))
        (_, width), logits = golden(f"logits_{name}")
        model = reference.Reference()
        for row, token in enumerate(ids):
            visible = [i for i in range(row) if mask[row * len(ids) + i]]
            found = model.read(token, positions[row], visible)
            if row in rows:
                at = rows.index(row) * width
                furthest = max(abs(a - b) for a, b in zip(found, logits[at:at + width]))
                self.assertLess(furthest, BOUND, f"row {row} of {name}")

    def test_a_window_of_16_tokens(self):
        self.check("window16")

    def test_two_modules_that_do_not_see_one_another(self):
        self.check("modules")

    def test_a_range_that_was_dropped(self):
        self.check("drop_16_32")


if __name__ == "__main__":
    harness.main()
