"""Programs of inferlets/ on a server with a tiny model, and what each cost the server.

A test file is `NAME_test.py`: `class NameTest(harness.ProgramTest)` and, at its end, `harness.main()`. ctest runs it
as `program_NAME` with the build folder as its argument.
"""
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import beside  # noqa: E402

SOURCE = beside.SOURCE
BUILD = SOURCE / "build" / "release"  # main() sets what ctest gives.
PAGE_COUNT = 4096
# Turns end with the model's stop token, as in published templates: a context goes on after an answer by it.
CHAT_TEMPLATE = ("{% for message in messages %}<{{ message.role }}>{{ message.content }}<|end|>\n{% endfor %}"
                 "{% if add_generation_prompt %}<assistant>{% endif %}")


def tiny_chat_model(folder):
    """The tiny model with a chat template, in `folder`: it answers, though nothing that means something."""
    model = pathlib.Path(folder) / "tiny_chat"
    shutil.copytree(beside.TINY, model)
    settings = model / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "chat_template": CHAT_TEMPLATE}))
    return model


# A template that writes the thoughts of an answer only up to the next message of the user.
BEGIN_OF_ANSWER = "<|assistant|><think>\n"
BEGIN_COUNT_OF_HYBRID = 1 + len(BEGIN_OF_ANSWER) - len("<|assistant|>")  # At most a token each byte, but one for the turn.
TEMPLATE_OF_HYBRID = (
    "{% set last = namespace(user=0) %}"
    "{% for message in messages %}{% if message.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
    "{% for message in messages %}<|{{ 'assistant' if message.role == 'assistant' else 'user' }}|>"
    "{% if message.role == 'assistant' and loop.index0 < last.user %}{{ message.content.split('</think>')[-1] }}"
    "{% else %}{{ message.content }}{% endif %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}" + BEGIN_OF_ANSWER + "{% endif %}")


def hybrid_chat_model(folder):
    """A tiny model with recurrent layers, in `folder`. The next prompt of a conversation leaves the text that the model
    has right after the user's last message."""
    model = pathlib.Path(folder) / "hybrid_chat"
    shutil.copytree(SOURCE / "tests" / "golden" / "recurrent" / "qwen35_4k4v", model)
    settings = model / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "chat_template": TEMPLATE_OF_HYBRID}))
    return model


def without_attention(model):
    """Zeroes what attention gives: each token depends on the one before alone, so greedy text soon goes in circles."""
    weights = model / "model.safetensors"
    image = bytearray(weights.read_bytes())
    header_bytes = int.from_bytes(image[:8], "little")
    for name, tensor in json.loads(image[8:8 + header_bytes]).items():
        if name.endswith("self_attn.o_proj.weight"):
            begin, end = (8 + header_bytes + each for each in tensor["data_offsets"])
            image[begin:end] = bytes(end - begin)
    weights.write_bytes(image)
    return model


def guest(name):
    """A program of this folder."""
    return BUILD / "tests" / "programs" / f"{name}.wasm"


@dataclasses.dataclass
class Cost:
    """The work of the server between two moments."""
    computed: int  # Tokens whose keys and values were computed.
    found: int     # Tokens whose pages the cache had already.
    batches: int   # Steps of the device; the passes of one batch run side by side.
    passes: int    # Forward passes: each is of one sequence, and of one or more of its tokens.


@dataclasses.dataclass
class Ran:
    """How a program ended, and its cost."""
    code: int
    out: str
    err: str
    cost: Cost

    def json(self):
        return json.loads(self.out)

    @property
    def asked(self):
        """Tokens that the program put into contexts or passes, computed or found: the same in each run."""
        return int(re.search(r"of (\d+) tokens? found in cache", self.err)[1])


class ProgramTest(unittest.TestCase):
    """One server for each test class, which may set these."""
    flags = ()
    page_count = PAGE_COUNT
    has_endpoints = False
    has_store = False  # A store of its own: for snapshots and values by key.

    @classmethod
    def models(cls, folder):
        """The models of the server, which may be made in `folder`; programs find the first without a name."""
        return [tiny_chat_model(folder)]

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        first, *others = cls.models(folder)
        flags = [*cls.flags, *(word for each in others for word in ("--model", str(each)))]
        cls.server = cls.enterClassContext(beside.Server(
            BUILD, flags, cls.page_count, model=first, has_endpoints=cls.has_endpoints,
            store=pathlib.Path(folder) / "store" if cls.has_store else None))

    @classmethod
    def figures(cls):
        answer = subprocess.run([BUILD / "quire", "status", "--server", cls.server.url, "--json"],
                                check=True, stdout=subprocess.PIPE, timeout=60, env=beside.environment())
        status = json.loads(answer.stdout)
        return Cost(status["computed_token_count"], status["found_token_count"], status["batch_count"],
                    sum(status["detail"]["figures"]["pass_count"]))

    def run_program(self, name, *arguments, flags=(), succeeds=True):
        """Runs inferlets/NAME, or a module by its path; fails the test where `succeeds` (None: either) is not how it ended."""
        before = self.figures()
        program = name if isinstance(name, pathlib.Path) else BUILD / "inferlets" / f"{name}.wasm"
        code, out, err = self.server.run(program, arguments, flags)
        after = self.figures()
        cost = Cost(*(late - early for early, late in zip(dataclasses.astuple(before), dataclasses.astuple(after))))
        if succeeds is not None:
            self.assertEqual(code == 0, succeeds, f"{name} ended with {code}:\n{out[-1000:]}\n{err[-2000:]}")
        return Ran(code, out, err, cost)


def main():
    global BUILD
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
