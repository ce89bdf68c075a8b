// The types of scripts: the module "quire", and what a script finds without an import. The calls of
// the interface, "quire/raw", are in quire_raw.d.ts, which is written from interface/*.wit.
// docs/guide/scripts.md begins at the beginning.
/// <reference path="./quire_raw.d.ts" />

declare module "quire" {
  type BytesLike = string | Uint8Array | ArrayBuffer;
  type TokenList = ArrayLike<number>;

  /** The error of a call of the host or of the SDK. */
  export class QuireError extends Error {
    private constructor();
    /** The name of the error in interface/types.wit, such as "not-found". */
    readonly code: ErrorCode;
    readonly number: number;
  }
  export type ErrorCode =
    | "invalid-argument" | "out-of-range" | "not-found" | "already-exists" | "not-supported"
    | "permission-denied" | "quota-exceeded" | "no-free-page" | "page-not-full" | "page-committed"
    | "cancelled" | "timeout" | "too-large" | "unavailable" | "io" | "internal" | "corrupted";

  // Options of the command line ---------------------------------------------------------------------

  /** A script may export one as `options`: a member for each. `maxTokens` is `--max-tokens`. */
  export type Options = Record<string, Option>;
  export type Option =
    | { type: "string"; default?: string; description?: string; required?: boolean; words?: boolean }
    | { type: "integer" | "number"; default?: number; minimum?: number; maximum?: number; description?: string }
    | { type: "boolean"; default?: boolean; description?: string }
    | { type: "strings"; default?: string[]; description?: string; required?: boolean }
    | { type: "generation"; default?: GenerateOptions; description?: string };

  // Models ------------------------------------------------------------------------------------------

  export interface ChatMessage {
    role: string;
    content: string;
    [member: string]: unknown;
  }

  export class Model {
    private constructor();
    /** By name; the server's first if it is left out. */
    static open(name?: string): Model;
    static available(): string[];
    readonly name: string;
    readonly traits: string[];
    /** Names of the adapters that this program may use with the model. */
    adapters(): string[];
    traitVersion(trait: string): number;
    readonly pageSize: number;
    readonly contextLength: number;
    readonly vocabularySize: number;
    readonly embeddingWidth: number;
    /** -1: the model has none. */
    readonly beginOfText: number;
    readonly endOfText: number;
    readonly stopTokens: number[];
    readonly handle: number;
    tokenize(text: string, options?: { parseSpecial?: boolean; beginOfText?: boolean }): Promise<number[]>;
    /** Bytes that are not UTF-8 become U+FFFD. */
    detokenize(tokens: TokenList, keepSpecial?: boolean): Promise<string>;
    detokenizeBytes(tokens: TokenList, keepSpecial?: boolean): Promise<Uint8Array>;
    /** The bytes of every token, by id. */
    vocabulary(): Promise<Uint8Array[]>;
    /** 0 text, 1 a byte, 2 added to the vocabulary, 3 special, 4 unused. */
    tokenKinds(first: number, count: number): Promise<number[]>;
    tokenizeChat(messages: ChatMessage[], answerNext?: boolean): Promise<number[]>;
    applyChatTemplate(messages: ChatMessage[], answerNext?: boolean): Promise<string>;
  }

  /** A form that texts must have; compiled once for a model. */
  export class Grammar {
    private constructor();
    static jsonSchema(model: Model, schema: object | boolean | string): Promise<Grammar>;
    static regex(model: Model, expression: string): Promise<Grammar>;
    static lark(model: Model, source: string): Promise<Grammar>;
    /** Whether the text as a whole is one of the grammar's texts, also if no model wrote it. */
    fits(text: string): Promise<boolean>;
    /** A matcher at the beginning of the grammar. */
    matcher(): Matcher;
  }
  /** A position in the texts of a grammar: the tokens so far, and those that may come next. */
  export class Matcher {
    private constructor();
    readonly handle: number;
    fork(): Matcher;
    /** Bit i of word i / 32 is set if token i may come. */
    tokenMask(): Promise<number[]>;
    /** Advances by the tokens. Returns true if the text is complete and nothing may follow. */
    accept(tokens: TokenList): Promise<boolean>;
    rollBack(count: number): Promise<void>;
    /** At most `countMax` (64) tokens of which each is the only one that may come. */
    forced(countMax?: number): Promise<number[]>;
  }

