// Texts and bytes that the server's side of a call has no memory for are errors that are caught here.
import { http, session, store } from "quire";

const MEBIBYTE = 1 << 20;

async function caught(run) {
  try {
    await run();
    return "nothing";
  } catch (error) {
    return String(error);
  }
}

export default async function program() {
  const text = "x".repeat(72 * MEBIBYTE);
  const bytes = new Uint8Array(40 * MEBIBYTE);
  const calls = {
    send: () => session.send(text),
    bytes: () => session.send(bytes),
    put: () => store.put("key", text),
    post: () => http.post("http://localhost/", text),
  };
  for (const [name, run] of Object.entries(calls)) {
    const thrown = await caught(run);
    if (thrown !== "InternalError: out of memory") session.send(`${name}: ${thrown}`);
  }
  session.send("alive");
  return text;
}
