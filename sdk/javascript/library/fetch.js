// fetch over the calls of the host: requests go where the launch allows it. There is no cookie, no cache,
// and no form of data but text, JSON and bytes.
import native from "quire:native";
import { abortable } from "quire:library/abort.js";
import { Headers } from "quire:library/headers.js";
import { bodyOf } from "quire:library/message.js";
import { Response, receivedResponse } from "quire:library/response.js";
import { URL } from "quire:library/url.js";

export { Headers, Response };

const { Exchange } = native;

export async function fetch(input, init = {}) {
  const { signal } = init;
  signal?.throwIfAborted();
  const url = new URL(input);
  url.hash = "";
  const [given, type] = bodyOf(init.body, "fetch");
  const body = given ?? new Uint8Array();
  const headers = new Headers(init.headers);
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  const method = String(init.method ?? "GET").toUpperCase();
  if (body.length > 0 && (method === "GET" || method === "HEAD")) {
    throw new TypeError(`fetch: ${method} has no body`);
  }
  let exchange = Exchange.open(method, url.href, [...headers], body.length);
  if (body.length > 0) {
    await abortable(signal, () => exchange.write(body));
    exchange.finish();
  }
  const head = await abortable(signal, () => exchange.head());
  // The exchange goes with the end of the body: an instance may have few of them.
  const read = async () => {
    if (exchange === null) return new Uint8Array();
    const piece = await abortable(signal, () => exchange.read());
    if (piece.length === 0) exchange = null;
    return piece;
  };
  return receivedResponse(head, url.href, read);
}
