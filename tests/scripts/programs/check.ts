// The checks of the programs of these tests.
function shown(value: unknown): string {
  return typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? String(value);
}

export function equal(found: unknown, wanted: unknown, what = "") {
  if (shown(found) !== shown(wanted)) throw new Error(`${what} is ${shown(found)}, not ${shown(wanted)}`);
}

export function holds(condition: unknown, what: string) {
  if (!condition) throw new Error(`it does not hold that ${what}`);
}

// The call fails, at once or by its promise, and its message has all of `parts`.
export async function fails(call: () => unknown, ...parts: string[]) {
  let message: string | undefined;
  try {
    await call();
  } catch (error) {
    const { name, code } = error as { name: string; code?: string };
    message = `${name}: ${code === undefined ? "" : `${code}: `}${(error as Error).message}`;
  }
  if (message === undefined) throw new Error(`${call} did not fail`);
  for (const part of parts) {
    if (!message.includes(part)) throw new Error(`"${message}" does not have "${part}"`);
  }
}