  // Contexts ----------------------------------------------------------------------------------------

  export interface ContextCounters {
    seqLen: number;
    committedPageCount: number;
    workingPageCount: number;
    workingPageTokenCount: number;
    foundTokenCount: number;
  }
  export interface Distribution {
    tokens: number[];
    /** In falling order. */
    probabilities: number[];
  }
  export interface Score {
    /** In nats. */
    logProbability: number;
    tokenCount: number;
    meanLogProbability: number;
  }
  export interface Choice {
    index: number;
    text: string;
    texts: string[];
    scores: Score[];
    /** The probability of each text among these: they add up to 1. */
    probabilities: number[];
  }
  export interface Branch {
    context: Context;
    answer: Generation;
  }
  export interface SaveOptions {
    overwrite?: boolean;
    /** 0: forever. */
    timeToLiveSeconds?: number;
    compute?: boolean;
    turns?: boolean;
  }
  export interface Snapshot {
    name: string;
    createdUnixMs: number;
    /** 0: never. */
    expiresUnixMs: number;
    tokenCount: number;
    bytes: number;
  }
  export type ContextHint = "none" | "will-resume" | "done" | "keep" | "shared-prefix";

  /**
   * A text that the model has read, or is to read, with its keys and values in pages. Calls on one
   * context take effect in the order in which they are made, awaited or not.
   */
  export class Context {
    private constructor();
    static create(model?: Model | string): Promise<Context>;
    static open(name: string, model?: Model | string): Promise<Context>;
    /** open, and the snapshot goes as soon as the script has the context. */
    static take(name: string, model?: Model | string): Promise<Context>;
    static openOrCreate(name: string, model?: Model | string): Promise<Context>;
    static openShared(name: string, model?: Model | string): Promise<Context>;
    static unshare(name: string): Promise<void>;
    static remove(name: string): Promise<void>;
    static delete(name: string): Promise<void>;
    static list(): Promise<{ snapshots: Snapshot[]; bytes: number }>;

    /** Queues tokens. At once: no call on the context may be under way. */
    append(tokens: TokenList): void;
    appendText(text: string): Promise<void>;
    system(content: string): void;
    user(content: string): void;
    assistant(content: string): void;
    add(role: string, content: string): void;
    add(message: ChatMessage): void;
    /** Computes what is queued, up to where the model's answer begins. */
    prefill(): Promise<ContextCounters>;
    /** Computes what is queued; a conversation ends after its last turn. */
    flush(): Promise<ContextCounters>;
    /** The tokens that may follow: the `topK` most probable ones (0: 256). */
    nextDistribution(topK?: number): Promise<Distribution>;
    /** The logits of the whole vocabulary. */
    nextLogits(): Promise<Float32Array>;
    /** A second context with the same content, which shares all pages. */
    fork(): Promise<Context>;
    /** Drops the last tokens within the working tail. */
    truncate(count: number): Promise<ContextCounters>;
    /** Goes back to `length` tokens, over committed pages too. */
    rewind(length: number): Promise<ContextCounters>;
    /** Tokens [begin, end) are not seen by tokens to come. */
    dropRange(begin: number, end: number): Promise<ContextCounters>;
    /** Queues tokens [begin, end) of `source`. */
    splice(source: Context, begin: number, end: number): Promise<ContextCounters>;
    reserveWorkingPages(count: number): Promise<ContextCounters>;
    commitWorkingPages(count: number): Promise<ContextCounters>;
    releaseWorkingPages(count: number): Promise<ContextCounters>;
    truncateWorkingPageTokens(count: number): Promise<ContextCounters>;
    hint(hint: ContextHint, keepSeconds?: number): void;
    /**
     * Tokens appended from now on are computed under this adapter, or under all of these together, each with a factor of its own
     * scale: `use("french")`, `use({ french: 0.5, legal: 1 })`; `use({})` is the model alone. Tokens that were appended before
     * keep theirs. Forks and snapshots keep what is in force. "not-found": `model.adapters()` has no such name.
     */
    use(adapters: string | Record<string, number>): Promise<void>;
    allowBeyondContext(allowed?: boolean): void;
    save(name: string, options?: SaveOptions): Promise<void>;
    share(name: string): Promise<void>;
    /** Makes all that is drawn from now on a text of the grammar. */
    constrain(grammar: Grammar): void;
    unconstrain(): void;
    /** Finds which of `texts` the model would rather write next, each as a whole. */
    choose(texts: string[]): Promise<Choice>;
    score(text: string): Promise<Score>;
    /** `count` ways to go on, side by side; seeds count up from that of the options. */
    sample(count: number, options?: GenerateOptions): Promise<Branch[]>;
    generate(options?: GenerateOptions): Generator;

