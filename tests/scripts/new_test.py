"""quire new of projects in JavaScript and TypeScript: each template runs, and an editor finds all types."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hostile"))
sys.path.insert(0, str(HERE.parent / "programs"))
import beside  # noqa: E402
import harness  # noqa: E402

BUILD = beside.SOURCE / "build" / "release"
TYPESCRIPT = pathlib.Path(os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire") / "typescript-5.9.3"
TEMPLATES = ("answer", "chat", "agent", "search", "constrained")
CONFIGS = {"js": "jsconfig.json", "ts": "tsconfig.json"}
PLACES = ("NAME", "QUIRE_PATH", "RUN_FLAGS", "EXAMPLE_ARGUMENTS", "MAIN_FILE", "EDITOR_FILE")


class New(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = harness.tiny_chat_model(cls.folder)
        cls.projects = {(language, name): cls.made(language, name) for language in CONFIGS for name in TEMPLATES}

    @classmethod
    def quire(cls, *words, given=""):
        """Nothing is on the PATH, so that no compiler can be."""
        return subprocess.run([str(BUILD / "quire"), *(str(each) for each in words)], env=beside.environment() | {"PATH": ""},
                              input=given, capture_output=True, text=True, timeout=120)

    @classmethod
    def made(cls, language, name):
        template = () if name == "answer" else ("--template", name)
        project = f"{language}-{name}"
        made = cls.quire("new", project, "--language", language, "--in", cls.folder, *template)
        assert made.returncode == 0, made.stderr
        return cls.folder / project

    def run_project(self, language, name, *words, given=""):
        ended = self.quire("run", self.projects[language, name] / f"main.{language}", "--model", self.model, "--kv-pages", "256",
                           "--no-store", "--", *words, given=given)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended

    def test_a_project_of_each_template_builds_and_its_files_name_no_placeholder(self):
        for (language, name), project in self.projects.items():
            with self.subTest(language=language, template=name):
                for each in ("README.md", "Makefile", ".gitignore", f"main.{language}"):
                    text = (project / each).read_text()
                    for place in PLACES:
                        self.assertNotRegex(text, rf"\b{place}\b", each)
                built = self.quire("build", project / f"main.{language}", "-o", project / "out.wasm")
                self.assertEqual(built.returncode, 0, built.stderr)
                shown = self.quire("run", project / "out.wasm", "--help")
                self.assertIn("--max-tokens N", shown.stdout)
                words = re.search(r"^    make run ARGS='(.*)'$", (project / "README.md").read_text(), re.M).group(1)
                for flag in re.findall(r"--[a-z-]+", words):
                    self.assertIn(flag, shown.stdout)

    def test_the_makefile_runs_and_builds_a_project(self):
        project = self.projects["ts", "answer"]
        for words in (["run", f"FLAGS=--model {self.model} --kv-pages 64 --no-store", "ARGS=--max-tokens 4 hello"], ["help"], []):
            made = subprocess.run(["make", *words], cwd=project, env=beside.environment(), capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=120)
            self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual((project / "ts-answer.wasm").read_bytes()[:4], b"\0asm")

    def test_both_languages_give_the_same_bytes(self):
        given = {"answer": (["--max-tokens", "8", "--temperature", "1", "hello there"], ""),
                 "chat": (["--max-tokens", "6"], "one\ntwo\n"),
                 "agent": (["--max-tokens", "8", "--turns", "2"], ""),
                 "search": (["--max-tokens", "6", "--n", "3"], ""),
                 "constrained": (["--max-tokens", "400", "--temperature", "1"], "")}
        for name, (words, lines) in given.items():
            with self.subTest(name):
                javascript, typescript = (self.run_project(language, name, *words, given=lines).stdout for language in CONFIGS)
                self.assertEqual(javascript, typescript)
                self.assertTrue(javascript.strip())
                if name == "constrained":
                    self.assertRegex(javascript, r"(?s) is \d+, trade: (baker|carpenter|teacher|other)\n$")
                if name == "chat":
                    self.assertGreaterEqual(javascript.count("\n"), 2)

    def test_the_types_are_those_of_the_sdk_and_the_configuration_names_them(self):
        for language, config in CONFIGS.items():
            project = self.projects[language, "answer"]
            for name in ("quire.d.ts", "quire_raw.d.ts"):
                self.assertEqual((project / "types" / name).read_text(), (beside.SOURCE / "sdk" / "javascript" / name).read_text())
            self.assertEqual(json.loads((project / config).read_text())["compilerOptions"]["types"], [])

    def test_a_checker_of_types_finds_them_and_what_is_wrong(self):
        if not (TYPESCRIPT / "complete").exists() or shutil.which("node") is None:
            self.skipTest("needs node, and typescript: tools/fetch_npm.sh typescript")
        for (language, name), project in self.projects.items():
            with self.subTest(language=language, template=name):
                self.assertEqual(self.checked(project / CONFIGS[language]), "")
        for language, config in CONFIGS.items():
            project = self.projects[language, "answer"]
            wrong = project / f"wrong.{language}"
            wrong.write_text('import { Context } from "quire";\nconst context = await Context.create();\ncontext.usr("x");\n')
            self.addCleanup(wrong.unlink)
            self.assertRegex(self.checked(project / config), rf"wrong\.{language}\(3,9\): error .*'usr'")

    def checked(self, config):
        return subprocess.run(["node", str(TYPESCRIPT / "_tsc.js"), "-p", str(config)], capture_output=True, text=True).stdout

    def test_a_language_or_template_that_is_none_is_refused(self):
        refused = self.quire("new", "b", "--language", "python", "--in", self.folder)
        self.assertEqual(refused.returncode, 2)
        refused = self.quire("new", "b", "--language", "ts", "--template", "poem", "--in", self.folder)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there are: chat, agent, search", refused.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1))
        harness.BUILD = BUILD
    if not (BUILD / "runtimes" / "javascript.json").exists():
        print("skipped: this build has no runtime of JavaScript (tools/build_quickjs.sh)")
        sys.exit(0)
    unittest.main()
