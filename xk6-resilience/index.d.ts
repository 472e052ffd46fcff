/**
 * Types of the k6 extension `k6/x/resilience`: requests through retries, timeouts, circuit breakers,
 * bulkheads, rate limits, hedges, throttles, fallbacks and retry budgets, and a server that fails in a
 * controlled way.
 *
 * Wrong arguments throw a `TypeError` that says what was wanted and what came.
 */
declare module 'k6/x/resilience' {
  /**
   * A policy: an ordered stack of guards around a call.
   *
   * All virtual users of a process share the state of a policy by its name (its breaker's state, its
   * budget, …), unless its scope is `vu`. Make policies in the init context, make calls in the others.
   *
   * @example
   * const policy = new Policy('circuit-breaker');
   * export default function () {
   *   const out = policy.get('http://127.0.0.1:9000/call');
   *   check(out, { served: (o) => o.ok });
   * }
   */
  export class Policy {
    /**
     * @param policy the name of a known policy (see {@link policies}), or a definition
     * @throws TypeError names every fault of a definition with its path, or the known names; also where
     *   the name is in use with other guards, with a pool of another size, or with a pool or without one
     */
    constructor(policy: string | PolicyDefinition, options?: PolicyOptions | null);

    /**
     * Makes a policy of the text of a policy file, YAML or JSON.
     *
     * @example
     * const policy = Policy.parse(open('./policies.yaml'), 'checkout');
     * @param text the file's text, as `open()` gives it in the init context
     * @param name which of its policies. Default: the only one
     * @throws TypeError names every fault of the text with its path, or the names that it holds
     */
    static parse(text: string, name?: string | null, options?: PolicyOptions | null): Policy;

    /** The policy's name, which is the tag `policy` of its metrics. */
    readonly name: string;

    /**
     * Makes a GET request through the policy. Attempts are made in Go, so that a timeout really cancels
     * them. Redirects are not followed: each would be another call.
     *
     * @param url an absolute http or https URL
     */
    get(url: string, params?: Params | null): Outcome;
    /** Makes a HEAD request: see {@link Policy.get}. */
    head(url: string, params?: Params | null): Outcome;
    /** Makes a POST request: see {@link Policy.get}. An object is sent as a form. */
    post(url: string, body?: Body | null, params?: Params | null): Outcome;
    /** Makes a PUT request: see {@link Policy.post}. */
    put(url: string, body?: Body | null, params?: Params | null): Outcome;
    /** Makes a PATCH request: see {@link Policy.post}. */
    patch(url: string, body?: Body | null, params?: Params | null): Outcome;
    /** Makes a DELETE request: see {@link Policy.post}. */
    del(url: string, body?: Body | null, params?: Params | null): Outcome;
    /** Makes an OPTIONS request: see {@link Policy.post}. */
    options(url: string, body?: Body | null, params?: Params | null): Outcome;
    /** Makes a request of any method: see {@link Policy.post}. */
    request(method: string, url: string, body?: Body | null, params?: Params | null): Outcome;

    /**
     * Makes a request of any protocol: each attempt is a call of a function on the virtual user's own
     * thread, which waits meanwhile. A throw is a failed attempt, and so is a response of `k6/http` by
     * its status (0, 429, 4xx, 5xx); `isFailure` decides otherwise.
     *
     * The function cannot be cut off: give `attempt.timeoutMs` to what it calls.
     *
     * @throws TypeError where the function, `isFailure` or a fallback returns a promise, or the policy has a hedge
     */
    execute<T>(attempt: (attempt: Attempt) => T, options?: ExecuteOptions<T> | null): Outcome<T>;

    /**
     * Is {@link Policy.execute} for an async function. Neither an attempt nor a wait between two holds up
     * the virtual user. A timeout gives up an attempt whose promise has not settled; what it settles with
     * later is ignored. The result is what `await` makes of what the function returns.
     *
     * The promise resolves with the outcome, also of a request that failed. It rejects with an
     * {@link ResilienceError} named `AbortError` where the virtual user is stopped.
     *
     * @throws TypeError where the policy has a hedge
     */
    executeAsync<T>(attempt: (attempt: Attempt) => T | Promise<T>, options?: ExecuteOptions<T> | null): Promise<Outcome<T>>;

    /** What can be read of the guards now. Where there are several of a kind, the outermost is told. */
    state(): PolicyState;

    /**
     * Puts the guards back to how they began, for all virtual users: breakers closed, budgets and rate
     * limits full, throttles and caches empty. Calls in flight go on.
     */
    reset(): void;
  }

