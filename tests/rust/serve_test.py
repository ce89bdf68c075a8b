#!/usr/bin/env python3
"""Cargo projects wherever a program is given: quire serve FOLDER, --program and --endpoint."""
import pathlib
import tempfile
import unittest
import urllib.request

import rust_harness
import harness

MAIN = """use quire::{serve::Request, session, Child, ChildOptions, Result};
#[quire::main]
async fn program(words: Vec<String>) -> Result<()> {
    if let Ok(request) = Request::open() {
        return request.response().send(200, "an answer of NAME").await;
    }
    if words.is_empty() {
        return session::send("NAME\\n");
    }
    let options = ChildOptions { program: words[0].clone(), ..Default::default() };
    let heard = Child::launch(&options)?.receive().await?;
    session::send(&format!("a child said {heard}"))
}
"""


@rust_harness.needs_rust
class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name in ("first", "second"):
            made = rust_harness.quire("new", name, "--language", "rust", "--in", cls.folder)
            assert made.returncode == 0, made.stderr
            (cls.folder / name / "src" / "main.rs").write_text(MAIN.replace("NAME", name))
        (cls.folder / "third.js").write_text("import { session } from 'quire';\nexport default () => session.send('third\\n');\n")

    def server(self, *flags):
        return harness.beside.Server(harness.BUILD, list(map(str, flags)), variables=rust_harness.environment())

    def test_a_folder_of_projects_is_served_and_each_has_the_name_of_its_folder(self):
        with self.server(self.folder) as server:
            for name in ("first", "second", "third"):
                self.assertEqual(server.run(name)[:2], (0, f"{name}\n"))

    def test_a_project_is_served_by_itself_and_with_a_slash_after_it(self):
        with self.server(f"{self.folder / 'first'}/") as server:
            self.assertEqual(server.run("first")[:2], (0, "first\n"))
            self.assertNotEqual(server.run("second")[0], 0)

    def test_a_project_answers_requests(self):
        with self.server("--endpoint", f"GET /first={self.folder / 'first'}") as server:
            with urllib.request.urlopen(server.url.replace("ws:", "http:") + "/first", timeout=60) as answer:
                self.assertEqual(answer.read(), b"an answer of first")

    def test_a_program_launches_a_project_that_program_names(self):
        end = rust_harness.quire("run", self.folder / "first", "--program", self.folder / "second", "--model", harness.beside.TINY,
                                 "--no-store", "--", "second")
        self.assertEqual((end.returncode, end.stdout), (0, "a child said second\n"), end.stderr)

    def test_two_projects_of_one_name_and_a_folder_with_neither_are_refused(self):
        other = self.folder / "elsewhere"
        other.mkdir()
        made = rust_harness.quire("new", "first", "--language", "rust", "--in", other)
        self.assertEqual(made.returncode, 0, made.stderr)
        end = rust_harness.quire("serve", self.folder / "first", other / "first", "--model", harness.beside.TINY)
        self.assertNotEqual(end.returncode, 0)
        self.assertIn('two programs are named "first"', end.stderr)
        empty = other / "empty"
        empty.mkdir()
        end = rust_harness.quire("serve", empty, "--model", harness.beside.TINY)
        self.assertEqual(end.returncode, 3, end.stderr)
        self.assertIn("and no folder of a project (Cargo.toml, or one source named main)", end.stderr)


if __name__ == "__main__":
    rust_harness.main()