    /** Computes the queued tokens, with an output for each of the last `count` (1) of them, for calls of lowLevel. */
    forward(count?: number): Promise<{ embeds: Embeds; counters: ContextCounters }>;
    /** Computes the queued tokens and draws the next one, which is not appended. */
    draw(drawer: Drawer): Promise<DrawnToken>;
    /** Draws the next tokens and appends them. `drafts`, at most 64, are a guess that saves passes. */
    verify(drafts: TokenList, drawer: Drawer): Promise<Draws>;
    /** The pages that hold the context's tokens, for lowLevel. They are read-only. */
    pages(): Promise<SharedPages>;
    /** Makes a context of pages that hold the keys and values of `tokens`. */
    static fromPages(model: Model, queue: Queue, pages: HandleList, tokens: TokenList): Promise<Context>;

    readonly queue: Queue;
    readonly seqLen: number;
    readonly pageSize: number;
    readonly committedPageCount: number;
    readonly workingPageCount: number;
    readonly workingPageTokenCount: number;
    readonly pageCount: number;
    readonly foundTokenCount: number;
    readonly tokens: number[];
    readonly tokenCount: number;
    readonly unknownTokenCount: number;
    readonly messages: ChatMessage[];
    readonly model: Model;
    readonly handle: number;
  }

  // Generations -------------------------------------------------------------------------------------

  type Hook<T> = (value: T) => void | Promise<void>;
  export interface GenerateOptions {
    /** 0: the most probable token. */
    temperature?: number;
    topK?: number;
    topP?: number;
    minP?: number;
    typicalP?: number;
    topNSigma?: number;
    xtcProbability?: number;
    xtcThreshold?: number;
    dryMultiplier?: number;
    repetitionPenalty?: number;
    presencePenalty?: number;
    frequencyPenalty?: number;
    penaltyFirst?: number;
    logitBias?: { token: number; bias: number }[];
    seed?: number | bigint;
    maxTokens?: number;
    /** The answer is a text of it; instead of it `schema` (JSON Schema), `regex` or `lark`. */
    grammar?: Grammar;
    schema?: object | boolean | string;
    regex?: string;
    lark?: string;
    topLogprobs?: number;
    stop?: string[];
    cutStopText?: boolean;
    ignoreStopTokens?: boolean;
    keepSpecial?: boolean;
    keptSpecial?: TokenList;
    heal?: boolean;
    /** Changes the distribution before each draw. */
    reshape?: Hook<Distribution>;
    /** Changes the logits of the whole vocabulary before each draw. */
    logits?: Hook<Float32Array>;
    /** Called with each token that the context gets. */
    onToken?: Hook<number>;
    /** Guesses what comes next: at most 64 tokens, which save passes where they are drawn. */
    draft?: (context: Context) => TokenList | undefined | Promise<TokenList | undefined>;
    /** Aborted, the generation is dropped, and its promise rejected. */
    signal?: AbortSignal;
  }
  export interface TokenProbability {
    token: number;
    /** In the full softmax, before temperature and the like. */
    probability: number;
    logProbability: number;
  }
  export interface Piece extends TokenProbability {
    text: string;
    isForced: boolean;
    top: TokenProbability[];
  }
  export type FinishReason = "running" | "stop-token" | "stop-text" | "length" | "grammar" | "stopped";
  export interface Generation {
    text: string;
    /** Without the token that ended it. */
    tokens: number[];
    finishReason: FinishReason;
    logProbability: number;
    meanLogProbability: number;
    drawnCount: number;
  }
  /** Awaited, the whole answer; iterated (`for await`), a piece for each token. */
  export class Generator implements AsyncIterableIterator<Piece>, PromiseLike<Generation> {
    private constructor();
    next(): Promise<IteratorResult<Piece, undefined>>;
    return(value?: undefined): Promise<IteratorResult<Piece, undefined>>;
    [Symbol.asyncIterator](): this;
    then<Ok = Generation, Failed = never>(
      resolve?: ((answer: Generation) => Ok | PromiseLike<Ok>) | null,
      reject?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
    ): Promise<Ok | Failed>;
    collect(): Promise<Generation>;
    /** All of it, while each text is given to `show` as it comes: `stream(session.send)`. */
    stream(show: (text: string) => unknown): Promise<Generation>;
    /** Ends it before its end: the context ends with the last piece that was given. */
    end(): Promise<void>;
    /** The answer so far. */
    readonly answer: Generation;
  }