  /** What can be said of a policy beside its definition. */
  export interface PolicyOptions {
    /**
     * A connection pool that all virtual users share, as one service has. Default: each has its own
     * connections. All that name the policy must ask for the same.
     */
    pool?: {
      /** 1 … 100000. A call that finds all of them busy waits for one, and its timeout runs. */
      maxConnections: number;
    } | null;
    /** Log each retry at the level info. Default: false, which is at debug. */
    logRetries?: boolean | null;
  }

  /** Parameters of an HTTP request. */
  export interface Params {
    headers?: Record<string, string | number | boolean> | null;
    /** Tags of the request's samples, beside those of the virtual user. */
    tags?: Tags | null;
  }

  /** Options of execute and executeAsync. */
  export interface ExecuteOptions<T = unknown> {
    /**
     * Decides alone whether a result is a failed attempt. A promise is no decision, but a TypeError: that
     * of the attempt in `executeAsync`. Default: the status of a response of `k6/http`.
     */
    isFailure?: ((result: T) => boolean) | null;
    /** Tags of the request's samples, beside those of the virtual user. */
    tags?: Tags | null;
  }

  export type Tags = Record<string, string | number | boolean>;
  export type Body = string | ArrayBuffer | Record<string, unknown>;

  /** An attempt, as its function gets to know it. */
  export interface Attempt {
    /** From 1, within the request. */
    number: number;
    kind: 'first' | 'retry';
    /** Milliseconds until a timeout guard cuts the attempt off. Absent: none does. */
    timeoutMs?: number;
  }

  /** What came of a request. */
  export interface Outcome<T = unknown> {
    /** An acceptable answer arrived. An answer of a fallback is none. */
    ok: boolean;
    /** Of the response; 0: there is none. */
    status: number;
    /** The response: of an HTTP method, of a fallback with a status, or what `execute` returned if that has a status. */
    response: (T extends { status: number } ? T : Response) | null;
    /** What the function of `execute` returned, or the value of a fallback. */
    result: T | any;
    /** 1 and one more for each retry and hedge, refused ones included. */
    attempts: number;
    /** How many of those were handed to the transport. */
    downstreamCalls: number;
    /** How many of those a timeout ended. */
    timeouts: number;
    /** The guard that refused the last attempt, or one more; null: none did. */
    rejectedBy: 'breaker' | 'bulkhead' | 'rate-limit' | 'throttle' | 'budget' | null;
    /** A fallback answered. */
    degraded: boolean;
    /** Milliseconds spent between attempts, and for permits. */
    waitedMs: number;
    /** Milliseconds from the start of the request to its end. */
    durationMs: number;
    /** Milliseconds of each call; those that a timeout ended are cut at its limit. */
    attemptMs: number[];
    /** Why there is no acceptable answer, also where a fallback stood in; null: there is one. */
    error: ResilienceError | null;
  }

  /** An Error: `throw out.error` passes it on. Seen by `JSON.stringify` with its name and message. */
  export interface ResilienceError extends Error {
    /** One of these, or the name of the error that the script's function threw. */
    name: 'TimeoutError' | 'RejectedError' | 'StatusError' | 'NetworkError' | 'AbortError' | 'Error' | (string & {});
    code: ErrorCode;
    /** Made so far. */
    attempts: number;
    /** What the script's function threw; absent: it threw nothing. */
    cause?: unknown;
  }

  export type ErrorCode =
    | 'timeout' | 'connect' | 'reset' | 'http_4xx' | 'http_429' | 'http_5xx' | 'cancelled' | 'thrown'
    | 'breaker_open' | 'bulkhead_full' | 'rate_limited' | 'throttled';

  /** A response, with the fields that one of `k6/http` has too. */
  export interface Response {
    status: number;
    /** Such as `200 OK`. */
    status_text: string;
    /** Such as `HTTP/1.1`. */
    proto: string;
    url: string;
    /** At most 16 MiB of it. */
    body: string;
    headers: Record<string, string>;
    /**
     * The body as JSON.
     *
     * @param selector a path in it, such as `items.0.name`. Default: all of it
     * @throws SyntaxError where the body is no JSON
     */
    json(selector?: string): any;
  }

  /** What can be read of a policy's guards. A guard that the policy lacks is absent. */
  export interface PolicyState {
    /** Calls that run now, of all virtual users. */
    inflight: number;
    breaker?: {
      /** An open breaker whose time has passed stays `open` until the next call asks. */
      state: 'closed' | 'open' | 'half-open' | 'forced-open' | 'disabled';
      /** Results that the window holds. */
      calls: number;
      failures: number;
      slow: number;
    };
    budget?: {
      /** Whole retries (window, concurrency), tokens, or quota. */
      balance: number;
    };
    bulkhead?: { available: number; waiting: number };
    throttle?: {
      /** How likely the next request is refused, 0 to below 1. */
      probability: number;
    };
  }

