#!/usr/bin/env bash
# sampling_in_wasm.sh MODULE: runs the module under node; 77 (skipped) where there is no node.
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "skipped: no node here to run $1 (the programs under inferlets/ use the same header)"
  exit 77
fi
node --input-type=module - "$1" <<'SCRIPT'
import fs from 'node:fs';
const nothing = new Proxy({}, { get: () => () => 0 });
const module = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const imports = Object.fromEntries(
  WebAssembly.Module.imports(module).map((each) => [each.module, nothing]));
const instance = new WebAssembly.Instance(module, imports);
instance.exports._initialize?.();
const differs = instance.exports.digest_differs();
console.log(differs === 0 ? 'the same draws' : 'other draws than the native build');
process.exit(differs);
SCRIPT