  // Below generations -------------------------------------------------------------------------------

  type HandleList = ArrayLike<number>;
  export interface DrawnToken extends TokenProbability {
    isForced: boolean;
    top: TokenProbability[];
  }
  export interface Draws {
    /** Why the draws ended, or "none". */
    end: "none" | "stop-token" | "length" | "stopped" | "grammar-complete" | "no-token-allowed";
    tokens: DrawnToken[];
  }
  /** Draws tokens by a rule and the random numbers of a seed, as generate() does, for scripts that ask for each step. */
  export class Drawer {
    private constructor();
    static create(
      rule?: Pick<GenerateOptions, "temperature" | "topK" | "topP" | "minP" | "typicalP" | "topNSigma" | "xtcProbability"
        | "xtcThreshold" | "dryMultiplier" | "repetitionPenalty" | "presencePenalty" | "frequencyPenalty" | "penaltyFirst"
        | "logitBias" | "seed">,
    ): Drawer;
    /** Restricts the draws to the tokens that the matcher allows. */
    constrain(matcher: Matcher): void;
    /** Restricts the draws to tokens whose bit is set: bit i of word i / 32. */
    allow(mask: ArrayLike<number>): void;
    /** Lets each draw report so many of the most probable tokens. */
    reportTop(count: number): void;
  }
  export class Queue {
    private constructor();
    static create(model?: Model | string, priority?: "low" | "normal" | "high"): Queue;
    setPriority(priority: "low" | "normal" | "high"): void;
    synchronize(): Promise<void>;
    readonly handle: number;
  }
  /** Pages of keys and values. They are released with the object. */
  export class KvPages {
    private constructor();
    static allocate(queue: Queue, count: number): KvPages;
    release(): void;
    readonly count: number;
    readonly handles: number[];
  }
  /** Inputs of a pass, or places for its outputs. */
  export class Embeds {
    private constructor();
    static allocate(queue: Queue, count: number): Embeds;
    release(): void;
    readonly count: number;
    readonly handles: number[];
  }
  export interface SharedPages {
    pages: KvPages;
    /** The place of each page; bit i of `written` is set if slot i holds keys and values. */
    uses: { index: number; written: number }[];
  }
  export interface ExportInfo {
    name: string;
    pageCount: number;
    tokenCount: number;
    isPublic: boolean;
    isOwn: boolean;
  }
  /** Pages and embeddings by handle, passes over them, and the outputs of a pass. */
  export const lowLevel: {
    copyKvpage(queue: Queue, source: number, target: number, slots: { sourceSlot?: number; targetSlot?: number; count: number }): Promise<void>;
    exportKvpage(queue: Queue, pages: HandleList, name: string, isPublic?: boolean): Promise<void>;
    /** Without `count`, all pages of the export. */
    importKvpage(queue: Queue, name: string, count?: number): Promise<SharedPages>;
    unexportKvpage(name: string): Promise<void>;
    listExports(): Promise<ExportInfo[]>;
    embedTxt(queue: Queue, embeds: HandleList, tokens: TokenList, positions: TokenList): void;
    forward(
      queue: Queue,
      pass: {
        inputPages?: HandleList;
        inputEmbeds?: HandleList;
        outputPages?: HandleList;
        outputEmbeds?: HandleList;
        /** The slots that each input sees. Without a mask the positions decide. */
        mask?: BytesLike;
        beyondContext?: boolean;
      },
    ): Promise<void>;
    /** One byte for each slot, 0 to hide it from later passes. */
    maskKvpage(queue: Queue, page: number, visible: BytesLike): void;
    getNextDist(queue: Queue, embed: number, topK?: number): Promise<Distribution>;
    getNextDists(queue: Queue, embeds: HandleList, topK?: number, mask?: ArrayLike<number>): Promise<Distribution[]>;
    getLogits(queue: Queue, embed: number): Promise<Float32Array>;
    getLogprobs(queue: Queue, embed: number, tokens: TokenList): Promise<Float32Array>;
    getLogprobsOf(queue: Queue, embeds: HandleList, tokens: TokenList): Promise<Float32Array>;
    /** In nats. */
    getEntropy(queue: Queue, embed: number): Promise<number>;
    getEmbedding(queue: Queue, embed: number): Promise<Float32Array>;
    drawTokens(model: Model, queue: Queue, embeds: HandleList, drawer: Drawer): Promise<Draws>;
  };

