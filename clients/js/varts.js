// A client for `varts serve`: decide, reward, in browsers, Node 18+, Deno and Bun.
// One file without dependencies. See varts.d.ts for the types.

const MOST_ITEMS = 1000; // in one request; what the service takes
const MOST_BYTES = 900_000; // of items in one request; the service takes a megabyte in all
const KEEPALIVE_BYTES = 60_000; // browsers let 64 kB be under way when a page goes away
const TRIES = 5;
const FIRST_WAIT_MS = 100; // twice as long after every try, half of it by chance
const LONGEST_WAIT_MS = 5000; // however much later the service would like it
const AGAIN = new Set([429, 502, 503, 504]);
const REFUSALS = {
  unknown: "unknown-decision",
  expired: "expired",
  conflict: "reward-conflict",
  invalid: "invalid-reward",
};

/** What went wrong: `kind` is the last part of the problem's type, `status` 0 without an answer. */
export class VartsError extends Error {
  constructor(message, kind, status, request) {
    super(message);
    this.name = "VartsError";
    this.kind = kind;
    this.status = status;
    this.request = request;
  }
}

/** A random id; `crypto.randomUUID` exists on https and localhost alone, its source everywhere. */
export function newId() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40; // version 4
  bytes[8] = (bytes[8] & 0x3f) | 0x80; // its variant
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** One experiment of a service. */
export class Experiment {
  constructor(name, { url, token, isPublic = false, timeout = 10_000, fetch: own } = {}) {
    if (typeof name !== "string" || name === "") {
      throw new TypeError(`name must be text that is not empty, got ${JSON.stringify(name)}`);
    }
    if (typeof url !== "string" || !/^https?:\/\//.test(url)) {
      throw new TypeError(`url must be an address like https://host, got ${JSON.stringify(url)}`);
    }
    this.name = name;
    this._base = `${url.replace(/\/+$/, "")}/v1/experiments/${encode(name)}`;
    this._token = token;
    this._public = isPublic;
    this._timeout = timeout;
    this._fetch = own ?? ((...given) => globalThis.fetch(...given));
    this._receipts = new Map();
  }

  /**
   * Choose the arm for one unit. An id of your own gets the same decision again; `context` is what
   * is known of the unit, where the experiment has features.
   */
  async decide({ unit, id, context } = {}) {
    return (await this.decideMany([{ unit, id, context }]))[0];
  }

  /** Choose the arms for several units, up to 1,000 of them in one request. */
  async decideMany(asked) {
    const list = [...asked].map((one) => this._asked(one));
    const made = [];
    for (const decisions of batches(list)) {
      // A public token has its ids made by the service: a repeated request makes new ones, and
      // those whose answer was lost stay without a reward.
      const answer = await this._send("POST", "/decisions", { decisions });
      made.push(...answer.decisions);
    }
    for (const one of made) if (one.receipt) this._receipts.set(one.id, one.receipt);
    return made;
  }

  /** Say what a decision earned: true if that is new, false if it was there already. */
  async reward(id, value, { metrics, key, receipt, keepalive = false } = {}) {
    if (this._public) {
      const body = compact({ value, metrics, key, receipt: receipt ?? this._receipts.get(id) });
      const answer = await this._send("PUT", `/decisions/${encode(id)}/reward`, body, keepalive);
      return answer.status === "applied";
    }
    const [result] = await this.rewardEach([{ id, value, metrics, key }], { keepalive });
    if (result.status in REFUSALS) {
      throw new VartsError(result.detail, REFUSALS[result.status], 200);
    }
    return result.status === "applied";
  }

  /**
   * Say what several decisions earned; one that is refused keeps none from counting.
   * With `keepalive` the request outlives the page, and may have 60 kB.
   */
  async rewardEach(rewards, { keepalive = false } = {}) {
    if (this._public) throw new TypeError("rewardEach needs a token that is not public");
    const list = [...rewards].map(({ id, value, metrics, key }) =>
      compact({ id, value, metrics, key }),
    );
    const results = [];
    for (const batch of batches(list)) {
      const body = { rewards: batch };
      results.push(...(await this._send("POST", "/rewards", body, keepalive)).results);
    }
    return results;
  }

  /** What the experiment knows: which arm is best, how sure that is. */
  async report({ level } = {}) {
    return this._send("GET", level === undefined ? "/report" : `/report?level=${level}`);
  }

  _asked({ unit, id, context }) {
    if (this._public) {
      if (id !== undefined) throw new TypeError("id must be left out with a public token");
      return compact({ unit, context });
    }
    return compact({ unit, id: id ?? newId(), context }); // made here, to be asked again with
  }

  async _send(method, path, body, keepalive = false) {
    const content = body === undefined ? undefined : encodeJson(body);
    const headers = {};
    if (content !== undefined) headers["Content-Type"] = "application/json";
    if (this._token !== undefined) headers["Authorization"] = `Bearer ${this._token}`;
    if (keepalive && content.length > KEEPALIVE_BYTES) {
      throw new RangeError(
        `what outlives the page must have at most ${KEEPALIVE_BYTES} bytes, got ${content.length}`,
      );
    }
    let wait = FIRST_WAIT_MS;
    for (let left = TRIES - 1; ; left -= 1) {
      const answer = await this._try(this._base + path, { method, headers, body: content, keepalive });
      if (answer.ok && answer.json !== undefined) return answer.json;
      if (!left || !(answer.status === 0 || AGAIN.has(answer.status))) throw problemOf(answer);
      const asked = Math.min(1000 * (Number(answer.retryAfter) || 0), LONGEST_WAIT_MS);
      await sleep(Math.max(wait * (0.5 + Math.random() / 2), asked));
      wait *= 2;
    }
  }

  /** One try: an answer, or status 0 and why there was none. */
  async _try(url, options) {
    try {
      const signal = AbortSignal.timeout(this._timeout);
      const response = await this._fetch(url, { ...options, signal });
      const text = await response.text();
      const retryAfter = response.headers.get("Retry-After");
      return { ok: response.ok, status: response.status, json: parse(text), retryAfter };
    } catch (error) {
      return { ok: false, status: 0, json: undefined, reason: String(error?.cause ?? error) };
    }
  }
}

function problemOf({ status, json, reason }) {
  if (status === 0) return new VartsError(`the service has not answered: ${reason}`, "lost", 0);
  const kind = String(json?.type ?? "").split("/").pop();
  const detail = json?.detail ?? `the service answered ${status} without saying why`;
  return new VartsError(detail, kind, status, json?.request);
}

/** Lists that one request can carry. */
function* batches(items) {
  let batch = [];
  let size = 0;
  for (const item of items) {
    const more = encodeJson(item).length + 1;
    if (batch.length && (batch.length === MOST_ITEMS || size + more > MOST_BYTES)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(item);
    size += more;
  }
  if (batch.length) yield batch;
}

/** JSON in bytes. A number that is none would become null without a word. */
function encodeJson(value) {
  const text = JSON.stringify(value, (key, one) => {
    if (typeof one === "number" && !Number.isFinite(one)) {
      throw new RangeError(`${key || "value"} must be a finite number, got ${one}`);
    }
    return one;
  });
  return new TextEncoder().encode(text);
}

/** A part of a path. Dots alone would lead elsewhere; no id that a service makes is such a one. */
function encode(part) {
  if (/^\.{1,2}$/.test(part)) throw new RangeError(`"${part}" cannot be in an address`);
  return encodeURIComponent(part);
}

function compact(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
