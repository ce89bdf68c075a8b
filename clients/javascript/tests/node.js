// node.js URL KEY HELLO.WASM ADAPTER.GGUF: the checks in node; the exit code is 1 where one has failed.

import { readFile } from "node:fs/promises";

import { run } from "./checks.js";

const [url, key, ...files] = process.argv.slice(2);
const [hello, adapter] = await Promise.all(
  files.map(async (each) => new Uint8Array(await readFile(each))),
);
const lines = await run({ url, key, hello, adapter });
console.log(lines.join("\n"));
process.exitCode = lines.every((line) => line.startsWith("ok ")) ? 0 : 1;
