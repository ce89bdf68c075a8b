"""Common parts of the tests of hubs: quire with a data folder of its own, tiny models, and a hub on loopback."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import hub as hubs

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build" / "release"  # main() sets what ctest gives.
PATIENCE = 120
LARGE = "tiny-F32.gguf"
SMALL = "tiny-Q8_0.gguf"
UNREAD = "tiny-IQ2_XXS.gguf"  # In a number format that is not read.
SHARDS = [f"tiny-shards-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
CHECKPOINT = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]


class HubTest(unittest.TestCase):
    """A new hub and a new data folder for each case."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="quire-hub-models-")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([BUILD / "tests" / "hub" / "write_tiny_models", folder.name], check=True)
        cls.files = {each.name: each.read_bytes() for each in pathlib.Path(folder.name).iterdir()}

    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="quire-hub-data-"))
        self.addCleanup(shutil.rmtree, self.data)
        self.models = self.data / "models"
        self.hub = hubs.Hub()
        self.hub.__enter__()
        self.addCleanup(self.hub.__exit__)

    def environment(self, **more):
        """Ours, without settings of the user and without proxies; the hub is the one of the test."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("QUIRE_", "HF_")) and not name.lower().endswith("_proxy")}
        return {**kept, "QUIRE_DATA": str(self.data), "QUIRE_CONFIG": "/dev/null", "QUIRE_NO_STORE": "1",
                "HF_ENDPOINT": self.hub.url, **more}

    def start(self, *arguments, **more):
        return subprocess.Popen([BUILD / "quire", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment(**more))

    def quire(self, *arguments, preexec_fn=None, **more):
        """Runs it to its end."""
        return subprocess.run([BUILD / "quire", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE, env=self.environment(**more),
                              preexec_fn=preexec_fn)

    def add(self, *arguments, **more):
        """`quire model add` that succeeds; its standard error."""
        done = self.quire("model", "add", *arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def refused(self, *arguments, code=1, **more):
        """`quire model add` that fails; its standard error."""
        done = self.quire("model", "add", *arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn(hubs.SIGNATURE, done.stderr)
        self.assertNotIn(hubs.TOKEN, done.stderr)
        return done.stderr

    def assert_says(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def assert_none_is_stored(self):
        """No file has the name of a model or of a record."""
        visible = [each.name for each in self.models.iterdir() if not each.name.startswith(".")] if self.models.exists() else []
        self.assertEqual(visible, [])

    def assert_stored(self, name, files):
        """The model has these bytes, its record agrees, and nothing of the fetch is left."""
        for path, data in files.items():
            self.assertEqual((self.models / path).read_bytes(), data, path)
        verified = self.quire("model", "verify", name)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        digests = dict(reversed(line.split("  ")) for line in (self.models / f"{name}.sha256").read_text().splitlines())
        self.assertEqual(digests, {path: hashlib.sha256(data).hexdigest() for path, data in files.items()})
        self.assertEqual([each.name for each in self.models.iterdir() if each.name.startswith(".")], [])

    def parts(self, name):
        """The local parts of a model that is not whole: sizes by the ending."""
        folder = self.models / f".fetch.{name}"
        return sorted((each.suffix, each.stat().st_size) for each in folder.iterdir() if each.name != "lock")

    def ranges(self):
        """The ranges that the CDN was asked for; None for a whole file."""
        return [each.header("Range") for each in self.hub.of("cdn")]

    def assert_no_token_left(self):
        """The CDN saw no token, and the hub saw it."""
        self.assertEqual([each.header("Authorization") for each in self.hub.of("cdn") if each.header("Authorization")], [])
        self.assertTrue(all(each.header("Authorization") == f"Bearer {hubs.TOKEN}" for each in self.hub.of("hub")))


def tokens_of(text):
    """How many tokens the closing line of an answer counts."""
    match = re.search(r"\[(?:stopped, )?(\d+) tokens", text)
    return int(match[1]) if match else None


def main():
    global BUILD
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and pathlib.Path(sys.argv[1]).is_dir():
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(module="__main__")
