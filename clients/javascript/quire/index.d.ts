// Types of quire-client. What fails throws, or rejects with, a QuireError unless it says otherwise.

/** A value that is sent as bytes: a text is sent as UTF-8. */
export type Bytes = string | Uint8Array | ArrayBuffer | ArrayBufferView | Blob;

export interface ConnectOptions {
  /** For a server that wants one (`quire serve --keys`). */
  key?: string;
  /** Seconds until opening is given up; 10. */
  openSeconds?: number;
  /** Bytes of running instances that may wait to be received; 64 MiB. More end the connection. */
  bufferBytesMax?: number;
  /** In place of the global one, as that of the package `ws`. */
  WebSocket?: unknown;
}

/**
 * A client that is connected. ConnectionLost: nothing listens at `url`, or it refuses this client.
 */
export function connect(url?: string, options?: ConnectOptions): Promise<Client>;

/** At most what the server allows; without one, the server's own. Times are in nanoseconds. */
export interface Limits {
  memoryBytesMax?: number;
  cpuNsMax?: number;
  cpuNsBetweenWaitsMax?: number;
  pageCountMax?: number;
  outputBytesMax?: number;
}

export interface LogLine {
  source: "log" | "stdout" | "stderr";
  level: "debug" | "info" | "warning" | "error";
  line: string;
}

export interface AttachOptions {
  /** Detaches the client that is attached, whose waiting calls fail with code "unavailable". */
  take?: boolean;
  /** Without it, warnings and errors go to `console.error`. */
  onLog?: (line: LogLine) => void;
}

export interface StartOptions {
  limits?: Limits;
  tenant?: number;
  /** Seconds from now: of the work of one tenant, the earlier deadline goes first. */
  deadline?: number;
  /** Below 2 ** 53. The program's random numbers are the same in each launch with this seed. */
  seed?: number;
}

export interface LaunchOptions extends StartOptions {
  /** Without it, warnings and errors go to `console.error`. */
  onLog?: (line: LogLine) => void;
  /** If true, the instance goes on when this client leaves. */
  detached?: boolean;
  /** Stops the instance when it is aborted; before that launch() rejects with its reason. */
  signal?: AbortSignal;
}

export interface ProgramState {
  /** "sha256:..."; undefined where no program has the name that was asked for. */
  program: string | undefined;
  state: "unknown" | "partial" | "compiling" | "ready";
  receivedBytes: number;
}

export interface InstanceInfo {
  instance: number;
  name: string;
  program: string;
  detached: boolean;
}

export interface ServerStatus {
  version: string;
  models: string[];
  instanceCount: number;
  instanceCountMax: number;
  connectionCount: number;
  programCount: number;
  pageCount: number;
  pageCountFree: number;
  /** As the protocol spells it; where it was asked for. */
  detail?: unknown;
  [member: string]: unknown;
}

/** An adapter (LoRA) that the server has loaded. */
export interface Adapter {
  name: string;
  model: string;
  /** "sha256:..." of its matrices. */
  digest: string;
  rankMax: number;
  parameterCount: number;
  /** The memory that it takes. */
  bytes: number;
  /** A path, or "upload"; empty: this client may not know it. */
  source: string;
  /** True if it belongs to its tenant, and not to the server. */
  own: boolean;
  inUse: boolean;
}

export class Client {
  private constructor();
  /** The server has said that it is shutting down. */
  readonly isShuttingDown: boolean;
  /** Instances that are not detached are stopped after the server's grace time. */
  close(): Promise<void>;
  findProgram(program: string): Promise<ProgramState>;
  /** Brings a module to the server, unless it is there: its "sha256:...". No path. */
  upload(source: Exclude<Bytes, string>, name?: string): Promise<string>;
  /** Code "already-exists": the operator of the server gave this name to another program. */
  nameProgram(program: string, name: string): Promise<void>;
  /**
   * `files` has the content of each file by its name: adapter_config.json and
   * adapter_model.safetensors, or one that ends in .gguf. A name is NAME, or MODEL:NAME for another
   * than the first model. Code "already-exists": another adapter has the name.
   */
  uploadAdapter(name: string, files: Record<string, Bytes>): Promise<Adapter>;
  /** The path lies below the folder of the server's --adapters. */
  addAdapter(name: string, path: string): Promise<Adapter>;
  /** Programs that use it go on. Code "not-found": this client's tenant has none of that name. */
  removeAdapter(name: string): Promise<void>;
  /** The adapters that this client's programs may use; of very many the first 200. */
  listAdapters(): Promise<Adapter[]>;
  /**
   * By digest or name. Code "unavailable", with retryAfter: the server is full. TypeError: `args`
   * is not a list of texts.
   */
  launch(program: string, args?: Iterable<string>, options?: LaunchOptions): Promise<Instance>;
  /**
   * As launch(), without attaching: the instance goes on by itself, and all of its output waits for
   * the client that attaches.
   */
  start(program: string, args?: Iterable<string>, options?: StartOptions): Promise<InstanceInfo>;
  /**
   * The instance of that name, or with that number if the key has the right see-tenant or operate.
   * Code "already-exists": another client is attached, and `take` is not given.
   */
  attach(instance: string | number, options?: AttachOptions): Promise<Instance>;
  /**
   * Sends to an instance of another client, by its number. The key needs the right see-tenant or
   * operate.
   */
  send(instance: number, message: Bytes): Promise<void>;
  /** As send(): no more messages and files go to the instance. */
  closeInput(instance: number): Promise<void>;
  /** As send(): stops the instance, also one that a program or a request launched. */
  abort(instance: number): Promise<void>;
  /** The instances of this connection. */
  list(): Promise<{ instances: InstanceInfo[]; leftOutCount: number }>;
  status(options?: { detail?: boolean }): Promise<ServerStatus>;
}

