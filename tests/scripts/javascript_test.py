"""Scripts in JavaScript and TypeScript as a user runs them: no compiler, errors by file and line, the limits of any program."""
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import beside  # noqa: E402
import packing  # noqa: E402

BUILD = beside.SOURCE / "build" / "release"

HELLO = """import { session } from "quire";
import { greet, type Named } from "./lib/greet.js";

const who: Named = { name: "world" };
export default async function program() {
  session.send(greet(who) + "\\n");
}
"""
GREET = """export interface Named { name: string }
export const greet = (who: Named): string => `hello, ${who.name}`;
"""
# In under 40 lines: an endpoint.
ECHO = """export async function serve(request, response) {
  const body = await request.text();
  await response.json(200, { said: body });
}
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        if not (BUILD / "runtimes" / "javascript.json").exists():
            self.skipTest("the runtime of JavaScript was not built: tools/build_quickjs.sh, tools/fetch_npm.sh sucrase")
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def quire(self, *words):
        environment = beside.environment() | {"PATH": ""}
        return subprocess.run([str(BUILD / "quire"), *words], env=environment, capture_output=True, timeout=120,
                              stdin=subprocess.DEVNULL)

    def run_script(self, program, *words, flags=()):
        return self.quire("run", program, "--model", str(beside.TINY), "--kv-pages", "64", "--no-store", *flags, "--",
                          *words)

    def fails(self, source, *parts, flags=(), name="bad.ts"):
        program = self.write(name, source)
        ended = self.run_script(program, flags=flags)
        self.assertNotEqual(ended.returncode, 0, ended.stdout)
        for part in parts:
            self.assertIn(part, ended.stderr.decode())

    def hello(self):
        self.write("lib/greet.ts", GREET)
        return self.write("hello.ts", HELLO)

    def test_a_script_runs_without_a_compiler(self):
        ended = self.run_script(self.hello())
        self.assertEqual((ended.stdout, ended.returncode), (b"hello, world\n", 0), ended.stderr)

    def test_a_built_script_is_a_program_by_itself(self):
        module = str(self.folder / "out.wasm")
        built = self.quire("build", self.hello(), "-o", module)
        self.assertEqual(built.returncode, 0, built.stderr)
        again = str(self.folder / "again.wasm")
        self.quire("build", str(self.folder / "hello.ts"), "-o", again)
        self.assertEqual(pathlib.Path(module).read_bytes(), pathlib.Path(again).read_bytes())
        (self.folder / "lib" / "greet.ts").unlink()
        self.assertEqual(self.run_script(module).stdout, b"hello, world\n")

    def test_a_source_with_flags_for_a_compiler_is_refused(self):
        refused = self.quire("build", self.hello(), "--", "-O2")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"a script needs none", refused.stderr)

    def test_an_import_that_is_not_there_is_named_before_anything_runs(self):
        self.fails('\nimport "./none.js";', "bad.ts:2: imports \"./none.js\", but", "none.js is not a file")
        self.fails('import "../up.js";', "bad.ts:1:", "outside of the folder")

    def test_what_goes_wrong_names_file_and_line(self):
        self.fails("export default async function program() {\n  const x = ;\n}", "bad.ts:2")
        self.fails("export default async function program() {\n\n  throw new Error('boom');\n}", "bad.ts:3", "boom")
        self.fails("\nnull.x;\nexport default async function program() {}", "bad.ts:2", "TypeError")
        self.fails("const x = 1;", "bad.ts exports no program")
        self.fails('import { none } from "quire";\nexport default async () => {}', "none", name="bad.js")
        self.fails("export default async function program() {\n  await new Promise(() => {});\n}", "error")

    def test_endless_loops_memory_and_recursion_end_the_program_alone(self):
        self.fails("export default async function program() { while (true) {} }", "cpu_ns_max",
                   flags=["--limit", "cpu_ns_max=300000000"])
        self.fails("while (true) {}", "cpu_ns_max", flags=["--limit", "cpu_ns_max=300000000"])
        self.fails("export default async function program() {\n  const all = [];\n  while (true) all.push(new Array(1e5).fill(1));\n}",
                   "bad.ts:3", "memory", flags=["--limit", "memory_bytes_max=33554432"])
        self.fails("function f() { return f() + 1; }\nexport default async function program() { f(); }", "bad.ts:1",
                   "stack")

    def test_sources_that_are_no_text_or_too_large_are_refused(self):
        self.fails(b"export default 1;\n// \xff\xfe\n", "bad.ts:2: is not UTF-8")
        self.fails(b" " * (100 << 20), "bad.ts", "4194304")
        self.fails("", "bad.ts exports no program")

    def test_a_changed_prototype_harms_only_the_script(self):
        self.fails("Promise.prototype.then = () => { throw new Error('mine'); };\n"
                   "Array.prototype.push = null; Object.prototype.x = 1; String.prototype.split = null;\n"
                   "export default async function program() { throw new Error('end'); }", "bad.ts")

    def test_a_damaged_script_is_refused(self):
        runtime = packing.runtime_of(BUILD / "runtimes", "javascript")
        good = packing.bundle(runtime, {"a.js": "export default async () => {};"}, "a.js")
        for name, script in (("cut.wasm", good[:-2]), ("runtime.wasm", packing.bundle(
                runtime, {"a.js": ""}, "a.js", digest="00" * 32))):
            ended = self.run_script(self.write(name, packing.module(script)))
            self.assertNotEqual(ended.returncode, 0)
            self.assertTrue(b"not a valid script" in ended.stderr or b"this server has javascript" in ended.stderr)

    def test_a_server_serves_a_folder_of_scripts_and_an_endpoint_without_a_compiler(self):
        self.hello()
        echo = self.write("echo.js", ECHO)
        with beside.Server(BUILD, [str(self.folder), "--endpoint", f"POST /echo={echo}"], variables={"PATH": ""}) as server:
            hello = server.start("hello").communicate(timeout=60)[0]
            self.assertIn(b"hello, world\n", hello)
            other = self.quire("run", "--server", server.url, str(self.folder / "hello.ts"))
            self.assertEqual(other.stdout, b"hello, world\n", other.stderr)
            host = server.url.removeprefix("ws://").rstrip("/")
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request("POST", "/echo", "this")
            self.assertEqual(connection.getresponse().read(), b'{"said":"this"}')

    def test_doctor_names_the_runtime_and_what_is_missing_without_one(self):
        self.assertRegex(self.doctor()["scripts"]["value"], r"^javascript \d+\.\d+\.\d+ \([0-9a-f]{8}\) in .*runtimes$")
        lacking = self.doctor(QUIRE_RUNTIMES=str(self.folder / "none"))["scripts"]
        self.assertEqual((lacking["health"], "scripts are refused" in lacking["value"]), ("weak", True), lacking)
        rust = self.doctor(RUSTC="/nowhere/rustc", HOME="/nowhere")["rust"]
        self.assertEqual(rust["health"], "weak")
        self.assertIn("install it with", rust["value"])

    def doctor(self, **variables):
        environment = beside.environment() | {"PATH": ""} | variables
        ended = subprocess.run([str(BUILD / "quire"), "doctor", "--json", "--model", str(beside.TINY)], env=environment,
                               capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        return {each["what"]: each for each in json.loads(ended.stdout)["findings"]}

    def test_a_folder_serves_its_entries_and_not_what_they_import(self):
        self.hello()
        self.write("used.ts", "export const x = 1;")
        self.write("uses.ts", 'import { x } from "./used.ts"; export default async () => { x; };')
        self.write("types.d.ts", "declare const y: number;")
        with beside.Server(BUILD, [str(self.folder)]) as server:
            ended = subprocess.run([str(BUILD / "quire"), "run", "--server", server.url, "used"],
                                   env=beside.environment(), capture_output=True, timeout=60)
            self.assertIn(b'no program is named "used"', ended.stderr)
            self.assertEqual(server.start("uses").wait(60), 0)

    def test_another_program_launches_a_script_by_its_name(self):
        child = self.write("child.js", 'import { session } from "quire";\n'
                           'export default async () => { session.send("from the child"); };')
        parent = self.write("parent.js", """import { Child, session } from "quire";
