// Endpoints as the web has them: `export default { fetch(request, options) { return new Response(...) } }`.
// They stand on the classes of the module "quire", which know the client.
import native from "quire:native";
import { Content } from "quire:library/message.js";
import { receivedRequest } from "quire:library/request.js";
import { Response } from "quire:library/response.js";

function described(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value !== "object") return `a ${typeof value}`;
  return `an object of the class ${value.constructor?.name ?? "Object"}`;
}

async function answer(answering, response, wantsBody) {
  if (response.status === 0) throw new TypeError("fetch(request) returned Response.error(), which has no status");
  const headers = [...response.headers];
  if (response.bodyUsed) throw new TypeError("fetch(request) returned a Response whose body was read already");
  const content = response.body;
  const whole = content === null ? new Uint8Array() : Content.wholeOf(content);
  const isEmpty = response.status === 204 || response.status === 304;
  if (whole !== null && !isEmpty && !response.headers.has("content-length")) headers.push(["content-length", `${whole.length}`]);
  answering.begin(response.status, headers);
  // The server leaves a body out of its answer to HEAD; pieces need not even be made.
  if (content !== null && (wantsBody || whole !== null)) {
    for await (const piece of content) await answering.write(piece);
  }
  answering.finish();
}

// A function of (request, response, options), as `export async function serve` is.
native.engine.setEndpointMaker((exported) => async (asked, answering, options) => {
  const request = receivedRequest(asked);
  const response = await exported.fetch(request, options);
  if (!(response instanceof Response)) {
    throw new TypeError(`fetch(request) returned ${described(response)}, not a Response`);
  }
  await answer(answering, response, request.method !== "HEAD");
});
