#!/usr/bin/env python3
"""quire new, build and run of projects in Rust, and what each says of programs that are wrong."""
import os
import pathlib
import re
import tempfile
import unittest

import rust_harness
import harness

HEAD = "use quire::{session, Result};\n#[quire::main]\n"
RUN = ("--model", harness.beside.TINY, "--no-store")


class BuildTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        made = rust_harness.quire("new", "project", "--language", "rust", "--in", cls.folder)
        assert made.returncode == 0, made.stderr
        cls.project = cls.folder / "project"

    def run_source(self, source, *words):
        (self.project / "src" / "main.rs").write_text(source)
        return rust_harness.quire("run", self.project, *RUN, "--", *words)

    def test_a_project_of_each_template_builds_and_its_files_name_no_placeholder(self):
        for name in ("answer", "chat", "agent", "search", "constrained"):
            template = () if name == "answer" else ("--template", name)
            made = rust_harness.quire("new", f"a{name}", "--language", "rust", "--in", self.folder, *template)
            self.assertEqual(made.returncode, 0, made.stderr)
            project = self.folder / f"a{name}"
            for each in ("README.md", "Makefile", "Cargo.toml", "src/main.rs", ".gitignore"):
                for place in ("NAME", "QUIRE_PATH", "RUN_FLAGS", "EXAMPLE_ARGUMENTS", "RUST_SDK"):
                    self.assertNotIn(place, (project / each).read_text(), each)
            module = self.folder / f"{name}.wasm"
            built = rust_harness.quire("build", project, "-o", module)
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertNotIn("warning", built.stderr)
            self.assertLess(module.stat().st_size, 350_000)
            shown = rust_harness.quire("run", module, "--help")
            self.assertIn("--max-tokens N", shown.stdout)
        refused = rust_harness.quire("new", "b", "--language", "rust", "--template", "none", "--in", self.folder)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there are: chat, agent, search, constrained", refused.stderr.replace(" or ", ", "))

    def test_a_project_from_git_builds_on_another_machine(self):
        made = rust_harness.quire("new", "carried", "--language", "rust", "--in", self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        project = self.folder / "carried"
        link = project / ".quire" / "rust"
        self.assertTrue((link / "Cargo.toml").is_file())
        self.assertIn("/.quire", (project / ".gitignore").read_text().splitlines())
        self.assertNotIn(str(rust_harness.SDK), (project / "Cargo.toml").read_text())
        for other in (None, "/nowhere/sdk/rust"):  # Git has no link; a link of another installation leads nowhere.
            link.unlink()
            if other:
                link.symlink_to(other)
            built = rust_harness.quire("build", project, "-o", self.folder / "carried.wasm")
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertEqual(link.resolve(), rust_harness.SDK.resolve())
        self.assertNotIn(".quire/rust.", str(list(link.parent.iterdir())))

    def test_wrong_options_are_refused_at_their_fields(self):
        # The compiler computes constants once all types are right, so defaults have a source of their own.
        defaults = [("#[option(range = 1..=4, default = 9)] /** n */ a: u32", "the default of --a, 9, is not from 1..=4"),
                    ("#[option(range = 1..=4)] b: u32", "the default of --b, 0, is not from 1..=4"),
                    ("#[option(range = -1.0..=0.5, default = 0.75)] c: f64", "the default of --c, 0.75, is not from -1.0..=0.5")]
        others = [("#[option(range = 1..4)] c: u32", "a range has both its ends: write 1..=64"),
                  ("#[option(range = 1..=4)] d: String", "`String` is not a number that an option can be"),
                  ("e: std::time::Duration", "an option cannot be a `Duration`"),
                  ("#[option(ranges = 1..=4)] f: u32", "`ranges` is not known here; there are: default, range"),
                  ("#[option(choices = [\"x\", \"y\"], default = \"z\")] g: String", "the default \"z\" is not one of"),
                  ("#[option(choices = [\"x\"])] h: String", "an option with choices has a default, or is required"),
                  ("#[option(words)] i: String, #[option(words)] j: String", "one option at most takes words"),
                  ("#[option(required, default = 1)] k: u32", "an option that is required has no default")]
        for wrong, more in [(defaults, ""), (others, "#[derive(quire::Options)] enum Form { One }\n")]:
            source = HEAD + "async fn program() -> Result<()> { session::send(\"x\") }\n"
            for number, (field, _) in enumerate(wrong):
                source += f"#[derive(quire::Options)] struct S{number} {{\n    {field},\n}}\n"
            end = self.run_source(source + more)
            for number, (_, said) in enumerate(wrong):
                line = 4 + 3 * number + 1  # The second of the struct: that of the field.
                at = end.stderr.find(said)
                self.assertGreater(at, 0, said + "\n" + end.stderr)
                self.assertIn(f"src/main.rs:{line}:", end.stderr[at:at + 400], said)
        self.assertIn("the options of a program are a struct with named fields", end.stderr)

    def test_the_templates_agent_and_search_answer_and_the_search_sends_the_best(self):
        model = harness.tiny_chat_model(self.folder)
        words = ("--model", model, "--no-store", "--", "--max-tokens", "4")
        for name in ("agent", "search"):
            made = rust_harness.quire("new", f"the{name}", "--language", "rust", "--in", self.folder, "--template", name)
            self.assertEqual(made.returncode, 0, made.stderr)
        agent = rust_harness.quire("run", self.folder / "theagent", *words)
        self.assertEqual(agent.returncode, 0, agent.stderr)
        self.assertTrue(agent.stdout)
        search = rust_harness.quire("run", self.folder / "thesearch", *words, "--n", "3")
        self.assertEqual(search.returncode, 0, search.stderr)
        answers = re.findall(r"^info: (\S+)  (.*)$", search.stderr, re.MULTILINE)
        self.assertEqual(len(answers), 3, search.stderr)
        best = max(answers, key=lambda each: float(each[0]))[1]
        shown = re.sub(r"[\x00-\x1f\x7f]", lambda each: f"\\x{ord(each[0]):02x}", search.stdout.removesuffix("\n"))
        self.assertEqual(shown, best)  # The log shows control characters as \\xNN.

    def test_a_module_goes_beside_the_project_where_no_output_is_named(self):
        (self.project / "src" / "main.rs").write_text(HEAD + "async fn program() -> Result<()> { session::send(\"x\") }\n")
        built = rust_harness.quire("build", ".", folder=self.project)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertEqual((self.project / "project.wasm").read_bytes()[:4], b"\0asm")

    def test_errors_of_the_compiler_are_shown_as_they_are(self):
        end = self.run_source(HEAD + "async fn program() -> Result<()> {\n    session::send(text)\n}\n")
        self.assertEqual(end.returncode, 1)
        self.assertRegex(end.stderr, r"error\[E0425\].*\n.*src/main.rs:4:19")
        for body, said in [("fn program() -> Result<()> { Ok(()) }", "is an async fn"),
                           ("struct Program;", "belongs above an async fn")]:
            end = self.run_source(HEAD + body)
            self.assertIn(said, end.stderr)
            self.assertEqual(end.stderr.count("error: "), 3, end.stderr)  # That, cargo's sum and ours.
        end = self.run_source(HEAD + "async fn program(count: u32) -> Result<()> { Ok(()) }")
        self.assertIn("this function cannot be the entry of a program", end.stderr)
        self.assertIn("a type that implements `quire::Options`", end.stderr)

    def test_a_panic_tells_its_line_and_ends_the_program(self):
        end = self.run_source(HEAD + "async fn program() -> Result<()> {\n    println!(\"printed\");\n"
                              "    let none: Option<u32> = None;\n    none.expect(\"a number\");\n    Ok(())\n}\n")
        self.assertEqual(end.returncode, 4)
        self.assertIn("error: the program ended: src/main.rs:6:10: a number", end.stderr)
        self.assertIn("printed", end.stderr)

    def test_an_error_of_any_kind_ends_the_program_with_its_text(self):
        end = self.run_source(HEAD + "async fn program() -> std::result::Result<(), Box<dyn std::error::Error>> {\n"
                              "    let number: u32 = \"x\".parse()?;\n    Ok(session::send(&number.to_string())?)\n}\n")
        self.assertEqual(end.returncode, 4)
        self.assertIn("error: the program ended: internal: invalid digit", end.stderr)

    def test_a_program_that_wants_too_much_memory_ends_with_its_limit(self):
        end = self.run_source(HEAD + "async fn program() -> Result<()> {\n    let mut all = Vec::new();\n    loop {\n"
                              "        all.push(vec![1u8; 1 << 24]);\n        session::send(\"more\")?;\n    }\n}\n")
        self.assertEqual(end.returncode, 4)
        self.assertIn("memory_bytes_max", end.stderr)

    def test_a_recursion_without_end_traps(self):
        end = self.run_source(HEAD + "async fn program() -> Result<()> { session::send(&deep(1).to_string()) }\n"
                              "#[allow(unconditional_recursion)]\nfn deep(n: u64) -> u64 { n ^ deep(std::hint::black_box(n) + 1) }\n")
        self.assertEqual(end.returncode, 4)
        self.assertRegex(end.stderr, "stack|recurs")

    def test_a_program_without_options_refuses_words(self):
        end = self.run_source(HEAD + "async fn program() -> Result<()> { session::send(\"x\") }\n", "word")
        self.assertIn("\"word\" belongs to no option", end.stderr)

    def test_what_is_missing_is_named_with_what_installs_it(self):
        for env, said in [({"RUSTC": "/nowhere/rustc"}, "/nowhere/rustc is not a compiler that runs"),
                          ({"RUSTC": str(self.without_target())}, "lacks the standard library for wasm32-wasip1; "
                           "install it with: rustup target add wasm32-wasip1")]:
            end = rust_harness.quire("build", self.project, env=env)
            self.assertEqual(end.returncode, 3, end.stderr)
            self.assertIn(said, end.stderr)
        tools = self.folder / "tools"
        tools.mkdir()
        os.symlink("/usr/bin/env", tools / "env")
        end = rust_harness.quire("build", self.project, env={"PATH": str(tools), "HOME": "/nowhere", "RUSTC": ""})
        self.assertEqual(end.returncode, 3, end.stderr)
        self.assertIn("no cargo was found, which compiles Rust; install it with rustup", end.stderr)

    def without_target(self):
        """A compiler as Debian has it."""
        path = self.folder / "rustc"
        path.write_text("#!/bin/sh\ncase \"$*\" in *version*) echo 'rustc 1.99.0' ;; *) echo /nowhere ;; esac\n")
        path.chmod(0o755)
        return path

    def test_a_folder_that_is_no_project_and_a_file_of_rust_are_told_apart(self):
        empty = self.folder / "empty"
        empty.mkdir()
        end = rust_harness.quire("build", empty)
        self.assertEqual(end.returncode, 3)
        self.assertIn("is a folder without Cargo.toml", end.stderr)
        source = self.folder / "one.rs"
        source.write_text("fn main() {}\n")
        end = rust_harness.quire("run", source)
        self.assertIn("is Rust source; a program is a Cargo project", end.stderr)

    def test_a_project_that_makes_no_program_or_several_says_so(self):
        project = self.folder / "several"
        (project / "src" / "bin").mkdir(parents=True)
        (project / "Cargo.toml").write_text('[package]\nname = "several"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n')
        (project / "src" / "lib.rs").write_text("")
        end = rust_harness.quire("build", project)
        self.assertIn("makes no program", end.stderr)
        for name in ("one", "two"):
            (project / "src" / "bin" / f"{name}.rs").write_text("fn main() {}\n")
        end = rust_harness.quire("build", project)
        self.assertIn("makes several programs: one, two; name one, as in --bin one, or as default-run", end.stderr)
        for words in (["--bin", "two"], ["--", "--bin", "two"]):
            end = rust_harness.quire("build", project, "-o", self.folder / "two.wasm", *words)
            self.assertEqual(end.returncode, 0, end.stderr)

    def test_of_several_programs_the_manifest_chooses_unless_the_user_does(self):
        project = self.folder / "chosen"
        (project / "src" / "bin").mkdir(parents=True)
        (project / "Cargo.toml").write_text('[package]\nname = "chosen"\nversion = "0.1.0"\nedition = "2021"\n'
                                            'default-run = "two"\n[workspace]\n')
        for name in ("one", "two"):
            (project / "src" / "bin" / f"{name}.rs").write_text(f'fn main() {{ println!("this is {name}"); }}\n')
        for words, wanted in (([], "two"), (["--bin", "one"], "one")):
            end = rust_harness.quire("run", project, *words, "--model", rust_harness.harness.beside.TINY)
            self.assertEqual(end.returncode, 0, end.stderr)
            self.assertIn(f"this is {wanted}", end.stdout + end.stderr)
        end = rust_harness.quire("run", self.folder / "one.js", "--bin", "one")
        self.assertEqual(end.returncode, 2)
        self.assertIn("--bin chooses a program of a Cargo project", end.stderr)


if __name__ == "__main__":
    rust_harness.main()
