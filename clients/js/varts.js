// A client for `varts serve`: decide and reward, in browsers, Node 18+, Deno and Bun.
// One file without dependencies. See README.md for examples and varts.d.ts for the types.

const MOST_ITEMS = 1000; // in one request; the service's limit
const MOST_BYTES = 900_000; // of items in one request; the service accepts a megabyte in all
const MOST_RESPONSE_BYTES = 32 * 2 ** 20;
const KEEPALIVE_BYTES = 60_000; // browsers allow 64 kB in flight when a page goes away
const MOST_WAITING = 1000; // decisions and rewards that wait for the service
const DECIDE_MS = 1000; // how long a call may take in all
const OTHER_MS = 10_000;
const LONGEST_MS = 2 ** 31 - 1; // of a timer
const TRIES = 6;
const FIRST_WAIT_MS = 100; // doubles after every try; a random half of it is left out
const LONGEST_WAIT_MS = 5000; // even if the service asks for more
const PAUSE_MS = 5000; // after the service lost what waits
const LONGEST_DETAIL = 1000; // characters of a service's explanation
const AGAIN = new Set([429, 502, 503, 504]);
const REFUSALS = {
  unknown: "unknown-decision",
  expired: "expired",
  conflict: "reward-conflict",
  invalid: "invalid-reward",
};

/** An error: `kind` is the last part of the problem's type, `status` is 0 without a response. */
export class VartsError extends Error {
  constructor(message, kind, status, request) {
    super(message);
    this.name = "VartsError";
    this.kind = kind;
    this.status = status;
    this.request = request;
  }
}

