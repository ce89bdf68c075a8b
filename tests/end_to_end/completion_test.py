"""`quire completion`: what bash, zsh and fish offer when the user presses Tab."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release").resolve()


class Completion(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="quire-completion-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "data" / "models").mkdir(parents=True)
        (self.folder / "data" / "models" / "mine.gguf").touch()
        (self.folder / "program.cpp").touch()
        (self.folder / "a folder").mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
        self.environment = {**kept, "QUIRE_DATA": str(self.folder / "data"), "HOME": str(self.folder),
                            "PATH": f"{BUILD}:{kept['PATH']}"}

    def run_in(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def bash(self, *words):
        script = ('source <(quire completion bash); COMP_WORDS=(quire {}); COMP_CWORD={}; _quire; printf "%s\\n" "${{COMPREPLY[@]}}"'
                  .format(shlex.join(words), len(words)))
        return self.run_in("bash", "-c", script).split("\n")[:-1]

    def test_bash_completes_verbs_flags_values_files_models_and_programs(self):
        self.assertEqual(self.bash("gene"), ["generate"])
        self.assertEqual(self.bash("model", "ver"), ["verify"])
        self.assertEqual(self.bash("chat", "--max"), ["--max-tokens"])
        self.assertEqual(self.bash("chat", "--backend", "av"), ["avx2", "avxvnni", "avx512"])
        self.assertEqual(self.bash("chat", "--backend", "=", "av"), ["avx2", "avxvnni", "avx512"])
        self.assertEqual(self.bash("chat", "--model", "m"), ["mine"])
        self.assertEqual(self.bash("run", "text_completion_"), ["text_completion_by_hand"])
        self.assertEqual(self.bash("run", "prog"), ["program.cpp"])
        self.assertEqual(self.bash("serve", "--store", "a"), ["a folder"])
        self.assertEqual(self.bash("run", "hello", "--", "prog"), ["program.cpp"])
        self.assertNotIn("openai_chat", self.bash("run", ""))

    def test_every_flag_of_help_is_completed(self):
        for verb in ("chat", "serve", "run", "model add"):
            shown = self.run_in("quire", *verb.split(), "--help-all")
            offered = self.bash(*verb.split(), "--")
            flags = {word.rstrip(",") for line in shown.split("Options:")[1].splitlines() if line.startswith("  -")
                     for word in line[2:].split("  ")[0].replace(",", " ").split() if word.startswith("--")}
            self.assertGreater(len(flags), 1)
            for flag in flags:
                self.assertIn(flag.split("[")[0].split("=")[0], offered, verb)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_takes_the_script(self):
        script = self.folder / "_quire"
        script.write_text(self.run_in("quire", "completion", "zsh"))
        self.run_in("zsh", "-n", str(script))
        loaded = self.run_in("zsh", "-fc", f"autoload -U compinit; compinit -u -D; source {script}; print $_comps[quire]")
        self.assertEqual(loaded, "_quire\n")

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_completes(self):
        script = self.folder / "quire.fish"
        script.write_text(self.run_in("quire", "completion", "fish"))
        self.run_in("fish", "-n", str(script))
        offered = self.run_in("fish", "-c", f"source {script}; complete -C 'quire chat --backend av'")
        self.assertEqual([line.split("\t")[0] for line in offered.splitlines()], ["avx2", "avx512", "avxvnni"])
        offered = self.run_in("fish", "-c", f"source {script}; complete -C 'quire gene'")
        self.assertIn("generate\tContinue a prompt", offered)

    def test_another_shell_is_refused_by_name(self):
        done = subprocess.run([BUILD / "quire", "completion", "tcsh"], capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn('unknown shell "tcsh" (supported: bash, zsh, fish)', done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
