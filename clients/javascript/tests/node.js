// node.js URL KEY HELLO.WASM: the checks in node; the exit code is 1 where one has failed.

import { readFile } from "node:fs/promises";

import { run } from "./checks.js";

const [url, key, hello] = process.argv.slice(2);
const lines = await run({ url, key, hello: new Uint8Array(await readFile(hello)) });
console.log(lines.join("\n"));
process.exitCode = lines.every((line) => line.startsWith("ok ")) ? 0 : 1;
