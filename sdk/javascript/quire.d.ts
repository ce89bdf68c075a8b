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
    /** The number of the error in interface/types.wit. */
    readonly number: number;
  }
  /** The names of errors, as interface/types.wit has them. */
  export type ErrorCode =
    | "invalid-argument" | "out-of-range" | "not-found" | "already-exists" | "not-supported"
    | "permission-denied" | "quota-exceeded" | "no-free-page" | "page-not-full" | "page-committed"
    | "cancelled" | "timeout" | "too-large" | "unavailable" | "io" | "internal" | "corrupted";

  // Options of the command line ---------------------------------------------------------------------

  /** A script may export one as `options`: a member for each. `maxTokens` is `--max-tokens`. */
  export type Options = Record<string, Option>;
  /** An option of the command line. Members that its type does not have are refused. */
  export type Option =
    | { type: "string"; default?: string; description?: string; required?: boolean; words?: boolean }
    | { type: "integer" | "number"; default?: number; minimum?: number; maximum?: number; description?: string; required?: boolean }
    | { type: "boolean"; default?: boolean; description?: string }
    | { type: "strings"; default?: readonly string[]; description?: string; required?: boolean }
    | { type: "generation"; default?: GenerateOptions };
  /**
   * The values that the program gets for the options that it declares: `program({ prompt }: OptionsOf<typeof options>)`, where
   * `options` ends with `as const`. A text without a default that need not be given may be undefined.
   */
  export type OptionsOf<Declared> = { -readonly [Name in keyof Declared]: ValueOf<Declared[Name]> };
  type ValueOf<Declared> = Declared extends { type: "string" }
    ? Declared extends { default: string } | { required: true } | { words: true } ? string : string | undefined
    : Declared extends { type: "integer" | "number" } ? number
    : Declared extends { type: "boolean" } ? boolean
    : Declared extends { type: "strings" } ? string[]
    : Declared extends { type: "generation" } ? GenerationOfOptions
    : never;
  /** The value of an option of the type "generation": its default's members, and each that the command line can set. */
  export type GenerationOfOptions = GenerateOptions & Required<
    Pick<GenerateOptions, "maxTokens" | "temperature" | "topK" | "topP" | "minP" | "seed" | "stop" | "ignoreStopTokens">
  >;

  // Models ------------------------------------------------------------------------------------------

  /** A turn of a conversation. */
  export interface ChatMessage {
    /** "system", "user", "assistant" or "tool", or what else the model's template knows. */
    role: string;
    /** The text of the turn. */
    content: string;
    [member: string]: unknown;
  }

  /** A model that the server has. */
  export class Model {
    private constructor();
    /** By name; the server's first if it is left out. */
    static open(name?: string): Model;
    /** The names of the models that the server has. */
    static available(): string[];
    /** The name by which the server knows the model. */
    readonly name: string;
    /** The kinds of calls that the model can serve, such as "tokenize" and "forward". */
    readonly traits: string[];
    /** Names of the adapters that this program may use with the model. */
    adapters(): string[];
    /** The version of a trait. Error "not-supported": the model does not have it. */
    traitVersion(trait: string): number;
    /** How many tokens a page of keys and values holds. */
    readonly pageSize: number;
    /** How many tokens apart two tokens may be that see each other. */
    readonly contextLength: number;
    /** How many tokens there are: ids are less. */
    readonly vocabularySize: number;
    /** How many numbers an output embedding has. */
    readonly embeddingWidth: number;
    /** -1: the model has none. */
    readonly beginOfText: number;
    /** The token that ends a text; -1: the model has none. */
    readonly endOfText: number;
    /** The tokens that end a text or a turn. */
    readonly stopTokens: number[];
    /** The handle for calls of "quire/raw". */
    readonly handle: number;
    /**
     * The tokens of a text. `parseSpecial` (true): "<|im_end|>" in it becomes its token. `beginOfText` (false): they begin
     * with the token of that name.
     */
    tokenize(text: string, options?: { parseSpecial?: boolean; beginOfText?: boolean }): Promise<number[]>;
    /** Bytes that are not UTF-8 become U+FFFD. */
    detokenize(tokens: TokenList, keepSpecial?: boolean): Promise<string>;
    /** The same as bytes, which need not be whole UTF-8. Special tokens are left out, unless `keepSpecial` is true. */
    detokenizeBytes(tokens: TokenList, keepSpecial?: boolean): Promise<Uint8Array>;
    /** The bytes of every token, by id. */
    vocabulary(): Promise<Uint8Array[]>;
    /** 0 text, 1 a byte, 2 added to the vocabulary, 3 special, 4 unused. */
    tokenKinds(first: number, count: number): Promise<number[]>;
    /**
     * The tokens of a conversation, as the model's template writes it. `answerNext` (true): they end where the model's
     * answer begins.
     */
    tokenizeChat(messages: ChatMessage[], answerNext?: boolean): Promise<number[]>;
    /** The same as a text. */
    applyChatTemplate(messages: ChatMessage[], answerNext?: boolean): Promise<string>;
  }

  /** A form that texts must have; compiled once for a model. */
  export class Grammar {
    private constructor();
    /**
     * Texts that are JSON and fit the schema. Error "invalid-argument" says where it is wrong, "not-supported" what is not
     * supported.
     */
    static jsonSchema(model: Model, schema: object | boolean | string): Promise<Grammar>;
    /** Texts that match the expression as a whole. */
    static regex(model: Model, expression: string): Promise<Grammar>;
    /** Texts of a grammar in Lark's notation. */
    static lark(model: Model, source: string): Promise<Grammar>;
    /** Whether the text as a whole is one of the grammar's texts, also if no model wrote it. */
    fits(text: string): Promise<boolean>;
    /** A matcher at the beginning of the grammar. */
    matcher(): Matcher;
  }
  /** A position in the texts of a grammar: the tokens so far, and those that may come next. */
  export class Matcher {
    private constructor();
    /** The handle for calls of "quire/raw". */
    readonly handle: number;
    /** A second matcher at the same position. */
    fork(): Matcher;
    /** Bit i of word i / 32 is set if token i may come. */
    tokenMask(): Promise<number[]>;
    /** Advances by the tokens. Returns true if the text is complete and nothing may follow. */
    accept(tokens: TokenList): Promise<boolean>;
    /** Takes the last `count` tokens back. */
    rollBack(count: number): Promise<void>;
    /** At most `countMax` (64) tokens of which each is the only one that may come. */
    forced(countMax?: number): Promise<number[]>;
  }

  // Contexts ----------------------------------------------------------------------------------------

  /** The counts of a context after a change. */
  export interface ContextCounters {
    /** Tokens whose keys and values are written; queued ones are not among them. */
    seqLen: number;
    /** Full pages, which other contexts may share. */
    committedPageCount: number;
    /** Pages that are still written to. */
    workingPageCount: number;
    /** Tokens in the working pages. */
    workingPageTokenCount: number;
    /** Tokens that were found in the cache and not computed. */
    foundTokenCount: number;
  }
  /** The tokens that may follow, and how probable they are. */
  export interface Distribution {
    /** Ids, the most probable token first. */
    tokens: number[];
    /** In falling order. */
    probabilities: number[];
  }
  /** How probable a text is. */
  export interface Score {
    /** In nats. */
    logProbability: number;
    /** How many tokens the text has. */
    tokenCount: number;
    /** The mean of a token, in nats. */
    meanLogProbability: number;
  }
  /** The one of several texts that the model would rather write. */
  export interface Choice {
    /** The index of the text that the model would rather write. */
    index: number;
    /** That text. */
    text: string;
    /** All the texts that were given. */
    texts: string[];
    /** The score of each text. */
    scores: Score[];
    /** The probability of each text among these: they add up to 1. */
    probabilities: number[];
  }
  /** A way to go on. */
  export interface Branch {
    /** A fork that holds the answer. */
    context: Context;
    /** The answer that was generated in it. */
    answer: Generation;
  }
  /** How a context is saved. */
  export interface SaveOptions {
    /** Replaces a snapshot of the same name (false: error "already-exists"). */
    overwrite?: boolean;
    /** 0: forever. */
    timeToLiveSeconds?: number;
    /** Computes what is queued first, so that opening it computes nothing (true). */
    compute?: boolean;
    /** Keeps the turns of the conversation too, so that `messages` has them again (true). */
    turns?: boolean;
  }
  /** A saved context. */
  export interface Snapshot {
    /** The name by which it is opened. */
    name: string;
    /** When it was saved, in milliseconds since 1970. */
    createdUnixMs: number;
    /** 0: never. */
    expiresUnixMs: number;
    /** How many tokens it holds. */
    tokenCount: number;
    /** How much of the store it takes. */
    bytes: number;
  }
  /** The future of a context. */
  export type ContextHint = "none" | "will-resume" | "done" | "keep" | "shared-prefix";

  /**
   * A text that the model has read, or is to read, with its keys and values in pages. Calls on one
   * context take effect in the order in which they are made, awaited or not.
   */
  export class Context {
    private constructor();
    /** An empty context of a model, or of the server's first one. */
    static create(model?: Model | string): Promise<Context>;
    /** Opens a snapshot that save() made. Error "not-found": there is none of that name. */
    static open(name: string, model?: Model | string): Promise<Context>;
    /** open, and the snapshot goes as soon as the script has the context. */
    static take(name: string, model?: Model | string): Promise<Context>;
    /** The snapshot if there is one, else an empty context. */
    static openOrCreate(name: string, model?: Model | string): Promise<Context>;
    /** A context that shares what share() published under the name. */
    static openShared(name: string, model?: Model | string): Promise<Context>;
    /** Ends what share() began. Contexts that were opened keep their content. */
    static unshare(name: string): Promise<void>;
    /** Removes a snapshot. Error "not-found": there is none of that name. */
    static remove(name: string): Promise<void>;
    /** Another name of remove(). */
    static delete(name: string): Promise<void>;
    /** The snapshots of the tenant, and the bytes that they take together. */
    static list(): Promise<{ snapshots: Snapshot[]; bytes: number }>;

    /** Queues tokens. At once: no call on the context may be under way. */
    append(tokens: TokenList): void;
    /** Queues text. Special tokens in it are parsed; an empty context begins with the model's begin-of-text token. */
    appendText(text: string): Promise<void>;
    /** Queues a turn of the role "system". */
    system(content: string): void;
    /** Queues a turn of the role "user". */
    user(content: string): void;
    /** Queues a turn of the role "assistant". */
    assistant(content: string): void;
    /** Queues a turn of any role, such as "tool". */
    add(role: string, content: string): void;
    /** Queues a turn of any role, such as "tool". */
    add(message: ChatMessage): void;
    /** Computes what is queued, up to where the model's answer begins. */
    prefill(): Promise<ContextCounters>;
    /** Computes what is queued; a conversation ends after its last turn. */
    flush(): Promise<ContextCounters>;
    /** The tokens that may follow: the `topK` most probable ones (0: 256). */
    nextDistribution(topK?: number): Promise<Distribution>;
    /**
     * The logits of the whole vocabulary, in the order of ids. A loop over 49,152 of them takes about 10 ms in a script:
     * nextDistribution() and `logitBias` cost far less.
     */
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
    /**
     * Allocates `count` more working pages, so that what is computed next waits for none. Error "no-free-page": the pool has
     * fewer.
     */
    reserveWorkingPages(count: number): Promise<ContextCounters>;
    /** Commits the first `count` working pages. Error "page-not-full": one of them is not full. */
    commitWorkingPages(count: number): Promise<ContextCounters>;
    /** Frees the last `count` working pages with the tokens that are written to them; queued tokens stay. */
    releaseWorkingPages(count: number): Promise<ContextCounters>;
    /** Drops the last `count` tokens of the working pages. */
    truncateWorkingPageTokens(count: number): Promise<ContextCounters>;
    /** Says what will become of the context, for the time when its pages are no longer held. `keepSeconds` is at most 3,600. */
    hint(hint: ContextHint, keepSeconds?: number): void;
    /**
     * Tokens appended from now on are computed under this adapter, or under all of these together, each with a factor of its own
     * scale: `use("french")`, `use({ french: 0.5, legal: 1 })`; `use({})` is the model alone. Tokens that were appended before
     * keep theirs. Forks and snapshots keep what is in force. "not-found": `model.adapters()` has no such name.
     */
    use(adapters: string | Record<string, number>): Promise<void>;
    /** Lets tokens be further from their oldest visible token than the model's context length, whose answers may be poor. */
    allowBeyondContext(allowed?: boolean): void;
    /**
     * Marks the end of the tokens that the context has, queued ones and turns included: the program will come back there. A model
     * with the trait "states" keeps its state. With other models it has no effect.
     */
    mark(): Promise<void>;
    /** Keeps the context under a name, over the end of the program and of the server. */
    save(name: string, options?: SaveOptions): Promise<void>;
    /** Lets other programs of the tenant open the content under this name while the server runs. */
    share(name: string): Promise<void>;
    /** Makes all that is drawn from now on a text of the grammar. */
    constrain(grammar: Grammar): void;
    /** Ends what constrain() began. */
    unconstrain(): void;
    /** Finds which of `texts` the model would rather write next, each as a whole. */
    choose(texts: string[]): Promise<Choice>;
    /** How probable the model finds the text as what follows. */
    score(text: string): Promise<Score>;
    /** `count` ways to go on, side by side; seeds count up from that of the options. */
    sample(count: number, options?: GenerateOptions): Promise<Branch[]>;
    /** Lets the model go on. It begins when the answer is first asked for. */
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

    /** The queue of its commands. */
    readonly queue: Queue;
    /** Tokens whose keys and values are written; queued ones are not among them. */
    readonly seqLen: number;
    /** How many tokens a page holds. */
    readonly pageSize: number;
    /** Full pages, which other contexts may share. */
    readonly committedPageCount: number;
    /** Pages that are still written to. */
    readonly workingPageCount: number;
    /** Tokens in the working pages. */
    readonly workingPageTokenCount: number;
    /** All pages, committed and working. */
    readonly pageCount: number;
    /** Tokens that were found in the cache and not computed. */
    readonly foundTokenCount: number;
    /** The tokens that the program knows: all of them, unless it opened a snapshot. */
    readonly tokens: number[];
    /** All tokens, queued and dropped ones too. */
    readonly tokenCount: number;
    /** How many tokens at the beginning only the server knows, as after a snapshot was opened. */
    readonly unknownTokenCount: number;
    /** The turns of the conversation. */
    readonly messages: ChatMessage[];
    /** The model that reads it. */
    readonly model: Model;
    /** The handle for calls of "quire/raw". */
    readonly handle: number;
  }

  // Generations -------------------------------------------------------------------------------------

  type Hook<T> = (value: T) => void | Promise<void>;
  /** How a text is generated. The defaults take the most probable token each time. */
  export interface GenerateOptions {
    /** 0: the most probable token. */
    temperature?: number;
    /** Draws among so many of the most probable tokens; 0 (default): among all. */
    topK?: number;
    /** 0 to 1: draws among the fewest tokens that hold this share; 1 (default): among all. */
    topP?: number;
    /** 0 to 1: draws among tokens of at least this share of the most probable one; 0 (default): among all. */
    minP?: number;
    /** 0 to 1: draws among the most typical tokens that hold this share; 1 (default): among all. */
    typicalP?: number;
    /** Draws among logits at most so many standard deviations below the largest; 0 (default): among all. */
    topNSigma?: number;
    /** 0 to 1: how often the most probable choices are left out; 0 (default): never. */
    xtcProbability?: number;
    /** 0 to 1: a choice of xtcProbability is a token that holds at least this share (0.1). */
    xtcThreshold?: number;
    /** The penalty for a token that continues a repetition; 0 (default): none. */
    dryMultiplier?: number;
    /** Divides positive logits of tokens that came, and multiplies negative ones; 1 (default) changes nothing. */
    repetitionPenalty?: number;
    /** Subtracted from the logit of each token that came (0). */
    presencePenalty?: number;
    /** Subtracted from the logit of a token as often as it came (0). */
    frequencyPenalty?: number;
    /** presencePenalty and frequencyPenalty count the tokens of the context from this one on (0). */
    penaltyFirst?: number;
    /** Added to the logits of tokens, before the grammar acts. */
    logitBias?: { token: number; bias: number }[];
    /** Another seed draws other tokens (0). */
    seed?: number | bigint;
    /** How many tokens at most (128). */
    maxTokens?: number;
    /** The answer is a text of it; instead of it `schema` (JSON Schema), `regex` or `lark`. */
    grammar?: Grammar;
    /** A JSON schema that the answer fits. */
    schema?: object | boolean | string;
    /** An expression that the answer matches as a whole. */
    regex?: string;
    /** A grammar in Lark's notation. */
    lark?: string;
    /** So many of the most probable tokens come with each piece, at most 64 (0). */
    topLogprobs?: number;
    /** Texts that end it; they are not shown. */
    stop?: string[];
    /** The context ends with what is shown, and not with the text that ended it (false). */
    cutStopText?: boolean;
    /** Goes on past tokens that end a text or a turn (false). */
    ignoreStopTokens?: boolean;
    /** Special tokens are part of the text (false). */
    keepSpecial?: boolean;
    /** These special tokens are part of the text, where the others are not. */
    keptSpecial?: TokenList;
    /** Lets the last token of the prompt become a longer one that begins with its bytes (false). It excludes a grammar. */
    heal?: boolean;
    /** Changes the distribution before each draw. */
    reshape?: Hook<Distribution>;
    /**
     * Changes the logits of the whole vocabulary before each draw. A loop over 49,152 of them takes about 10 ms in a
     * script, as long as a token of a small model: `logitBias`, `reshape` and a grammar cost far less.
     */
    logits?: Hook<Float32Array>;
    /** Called with each token that the context gets. */
    onToken?: Hook<number>;
    /**
     * Guesses what comes next: at most 64 tokens, which save passes where they are drawn. A function of yours, or
     * draftsFrom(context), which guesses from the text of the context.
     */
    draft?: PromptDrafts | ((context: Context) => TokenList | undefined | Promise<TokenList | undefined>);
    /** Aborted, the generation is dropped, and its promise rejected. */
    signal?: AbortSignal;
  }
  /** Proposes text that stood in the context before; see draftsFrom(). */
  export class PromptDrafts {
    private constructor();
    /** Adds tokens that the answer may repeat, as it may those of the context: what the program expects. Gives itself. */
    predict(tokens: TokenList): PromptDrafts;
  }
  /**
   * Drafts from the text of a context, for the option `draft` of a generation that goes on with it. The last tokens are
   * looked up in the context, and what followed their longest match is proposed. A model that repeats parts of its prompt,
   * as in an edit of a file, then needs a fraction of the passes. What is drawn does not change.
   */
  export function draftsFrom(context: Context): PromptDrafts;
  /** A token, and how probable the model found it. */
  export interface TokenProbability {
    /** The id. */
    token: number;
    /** In the full softmax, before temperature and the like. */
    probability: number;
    /** The logarithm of the probability, in nats. */
    logProbability: number;
  }
  /** A token of a generation, and the text that it makes known. */
  export interface Piece extends TokenProbability {
    /** The text that may be shown now; often it is empty, as half a character or a possible stop text is held back. */
    text: string;
    /** The grammar left no choice. */
    isForced: boolean;
    /** The most probable tokens in its place, as `topLogprobs` asks for. */
    top: TokenProbability[];
  }
  /** Why a generation ended. */
  export type FinishReason = "running" | "stop-token" | "stop-text" | "length" | "grammar" | "stopped";
  /** The answer of a generation. */
  export interface Generation {
    /** The text that was shown. */
    text: string;
    /** Without the token that ended it. */
    tokens: number[];
    /** Why it ended. */
    finishReason: FinishReason;
    /** The log-probability of all drawn tokens together, in nats. */
    logProbability: number;
    /** The mean of a drawn token, in nats; 0 if none was drawn. */
    meanLogProbability: number;
    /** How many tokens were drawn, with the one that ended it. */
    drawnCount: number;
  }
  /** Awaited, the whole answer; iterated (`for await`), a piece for each token. */
  export class Generator implements AsyncIterableIterator<Piece>, PromiseLike<Generation> {
    private constructor();
    /** The next token and the text that it makes known. */
    next(): Promise<IteratorResult<Piece, undefined>>;
    /** As end(); `for await` calls it when the loop is left. */
    return(value?: undefined): Promise<IteratorResult<Piece, undefined>>;
    [Symbol.asyncIterator](): this;
    /** As collect(), for `await`. */
    then<Ok = Generation, Failed = never>(
      resolve?: ((answer: Generation) => Ok | PromiseLike<Ok>) | null,
      reject?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
    ): Promise<Ok | Failed>;
    /** The whole answer, without showing anything. */
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
  /** A token that was drawn. */
  export interface DrawnToken extends TokenProbability {
    /** The grammar left no choice. */
    isForced: boolean;
    /** The most probable tokens in its place, as reportTop() asks for. */
    top: TokenProbability[];
  }
  /** The tokens of a draw. */
  export interface Draws {
    /** Why the draws ended, or "none". */
    end: "none" | "stop-token" | "length" | "stopped" | "grammar-complete" | "no-token-allowed";
    /** The tokens that were drawn. */
    tokens: DrawnToken[];
    /** How many drafts were computed, drawn or not. The host ignored the others. */
    draftCount: number;
  }
  /** Draws tokens by a rule and the random numbers of a seed, as generate() does, for scripts that ask for each step. */
  export class Drawer {
    private constructor();
    /** A drawer with the rule of these options. */
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
  /** A stream of commands to one model, in order. */
  export class Queue {
    private constructor();
    /** A queue of its own, whose commands take turns with those of other queues. */
    static create(model?: Model | string, priority?: "low" | "normal" | "high"): Queue;
    /** Sets the priority of its commands from now on, also of those that wait. */
    setPriority(priority: "low" | "normal" | "high"): void;
    /** Waits until every command that was issued before has taken effect. */
    synchronize(): Promise<void>;
    /** The handle for calls of "quire/raw". */
    readonly handle: number;
  }
  /** Pages of keys and values. They are released with the object. */
  export class KvPages {
    private constructor();
    /** Takes `count` pages. Error "no-free-page": there are not so many. */
    static allocate(queue: Queue, count: number): KvPages;
    /** Gives them back. */
    release(): void;
    /** How many pages there are. */
    readonly count: number;
    /** The handle of each page, for lowLevel. */
    readonly handles: number[];
  }
  /** Inputs of a pass, or places for its outputs. */
  export class Embeds {
    private constructor();
    /** Takes `count` places. */
    static allocate(queue: Queue, count: number): Embeds;
    /** Gives them back. */
    release(): void;
    /** How many places there are. */
    readonly count: number;
    /** The handle of each place, for lowLevel. */
    readonly handles: number[];
  }
  /** Pages of a context or of an export. */
  export interface SharedPages {
    /** The pages themselves. */
    pages: KvPages;
    /** The place of each page; bit i of `written` is set if slot i holds keys and values. */
    uses: { index: number; written: number }[];
  }
  /** Pages that a program exports. */
  export interface ExportInfo {
    /** The name of the export. */
    name: string;
    /** How many pages it has. */
    pageCount: number;
    /** How many tokens they hold. */
    tokenCount: number;
    /** Every tenant may import it. */
    isPublic: boolean;
    /** This program made it. */
    isOwn: boolean;
  }
  /** Pages and embeddings by handle, passes over them, and the outputs of a pass. */
  export const lowLevel: {
    /** Copies the keys and values of slots from one page to another. */
    copyKvpage(queue: Queue, source: number, target: number, slots: { sourceSlot?: number; targetSlot?: number; count: number }): Promise<void>;
    /** Lets other programs import the pages under a name: those of the tenant, or all if it is public. */
    exportKvpage(queue: Queue, pages: HandleList, name: string, isPublic?: boolean): Promise<void>;
    /** Without `count`, all pages of the export. */
    importKvpage(queue: Queue, name: string, count?: number): Promise<SharedPages>;
    /** Ends an export. Programs that imported it keep the pages. */
    unexportKvpage(name: string): Promise<void>;
    /** The exports that this program may import. */
    listExports(): Promise<ExportInfo[]>;
    /** Makes inputs of tokens at positions. */
    embedTxt(queue: Queue, embeds: HandleList, tokens: TokenList, positions: TokenList): void;
    /** One pass of the model over inputs, which sees pages and writes pages and outputs. */
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
    /** The distribution after an output: the `topK` (0: 256) most probable tokens. */
    getNextDist(queue: Queue, embed: number, topK?: number): Promise<Distribution>;
    /** The same for several outputs; only tokens whose bit in `mask` is set count. */
    getNextDists(queue: Queue, embeds: HandleList, topK?: number, mask?: ArrayLike<number>): Promise<Distribution[]>;
    /** The logits of the whole vocabulary, in the order of ids. */
    getLogits(queue: Queue, embed: number): Promise<Float32Array>;
    /** The logarithms of the probabilities of these tokens after one output, in nats. */
    getLogprobs(queue: Queue, embed: number, tokens: TokenList): Promise<Float32Array>;
    /** The same after an output for each token. */
    getLogprobsOf(queue: Queue, embeds: HandleList, tokens: TokenList): Promise<Float32Array>;
    /** In nats. */
    getEntropy(queue: Queue, embed: number): Promise<number>;
    /** An output of the model's last layer. */
    getEmbedding(queue: Queue, embed: number): Promise<Float32Array>;
    /** Draws a token after each output. */
    drawTokens(model: Model, queue: Queue, embeds: HandleList, drawer: Drawer): Promise<Draws>;
  };

  // Tools -------------------------------------------------------------------------------------------

  /** A function that the model may call. */
  export interface Tool<Arguments = any> {
    /** Letters, digits, `_` and `-`. */
    name: string;
    /** A text that the model reads: what the tool does, and when to call it. */
    description?: string;
    /** A JSON schema of the arguments, an object; `parameters` is another name for it. */
    schema?: object | string;
    /** Another name of `schema`. */
    parameters?: object | string;
    /** Text, or a value that the model reads as JSON. What it throws, the model reads as an error. */
    run: (args: Arguments) => unknown;
  }
  /** The limits of Tools.answer(). */
  export interface ToolOptions {
    /** How many turns the model has; the last one is an answer (8). */
    roundsMax?: number;
    /** How many calls a turn may have (16). */
    callsMax?: number;
    /** A turn has one call at most (false). */
    oneCallATurn?: boolean;
    /** How long a call may take before it is dropped, in milliseconds (30,000). */
    timeMaxMs?: number;
    /** How many bytes of a result the model reads (16,384). */
    resultBytesMax?: number;
    /** An error of a call ends the loop, and the model does not read it (false). */
    endsAtError?: boolean;
  }
  /** A call of the model, and what came of it. */
  export interface ToolRun {
    /** The name of the tool. */
    name: string;
    /** The arguments that the model gave; they fit the tool's schema. */
    arguments: Record<string, unknown>;
    /** The text that the model read of it. */
    result?: string;
    /** Why the call failed, which the model read. */
    error?: string;
  }
  /** The end of Tools.answer(). */
  export interface ToolAnswer {
    /** The model's answer. */
    text: string;
    /** The thoughts that the model wrote, of all turns. */
    reasoning: string;
    /** Every call, in order. */
    runs: ToolRun[];
    /** Why the last turn ended. */
    finishReason: FinishReason;
  }
  /** Tools that were described to the model. A call that fails is an answer too, which the model reads. */
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

  /** A file that the client sends. */
  export class IncomingFile {
    private constructor();
    /** As the client called it. */
    readonly name: string;
    /** The type of its content, as "image/png". */
    readonly mediaType: string;
    /** How many bytes it has. */
    readonly fileBytes: number;
    /** The next part; empty at the end. */
    read(): Promise<Uint8Array>;
    /** All that was not read yet. */
    readAll(): Promise<Uint8Array>;
  }
  /** The client. */
  export const session: {
    /** A message to the client. Error "quota-exceeded": it has not taken enough of the earlier ones. */
    send(message: BytesLike): void;
    /** A message with the value as JSON. */
    sendJson(value: unknown): void;
    /** Error "unavailable": the client has ended its side. */
    receive(): Promise<string>;
    /** Until the client has ended its side. */
    messages(): AsyncGenerator<string, void>;
    /** Sends a file, and waits while the client takes its time. */
    sendFile(name: string, mediaType: string, bytes: BytesLike): Promise<void>;
    /** The next file of the client. Error "unavailable": it has ended its side. */
    receiveFile(): Promise<IncomingFile>;
  };

  /** Why tokens were computed that the cache might have had. */
  export interface Miss {
    /**
     * 0: no page like it was ever seen, 1: the most similar page differs, 2: evicted, 3: known by name and not in the pool,
     * 5: not all inputs can be named, 6: another program is writing it, 7: nothing is shared, 8: the page is there,
     * but the model's layers have a state of an earlier place only.
     */
    reason: number;
    /** The difference: 0 nothing, 1 a token, 2 a position, 3 which slots are visible, 4 an image. */
    field: number;
    /** The position of the first token that was computed. */
    position: number;
    /** How many tokens were computed. */
    tokenCount: number;
    /** The slot of the page that differs. */
    slot: number;
    /** The token or position that was wanted there. */
    here: number;
    /** The one that is there. */
    there: number;
    /** For how many milliseconds an evicted page had been gone. */
    goneMs: number;
  }
  /** The instance. */
  export const runtime: {
    /** The words of the launch, without the program's name. */
    arguments(): string[];
    /** The server's version. */
    version(): string;
    /** A number that no other instance of this server has had. */
    instanceId(): number;
    /** The tenant that the program belongs to. */
    tenant(): string;
    /** A variable that the operator gives this program (`--env NAME`), such as the key of a service; without it undefined. */
    env(name: string): string | undefined;
    /** A line for each limit: its name, the maximum, what is used. */
    limits(): string;
    /**
     * Why passes computed tokens that the cache did not have. Error "not-supported": the server runs without
     * --explain-misses.
     */
    misses(): Miss[];
    /** A line of the log. console writes there, too. */
    log(level: "debug" | "info" | "warning" | "error", text: string): void;
    /** Sets the result that the launcher gets when the program ends, as a returned value does. */
    setResult(result: BytesLike): void;
    /** Milliseconds since some moment in the past. */
    now(): number;
    /** So many random bytes, at most 65,536. */
    random(count: number): Uint8Array;
  };
  /** Waits so many milliseconds. */
  export function sleep(ms: number): Promise<void>;

  /** A value of the store. */
  export interface StoredValue {
    /** Changes with each put. */
    version: number | bigint;
    /** The value. */
    bytes: Uint8Array;
    /** The value as text; bytes that are not UTF-8 become U+FFFD. */
    text: string;
  }
  /** A key of the store. */
  export interface StoredKey {
    /** The key. */
    name: string;
    /** The version of its value. */
    version: number | bigint;
    /** How many bytes the value has. */
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
    /** The value as JSON. A SyntaxError says that it is none. */
    getJson<T = any>(key: string): Promise<{ version: number | bigint; json: T }>;
    /** Keeps the value as JSON; gives the new version. */
    putJson(key: string, value: unknown, expected?: Expected): Promise<number | bigint>;
    /** Takes a value away. Error "not-found": there is none. */
    remove(key: string, expected?: Expected): Promise<void>;
    /** Another name of remove(). */
    delete(key: string, expected?: Expected): Promise<void>;
    /** Keys that begin with `prefix`, in the order of their bytes: after `after`, at most `count` (1,000). */
    listKeys(prefix: string, options?: { after?: string; count?: number }): Promise<{ keys: StoredKey[]; hasMore: boolean }>;
    /** All keys that begin with `prefix`. */
    allKeys(prefix: string): Promise<StoredKey[]>;
  };

  /** Messages to a topic. */
  export class Subscription implements AsyncIterable<string> {
    private constructor();
    /** The next message. */
    receive(): Promise<string>;
    [Symbol.asyncIterator](): AsyncGenerator<string, void>;
  }
  /** Messages between the programs of one tenant. */
  export const messages: {
    /** Gives how many programs got it. */
    broadcast(topic: string, message: BytesLike): number;
    /** Messages to the topic from now on wait for the program until it takes them. */
    subscribe(topic: string): Subscription;
    /** Puts a message at the end of the tenant's queue of that name. */
    push(name: string, message: BytesLike): void;
    /** The first message of the queue; it waits until there is one. */
    pull(name: string): Promise<string>;
  };

  /** The end of a child. */
  export interface ChildEnd {
    /** How it ended. "not-started": the server could not begin it. */
    kind: "finished" | "trapped" | "limit-exceeded" | "killed" | "not-started";
    /** 0, or the number of the error that ended it. */
    exitCode: number;
    /** The result that it returned, or set last by runtime.setResult(). */
    result: string;
    /** Why it ended, if it did not finish. */
    message: string;
  }
  /** Another instance: of this script, or of a program that the server has. */
  export class Child implements AsyncIterable<string> {
    private constructor();
    /**
     * Launches a program of the server, or this script if none is named. The child draws on what this script has left;
     * with `sharePercent` (1 to 100) it has that part of it for itself. Error "quota-exceeded" names the limit and the
     * flag that raises it.
     */
    static launch(options?: { program?: string; arguments?: string[]; sharePercent?: number }): Child;
    /** A message to the child, which receives it by session.receive(). */
    send(message: BytesLike): void;
    /** The next message that the child sent. Error "unavailable": it has ended, and all was received. */
    receive(): Promise<string>;
    /** Waits until it has ended. */
    wait(): Promise<ChildEnd>;
    /** Ends it. Nothing happens if it has ended. */
    kill(): void;
    /** Gives each message of the child to `show`, until it has ended. */
    forward(show: (message: string) => unknown): Promise<void>;
    [Symbol.asyncIterator](): AsyncGenerator<string, void>;
  }

  /** A whole response. */
  export interface HttpResponse {
    /** The status, as 200. */
    status: number;
    /** The status is 200 to 299. */
    ok: boolean;
    /** The headers of the response. */
    headers: Headers;
    /** The whole body, as text. */
    body: string;
  }
  /** Requests to the outside, where the launch allows them; `fetch` is for the rest. */
  export const http: {
    /** The whole response. Error "permission-denied" names the flag that would allow the URL. */
    get(url: string, headers?: Record<string, string>): Promise<HttpResponse>;
    /** The same with a body, by POST. */
    post(url: string, body: BytesLike, headers?: Record<string, string>): Promise<HttpResponse>;
    /** A text as a part of a URL, such as the value of a query. */
    encodeUrl(text: string): string;
  };
  /** A request and its response, piece by piece. */
  export class Exchange {
    private constructor();
    /** `bodyBytes` -1: the body ends with finish(). */
    static open(method: string, url: string, headers: [string, string][], bodyBytes: number): Exchange;
    /** The next piece of the request's body. Ready once there is room for another. */
    write(bytes: BytesLike): Promise<void>;
    /** Ends the request's body. */
    finish(): void;
    /** The status and the headers of the response, when the server has answered. */
    head(): Promise<{ status: number; headers: [string, string][] }>;
    /** The next piece of the body; empty at its end. */
    read(): Promise<Uint8Array>;
  }

  // Endpoints ---------------------------------------------------------------------------------------

  /**
   * An endpoint as the web has them: `export default { fetch(request) { return new Response("hello") } } satisfies Endpoint`.
   * `Request` and `Response` are the global ones here; the classes of this module are for `export async function serve`.
   */
  export interface Endpoint<O = any> {
    /** `options` are those that the script declares. An exception is status 500, as is a value that is not a Response. */
    fetch(request: globalThis.Request, options: O): globalThis.Response | Promise<globalThis.Response>;
  }

  type HeadersLike = Record<string, string> | [string, string][];
  /** The request that launched the script: `export async function serve(request, response, options)`. */
  export class Request {
    private constructor();
    /** "GET", "POST" and the like. */
    readonly method: string;
    /** With its query. */
    readonly target: string;
    /** Without the query. */
    readonly path: string;
    /** What follows "?", as it was sent. */
    readonly query: string;
    /** All headers; names are in lower case. */
    readonly headers: [string, string][];
    /** The client's x-request-id, or one that the server made. */
    readonly id: string;
    /** The part of the path after `prefix`, decoded. */
    pathAfter(prefix: string): string;
    /** The first value of that name in the query, decoded. */
    queryValue(name: string): string | undefined;
    /** The value of the header; `name` is in lower case. */
    header(name: string): string | undefined;
    /** The next part of the body; empty at its end. */
    read(): Promise<Uint8Array>;
    /** The rest of the body. Status 413 if it is larger than the server takes. */
    bytes(): Promise<Uint8Array>;
    /** The rest of the body as text; bytes that are not UTF-8 become U+FFFD. */
    text(): Promise<string>;
    /** Status 400 if the body is not JSON. */
    json(): Promise<unknown>;
    /** `throw request.refuse(404, "no model x")`: the client gets that status. */
    refuse(status: number, message: string): QuireError;
  }
  /** The response to the request. An endpoint that exports `fetch` returns the global Response instead. */
  export class Response {
    private constructor();
    /** Whether the status and the headers were sent. */
    readonly begun: boolean;
    /** Whether the response is complete. */
    readonly finished: boolean;
    /** Adds a header to the response, before it begins. */
    addHeader(name: string, value: string): void;
    /** Sends the status and the headers. Without "content-length" the body ends with finish(). */
    begin(status: number, headers?: HeadersLike): void;
    /** The next part of the body. Ready once there is room for another. */
    write(part: BytesLike): Promise<void>;
    /** Ends the body. */
    finish(): void;
    /** The whole response, as text/plain if `headers` name no type. */
    send(status: number, body: BytesLike, headers?: HeadersLike): Promise<void>;
    /** The whole response, with the value as JSON. */
    json(status: number, value: unknown, headers?: HeadersLike): Promise<void>;
    /** The whole response, in the form of the server's own errors. */
    error(status: number, message: string): Promise<void>;
    /** Begins a response of events (Server-Sent Events). */
    events(headers?: HeadersLike): EventStream;
  }
  /** A response of type text/event-stream. */
  export class EventStream {
    private constructor();
    /** A text as it is, anything else as JSON. Ready once there is room for another. */
    send(data: unknown, event?: { name?: string; id?: string }): Promise<void>;
    /** A line that clients pass over; it keeps proxies from closing a silent connection. */
    comment(text: string): Promise<void>;
    /** Ends the response. */
    finish(): void;
  }
}

// Without an import ---------------------------------------------------------------------------------

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  /** A line of the level `warning`. */
  warn(...values: unknown[]): void;
  /** A line of the level `warning`. */
  error(...values: unknown[]): void;
  dir(value?: unknown, options?: object): void;
  dirxml(...values: unknown[]): void;
  /** A row for each member of `value`, a column for each member of the rows, or for the names in `columns`. */
  table(value?: unknown, columns?: string[]): void;
  /** A line with the stack of the call. */
  trace(...values: unknown[]): void;
  /** Writes a line if the condition does not hold. */
  assert(condition?: unknown, ...values: unknown[]): void;
  /** Ends all groups. */
  clear(): void;
  /** How often it was called with this label. */
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
  /** The lines that follow are indented, until groupEnd(). */
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
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
/** A copy with all that the value holds. The buffers in `transfer` are moved, and detached here. */
declare function structuredClone<T>(value: T, options?: { transfer?: Iterable<ArrayBuffer> }): T;
/** Reports an exception as if nothing had caught it: listeners of "error", else the end of the program. */
declare function reportError(error: unknown): void;
declare function atob(text: string): string;
declare function btoa(text: string): string;

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
interface EventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
}
declare class Event {
  constructor(type: string, options?: EventInit);
  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly eventPhase: number;
  readonly defaultPrevented: boolean;
  /** Whether the platform dispatched it, and not a script. */
  readonly isTrusted: boolean;
  /** Milliseconds since the launch. */
  readonly timeStamp: number;
  composedPath(): EventTarget[];
  preventDefault(): void;
  stopPropagation(): void;
  stopImmediatePropagation(): void;
}
declare class CustomEvent<T = any> extends Event {
  constructor(type: string, options?: EventInit & { detail?: T });
  readonly detail: T;
}
/** The event of the global object's listeners of "error". preventDefault() lets the program go on. */
declare class ErrorEvent extends Event {
  constructor(type: string, options?: EventInit & { message?: string; filename?: string; lineno?: number; colno?: number; error?: unknown });
  readonly message: string;
  readonly filename: string;
  readonly lineno: number;
  readonly colno: number;
  readonly error: any;
}
/** The event of the global object's listeners of "unhandledrejection". preventDefault() lets the program go on. */
declare class PromiseRejectionEvent extends Event {
  constructor(type: string, options: EventInit & { promise: Promise<unknown>; reason?: unknown });
  readonly promise: Promise<unknown>;
  readonly reason: any;
}
type EventListener = ((event: any) => unknown) | { handleEvent(event: any): unknown };
interface AddEventListenerOptions {
  /** Called before the listeners without it. */
  capture?: boolean;
  /** Called once and removed. */
  once?: boolean;
  /** preventDefault() has no effect in it. */
  passive?: boolean;
  /** Removed when this is aborted. */
  signal?: AbortSignal;
}
declare class EventTarget {
  addEventListener(type: string, listener: EventListener | null, options?: AddEventListenerOptions | boolean): void;
  removeEventListener(type: string, listener: EventListener | null, options?: { capture?: boolean } | boolean): void;
  dispatchEvent(event: Event): boolean;
}
declare function addEventListener(type: string, listener: EventListener | null, options?: AddEventListenerOptions | boolean): void;
declare function removeEventListener(type: string, listener: EventListener | null, options?: { capture?: boolean } | boolean): void;
declare function dispatchEvent(event: Event): boolean;
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
/** The encodings and labels of the Encoding Standard. */
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
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class Headers implements Iterable<[string, string]> {
  constructor(init?: HeadersInit);
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
/** The content of a body: a text, bytes, or pieces of them that come one after the other. */
type BodyInit =
  | string | ArrayBuffer | ArrayBufferView | URLSearchParams
  | AsyncIterable<string | ArrayBuffer | ArrayBufferView> | Iterable<ArrayBuffer | ArrayBufferView>;
type HeadersInit = Iterable<readonly [string, string]> | Record<string, string>;
interface ResponseInit {
  /** 200 to 599, 200 unless given. */
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}
interface RequestInit {
  /** "GET" unless given. */
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  signal?: AbortSignal | null;
}
interface FetchInit extends RequestInit {
  /** The whole body: fetch sends no pieces. */
  body?: string | ArrayBuffer | ArrayBufferView | URLSearchParams | null;
  /** "error" and "manual" only for a request with a body: the server follows the redirects of the others. */
  redirect?: "follow" | "error" | "manual";
}
/** The bytes of a body as they come. */
interface BodyStream extends AsyncIterable<Uint8Array> {
  /** The pieces one by one, as a ReadableStream gives them. */
  getReader(): { read(): Promise<IteratorResult<Uint8Array, undefined>>; cancel(): Promise<void>; releaseLock(): void };
  /** Drops what was not read. */
  cancel(): Promise<void>;
}
/** The members of both Request and Response. A body is read once. */
interface BodyReader {
  /** The headers; their names are not case-sensitive. */
  readonly headers: Headers;
  /** The body in pieces; null if there is none. */
  readonly body: BodyStream | null;
  /** Whether the body was read, or is read. */
  readonly bodyUsed: boolean;
  /** The whole body. */
  bytes(): Promise<Uint8Array>;
  /** The whole body. */
  arrayBuffer(): Promise<ArrayBuffer>;
  /** The whole body as text; bytes that are not UTF-8 become U+FFFD. */
  text(): Promise<string>;
  /** The whole body as JSON. A SyntaxError says that it is none. */
  json(): Promise<any>;
}
/** A request: what an endpoint that exports `fetch` gets. The module "quire" has another class of this name. */
declare class Request {
  constructor(input: string | URL | Request, init?: RequestInit);
  /** "GET", "POST" and the like. */
  readonly method: string;
  /** The whole URL, with its query. */
  readonly url: string;
  /** The signal that was given; that of an endpoint's request is never aborted. */
  readonly signal: AbortSignal;
  /** Always "follow". */
  readonly redirect: "follow";
  /** A second request, whose body can be read too. */
  clone(): Request;
}
interface Request extends BodyReader {}
/** A response: what fetch gives, and an endpoint that exports `fetch` returns. The module "quire" has another class of this name. */
declare class Response {
  constructor(body?: BodyInit | null, init?: ResponseInit);
  /** A response with the value as JSON. */
  static json(data: unknown, init?: ResponseInit): Response;
  /** A response that leads to another URL, with status 301, 302 (default), 303, 307 or 308. */
  static redirect(url: string | URL, status?: number): Response;
  /** A response of a failed request, with status 0. */
  static error(): Response;
  /** The status, as 200. */
  readonly status: number;
  /** The text of the status; servers seldom give one. */
  readonly statusText: string;
  /** The status is 200 to 299. */
  readonly ok: boolean;
  /** The URL that was asked last. */
  readonly url: string;
  /** "basic" from fetch, "default" from a script. */
  readonly type: "basic" | "default" | "error";
  /** Whether redirects were followed. */
  readonly redirected: boolean;
  /** A second response, whose body can be read too. */
  clone(): Response;
}
interface Response extends BodyReader {}
/** Requests go where the launch allows them (`quire run --allow-http`). */
declare function fetch(input: string | URL | Request, init?: FetchInit): Promise<Response>;
