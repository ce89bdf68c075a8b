#!/usr/bin/env python3
"""Every program of docs/guide/rust.md, and of the README of the crate, compiles and runs."""
import json
import pathlib
import re
import tempfile
import urllib.request

import rust_harness
import harness

PAGES = [harness.SOURCE / "docs" / "guide" / "rust.md", rust_harness.SDK / "README.md"]
MANIFEST = """[package]
name = "{name}"
version = "0.1.0"
edition = "2021"

[dependencies]
quire = {{ path = "{sdk}" }}

[workspace]
"""


def programs():
    """(name, source) of each block of Rust; that of the README has no name."""
    for page in PAGES:
        for name, source in re.findall(r"(?:<!-- rust (\w+) -->\n)?```rust\n(.*?)```", page.read_text(), re.S):
            yield name or "readme", source


class GuideTest(harness.ProgramTest):
    has_store = True
    # The words of a program, and what it prints with a model of random weights.
    RUNS = {"first": (["Hi"], ""), "contexts": ([], "1 turn, "), "pages": ([], "tokens committed"), "facts": ([], " people"),
            "guidance": ([], ""), "race": ([], "\n"),
            "agent": (["Hi"], ""), "readme": ([], "")}

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.modules = {}
        for name, source in programs():
            project = folder / f"guide_{name}"
            (project / "src").mkdir(parents=True)
            (project / "Cargo.toml").write_text(MANIFEST.format(name=project.name, sdk=rust_harness.SDK))
            (project / "src" / "main.rs").write_text(source)
            cls.modules[name] = rust_harness.built(project)
        cls.flags = ("--endpoint", f"POST /greet={cls.modules['greet']}")
        super().setUpClass()

    def test_each_program_runs(self):
        self.assertEqual(set(self.modules), {*self.RUNS, "greet"})
        for name, (words, said) in self.RUNS.items():
            with self.subTest(name=name):
                self.assertIn(said, self.run_program(self.modules[name], *words).out)

    def test_the_endpoint_answers(self):
        url = self.server.url.replace("ws://", "http://") + "/greet"
        with urllib.request.urlopen(urllib.request.Request(url, b'{"name": "Ada"}'), timeout=60) as answer:
            self.assertIn("text", json.loads(answer.read()))


if __name__ == "__main__":
    rust_harness.main()