  // Tools -------------------------------------------------------------------------------------------

  export interface Tool<Arguments = any> {
    /** Letters, digits, `_` and `-`. */
    name: string;
    description?: string;
    /** A JSON schema of the arguments, an object; `parameters` is another name for it. */
    schema?: object | string;
    parameters?: object | string;
    /** Text, or a value that the model reads as JSON. What it throws, the model reads as an error. */
    run: (args: Arguments) => unknown;
  }
  export interface ToolOptions {
    roundsMax?: number;
    callsMax?: number;
    oneCallATurn?: boolean;
    timeMaxMs?: number;
    resultBytesMax?: number;
    endsAtError?: boolean;
  }
  export interface ToolRun {
    name: string;
    arguments: Record<string, unknown>;
    result?: string;
    error?: string;
  }
  export interface ToolAnswer {
    text: string;
    reasoning: string;
    runs: ToolRun[];
    finishReason: FinishReason;
  }
  export class Tools {
    private constructor();
    /** Describes the tools to the model in `context`. */
    static offer(context: Context, tools: Tool[], options?: ToolOptions): Promise<Tools>;
    /** Lets the model go on, and runs what it calls, until it answers. */
    answer(context: Context, options?: GenerateOptions, show?: (text: string) => unknown): Promise<ToolAnswer>;
    /** Adds a turn in which the model thinks, calls a tool and gets `result`. */
    show(context: Context, thought: string, name: string, args: object, result: string): Promise<void>;
  }

  // Around a model ----------------------------------------------------------------------------------

  export class IncomingFile {
    private constructor();
    readonly name: string;
    readonly mediaType: string;
    readonly fileBytes: number;
    /** The next part; empty at the end. */
    read(): Promise<Uint8Array>;
    readAll(): Promise<Uint8Array>;
  }
  /** The client. */
  export const session: {
    send(message: BytesLike): void;
    sendJson(value: unknown): void;
    /** Error "unavailable": the client has ended its side. */
    receive(): Promise<string>;
    /** Until the client has ended its side. */
    messages(): AsyncGenerator<string, void>;
    sendFile(name: string, mediaType: string, bytes: BytesLike): Promise<void>;
    receiveFile(): Promise<IncomingFile>;
  };

  export interface Miss {
    reason: number;
    field: number;
    position: number;
    tokenCount: number;
    slot: number;
    here: number;
    there: number;
    goneMs: number;
  }
  /** The instance. */
  export const runtime: {
    arguments(): string[];
    version(): string;
    instanceId(): number;
    tenant(): string;
    /** A variable that the operator gives this program (`--env NAME`), such as the key of a service; without it undefined. */
    env(name: string): string | undefined;
    /** A line for each limit: its name, the maximum, what is used. */
    limits(): string;
    misses(): Miss[];
    log(level: "debug" | "info" | "warning" | "error", text: string): void;
    /** Sets the result that the launcher gets when the program ends, as a returned value does. */
    setResult(result: BytesLike): void;
    /** Milliseconds since some moment in the past. */
    now(): number;
    random(count: number): Uint8Array;
  };
  export function sleep(ms: number): Promise<void>;

