#!/usr/bin/env python3
"""Json beside Python's json: random documents come back as equal values, with the digits of their numbers.

json_python_test.py JSON_LINES [COUNT [SEED]]
"""
import json
import random
import subprocess
import sys


def number(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randrange(-1000, 1000)
    if kind == 1:
        return rng.randrange(-(2**70), 2**70)
    if kind == 2:
        return rng.random() * 10 ** rng.randrange(-300, 300)
    if kind == 3:
        return rng.choice([0.0, -0.0, 5e-324, 1.7976931348623157e308, 2**53 + 1, -(2**63), 2**64 - 1])
    return rng.uniform(-1e6, 1e6)


def text(rng):
    alphabets = ["abc xyz", '"\\/\b\f\n\r\t', "\x00\x01\x1f\x7f", "éßñ", "漢字\u2028", "😀𝄞\U0010ffff"]
    return "".join(rng.choice(rng.choice(alphabets)) for _ in range(rng.randrange(9)))


def value(rng, depth):
    kind = rng.randrange(5 if depth == 0 else 8)
    if kind < 2:
        return number(rng)
    if kind == 2:
        return rng.choice([None, True, False])
    if kind < 5:
        return text(rng)
    if kind == 5:
        return {text(rng): value(rng, depth - 1) for _ in range(rng.randrange(5))}
    return [value(rng, depth - 1) for _ in range(rng.randrange(5))]


def literals(document):
    """The numbers of a text as they were written."""
    found = []
    keep = lambda digits: found.append(digits) or 0
    json.loads(document, parse_int=keep, parse_float=keep)
    return found


def main():
    program, count, seed = sys.argv[1], int((sys.argv[2:] or ["100000"])[0]), int((sys.argv[3:] or ["1"])[0])
    rng = random.Random(seed)
    documents = []
    for _ in range(count):
        separators = rng.choice([None, (",", ":"), (" ,\t", " :  ")])
        documents.append(json.dumps(value(rng, rng.randrange(6)), ensure_ascii=rng.random() < 0.5, separators=separators))
    done = subprocess.run([program], input="\n".join(documents) + "\n", capture_output=True, encoding="utf-8", check=True)
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == count, f"{len(answers)} answers to {count} documents"
    for given, answer in zip(documents, answers):
        same = answer and json.loads(answer) == json.loads(given) and literals(answer) == literals(given)
        assert same, f"seed {seed}: {given} became {answer}"
    print(f"{count} documents equal (seed {seed})")


if __name__ == "__main__":
    main()