/** A random id. `crypto.randomUUID` exists on https and localhost only, its source everywhere. */
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
  constructor(name, settings = {}) {
    const { url, token, isPublic = false, deadline, default: arm, fetch: own } = settings;
    if (typeof name !== "string" || name === "") {
      throw new TypeError(`name must be text that is not empty, got ${JSON.stringify(name)}`);
    }
    this.name = name;
    this._base = `${checkUrl(url)}/v1/experiments/${encode(name)}`;
    this._token = token;
    this._public = isPublic;
    this._deadline = checkDeadline(deadline);
    this._default = checkArm(arm);
    this._fetch = own ?? ((...given) => globalThis.fetch(...given));
    this._receipts = new Map();
    this._waiting = new Waiting();
  }

  /**
   * Choose the arm for one unit. The same id gets the same decision again. `context` is what you
   * know about the unit, where the experiment has features. If the service doesn't answer in time,
   * you get the arm `default`, with the reason "fallback".
   */
  async decide({ unit, id, context, ...options } = {}) {
    const deadline = options.deadline ?? this._deadline ?? DECIDE_MS;
    return (await this.decideMany([{ unit, id, context }], { ...options, deadline }))[0];
  }

  /** Choose the arms for several units, up to 1,000 of them in one request. */
  async decideMany(asked, { deadline, default: arm = this._default } = {}) {
    const clock = this._clock(deadline);
    checkArm(arm);
    const list = [...asked].map((one) => this._asked(one));
    const made = list.map(({ id }) => this._waiting.decision(id));
    const missing = list.map((_, at) => at).filter((at) => made[at] === undefined);
    let done = 0;
    try {
      for (const decisions of batches(missing.map((at) => list[at]))) {
        // With a public token, the service makes the ids: a repeated request makes new ones, and
        // those whose response was lost stay without a reward.
        const found = await this._send("POST", "/decisions", { decisions }, clock, (body) =>
          checkDecisions(body, decisions),
        );
        for (const one of found) {
          made[missing[done++]] = one;
          if (one.receipt !== undefined) this._receipts.set(one.id, one.receipt);
        }
      }
    } catch (error) {
      if (arm === undefined || !isUnavailable(error)) throw error;
      for (const at of missing.slice(done)) made[at] = this._fallBack(arm, list[at]);
    }
    return made;
  }

  /** Record what a decision earned: true if that is new, false if it was already there. */
  async reward(id, value, { metrics, key, receipt, keepalive = false, deadline } = {}) {
    const reward = compact({ id, value, metrics, key });
    encodeJson(reward);
    const kept = this._waiting.reward(reward);
    if (kept !== undefined) return kept;
    if (this._public) {
      const body = compact({ value, metrics, key, receipt: receipt ?? this._receipts.get(id) });
      const path = `/decisions/${encode(id)}/reward`;
      const clock = this._clock(deadline);
      const read = ({ status }) => checkText("status", status);
      return (await this._send("PUT", path, body, clock, read, keepalive)) === "applied";
    }
    const [result] = await this.rewardEach([reward], { keepalive, deadline });
    if (Object.hasOwn(REFUSALS, result.status)) {
      throw new VartsError(result.detail ?? result.status, REFUSALS[result.status], 200);
    }
    return result.status === "applied";
  }

  /**
   * Record what several decisions earned; a refused reward doesn't affect the others.
   * With `keepalive` the request outlives the page; it may have 60 kB.
   */
  async rewardEach(rewards, { keepalive = false, deadline } = {}) {
    if (this._public) throw new TypeError("rewardEach needs a token that is not public");
    const clock = this._clock(deadline);
    const list = [...rewards].map(({ id, value, metrics, key }) =>
      compact({ id, value, metrics, key }),
    );
    list.forEach(encodeJson);
    const results = list.map((one) => {
      const kept = this._waiting.reward(one);
      return kept === undefined ? undefined : { id: one.id, status: kept ? "applied" : "duplicate" };
    });
    const missing = list.map((_, at) => at).filter((at) => results[at] === undefined);
    let done = 0;
    for (const batch of batches(missing.map((at) => list[at]))) {
      const read = (body) => checkResults(body, batch);
      const found = await this._send("POST", "/rewards", { rewards: batch }, clock, read, keepalive);
      for (const one of found) results[missing[done++]] = one;
    }
    return results;
  }

  /** Report which arm is best, and with which probability. */
  async report({ level, deadline } = {}) {
    const path = level === undefined ? "/report" : `/report?level=${encodeURIComponent(level)}`;
    return this._send("GET", path, undefined, this._clock(deadline), checkObject);
  }

  /** Send all decisions and rewards that wait for the service. */
  async flush({ deadline } = {}) {
    const clock = this._clock(deadline);
    while (this._waiting.size) await this._sendSome(clock);
  }

  /** Send what waits, if the service answers in time; never throws. */
  async close({ deadline } = {}) {
    try {
      await this.flush({ deadline });
    } catch (error) {
      const count = this._waiting.size;
      console.warn(`varts: ${count} decisions never reached the service: ${error.message}`);
    }
  }

  _asked({ unit, id, context }) {
    if (this._public) {
      if (id !== undefined) throw new TypeError("id must be left out with a public token");
      return compact({ unit, context });
    }
    return compact({ unit, id: id ?? newId(), context }); // made here, to repeat the request with
  }

  /** A decision that is made without the service. A public token can't tell the service about it. */
  _fallBack(arm, { id = newId(), unit }) {
    const made = { id, arm, probability: 1, version: 0, reason: "fallback", estimated: false };
    this._waiting.add(made, unit, !this._public);
    return made;
  }

  _clock(deadline) {
    return new Clock(checkDeadline(deadline) ?? this._deadline ?? OTHER_MS);
  }

  /** Record decisions that wait, as many as fit into a request, then send their rewards. */
  async _sendSome(clock) {
    for (const kind of ["fallbacks", "rewards"]) {
      const items = kind === "fallbacks" ? this._waiting.unrecorded() : this._waiting.rewards();
      const [batch] = batches(items);
      if (batch === undefined) continue;
      const body = kind === "fallbacks" ? { decisions: batch } : { rewards: batch };
      let results;
      try {
        const read = (answer) => checkResults(answer, batch);
        results = await this._send("POST", `/${kind}`, body, clock, read, false, true);
      } catch (error) {
        if (isUnavailable(error)) throw error;
        results = batch.map(({ id }) => ({ id, status: "refused", detail: error.message }));
      }
      this._waiting.sent(kind, batch, results);
    }
  }

  /** After a request that succeeded, send some of what waits; a failure leaves it waiting. */
  async _sendWaiting(clock) {
    const waiting = this._waiting;
    if (!waiting.size || waiting.sending || Date.now() < waiting.pausedUntil) return;
    waiting.sending = true;
    try {
      await this._sendSome(clock);
    } catch {
      waiting.pausedUntil = Date.now() + PAUSE_MS;
    } finally {
      waiting.sending = false;
    }
  }

  async _send(method, path, body, clock, read, keepalive = false, isWaiting = false) {
    const content = body === undefined ? undefined : encodeJson(body);
    const headers = { Accept: "application/json" };
    if (content !== undefined) headers["Content-Type"] = "application/json";
    if (this._token !== undefined) headers["Authorization"] = `Bearer ${this._token}`;
    if (keepalive && content.length > KEEPALIVE_BYTES) {
      throw new RangeError(
        `a request that outlives the page must have at most ${KEEPALIVE_BYTES} bytes, got ${content.length}`,
      );
    }
    const options = { method, headers, body: content, keepalive, redirect: "error" };
    let wait = FIRST_WAIT_MS;
    for (let left = TRIES - 1; ; left -= 1) {
      const response = await this._try(this._base + path, options, clock);
      if (response.ok) {
        const found = readResponse(response, read);
        if (!isWaiting) await this._sendWaiting(clock);
        return found;
      }
      if (!left || !(response.status === 0 || AGAIN.has(response.status))) throw problemOf(response);
      const asked = Math.min(1000 * (Number(response.retryAfter) || 0), LONGEST_WAIT_MS);
      const pause = Math.max(wait * (0.5 + Math.random() / 2), asked);
      if (pause >= clock.left) throw problemOf(response);
      await sleep(pause);
      wait *= 2;
    }
  }

  /** One try: a response, or status 0 and the reason why there is none. */
  async _try(url, options, clock) {
    const controller = new AbortController();
    const late = `the deadline of ${clock.allowed} ms passed`;
    let timer;
    // A race, because an own fetch, or a body that is under way, may ignore the signal.
    const passed = new Promise((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(late));
        controller.abort();
      }, clock.left);
    });
    const lost = (reason) => ({ ok: false, status: 0, reason: printable(reason) });
    try {
      return await Promise.race([this._fetchText(url, options, controller), passed]);
    } catch (error) {
      if (error instanceof VartsError) throw error;
      return lost(clock.left ? String(error?.cause ?? error) : late);
    } finally {
      clearTimeout(timer);
    }
  }

  async _fetchText(url, options, controller) {
    const response = await this._fetch(url, { ...options, signal: controller.signal });
    const text = await readText(response, controller);
    const retryAfter = response.headers.get("Retry-After");
    return { ok: response.ok, status: response.status, text, retryAfter };
  }
}