  export interface StoredValue {
    version: number | bigint;
    bytes: Uint8Array;
    text: string;
  }
  export interface StoredKey {
    name: string;
    version: number | bigint;
    valueBytes: number;
  }
  /** The version that must be there for a change to take effect. */
  export type Expected = "none" | { version: number | bigint };
  /** Small values by key that outlive the program and the server. */
  export const store: {
    /** Error "not-found": there is no value. */
    get(key: string): Promise<StoredValue>;
    /** Gives the new version. Error "already-exists": another version is there. */
    put(key: string, value: BytesLike, expected?: Expected): Promise<number | bigint>;
    getJson(key: string): Promise<{ version: number | bigint; json: any }>;
    putJson(key: string, value: unknown, expected?: Expected): Promise<number | bigint>;
    remove(key: string, expected?: Expected): Promise<void>;
    delete(key: string, expected?: Expected): Promise<void>;
    listKeys(prefix: string, options?: { after?: string; count?: number }): Promise<{ keys: StoredKey[]; hasMore: boolean }>;
    allKeys(prefix: string): Promise<StoredKey[]>;
  };

  export class Subscription implements AsyncIterable<string> {
    private constructor();
    receive(): Promise<string>;
    [Symbol.asyncIterator](): AsyncGenerator<string, void>;
  }
  /** Messages between the programs of one tenant. */
  export const messages: {
    /** Gives how many programs got it. */
    broadcast(topic: string, message: BytesLike): number;
    subscribe(topic: string): Subscription;
    push(name: string, message: BytesLike): void;
    pull(name: string): Promise<string>;
  };

  export interface ChildEnd {
    kind: "finished" | "trapped" | "limit-exceeded" | "killed" | "not-started";
    exitCode: number;
    result: string;
    message: string;
  }
  /** Another instance: of this script, or of a program that the server has. */
  export class Child implements AsyncIterable<string> {
    private constructor();
    /** A child draws on what this script has left; with `sharePercent` (1 to 100) it has that part of it for itself. */
    static launch(options?: { program?: string; arguments?: string[]; sharePercent?: number }): Child;
    send(message: BytesLike): void;
    receive(): Promise<string>;
    wait(): Promise<ChildEnd>;
    kill(): void;
    forward(show: (message: string) => unknown): Promise<void>;
    [Symbol.asyncIterator](): AsyncGenerator<string, void>;
  }

  export interface HttpResponse {
    status: number;
    ok: boolean;
    headers: Headers;
    body: string;
  }
  /** Requests to the outside, where the launch allows them; `fetch` is for the rest. */
  export const http: {
    get(url: string, headers?: Record<string, string>): Promise<HttpResponse>;
    post(url: string, body: BytesLike, headers?: Record<string, string>): Promise<HttpResponse>;
    encodeUrl(text: string): string;
  };
  /** A request and its response, piece by piece. */
  export class Exchange {
    private constructor();
    /** `bodyBytes` -1: the body ends with finish(). */
    static open(method: string, url: string, headers: [string, string][], bodyBytes: number): Exchange;
    write(bytes: BytesLike): Promise<void>;
    finish(): void;
    head(): Promise<{ status: number; headers: [string, string][] }>;
    /** The next piece of the body; empty at its end. */
    read(): Promise<Uint8Array>;
  }

  // Endpoints ---------------------------------------------------------------------------------------