  /** A duration: text such as `260ms`, `1.5s`, `PT1S`; a number is milliseconds. */
  export type Duration = string | number;

  /** What came of an attempt, as guards name it. */
  export type FailureName =
    | 'timeout' | 'connect' | 'reset' | '4xx' | '429' | 429 | '5xx' | 'cancelled' | 'throw'
    | 'breaker_open' | 'bulkhead_full' | 'rate_limited' | 'throttled';

  export interface PolicyDefinition {
    name: string;
    /** Who shares the state: all virtual users of the process, or nobody. Default: `instance`. */
    scope?: 'instance' | 'vu';
    /** Outermost first. None: every request is one bare attempt. */
    guards?: Guard[];
  }

  /** One layer of a policy: an object with one key. */
  export type Guard =
    | { retry: RetryGuard }
    | { timeout: Duration }
    | { breaker: BreakerGuard }
    | { bulkhead: BulkheadGuard }
    | { rateLimit: RateLimitGuard }
    | { hedge: HedgeGuard }
    | { throttle: ThrottleGuard }
    | { fallback: FallbackGuard | FallbackFunction };

  export interface RetryGuard {
    /** In all, the first included, 1 … 1000. Default: 3. */
    maxAttempts?: number;
    backoff?: {
      /** The wait before the first retry. Default: 0. */
      initial?: Duration;
      /** Each wait is so many times the one before it. Default: 2. */
      multiplier?: number;
      /** No wait is longer. Default: 30s. */
      max?: Duration;
    };
    /** `{factor: f}` is a wait of d ± f·d, `{add: f}` one of d to d + f·d. Default: `none`. */
    jitter?: 'none' | 'full' | 'equal' | 'decorrelated' | { factor: number } | { add: number };
    /** Default: timeout, connect, reset, 5xx, 429, throw. */
    retryOn?: FailureName[];
    /** A Retry-After above `max` (default: 30s) ends the request. Default: `respect`. */
    retryAfter?: 'respect' | 'ignore' | { max: Duration };
    /** Bounds the retries of all requests together. Default: nothing does. */
    budget?: Budget;
  }

  /** A budget of retries or hedges. Those of the same `name` are one. */
  export type Budget = { name?: string } & (
    | {
      kind: 'window';
      /** Retries a request. Default: 0.2. */
      ratio?: number;
      /** Retries that are always allowed. Default: 10. */
      minPerSecond?: number;
      /** How long a request counts. Default: 10s. */
      ttl?: Duration;
    }
    | {
      kind: 'tokens';
      /** Retries are made while more than half of it is left. Default: 10. */
      max?: number;
      /** Tokens a success. Default: 0.1. */
      ratio?: number;
    }
    | {
      kind: 'quota';
      /** Default: 500. */
      capacity?: number;
      /** Of a retry. Default: 5. */
      cost?: number;
      /** Of a retry after a timeout. Default: 10. */
      timeoutCost?: number;
    }
    | {
      kind: 'concurrency';
      /** Of the requests that run. Default: 20. */
      percent?: number;
      /** Default: 3. */
      min?: number;
    });

  export interface BreakerGuard {
    /** The last so many results, those of the last so long, or so many failures in a row. Default: `{calls: 100}`. */
    window?: { calls: number } | { time: Duration } | { consecutive: number };
    /** The share of failures from which on it opens, above 0 to 1. Default: 0.5. */
    failureRate?: number;
    /** It does not open with fewer results. Default: 10. */
    minCalls?: number;
    /** Opens on slow answers too: where their share reaches `rate` (default: 0.5). */
    slowCall?: { over: Duration; rate?: number };
    /** How long it stays open. Default: 5s. */
    openFor?: Duration | { initial?: Duration; multiplier?: number; max?: Duration };
    halfOpen?: {
      /** So many probes run at once, and so many successes close it. Default: 1. */
      calls?: number;
      /** A probe that takes longer no longer counts. Default: 0, which is as long as it takes. */
      maxWait?: Duration;
    };
    /** Which outcomes are failures. Default: timeout, connect, reset, 5xx. */
    counts?: FailureName[];
  }

  export interface BulkheadGuard {
    maxConcurrent: number;
    /** How long to wait for a permit. Default: 0, which is not at all. */
    maxWait?: Duration;
    /** How many may wait. Default: 0, which is as many as want to. */
    maxQueue?: number;
  }