/** Decisions that were made without the service, with their rewards, until the service has them. */
class Waiting {
  constructor() {
    this.sending = false;
    this.pausedUntil = 0;
    this._kept = new Map(); // by id, oldest first
    this._count = 0; // decisions and rewards
    this._dropped = 0;
  }

  /** How many decisions have to be sent. */
  get size() {
    let size = 0;
    for (const one of this._kept.values()) if (one.isSent) size += 1;
    return size;
  }

  decision(id) {
    return id === undefined ? undefined : this._kept.get(id)?.decision;
  }

  add(decision, unit, isSent) {
    const unsent = { id: decision.id, arm: decision.arm, unit: unit ?? null };
    this._kept.set(decision.id, { decision, unsent, isSent, isRecorded: false, rewards: [] });
    this._grow();
  }

  /** Keep a reward: true if it is new, undefined if no such decision waits. */
  reward(reward) {
    const found = this._kept.get(reward.id);
    if (found === undefined) return undefined;
    const text = JSON.stringify(reward);
    if (found.rewards.some((one) => JSON.stringify(one) === text)) return false;
    found.rewards.push(reward);
    this._grow();
    return true;
  }

  _grow() {
    this._count += 1;
    while (this._count > MOST_WAITING) {
      this._remove(this._kept.keys().next().value);
      this._dropped += 1;
      if (this._dropped % 1000 === 1) {
        console.warn(
          `varts: more than ${MOST_WAITING} decisions and rewards wait for the service; dropped the oldest`,
        );
      }
    }
  }

  _remove(id) {
    const gone = this._kept.get(id);
    if (gone === undefined) return;
    this._kept.delete(id);
    this._count -= 1 + gone.rewards.length;
  }

  unrecorded() {
    const waits = [...this._kept.values()].filter((one) => one.isSent && !one.isRecorded);
    return waits.map((one) => one.unsent);
  }

  rewards() {
    return [...this._kept.values()].flatMap((one) => (one.isRecorded ? one.rewards : []));
  }

  /** Forget what the service has, and what it refuses. */
  sent(kind, batch, results) {
    batch.forEach((item, at) => {
      const { status, detail } = results[at];
      const isGood = ["recorded", "applied", "duplicate"].includes(status);
      if (!isGood) {
        const reason = printable(detail ?? status);
        console.warn(`varts: the service refused to record ${JSON.stringify(item.id)}: ${reason}`);
      }
      const found = this._kept.get(item.id);
      if (found === undefined) return;
      if (kind === "fallbacks") {
        if (!isGood) return this._remove(item.id);
        found.isRecorded = true;
      } else if (found.rewards.includes(item)) {
        found.rewards.splice(found.rewards.indexOf(item), 1);
        this._count -= 1;
      }
      if (!found.rewards.length) this._remove(item.id);
    });
  }
}

/** The time that a call has in all. */
class Clock {
  constructor(allowed) {
    this.allowed = allowed;
    this._end = performance.now() + allowed;
  }

  get left() {
    return Math.max(this._end - performance.now(), 0);
  }
}

/** Whether an error means that the service can't be used, not that it refused something. */
function isUnavailable(error) {
  if (!(error instanceof VartsError)) return false;
  return ["lost", "malformed"].includes(error.kind) || error.status >= 500 || error.status === 429;
}

