// quire-client: launch programs on a Quire server and talk to them, from node and browsers.

export { Client, connect } from "./client.js";
export { ConnectionLost, InstanceFailed, QuireError } from "./errors.js";
export { Instance, ReceivedFile } from "./instance.js";