/** One running program. Iterating gives its messages, until it has ended. */
export class Instance implements AsyncIterable<Uint8Array> {
  private constructor();
  readonly info: InstanceInfo;
  /** By it any connection attaches: keep it as one keeps a password. */
  readonly name: string;
  /** Code "quota-exceeded", with retryAfter: the program has not received enough of them. */
  send(message: Bytes): Promise<void>;
  /** No more messages and files: the program's receive() then says so. */
  closeInput(): Promise<void>;
  /** The name and type of a File count where none are given. */
  sendFile(source: Bytes, name?: string, mediaType?: string): Promise<void>;
  /** Stops the program; its end says "killed". */
  abort(): Promise<void>;
  /** As abort(); nothing where it has ended, or this client has detached from it. */
  abortIfRunning(): Promise<void>;
  /** The program goes on without a client; attach(name) finds it again. */
  detach(): Promise<void>;
  /** The next message. Code "not-found": it has ended, and all were received. */
  receive(): Promise<Uint8Array>;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
  /** The messages as texts, also if a character is divided between two messages. */
  texts(): AsyncIterable<string>;
  /** The next file, which may still be on its way. Code "not-found": as receive(). */
  receiveFile(): Promise<ReceivedFile>;
  /** Waits for the end. Messages and files stay to be received. */
  result(): Promise<End>;
}

/** A file that a program sends: read it whole, or iterate over its parts as they come. */
export class ReceivedFile implements AsyncIterable<Uint8Array> {
  private constructor();
  readonly name: string;
  readonly mediaType: string;
  readonly fileBytes: number;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
  /** All that was not read yet. Code "unavailable": the program gave the file up. */
  read(): Promise<Uint8Array>;
}

/** How an instance ended, and what it used. Times are in nanoseconds. */
export interface End {
  readonly kind: "finished" | "trapped" | "limit-exceeded" | "killed" | "not-started";
  readonly exitCode: number;
  /** Why it did not end well; of a program that returned an error, that error. */
  readonly message: string;
  /** The one that was exceeded; else empty. */
  readonly limit: string;
  /** The result that the program set last. */
  readonly result: Uint8Array;
  /** The result as text. TypeError: it is not UTF-8. */
  readonly text: string;
  readonly ok: boolean;
  readonly durationNs: number;
  /** After the launch; 0: it sent none. */
  readonly firstMessageNs: number;
  readonly firstTokenNs: number;
  readonly cpuNs: number;
  readonly askedTokenCount: number;
  readonly computedTokenCount: number;
  readonly foundTokenCount: number;
  readonly pageCountMax: number;
  /** Tokens of snapshots that it opened. Older servers report neither this nor the next four. */
  readonly openedTokenCount?: number;
  readonly childrenAskedTokenCount?: number;
  readonly childrenComputedTokenCount?: number;
  readonly childrenFoundTokenCount?: number;
  readonly childrenOpenedTokenCount?: number;
  /** Itself, or InstanceFailed where the program did not end well. */
  check(): End;
}

export class QuireError extends Error {
  constructor(code: string, message: string, retryAfter?: number);
  /** The protocol's word, as "not-found". */
  readonly code: string;
  /** In seconds: the same request may succeed after that time. */
  readonly retryAfter: number | undefined;
}

/** The connection is over, or never came to be. */
export class ConnectionLost extends QuireError {
  constructor(message: string, retryAfter?: number);
}

/** A program did not end well. */
export class InstanceFailed extends QuireError {
  constructor(message: string, end: End);
  readonly end: End;
}