/** The text of a response, up to a size. */
async function readText(response, controller) {
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  const add = (bytes) => {
    size += bytes.length;
    if (size > MOST_RESPONSE_BYTES) {
      controller.abort();
      throw malformed(response.status, `it has more than ${MOST_RESPONSE_BYTES} bytes`);
    }
    text += decoder.decode(bytes, { stream: true });
  };
  const reader = response.body?.getReader();
  if (reader === undefined) return response.text(); // no body, or a fetch without streams
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    add(value);
  }
}

/** What a good response says. It comes from outside: if it can't be read, that is its fault. */
function readResponse({ status, text }, read) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw malformed(status, "it isn't JSON");
  }
  try {
    return read(checkObject(body));
  } catch (error) {
    throw malformed(status, error.message);
  }
}

function malformed(status, reason) {
  const text = `the response isn't one of a varts service: ${printable(reason)}`;
  return new VartsError(text, "malformed", status);
}

function checkObject(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("it must be an object");
  }
  return value;
}

function checkText(name, value) {
  if (typeof value !== "string") throw new TypeError(`${name} must be text`);
  return value;
}

function checkList(name, value, count) {
  if (!Array.isArray(value) || value.length !== count) {
    throw new TypeError(`${name} must be a list of ${count}`);
  }
  return value.map(checkObject);
}

function checkDecisions({ decisions }, asked) {
  return checkList("decisions", decisions, asked.length).map((one, at) => {
    for (const name of ["id", "arm", "reason"]) checkText(name, one[name]);
    if (typeof one.probability !== "number") throw new TypeError("probability must be a number");
    if (asked[at].id !== undefined && one.id !== asked[at].id) {
      throw new TypeError("decisions must be those that were asked for");
    }
    return one;
  });
}

function checkResults({ results }, sent) {
  return checkList("results", results, sent.length).map((one, at) => {
    if (one.id !== sent[at].id) throw new TypeError("results must be those of what was sent");
    checkText("status", one.status);
    return one.detail === undefined ? one : { ...one, detail: printable(one.detail) };
  });
}

function problemOf({ status, text, reason }) {
  if (status === 0) return new VartsError(`the service didn't answer: ${reason}`, "lost", 0);
  let body;
  try {
    body = checkObject(JSON.parse(text));
  } catch {
    body = {};
  }
  const { type, detail, request } = body;
  const kind = typeof type === "string" ? type.split("/").pop() : "";
  const known = typeof detail === "string";
  const shown = known ? printable(detail) : `the service answered ${status} without an explanation`;
  return new VartsError(shown, kind, status, typeof request === "string" ? request : undefined);
}

/** Text that is safe to show: on one line, without control characters, and not too long. */
function printable(text) {
  const cut = String(text).slice(0, LONGEST_DETAIL);
  const escape = (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return cut.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, escape);
}

/** Lists that fit into one request. */
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

/** JSON in bytes. JSON.stringify would turn NaN into null. */
function encodeJson(value) {
  const text = JSON.stringify(value, (key, one) => {
    if (typeof one === "number" && !Number.isFinite(one)) {
      throw new RangeError(`${key || "value"} must be a finite number, got ${one}`);
    }
    return one;
  });
  return new TextEncoder().encode(text);
}

/** The address of a service. Plain http would show the token to everybody on the way. */
function checkUrl(url) {
  const rule = "url must be https://host, or http:// on this machine";
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new TypeError(`${rule}, got ${JSON.stringify(url)}`);
  }
  if (parsed.username || parsed.password) {
    throw new TypeError("url must not contain a user or a password; use token");
  }
  const { protocol, hostname, search, hash } = parsed;
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (!(protocol === "https:" || (protocol === "http:" && isHere)) || search || hash) {
    throw new TypeError(`${rule}, got ${JSON.stringify(url)}`);
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

function checkDeadline(deadline) {
  if (deadline === undefined) return undefined;
  if (typeof deadline !== "number" || !(deadline > 0 && deadline <= LONGEST_MS)) {
    throw new RangeError(
      `deadline must be milliseconds above 0 and at most ${LONGEST_MS}, got ${deadline}`,
    );
  }
  return deadline;
}

function checkArm(arm) {
  if (arm !== undefined && (typeof arm !== "string" || arm === "")) {
    throw new TypeError(`default must be the name of an arm, got ${JSON.stringify(arm)}`);
  }
  return arm;
}

/** A part of a path. A part of dots alone would lead elsewhere; no id of a service is one. */
function encode(part) {
  if (/^\.{1,2}$/.test(part)) throw new RangeError(`"${part}" can't be part of an address`);
  return encodeURIComponent(part);
}

function compact(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