  type HeadersLike = Record<string, string> | [string, string][];
  /** The request that launched the script: `export async function serve(request, response, options)`. */
  export class Request {
    private constructor();
    readonly method: string;
    /** With its query. */
    readonly target: string;
    readonly path: string;
    readonly query: string;
    readonly headers: [string, string][];
    readonly id: string;
    /** The part of the path after `prefix`, decoded. */
    pathAfter(prefix: string): string;
    queryValue(name: string): string | undefined;
    /** The value of the header; `name` is in lower case. */
    header(name: string): string | undefined;
    read(): Promise<Uint8Array>;
    bytes(): Promise<Uint8Array>;
    text(): Promise<string>;
    /** Status 400 if the body is not JSON. */
    json(): Promise<unknown>;
    /** `throw request.refuse(404, "no model x")`: the client gets that status. */
    refuse(status: number, message: string): QuireError;
  }
  export class Response {
    private constructor();
    readonly begun: boolean;
    readonly finished: boolean;
    addHeader(name: string, value: string): void;
    begin(status: number, headers?: HeadersLike): void;
    write(part: BytesLike): Promise<void>;
    finish(): void;
    send(status: number, body: BytesLike, headers?: HeadersLike): Promise<void>;
    json(status: number, value: unknown, headers?: HeadersLike): Promise<void>;
    error(status: number, message: string): Promise<void>;
    /** Begins a response of events (Server-Sent Events). */
    events(headers?: HeadersLike): EventStream;
  }
  export class EventStream {
    private constructor();
    /** A text as it is, anything else as JSON. Ready once there is room for another. */
    send(data: unknown, event?: { name?: string; id?: string }): Promise<void>;
    comment(text: string): Promise<void>;
    finish(): void;
  }
}

// Without an import ---------------------------------------------------------------------------------

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  dir(value: unknown): void;
  table(value: unknown): void;
  trace(...values: unknown[]): void;
  assert(holds: unknown, ...values: unknown[]): void;
  count(name?: string): void;
  countReset(name?: string): void;
  time(name?: string): void;
  timeLog(name?: string): void;
  timeEnd(name?: string): void;
  group(...values: unknown[]): void;
  groupEnd(): void;
}
/** Lines of the program's log. */
declare const console: Console;
declare const performance: { now(): number; readonly timeOrigin: number };
declare const crypto: {
  getRandomValues<T extends ArrayBufferView>(view: T): T;
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
};
declare function setTimeout<A extends unknown[]>(work: (...values: A) => unknown, ms?: number, ...values: A): number;
declare function setInterval<A extends unknown[]>(work: (...values: A) => unknown, ms?: number, ...values: A): number;
declare function clearTimeout(id: number | undefined): void;
declare function clearInterval(id: number | undefined): void;
declare function queueMicrotask(work: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
declare class Event {
  constructor(type: string, options?: { cancelable?: boolean });
  readonly type: string;
  readonly cancelable: boolean;
  readonly target: EventTarget | null;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
}
type EventListener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown };
declare class EventTarget {
  addEventListener(type: string, listener: EventListener, options?: { once?: boolean } | boolean): void;
  removeEventListener(type: string, listener: EventListener): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  static timeout(ms: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: Event) => unknown) | null;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}
/** UTF-8. */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Iterable<readonly [string, string]> | Record<string, string>);
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(work: (value: string, name: string, all: URLSearchParams) => void, self?: unknown): void;
  readonly size: number;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}
declare class URL {
  constructor(text: string | URL, base?: string | URL);
  static canParse(text: string | URL, base?: string | URL): boolean;
  static parse(text: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly host: string;
  readonly hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class Headers implements Iterable<[string, string]> {
  constructor(init?: Iterable<readonly [string, string]> | Record<string, string>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  forEach(work: (value: string, name: string, all: Headers) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
/** The result of fetch. */
declare class Response {
  private constructor();
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly headers: Headers;
  readonly url: string;
  readonly bodyUsed: boolean;
  readonly body: AsyncIterable<Uint8Array> & {
    getReader(): { read(): Promise<IteratorResult<Uint8Array, undefined>>; releaseLock(): void };
  };
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
  json(): Promise<any>;
}
/** Requests go where the launch allows them (`quire run --allow-http`). */
declare function fetch(
  url: string | URL,
  init?: {
    method?: string;
    headers?: Iterable<readonly [string, string]> | Record<string, string>;
    body?: string | ArrayBuffer | ArrayBufferView | URLSearchParams | null;
    signal?: AbortSignal;
  },
): Promise<Response>;
