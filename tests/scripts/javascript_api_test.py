"""Scripts in JavaScript and TypeScript on the runtime of sdk/javascript."""
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hostile"))
sys.path.insert(0, str(HERE.parent / "programs"))
import beside  # noqa: E402
import harness  # noqa: E402

BUILD = beside.SOURCE / "build" / "release"
ADAPTERS = HERE.parent / "golden" / "adapters"
EXAMPLES = beside.SOURCE / "sdk" / "javascript" / "examples"
TYPESCRIPT = pathlib.Path(os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire") / "typescript-5.9.3"

# A script, and what is said of it: the file, the line and why.
FAULTS = {
    "export default () => {\n  const x = ;\n}": "a.js:2: SyntaxError",
    "\nfunction f() { throw new TypeError('bad'); }\nexport default () => f();": "a.js:2: TypeError: bad",
    "export default async () => {\n  await null;\n\n  x.y;\n}": "a.js:4: ReferenceError: x is not defined",
    "export default async () => {\n  Promise.reject(new Error('lost'));\n  await new Promise((r) => setTimeout(r, 99));\n}":
        "a.js:2: Error: lost",
    "export default async () => {\n  setTimeout(() => { throw new Error('late'); }, 1);\n  await new Promise((r) => setTimeout(r, 99));\n}":
        "a.js:2: Error: late",
    "import { Context } from 'quire';\nexport default async () => {\n  await Context.open('none');\n}":
        'a.js:3: not-found: no snapshot "none"',
    "import { Context } from 'quire';\nexport default async () => {\n  const c = await Context.create();\n"
    "  await c.appendText('a');\n  await c.generate({ maxTokens: 2, onToken() {\n    throw new Error('in a hook');\n  } });\n}":
        "a.js:6: Error: in a hook",
    "export default async () => {\n  const t = new EventTarget();\n  t.addEventListener('a', () => {\n    throw new Error('heard');\n  });\n"
    "  t.dispatchEvent(new Event('a'));\n  await new Promise((r) => setTimeout(r, 99));\n}": "a.js:4: Error: heard",
    "export default async () => {\n  queueMicrotask(() => {\n    throw new Error('soon');\n  });\n  await new Promise((r) => setTimeout(r, 99));\n}":
        "a.js:3: Error: soon",
    "export default () => new Promise(() => {});": "waits for a promise that nothing will settle",
    "throw 5;": "an exception that is no Error was thrown: 5",
    "export const a = 1;": "a.js exports no program",
    "export const options = { n: { type: 'int' } };\nexport default () => {};": "the option n must have a type",
    "/* import { Contxt } from 'quire'; */\nimport {\n  session, Contxt,\n} from 'quire';\nexport default () => Contxt;":
        'a.js:3: SyntaxError: "quire" exports no Contxt; did you mean Context?',
    "const s = 'import { contxt }'; import { Grammar as G, context as c } from \"quire\";\nexport default () => c;":
        'a.js:1: SyntaxError: "quire" exports no context; did you mean Context?',
    "import { context } from 'quire/raw';\nexport default () => context;": 'a.js:1: SyntaxError: "quire/raw" exports no context; it exports default',
    "\nimport quire from 'quire';\nexport default () => quire;": 'a.js:2: SyntaxError: "quire" exports no default; it exports Child, ',
    "\nexport { Contexts } from 'quire';\nexport default () => {};": 'a.js:2: SyntaxError: "quire" exports no Contexts; did you mean Context?',
    "import * as quire from 'quire';\nimport { Sessionn } from 'quire';\nexport default () => [quire, Sessionn];":
        'a.js:2: SyntaxError: "quire" exports no Sessionn; did you mean session?',
    "\nimport fs from 'fs';\nexport default () => fs;": 'a.js:2: ReferenceError: there is no module "fs": the modules of Node are not there',
    "import z from 'zod';\nexport default () => z;": 'a.js:1: ReferenceError: there is no module "zod": packages are bundled first, as by '
                                                     "npx esbuild a.js --bundle --format=esm --external:quire --outfile=bundled.js",
    "export default async () => {\n  await import('./none.js');\n}": 'a.js:2: ReferenceError: there is no file "none.js"',
    # A promise that was not awaited, and the name of what is not there.
    "import { Context } from 'quire';\nexport default () => {\n  const c = Context.create();\n  c.user('x');\n}":
        "a.js:4: TypeError: c.user is not a function (c is a Promise: is an await missing?)",
    "import { Context } from 'quire';\nclass A {\n  context = Context.create();\n  go(n) { return this.context.model.name + n; }\n}\n"
    "export default () => new A().go(1);": "a.js:4: TypeError: cannot read property 'name' of undefined (this.context is a Promise: is an await missing?)",
    "import { Context } from 'quire';\nexport default () => { Context.create().user(1 ? 'a' : `b${2}`, [3], null ?? 4); }":
        "a.js:2: TypeError: Context.create().user is not a function (Context.create() is a Promise: is an await missing?)",
    "import { Context } from 'quire';\nexport default async () => { for await (const x of Context.create()) x; }":
        "a.js:2: TypeError: a Promise is not iterable: is an await missing?",
    "import { Context } from 'quire';\nexport default async () => { const c = Context.create(); (await c).usr('x'); }":
        "a.js:2: TypeError: (await c).usr is not a function\n",
    "const o = { a: {} };\nexport default () => o.a?.b(o ? 1 : 2);": "a.js:2: TypeError: o.a.b is not a function\n",
    "const o = { a: {} };\nexport default () => new o.a.B();": "a.js:2: TypeError: o.a.B is not a constructor",
    "export default () => {\n  JSON.parse('{,');\n}": "a.js:2: SyntaxError: Expected property name",
    # Options that cannot be used.
    "export const options = { n: { type: 'integer', maximun: 3 } };\nexport default () => {};":
        "the option n has no member maximun; there are: type, description, required, minimum, maximum, default",
    "export const options = { s: { type: 'string', minimum: 3 } };\nexport default () => {};": "the option s has no member minimum",
    "export const options = { f: { type: 'boolean', required: true } };\nexport default () => {};": "the option f has no member required",
    "export const options = { n: { type: 'integer', default: '3' } };\nexport default () => {};": "the option n: default must be a whole number",
    "export const options = { n: { type: 'integer', default: 1.5 } };\nexport default () => {};": "the option n: default must be a whole number",
    "export const options = { x: { type: 'number', default: 7, maximum: 5 } };\nexport default () => {};": "the option x has a default of 7, which is not from",
    "export const options = { x: { type: 'number', minimum: 7, maximum: 5 } };\nexport default () => {};": "the option x has a minimum over its maximum",
    "export const options = { n: { type: 'integer', required: true, default: 3 } };\nexport default () => {};": "the option n is required, so that its default",
    "export const options = { n: { type: 'integer', required: true } };\nexport default () => {};": "give --n",
    "export const options = { aB: { type: 'string' }, a_b: { type: 'string' } };\nexport default () => {};": "the option a_b is there twice: aB has --a-b too",
    "export const options = { seed: { type: 'integer' }, g: { type: 'generation' } };\nexport default () => {};": "the option g has --seed",
    "export const options = { g: { type: 'generation' }, maxTokens: { type: 'integer' } };\nexport default () => {};": "the option maxTokens is there twice",
    "export const options = { g: { type: 'generation', default: { maxToken: 3 } } };\nexport default () => {};": "there is no option maxToken; there are: ",
    "export const options = { a: { type: 'string', words: true }, b: { type: 'string', words: true } };\nexport default () => {};": "a takes them",
    "export const options = { l: { type: 'strings', default: ['a', 5] } };\nexport default () => {};": "an array of strings, and element [1] is 5",
    "export const options = { 'a b': { type: 'string' } };\nexport default () => {};": "the option a b must have a name of letters",
    "export const options = { n: 4 };\nexport default () => {};": "the option n must be an object",
    "export const options = [];\nexport default () => {};": "options must be an object with a member for each option",
    "import { Context } from 'quire';\nexport default async () => { (await Context.create()).append([5, -1]); }":
        "Context.append: argument 1 must be an array of token ids, and tokens[1] is -1",
    "import native from 'quire:native';\nexport default () => native;": 'there is no module "quire:native"',
    "export default async () => { await import('quire:library/errors.js'); }": "there is no module",
    "export default () => { function f() { f(); } f(); }": "a.js:1: RangeError: Maximum call stack size exceeded",
    "export default () => eval('('.repeat(100000));": "RangeError: Maximum call stack size exceeded",
    "export default () => eval('{'.repeat(100000));": "RangeError: Maximum call stack size exceeded",
    "export default () => JSON.parse('['.repeat(100000));": "RangeError: Maximum call stack size exceeded",
    "export default () => 'a'.repeat(1e5).replace(/a/g, function f() { return 'a'.replace('a', f); });":
        "RangeError: Maximum call stack size exceeded",
    "export default () => { const a = []; for (;;) a.push(new Array(1000).fill(1)); }": "InternalError: out of memory",
    "export default () => { let a = {}; for (;;) a = { a }; }": "InternalError: out of memory",
    "export default () => { const a = []; for (;;) a.push(new Uint8Array(1 << 20)); }": "a.js:1: InternalError: out of memory",
    "export default () => { for (;;); }": "exceeded its limit cpu_ns",
    "export default async () => { for (;;) await null; }": "exceeded its limit cpu_ns",
    # Objects that every script changes for itself.
    "import { Context } from 'quire';\nContext.prototype.fork = () => 7;\nPromise.prototype.then = undefined;\n"
    "export default () => {\n  throw new Error('still here');\n}": "a.js:5: Error: still here",
    "import { Context } from 'quire';\nObject.prototype.get = Object.prototype.value = () => { throw 1; };\n"
    "Array.prototype[Symbol.iterator] = Error.prototype.toString = null;\nglobalThis.Error = null;\n"
    "export default async () => { await Context.open('none'); }": 'a.js:5: not-found: no snapshot "none"',
    "Object.defineProperty(Error.prototype, 'stack', { get() { throw 1; } });\n"
    "Object.defineProperty(Error.prototype, 'message', { get() { throw 2; } });\n"
    "export default () => { throw { get message() { throw 3; }, get stack() { throw 4; }, toString() { throw 5; } }; }":
        "an exception that is no Error was thrown",
}
FAULTS_OF_TYPESCRIPT = {
    "interface A {\n  x: number;\n}\nimport { type Tool, Tols } from 'quire';\nexport default () => Tols;":
        'a.ts:4: SyntaxError: "quire" exports no Tols; did you mean Tools?',
    "interface A {\n  x: number;\n}\nexport default () => {\n  const a: A = { x: 1 };\n  throw new Error(`${a.x}`);\n}":
        "a.ts:6: Error: 1",
    "export default function program() {\n  const a: = 5;\n}": "a.ts:2: SyntaxError: Unexpected token",
    "namespace A {\n  export const n = 1;\n  export function f() {\n    throw new Error('x');\n  }\n}\nenum E {\n  A = 1,\n  E,\n}\n"
    "export default () => A.f();": "a.ts:4: Error: x",
    "enum E {\n  A = 1,\n  E,\n}\nexport default () => {\n  throw new Error(E[2]);\n};": "a.ts:6: Error: E",
    # The line where the parser came farthest, not where it went back to.
    "export default async () => {\n  const x = ;\n}": "a.ts:2: SyntaxError: Unexpected token",
    "const f = (x: number): number => {\n  return [1].map((y) => {\n    return y *;\n  })[0];\n};": "a.ts:3: SyntaxError: Unexpected token",
    # Refused constructs; words in strings, comments, templates and regular expressions are not meant.
    "const s = '@a'; // @b\nconst t = `@c ${/@d/.source}`; /* export = 1 */\n@dec class A {}": "a.ts:3: SyntaxError: decorators are not supported",
    "class A {\n  @dec() m() {}\n}": "a.ts:2: SyntaxError: decorators are not supported",
    "class A {\n  m(@dec() x: number) {}\n}": "a.ts:2: SyntaxError: decorators are not supported",
    "class A {\n  static accessor x = 1;\n}": "a.ts:2: SyntaxError: accessor fields are not supported",
    "\nimport x = require('./y');\nexport default () => x;": "a.ts:2: SyntaxError: import x = require('./y') is of CommonJS: write import * as x",
    "\n\nexport = 3;": "a.ts:3: SyntaxError: export = is of CommonJS: write export default",
    "export as namespace A;": "a.ts:1: SyntaxError: export as namespace belongs in a declaration file",
    "namespace A {\n  export default 3;\n}": "a.ts:2: SyntaxError: a namespace exports declarations",
    "\nconst a = <div>{1}</div>;": "a.ts:2: SyntaxError: JSX is not supported",
}


class Pages(http.server.BaseHTTPRequestHandler):
    """The server that the programs of these tests ask."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path.startswith("/slow"):
            time.sleep(4)
        content, kind, status = b"nothing here", "text/plain", 404
        if self.path.startswith("/json"):
            told = {"method": self.command, "path": self.path, "given": self.headers.get("x-given"), "body": body}
            content, kind, status = json.dumps(told).encode(), "application/json", 200
        if self.path.startswith("/large"):
            content, status = b"x" * 3_000_000, 200
        if self.path.startswith("/moved"):
            status = 307 if "307" in self.path else 303
        self.send_response(status)
        if self.path.startswith("/moved"):
            self.send_header("location", "/json")
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:
            pass  # The program went before.

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class JavaScript(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = harness.tiny_chat_model(cls.folder)

    def run_quire(self, program, *words, flags=()):
        store = tempfile.mkdtemp(dir=self.folder)
        return subprocess.run(
            [str(BUILD / "quire"), "run", str(program), "--model", str(self.model), "--kv-pages", "512", "--store", store,
             *flags, "--", *(str(each) for each in words)],
            env=beside.environment(), capture_output=True, text=True, timeout=120)

    def run_source(self, source, *words, name="a.js", flags=()):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / name
        path.write_text(source)
        return self.run_quire(path, *words, flags=flags)

    def test_examples_give_the_bytes_that_programs_in_cpp_give(self):
        words = {"text_completion": ["--max-tokens", 12, "--temperature", 0.9, "--seed", 7, "one two three"],
                 "tree_of_thought": ["--depth", 2, "--width", 3, "--max-tokens", 6, "--seed", 5, "--answer-tokens", 8, "--ignore-eos"],
                 "agent_react": ["--max-tokens", 60, "--seed", 3, "--temperature", 1]}
        for name, given in words.items():
            ran = {each: self.run_quire(program, *given) for each, program in {
                "cpp": BUILD / "inferlets" / f"{name}.wasm", "js": EXAMPLES / f"{name}.js", "ts": EXAMPLES / f"{name}.ts"}.items()}
            with self.subTest(name):
                self.assertTrue(ran["cpp"].stdout, ran["cpp"].stderr)
                self.assertEqual(ran["js"].stdout, ran["cpp"].stdout, ran["js"].stderr)
                self.assertEqual(ran["ts"].stdout, ran["cpp"].stdout, ran["ts"].stderr)
                self.assertEqual(ran["js"].returncode, ran["cpp"].returncode)

    def test_each_call_does_what_it_should_and_refuses_what_it_should_not(self):
        parts = {"contexts.ts": "models editing generating constraining keeping talking",
                 "services.ts": "stores others instance calls", "platform.js": "locations bytes clones times signals lines",
                 "standards.js": "urls encodings clones tasks events requests"}
        for name, wanted in parts.items():
            with self.subTest(name):
                ran = self.run_quire(HERE / "programs" / name)
                self.assertEqual(ran.stdout.split(), wanted.split(), ran.stderr)
                self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_recursion_of_every_form_is_a_range_error_that_is_caught(self):
        ran = self.run_quire(HERE / "programs" / "deep.js")
        self.assertRegex(ran.stdout, r"\A\d+ forms\n\Z", ran.stderr)

    def test_a_ring_of_a_thousand_imports_is_a_range_error_that_is_caught(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for at in range(1000):
            (folder / f"ring{at}.js").write_text(f'import "./ring{(at + 1) % 1000}.js";\nexport default {at};\n')
        for at in range(20):
            (folder / f"short{at}.js").write_text(f'import "./short{(at + 1) % 20}.js";\nexport default {at};\n')
        (folder / "main.js").write_text(
            'import { session } from "quire";\nexport default async function program() {\n'
            '  const caught = () => import("./ring0.js").then(() => "loaded", (error) => error.name);\n'
            '  session.send(`${await caught()} ${await caught()} ${(await import("./short0.js")).default}`);\n}\n')
        built = folder / "main.wasm"
        subprocess.run([str(BUILD / "quire"), "build", str(folder / "main.js"), "-o", str(built)], check=True,
                       env=beside.environment(), capture_output=True)
        self.assertEqual(self.run_quire(built).stdout, "RangeError RangeError 0\n")

    def test_huge_texts_are_errors_that_are_caught_and_a_huge_result_is_named(self):
        ran = self.run_quire(HERE / "programs" / "huge.js")
        self.assertEqual(ran.stdout, "alive\n", ran.stderr)
        self.assertIn("InternalError: out of memory", ran.stderr)
        self.assertNotIn("abort", ran.stderr)

    def test_uses_adapters_and_refuses_what_is_no_set_of_them(self):
        first, second = ADAPTERS / "llama_r8", ADAPTERS / "llama_r64_rslora.gguf"
        flags = ["--adapter", f"first={first}", "--adapter", f"second={second}", "--adapter", f"again={first}"]
        ran = self.run_quire(HERE / "programs" / "adapters.ts", flags=flags)
        self.assertEqual(ran.stdout.split(), ["sets", "switches", "refusals"], ran.stderr)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_fetches_where_the_launch_allows_it(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            host = f"127.0.0.1:{server.server_port}"
            ran = self.run_quire(HERE / "programs" / "requests.js", f"http://{host}", flags=["--allow-http", host])
            server.shutdown()
        self.assertEqual(ran.stdout, "requests\n", ran.stderr)

    def test_console_writes_lines_of_the_log(self):
        log = self.run_quire(HERE / "programs" / "platform.js").stderr
        for line in ['x is 5, {"a":1} [ 1, "two", { three: 3 } ]', "  within", "{ circle: [Circular] }",
                     'Map(1) { 1 => "a" } null undefined 5n']:
            self.assertIn(line, log)

    def test_console_shows_each_value_and_throws_for_none(self):
        ran = self.run_quire(HERE / "programs" / "console_values.js")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        log = re.sub(r"^(log|warning): ?", "", ran.stderr, flags=re.M)
        for line in ["text|42|NaN|1.5|{ a: 1 }||%|%x rest", "100%% alone", "Invalid Date { when: 1970-01-01T00:00:00.000Z }",
                     '{ bad: [Getter], only: [Setter], "a b": 5n, [Symbol(key)]: -0 }',
                     "Point { x: 1 } [Object: null prototype] {} [ 1, <2 empty items>, 4 ] [ 1, more: 2 ] [class A extends Point] "
                     "[Function: (anonymous)]", 'Map(1) { { a: 1 } => Set(1) { "x" } } Uint16Array(2) [ 1, 2 ]',
                     'ArrayBuffer { [bytes]: <01 ff>, byteLength: 2 }', '[String: "boxed"] Promise { 5 } WeakMap { <unknown> } { a: 1 }',
                     "<Revoked Proxy> {}", "TypeError: outer", "[cause]: Error: inner", "{ toString: [Function: toString] } and %s { toString: null }",
                     'URL { href: "http://h/a?b" } URLSearchParams { a: "1", b: "2" } Headers { x: "y" } AbortSignal { aborted: true, reason: 7 } '
                     'Response { status: 201, url: "", bodyUsed: false } Event { type: "e", isTrusted: false }',
                     "[ [ [ [ [ [Array] ] ] ] ]", "│ (index) │ a │ b   │", "│ 1       │ 2 │     │", "group\n  { in: ", "Assertion failed: one is not 2",
                     "default: 2", 'there is no count "none"', 'there is no timer "none"', "alive"]:
            self.assertIn(line, log)

    def test_counts_what_a_program_leaves_undone_but_the_timers_of_signals(self):
        begin = "import { session } from 'quire';\nexport default () => { "
        for work, line in {"AbortSignal.timeout(30000);": "", "setTimeout(() => 1, 9999);": "1 timer was not done when the program ended, and is dropped",
                           "session.receive(); setInterval(() => 1, 9999); setTimeout(() => 1, 9999);":
                           "1 call and 2 timers were not done when the program ended, and are dropped"}.items():
            ran = self.run_source(begin + work + " }")
            self.assertIn(line, ran.stderr)
            self.assertEqual("not done when" in ran.stderr, line != "", ran.stderr)

    def test_half_of_a_surrogate_pair_goes_to_the_client_as_one_character(self):
        self.assertEqual(self.run_source("import { session } from 'quire';\nexport default () => session.send('a\\ud800b\\udc00');").stdout, "a\ufffdb\ufffd\n")

    def test_names_file_and_line_of_what_fails(self):
        limits = ["--limit", "cpu_ns_max=1500000000", "--limit", "memory_bytes_max=50331648"]
        for name, faults in {"a.js": FAULTS, "a.ts": FAULTS_OF_TYPESCRIPT}.items():
            for source, why in faults.items():
                with self.subTest(source):
                    ran = self.run_source(source, name=name, flags=limits)
                    self.assertIn(why, ran.stderr)
                    self.assertEqual(ran.returncode, 4, ran.stderr)

    def test_names_where_a_file_imports_what_another_does_not_export(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "lib").mkdir()
        (folder / "lib" / "greet.ts").write_text("export const greet = 1;\n")
        (folder / "lib" / "use.ts").write_text('\nimport { greeet } from "./greet.js";\nexport default greeet;\n')
        (folder / "a.ts").write_text('import used from "./lib/use.ts";\nexport default () => used;\n')
        ran = self.run_quire(folder / "a.ts")
        self.assertIn('error: the program ended: lib/use.ts:2: SyntaxError: "./greet.js" exports no greeet\n', ran.stderr)

    def test_says_that_a_type_cannot_be_exported_again_as_a_value(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "types.ts").write_text("export interface Given { a: number }\n")
        (folder / "a.ts").write_text('\nexport { Given } from "./types.ts";\nexport default () => {};\n')
        self.assertIn('a.ts:2: SyntaxError: "./types.ts" exports no Given, which is a type: write import type or export type',
                      self.run_quire(folder / "a.ts").stderr)

    def test_values_of_typescript_are_those_that_its_compiler_makes(self):
        programs = HERE / "programs" / "typescript"
        ran = self.run_quire(programs / "main.ts")
        self.assertEqual(ran.stdout, (programs / "expected.txt").read_text(), ran.stderr)

    def test_stacks_begin_with_the_error_itself(self):
        source = ("import { Context, session } from 'quire';\nexport default async () => {\n"
                  "  class Mine extends TypeError { name = 'Mine'; }\n"
                  "  for (const make of [() => { throw new Error('two\\nlines'); }, () => { throw new Mine('m'); }, () => null.x, () => eval('('),\n"
                  "      () => Context.create(5), () => new RangeError()]) {\n"
                  "    try { throw make(); } catch (error) { session.send(`${error.stack.split('\\n    at')[0]}|${error.stack.includes('a.js:')}\\n`); }\n  }\n"
                  "  await Context.open('none').catch((error) => session.send(error.stack.split('\\n')[0]));\n};")
        ran = self.run_source(source)
        self.assertEqual(ran.stdout.rstrip("\n").split("\n"), [
            "Error: two", "lines|true", "TypeError: m|true", "TypeError: cannot read property 'x' of null|true",
            "SyntaxError: unexpected token in expression: ''|true",
            "TypeError: Context.create: argument 1 must be a Model, or the name of one, not this number|true", "RangeError|true",
            'QuireError: no snapshot "none"'], ran.stderr)

    def test_prints_the_stack_of_the_script_alone(self):
        ran = self.run_source("function f() { throw new Error('x'); }\nexport default async () => {\n  f();\n}")
        self.assertIn("at f (a.js:1:", ran.stderr)
        self.assertIn("(a.js:3:", ran.stderr)
        self.assertNotIn("quire:", ran.stderr)

    def test_imports_files_of_its_own(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "lib" / "deep").mkdir(parents=True)
        (folder / "main.ts").write_text('import { a } from "./lib/a.js";\nimport data from "./data.json" with { type: "json" };\n'
                                        'export default async () => ({ a, data, late: (await import("./lib/late.mjs")).default });')
        (folder / "lib" / "a.ts").write_text('import { b } from "./deep/index.ts";\nexport const a: string = b + "!";')
        (folder / "lib" / "deep" / "index.ts").write_text('export const b: string = "b";')
        (folder / "lib" / "late.mjs").write_text("export default 5;")
        (folder / "data.json").write_text('{"__proto__": 1, "x": "\u2028"}')
        ran = self.run_quire(folder / "main.ts", flags=["--json"])
        self.assertEqual(json.loads(ran.stdout.split("\n")[0])["result"],
                         '{"a":"b!","data":{"__proto__":1,"x":"\u2028"},"late":5}', ran.stdout + ran.stderr)

    def test_reads_declared_options_as_programs_in_cpp_do(self):
        source = ('export const options = { text: { type: "string", default: "d", words: true }, n: { type: "integer", default: 4, minimum: 1, '
                  'maximum: 9 }, isOn: { type: "boolean" }, all: { type: "strings" }, x: { type: "number", default: 0.5 }, '
                  'generate: { type: "generation", default: { temperature: 0.8 } } };\nexport default (o) => { console.log(JSON.stringify(o)); };')
        ran = self.run_source(source, "--n", 7, "--is-on", "--all=a", "--all", "b", "--max-tokens", 3, "some", "words")
        self.assertIn('{"text":"some words","n":7,"isOn":true,"all":["a","b"],"x":0.5,"generate":{"maxTokens":3,"temperature":0.8,',
                      ran.stderr)
        for words, why in {("--n", "0"): "--n must be a whole number from 1 to 9", ("--m", "1"): "--m"}.items():
            self.assertIn(why, self.run_source(source, *words).stderr)
        undeclared = "export default (o) => { console.log(JSON.stringify(o)); };"
        self.assertIn('{"maxTokens":"3","loud":true,"words":["a"]}',
                      self.run_source(undeclared, "--max-tokens", "3", "a", "--loud").stderr)

    def test_draws_other_random_numbers_in_each_instance(self):
        source = "import { session } from 'quire';\nexport default () => session.send(`${Math.random()} ${crypto.randomUUID()}`);"
        self.assertEqual(len({word for _ in range(4) for word in self.run_source(source).stdout.split()}), 8)

    def test_an_error_in_a_script_leaves_the_next_one_alone(self):
        source = "globalThis.left = 1; Math.max = null;\nexport default () => {};"
        self.assertEqual(self.run_source(source).returncode, 0)
        self.assertIn("undefined function", self.run_source(
            "export default () => console.log(typeof left, typeof Math.max);").stderr)


# An endpoint as the web has them.
FETCH = """export const options = { n: { type: 'integer', default: 4 } };
class Endpoint {
  #count = 0;
  async fetch(request, { n }) {
    const url = new URL(request.url);
    async function* pieces() { yield 'a'; yield new Uint8Array([98]); yield ''; yield 'c'.repeat(3_000_000); }
    switch (url.pathname) {
      case '/web/echo':
        return Response.json({ method: request.method, url: request.url, n, given: request.headers.get('X-Given'), text: await request.text(),
          isRequest: request instanceof Request, used: request.bodyUsed, count: ++this.#count }, { status: 201, headers: { 'x-a': '1' } });
      case '/web/stream': return new Response(pieces(), { headers: { 'content-type': 'text/x-pieces' } });
      case '/web/bytes': return new Response(await request.arrayBuffer());
      case '/web/json': return Response.json(await request.json());
      case '/web/cookies': { const headers = new Headers(); headers.append('set-cookie', 'a=1'); headers.append('set-cookie', 'b=2'); return new Response(null, { status: 204, headers }); }
      case '/web/redirect': return Response.redirect('http://x/y');
      case '/web/clone': { const copy = request.clone(); return new Response(`${await request.text()} ${await copy.text()} ${await new Response('z').clone().text()}`); }
      case '/web/pieces': { let text = ''; for await (const piece of request.body) text += piece.length > 0; return new Response(text); }
      case '/web/none': return { status: 200 };
      case '/web/twice': { const one = new Response('x'); await one.text(); return one; }
      case '/web/cut': return new Response((async function* () { yield 'a'; throw new Error('cut'); })());
      default: throw new TypeError('secret');
    }
  }
}
export default new Endpoint();
"""


class Endpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder)
        (folder / "web.js").write_text(FETCH)
        (folder / "form.js").write_text(
            "export async function serve(request, response, options) {\n"
            "  if (request.queryValue('fault') === 'throw') throw new TypeError('x');\n"
            "  if (request.queryValue('fault') === 'refuse') throw request.refuse(418, 'no tea');\n"
            "  if (request.queryValue('fault') === 'header') response.addHeader('a b', 'c');\n"
            "  response.addHeader('x-path', request.path);\n"
            "  await response.json(200, { method: request.method, id: request.id.length > 0, rest: request.pathAfter('/form/'),\n"
            "    header: request.header('x-given'), text: await request.text(), options });\n}\n")
        endpoints = [f"POST /chat={EXAMPLES / 'openai.ts'}", f"POST /form/*={folder / 'form.js'}",
                     *(f"{method} /web/*={folder / 'web.js'}" for method in ("GET", "POST"))]
        flags = [word for each in endpoints for word in ("--endpoint", each)]
        server = beside.Server(BUILD, flags, page_count=512, model=harness.tiny_chat_model(folder))
        cls.enterClassContext(server) if hasattr(cls, "enterClassContext") else cls.addClassCleanup(server.__exit__)
        cls.url = server.url.replace("ws://", "http://")

    def ask(self, path, body, headers=None):
        request = urllib.request.Request(self.url + path, data=body, headers=headers or {}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, dict(response.headers), response.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, dict(refused.headers), refused.read().decode()

    def chat(self, **more):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 6, **more}
        return self.ask("/chat", json.dumps(body).encode())

    def test_answers_a_chat_whole(self):
        status, headers, text = self.chat()
        answer = json.loads(text)
        self.assertEqual((status, headers["content-type"], answer["object"]), (200, "application/json", "chat.completion"))
        self.assertEqual(answer["choices"][0]["message"]["role"], "assistant")
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])

    def test_streams_the_same_text(self):
        whole = json.loads(self.chat()[2])["choices"][0]["message"]["content"]
        status, headers, text = self.chat(stream=True)
        self.assertEqual((status, headers["content-type"]), (200, "text/event-stream"))
        events = [line.removeprefix("data: ") for line in text.splitlines() if line]
        self.assertEqual(events.pop(), "[DONE]")
        deltas = [json.loads(each)["choices"][0] for each in events]
        self.assertEqual("".join(each["delta"].get("content", "") for each in deltas), whole)
        self.assertIn(deltas[-1]["finish_reason"], ("stop", "length"))

    def test_refuses_what_is_no_request(self):
        self.assertEqual(self.ask("/chat", b"{")[0], 400)
        status, _, text = self.ask("/chat", b'{"messages": 5}')
        self.assertEqual((status, json.loads(text)["error"]["message"]), (400, "messages must be an array"))
        status, _, text = self.chat(model="none")
        self.assertEqual((status, json.loads(text)["error"]["message"]), (404, "no model none"))

    def test_gives_the_request_and_its_own_headers(self):
        status, headers, text = self.ask("/form/a%20b", "hé".encode(), {"x-given": "yes"})
        self.assertEqual((status, headers["x-path"]), (200, "/form/a%20b"))
        self.assertEqual(json.loads(text), {"method": "POST", "id": True, "rest": "a b", "header": "yes", "text": "hé",
                                            "options": {"words": []}})

    def test_responds_for_a_script_that_failed(self):
        for fault, wanted in {"throw": (500, "internal error"), "refuse": (418, "no tea"), "header": (500, "internal error")}.items():
            status, _, text = self.ask(f"/form/x?fault={fault}", b"")
            self.assertEqual(status, wanted[0])
            self.assertIn(wanted[1], json.loads(text)["error"]["message"])


    def web(self, path, body=None, method=None, headers=None):
        """The status, the headers and the bytes of a response of the endpoint that exports `fetch`."""
        request = urllib.request.Request(self.url + "/web/" + path, body, headers or {}, method=method)
        opener = urllib.request.build_opener(type("Stay", (urllib.request.HTTPRedirectHandler,), {"redirect_request": lambda *_: None}))
        try:
            with opener.open(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def test_answers_as_an_endpoint_of_the_web(self):
        status, headers, body = self.web("echo?a=b%20c", "\u00e9".encode(), headers={"x-given": "g"})
        told = json.loads(body)
        self.assertEqual((status, headers["x-a"], headers["content-type"]), (201, "1", "application/json"))
        self.assertEqual(told, {"method": "POST", "url": f"{self.url.rstrip('/')}/web/echo?a=b%20c", "n": 4, "given": "g", "text": "\u00e9",
                                "isRequest": True, "used": True, "count": 1})
        self.assertEqual(json.loads(self.web("echo")[2])["method"], "GET")
        status, headers, body = self.web("stream")
        self.assertEqual((status, headers["content-type"], body[:2], len(body)), (200, "text/x-pieces", b"ab", 3_000_002))
        self.assertEqual(self.web("bytes", b"\xff\x00")[2], b"\xff\x00")
        self.assertEqual(self.web("bytes", b"\xff\x00")[1]["content-type"], None)
        self.assertEqual(self.web("json", b'{"a": [1]}')[2], b'{"a":[1]}')
        status, headers, body = self.web("cookies")
        self.assertEqual((status, headers.get_all("set-cookie"), body), (204, ["a=1", "b=2"], b""))
        status, headers, _ = self.web("redirect")
        self.assertEqual((status, headers["location"]), (302, "http://x/y"))
        self.assertEqual(self.web("clone", b"q")[2], b"q q z")
        self.assertEqual(self.web("pieces", b"q")[2], b"true")
        status, headers, body = self.web("stream", method="HEAD")
        self.assertEqual((status, headers["content-type"], body), (200, "text/x-pieces", b""))
        status, headers, body = self.web("echo", method="HEAD")
        self.assertEqual((status, headers["content-type"], body), (201, "application/json", b""))

    def test_fails_with_status_500_where_an_endpoint_of_the_web_gives_no_response(self):
        for path in ("none", "twice", "thrown"):
            self.assertEqual(self.web(path)[0], 500)
        with self.assertRaises(http.client.IncompleteRead):
            self.web("cut")


class Types(unittest.TestCase):
    def setUp(self):
        if not (TYPESCRIPT / "complete").exists() or shutil.which("node") is None:
            self.skipTest("needs node, and typescript: tools/fetch_npm.sh typescript")

    def check(self, *arguments):
        return subprocess.run(["node", str(TYPESCRIPT / "_tsc.js"), *arguments], capture_output=True, text=True)

    def test_are_right_in_all_programs(self):
        checked = self.check("-p", str(beside.SOURCE / "sdk" / "javascript" / "tsconfig.json"))
        self.assertEqual(checked.stdout, "")

    def test_are_right_in_the_programs_of_the_guide(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=beside.SOURCE / "build"))
        self.addCleanup(shutil.rmtree, folder)
        guide = (beside.SOURCE / "docs" / "guide" / "scripts.md").read_text()
        programs = re.findall(r"<!-- program (\S+\.ts) -->\n```ts\n(.*?)```", guide, re.S)
        self.assertGreater(len(programs), 2)
        for name, source in programs:
            (folder / name).write_text(source)
        self.assertEqual(self.check_files(*(folder / name for name, _ in programs)).stdout, "")

    def check_files(self, *files):
        types = [str(beside.SOURCE / "sdk" / "javascript" / name) for name in ("quire.d.ts", "quire_raw.d.ts")]
        return self.check("--noEmit", "--strict", "--target", "ES2023", "--lib", "ES2023", "--module", "ESNext",
                          "--moduleResolution", "Bundler", *(str(each) for each in files), *types)

    def test_refuse_what_is_wrong(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=beside.SOURCE / "build"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "a.ts").write_text('import { Context } from "quire";\nimport raw from "quire/raw";\nconst c = await Context.create();\n'
                                     "c.generate({ maxToken: 1 });\nc.user(5);\nraw.context.seqLen();\nexport {};")
        checked = self.check_files(folder / "a.ts")
        lines = [line.split("(")[1].split(",")[0] for line in checked.stdout.splitlines() if "error" in line]
        self.assertEqual(lines, ["4", "5", "6"], checked.stdout)

    def test_give_the_types_of_options_and_of_endpoints(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=beside.SOURCE / "build"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "a.ts").write_text("""import { store, type Endpoint, type Options, type OptionsOf } from "quire";
export const options = {
  prompt: { type: "string", words: true }, name: { type: "string" }, must: { type: "string", required: true },
  n: { type: "integer", required: true }, x: { type: "number", default: 0.5 }, f: { type: "boolean" },
  list: { type: "strings", default: ["a"] }, generate: { type: "generation", default: { maxTokens: 3 } },
} as const satisfies Options;
type Given = OptionsOf<typeof options>;
export const use = (given: Given) => {
  const texts: string[] = [given.prompt, given.must, ...given.list];
  const numbers: number[] = [given.n, given.x, given.generate.maxTokens];
  const name: string | undefined = given.name;
  return [texts, numbers, name, given.f === true];
};
// @ts-expect-error
export const wrong = (given: Given) => given.name.length;
// @ts-expect-error
export const none = (given: Given) => given.nothing;
export const kept = async () => (await store.getJson<{ count: number }>("k")).json.count;
export default {
  async fetch(request, { n }) {
    async function* parts() { yield "a"; yield new Uint8Array(n); }
    return request.method === "GET" ? new Response(parts()) : Response.json(await request.json());
  },
} satisfies Endpoint<Given>;
""")
        self.assertEqual(self.check_files(folder / "a.ts").stdout, "")

    def test_have_a_line_of_documentation_for_each_member(self):
        types = (beside.SOURCE / "sdk" / "javascript" / "quire.d.ts").read_text()
        lines = types[:types.index("// Without an import")].split("\n")
        members = re.compile(r"    (?:static |readonly )*[A-Za-z]+\??(?:<[^(]*>)?[(:]")
        bare = [line for before, line in zip(lines, lines[1:])
                if members.match(line) and not before.strip().endswith("*/") and not re.match(r"    add\(message", line)]
        self.assertEqual(bare, [])


class Generated(unittest.TestCase):
    def test_types_of_the_raw_calls_are_those_of_the_interface(self):
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([sys.executable, str(beside.SOURCE / "tools" / "interface_javascript.py"), "types", file.name], check=True)
            self.assertEqual(pathlib.Path(file.name).read_text(),
                             (beside.SOURCE / "sdk" / "javascript" / "quire_raw.d.ts").read_text(),
                             "run tools/interface_javascript.py types sdk/javascript/quire_raw.d.ts")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1))
        harness.BUILD = BUILD
    if not (BUILD / "runtimes" / "javascript.json").exists():
        print("skipped: this build has no runtime of JavaScript (tools/build_quickjs.sh)")
        sys.exit(0)
    unittest.main()