export default async function program() {
  const child = await Child.launch({ program: "child" });
  session.send(await child.receive());
}
""")
        ended = self.run_script(parent, flags=["--program", child])
        self.assertIn(b"from the child", ended.stdout, ended.stderr)

    def test_options_are_listed_and_checked_as_those_of_other_programs(self):
        program = self.write("options.ts", """import { session } from "quire";
export const options = {
  depth: { type: "integer", default: 2, minimum: 1, maximum: 9, description: "How deep" },
} as const;
export default async (given: { depth: number }) => { session.send(String(given.depth)); };
""")
        listed = self.quire("run", program, "--help")
        self.assertIn(b"--depth N", listed.stdout, listed.stderr)
        self.assertIn(b"1 to 9; default 2", listed.stdout)
        self.assertEqual(self.run_script(program, "--depth", "7").stdout, b"7\n")
        wrong = self.run_script(program, "--dept", "7")
        self.assertIn(b"unknown option --dept", wrong.stderr)
        module = str(self.folder / "options.wasm")
        self.quire("build", program, "-o", module)
        self.assertIn(b"--depth N", self.quire("run", module, "--help").stdout)

    def test_a_script_that_calls_its_host_while_it_loads_says_where_in_one_line(self):
        options = 'export const options = { n: { type: "integer", default: 3, description: "How many" } };\n'
        end = "export default async ({ n }) => { session.send(`${n}`); };"
        for call, name in (("const model = Model.open();", "Model.open"), ("const context = await Context.create();", "Context.create"),
                           ('session.send("x");', "session.send"), ('const answer = await fetch("http://localhost:1");', "Exchange.open")):
            with self.subTest(call):
                early = self.write("early.js", f'import {{ Context, Model, session }} from "quire";\n{call}\n{options}{end}')
                built = self.quire("build", early)
                why = (f"early.js:2: {name}() is called while the module loads, so the options cannot be read: declare them before it, or "
                       "call it in program()\n")
                self.assertEqual(built.returncode, 0)
                self.assertTrue(built.stderr.decode().endswith(why), built.stderr)
                self.assertEqual(built.stderr.count(b"\n"), 1, built.stderr)
                helped = self.quire("run", early, "--help")
                self.assertTrue(helped.stderr.decode().endswith(why), helped.stderr)
                self.assertEqual((helped.stdout, helped.stderr.count(b"wasm")), (b"", 0))
                # Options before the call are read.
                late = self.write("late.js", f'import {{ Context, Model, session }} from "quire";\n{options}{call}\n{end}')
                self.assertEqual(self.quire("build", late).stderr, b"")
                self.assertIn(b"How many (default 3)", self.quire("run", late, "--help").stdout)
        self.assertIn(b"3", self.run_script(self.write("run.js", f'import {{ Model, session }} from "quire";\nModel.open();\n{options}{end}')).stdout)

    def test_help_and_build_of_a_script_that_cannot_be_evaluated_say_why(self):
        for source, why in (("export default function program() {\n  const x = ;\n}", "bad.ts:2: SyntaxError: "), ("\nnull.x;", "bad.ts:2: TypeError: "),
                            ('export const options = { n: { type: "integr" } };', "TypeError: the option n must have a type: ")):
            bad = self.write("bad.ts", source)
            helped = self.quire("run", bad, "--help")
            self.assertNotEqual(helped.returncode, 0)
            self.assertIn(why, helped.stderr.decode())
            self.assertIn("has no options for --help: ", self.quire("build", bad).stderr.decode())
            ran = self.run_script(bad)
            self.assertEqual(ran.stderr.decode().count(why), 1, ran.stderr)
        none = self.quire("run", self.write("none.js", "export default () => {};"), "--help")
        self.assertIn(b"none.js declares no options", none.stderr)

    def test_a_script_writes_to_its_log_while_it_loads(self):
        program = self.write("logs.ts", 'console.log("loaded");\nconsole.error(new Error("e"));\n'
                             'export const options = { n: { type: "integer", default: 3, description: "How many" } } as const;\n'
                             "export default () => {};")
        ran = self.run_script(program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"info: loaded", ran.stderr)
        self.assertNotIn(b"no options", ran.stderr)
        self.assertIn(b"How many (default 3)", self.quire("run", program, "--help").stdout)

    def test_a_module_that_does_not_end_loading_has_no_options_and_says_so(self):
        built = self.quire("build", self.write("endless.js", "while (true);\nexport const options = {};"))
        self.assertTrue(built.stderr.decode().endswith("endless.js has no options for --help: its modules take longer than 1000 ms to load\n"),
                        built.stderr)

    def test_sources_may_begin_with_a_mark_of_byte_order_and_a_hashbang(self):
        mark = b"\xef\xbb\xbf"
        self.write("side.ts", mark + b"#!/usr/bin/env quire\r\nexport const side: number = 5;\r\n")
        self.write("data.json", mark + b'{"a": 1}\r\n')
        program = self.write("marked.js", mark + b"#!/usr/bin/env quire\r\nimport { session } from 'quire';\r\nimport { side } from './side.js';\r\n"
                             b"import data from './data.json' with { type: 'json' };\r\nexport default () => session.send(`${side} ${data.a}`);\r\n")
        ran = self.run_script(program)
        self.assertEqual(ran.stdout, b"5 1\n", ran.stderr)

    def test_errors_of_json_name_its_file_and_line(self):
        self.write("data.json", '{\n  "a": 1,\n}\n')
        self.fails('import data from "./data.json";\nexport default () => data;', "error: the program ended: data.json:3: SyntaxError:")

    def test_imports_of_types_need_no_file(self):
        self.write("types.d.ts", "export interface Given { a: number }")
        program = self.write("typed.ts", 'import { session } from "quire";\nimport { type Given } from "./types";\nimport { Given as Other } from "./types.js";\n'
                             'const given: Given & Other = { a: 1 };\nexport default () => session.send(`${given.a}`);')
        ran = self.run_script(program)
        self.assertEqual(ran.stdout, b"1\n", ran.stderr)

    def test_other_files_are_refused_by_their_kind(self):
        for name, why in (("a.tsx", "JSX"), ("a.jsx", "JSX"), ("a.cjs", "CommonJS"), ("a.cts", "CommonJS")):
            self.fails("export default () => {};", why, "not supported", name=name)
            self.fails(f'import "./{name}";', f'bad.ts:1: imports "./{name}": ', why, "not supported")

    def test_byte_code_runs_and_fails_as_the_source_does(self):
        # A program that a server has by name runs from byte code; one that `quire run` brings, from its source.
        sources = {
            "throws.ts": "interface A { b: number }\nconst a: A = { b: 1 };\n"
                         "export default async () => {\n  throw new Error(`boom ${a.b}`);\n};\n",
            "syntax.ts": "export default async () => {\n  const x: number = ;\n};\n",
            "works.ts": 'import { session } from "quire";\nimport data from "./data.json";\nimport { f } from "./lib/f.js";\n'
                        "export default async () => { session.send(f.toString() + data.x + f(1)); "
                        'const late = await import("./late.js"); session.send(late.default); };\n',
        }
        self.write("lib/f.ts", "export function f(x: number): number { return x + 1; }")
        self.write("late.js", 'export default "late";')
        self.write("data.json", '{"x": 5}')
        paths = [self.write(name, source) for name, source in sources.items()]
        with beside.Server(BUILD, paths) as server:
            for path in paths:
                ends = [subprocess.run([str(BUILD / "quire"), "run", "--server", server.url, program],
                                       env=beside.environment(), capture_output=True, timeout=60)
                        for program in (path, pathlib.Path(path).stem)]
                self.assertEqual(ends[0].stdout, ends[1].stdout)
                self.assertEqual(ends[0].returncode, ends[1].returncode)
                errors = [each.stderr.decode().split("[done")[0] for each in ends]
                self.assertEqual(errors[0], errors[1])
                if path.endswith("throws.ts"):
                    self.assertIn("throws.ts:4: Error: boom 1", errors[1])
                if path.endswith("syntax.ts"):
                    self.assertIn("syntax.ts:2", errors[1])
                if path.endswith("works.ts"):
                    self.assertIn(b"}52late\n", ends[1].stdout, errors[1])

    def test_two_thousand_launches_leave_no_memory_behind(self):
        program = self.write("quick.ts", "export default async () => {};")
        lines = self.write("lines", "[]\n" * 500)
        with beside.Server(BUILD) as server:
            def launch_all():
                ended = subprocess.run([str(BUILD / "quire"), "run", "--server", server.url, program, "--each", lines],
                                       env=beside.environment(), capture_output=True, timeout=120)
                self.assertEqual(ended.returncode, 0, ended.stderr)
            launch_all()
            before = server.quiet_resident_bytes()
            for _ in range(4):
                launch_all()
            self.assertLess(server.quiet_resident_bytes(), before + (6 << 20))

    def test_the_random_numbers_of_two_instances_differ(self):
        program = self.write("dice.js", 'import { session } from "quire";\n'
                             "export default async () => { session.send(String(Math.random())); };")
        self.assertEqual(len({self.run_script(program).stdout for _ in range(3)}), 3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