  export interface RateLimitGuard {
    /** So many in each `per`, and the greatest burst. */
    permits: number;
    per: Duration;
    /** How long to wait for a turn. Default: 0, which is not at all. */
    maxWait?: Duration;
  }

  /** For the HTTP methods only. */
  export interface HedgeGuard {
    /** How long to wait for an answer before each further call. */
    after: Duration | { percentile: number };
    /** Further calls beside one, 1 … 10. Default: 1. */
    max?: number;
    budget?: Budget;
  }

  export interface ThrottleGuard {
    /** How many requests to send for each that is accepted. Default: 2. */
    k?: number;
    /** How long a request counts. Default: 2m. */
    window?: Duration;
  }

  /** The answer of a fallback, or a promise of it: only `executeAsync` waits for one, all else throws a TypeError. */
  export type FallbackFunction = (error: ResilienceError) => unknown;

  /** Give one of: value; status and body; function; cache. */
  export interface FallbackGuard {
    /** The answer itself; each request gets a copy. */
    value?: unknown;
    /** The status of a response. Default: 200. */
    status?: number;
    /** The body of a response. */
    body?: string;
    /** One fallback of a policy can be a function. */
    function?: FallbackFunction;
    /** The last good answer of the same method and URL (of `execute`: of the same virtual user). */
    cache?: { ttl: Duration };
    /** What it stands in for. Default: all failures and rejections but 4xx and cancelled. */
    on?: FailureName[];
  }

  /** What a {@link Downstream} is made of. */
  export interface DownstreamOptions extends ScenarioOptions {
    /** Servers of one name are one, for all virtual users. Default: the scenario's name. */
    name?: string | null;
    /** Services in front of the server, each with a policy of its own; the first is what calls meet. At most 16. */
    tiers?: Tier[] | null;
    /** The base URL of a server that runs already, and is used instead of one in this process. */
    url?: string | null;
    /** Of that server's admin routes. */
    token?: string | null;
  }

  /** How a server fails. */
  export interface ScenarioOptions {
    /** See {@link scenarios}. */
    scenario: string;
    /** Of the scenario. Absent ones have their defaults. */
    params?: Record<string, unknown> | null;
    /** Phases such as `10s outage for 5s`. */
    timeline?: string[] | null;
    /** The same seed gives each call the same fate. Default: 0. */
    seed?: number | null;
    /** What the server does with a call whose caller is gone. Default: `ignore`. */
    cancellation?: 'ignore' | 'at-dequeue' | 'mid-work' | (string & {}) | null;
  }

  export interface Tier {
    policy: string | PolicyDefinition;
    /** Make the caller's remaining time the tier's own. Default: false. */
    passDeadline?: boolean | null;
  }

  /**
   * A server that fails in a controlled way. It runs inside the process on a free loopback port, and is
   * started by the first use of `url`, once for all virtual users; it ends with the run.
   *
   * Its methods throw an Error named `DownstreamError` where the server cannot be asked.
   */
  export class Downstream {
    constructor(options: DownstreamOptions | (Partial<DownstreamOptions> & { url: string }));

    /** The base URL, without a slash at its end: calls go to `${url}/call`. Starts the server. */
    readonly url: string;

    /** The server's own account: calls received, finished, abandoned, its work in milliseconds, …, and `tiers`. */
    stats(): Record<string, any>;

    /**
     * Pushes the account as the metrics `downstream_calls, downstream_abandoned, downstream_max_inflight,
     * downstream_residual_ms, downstream_busy_ms`, and returns it. Call it in teardown.
     *
     * @returns null, with a warning in the log, where the server keeps no account that can be read
     */
    record(): Record<string, any> | null;

    /** Starts the account anew. */
    reset(): void;

    /** Makes the server fail in another way from now on. What it has begun goes on as it began. */
    setScenario(scenario: ScenarioOptions): void;
  }

  /** The policies that `new Policy(name)` finds, in their order. */
  export function policies(): PolicyInfo[];

  export interface PolicyInfo {
    name: string;
    /** Such as `retry > breaker > timeout, 3 attempts of at most 260ms`. */
    description: string;
    /** What `new Policy(definition)` makes the same policy of. */
    definition: PolicyDefinition;
  }

  /** The failure modes of a {@link Downstream}, in their order. */
  export function scenarios(): ScenarioInfo[];

  export interface ScenarioInfo {
    name: string;
    description: string;
    params: {
      name: string;
      type: 'duration' | 'number' | 'integer' | 'choice';
      default: string | number;
      /** Such as `0..1`, or words separated by `|`. */
      range: string;
      description: string;
    }[];
  }
}
