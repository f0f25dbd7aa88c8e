// A client for `varts serve`: decide and reward, in browsers, Node 18+, Deno and Bun. `Experiment`
// asks the service for every decision; `LocalExperiment` draws arms itself and reports them later.
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
const PAUSE_MS = 5000; // after sending waiting items failed
const FLUSH_MS = 1000; // between two reports of local decisions
const LONGEST_PAUSE_MS = 60_000; // between two tries in the background
const LEAST_REFRESH = 0.1; // seconds between two requests for probabilities
const MOST_LOCAL = 100_000; // local decisions and rewards that wait for the service
const MOST_REMEMBERED = 100_000; // units, ids and receipts of local decisions
const LONGEST_DETAIL = 1000; // characters of a service's explanation
const ENCODER = new TextEncoder();
const AGAIN = new Set([429, 502, 503, 504]);
const LATER = new Set([401, 403]); // in the background: the token may be about to be repaired
const SPOILT = new Set([400, 413, 422]); // one item can be the reason
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

/** A random id. `crypto.randomUUID` exists on https and localhost only. */
export function newId() {
  if (typeof globalThis.crypto?.randomUUID === "function") return crypto.randomUUID();
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40; // version 4
  bytes[8] = (bytes[8] & 0x3f) | 0x80; // its variant
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Random bytes for ids, which must differ but needn't be secret: Node 18 has no global `crypto`. */
function randomBytes(count) {
  const bytes = new Uint8Array(count);
  if (globalThis.crypto !== undefined) return crypto.getRandomValues(bytes);
  return bytes.map(() => 256 * Math.random());
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One experiment of a service. */
export class Experiment {
  constructor(name, settings = {}) {
    const { isPublic = false, deadline, default: arm } = settings;
    this._service = new Service(name, settings);
    this.name = name;
    this._public = isPublic;
    this._deadline = checkDeadline(deadline);
    this._default = checkDefault(arm);
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
    checkDefault(arm);
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

  /** Send all that waits, if the service answers in time; never throws. */
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
        results = await this._service.send("POST", `/${kind}`, body, clock, read);
      } catch (error) {
        if (isUnavailable(error)) throw error;
        results = batch.map(({ id }) => ({ id, status: "refused", detail: error.message }));
      }
      this._waiting.sent(kind, batch, results);
    }
  }

  /** After a request that succeeded, send some waiting items; if that fails, keep them. */
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

  async _send(method, path, body, clock, read, keepalive = false) {
    const found = await this._service.send(method, path, body, clock, read, { keepalive });
    await this._sendWaiting(clock);
    return found;
  }
}

/**
 * One experiment that decides here, without waiting for the service: it draws arms with the
 * probabilities that the service gave last, and reports its decisions and rewards in the background.
 */
export class LocalExperiment {
  constructor(name, settings = {}) {
    const { isPublic = false, fallback, refreshMs } = settings;
    const { flushMs = FLUSH_MS, mostWaiting = MOST_LOCAL } = settings;
    this._service = new Service(name, settings);
    this.name = name;
    this._public = isPublic;
    this._fallback = checkArm("fallback", fallback);
    this._refreshMs = refreshMs === undefined ? undefined : checkMs("refreshMs", refreshMs);
    this._flushMs = checkMs("flushMs", flushMs);
    this._mostWaiting = checkCount("mostWaiting", mostWaiting);

    this._client = hex(randomBytes(16));
    this._prefix = `${hex(randomBytes(12))}-`;
    this._count = 0; // of ids that were made here

    this._allocation = undefined;
    this._confirmed = -Infinity; // when the service last confirmed the allocation
    this._until = -Infinity; // when the allocation gets too old
    this._tag = undefined;
    this._refreshTimer = undefined;
    this._error = undefined; // of the last refresh
    this._refreshFailures = 0; // in a row
    this._refreshes = []; // callbacks of callers that wait for the end of a refresh

    this._decisions = new Map(); // those that wait, by id, oldest first
    this._rewards = new Set(); // those that wait
    this._most = MOST_ITEMS; // in one request; less if the token's rate is low
    this._sending = undefined; // the round that is under way
    this._timer = undefined; // of the next round
    this._isHurried = false; // whether that timer is set for a full request
    this._sendFailures = 0; // in a row
    this._isLeaving = false;
    this._isMuted = false; // nothing more is sent
    this._isClosed = false;

    this._given = new Recent(MOST_REMEMBERED); // decisions whose id the caller made
    this._units = new Recent(MOST_REMEMBERED); // arms of units, if they are sticky
    this._receipts = new Recent(MOST_REMEMBERED);
    this._unlogged = new Recent(MOST_REMEMBERED); // ids whose rewards belong nowhere
    this._counts = { recorded: 0, rewarded: 0, dropped: 0, refused: {} };
    this._warned = new Set();

    this._leave = this._leave.bind(this);
    this._listen("addEventListener");
    this._refresh();
  }

  /** Wait until there are probabilities to draw with. An error if the service refuses, or is late. */
  async ready({ deadline } = {}) {
    const clock = new Clock(checkDeadline(deadline) ?? OTHER_MS);
    while (!this._isValid()) {
      const error = this._error;
      if (error !== undefined && !isUnavailable(error) && error.kind !== "") throw error;
      try {
        await clock.limit(new Promise((resolve) => this._refreshes.push(resolve)));
      } catch (late) {
        throw this._error ?? late;
      }
    }
  }

  /**
   * Choose an arm. This never waits, and never throws because of the service: without valid
   * probabilities you get the arm `fallback`, with the reason "fallback".
   */
  decide({ unit, context, id } = {}) {
    if (unit !== undefined) checkName("unit", unit);
    if (context !== undefined) checkContext(context);
    if (id !== undefined) {
      if (this._public) throw new TypeError("id must be left out with a public token");
      const made = this._given.get(checkName("id", id));
      if (made !== undefined) return made;
    }
    const entry = this._choose(id ?? this._prefix + (this._count += 1), unit, context);
    if (id !== undefined) this._given.set(id, entry.decision);
    this._keep(entry);
    return entry.decision;
  }

  /**
   * Record what a decision earned; it is sent after the decision. False if that is impossible: the
   * decision isn't logged, or too many rewards wait.
   */
  reward(id, value, { metrics, key, receipt } = {}) {
    if (!Number.isFinite(value)) throw new RangeError(`value must be a finite number, got ${value}`);
    checkName("id", id);
    const reward = compact({ id, value, metrics: metrics && { ...metrics }, key, receipt });
    encodeJson(reward);
    const isPossible = !this._public || this._decisions.has(id) || this._receiptOf(reward);
    if (this._unlogged.get(id) || !isPossible) {
      this._counts.dropped += 1; // there was a warning about its decision
      return false;
    }
    if (this._isMuted || this._rewards.size >= this._mostWaiting) {
      this._drop();
      return false;
    }
    this._rewards.add(reward);
    this._schedule();
    return true;
  }

  /** With a public token: what the rewards of a decision need, on a later page, too. */
  async receipt(id, { deadline } = {}) {
    if (this._decisions.has(id)) await this.flush({ deadline });
    return this._receipts.get(id);
  }

  /** Send the decisions and rewards that wait; an error if the service doesn't answer in time. */
  async flush({ deadline } = {}) {
    await this._flush(new Clock(checkDeadline(deadline) ?? OTHER_MS));
  }

  /** Send all that waits, if the service answers in time, and stop asking it; never throws. */
  async close({ deadline } = {}) {
    const clock = new Clock(checkDeadline(deadline) ?? OTHER_MS);
    try {
      do await this._flush(clock);
      while (this._waiting); // decisions that were made in the meantime
    } catch (error) {
      const count = this._waiting;
      console.warn(`varts: ${count} decisions and rewards never reached the service: ${error.message}`);
    }
    this._isClosed = this._isMuted = true;
    clearTimeout(this._timer);
    clearTimeout(this._refreshTimer);
    this._listen("removeEventListener");
  }

  /** What happened so far, and how old the probabilities are. */
  stats() {
    const { refused, ...counts } = this._counts;
    const age = this._allocation && performance.now() - this._confirmed;
    return {
      waiting: this._waiting,
      ...counts,
      refused: { ...refused },
      version: this._allocation?.version ?? null,
      age: age ?? null,
    };
  }

  get _waiting() {
    return this._decisions.size + this._rewards.size;
  }

  // ---------------------------------------------------------------------------- decisions

  _isValid() {
    return performance.now() < this._until;
  }

  /** Make a decision, together with the data to report it. */
  _choose(id, unit, given) {
    const at = performance.now();
    const allocation = this._allocation;
    const isValid = at < this._until;
    if (!isValid || (allocation.isSticky && unit === undefined)) {
      if (isValid) this._warn("unit", "the experiment is sticky: pass a unit to decide");
      const made = { id, arm: this._fallback, probability: 1, version: 0, reason: "fallback" };
      const nothing = { context: undefined, allocation: undefined, memory: undefined };
      return { id, decision: made, at, unit, ...nothing };
    }
    const context = given === undefined ? undefined : this._pick(given, allocation.wanted);
    const shares = allocation.sharesOf(unit ?? id, context);
    if (allocation.isSticky) return this._assign(id, unit, context, at, shares);
    const chosen = shares.draw();
    const decision = {
      id,
      arm: shares.arms[chosen],
      probability: shares.probabilities[chosen],
      version: allocation.version,
      reason: allocation.reason,
    };
    return { id, decision, at, unit, context, allocation, memory: undefined };
  }

  /** A copy of the part of a context that the service wants: the caller may change theirs. */
  _pick(context, wanted) {
    const picked = Object.create(null); // so that no feature is inherited
    for (const [name, value] of Object.entries(context)) {
      if (wanted.has(name)) picked[name] = value;
      else this._warn("context", `the experiment has no feature ${JSON.stringify(name)}; it isn't sent`);
    }
    return wanted.size ? picked : undefined;
  }

  /**
   * The arm of a sticky unit, which it keeps while the arm is in play, even with a probability of
   * 0 now: the service keeps it, too. Until the service has its first decision, all of them are
   * reported with the version and the probability that its arm was drawn with: any may come first.
   */
  _assign(id, unit, context, at, shares) {
    const current = this._allocation;
    let memory = this._units.get(unit);
    const isKnown = memory !== undefined && current.inPlay.has(memory.arm);
    if (!isKnown) {
      const chosen = shares.choose(current.key, unit);
      const [arm, probability] = [shares.arms[chosen], shares.probabilities[chosen]];
      memory = { arm, probability, allocation: current, isRecorded: false };
      this._units.set(unit, memory);
    }
    const allocation = memory.isRecorded ? current : memory.allocation;
    const { arm, probability = shares.probabilityOf(arm) ?? 0 } = memory;
    const reason = isKnown ? "sticky" : "local";
    const decision = { id, arm, probability, version: allocation.version, reason };
    return { id, decision, at, unit, context, allocation, memory };
  }

  /** Let a decision wait for the next report, if there is room. */
  _keep(entry) {
    if (this._public && entry.allocation === undefined) return; // such tokens can't report it
    if (this._isMuted || this._waiting >= this._mostWaiting) {
      this._unlogged.set(entry.id, true);
      this._drop();
      return;
    }
    this._decisions.set(entry.id, entry);
    this._schedule();
  }

  _drop() {
    this._counts.dropped += 1;
    const why = this._isClosed ? "it is closed" : `${this._waiting} wait already`;
    if (this._isClosed || !this._isMuted) {
      this._warn("dropped", `new decisions or rewards aren't sent to the service: ${why}`);
    }
  }

  /** Warn, once for every kind of trouble. */
  _warn(kind, text) {
    if (this._warned.has(kind)) return;
    this._warned.add(kind);
    console.warn(`varts: ${JSON.stringify(this.name)}: ${text}`);
  }

  // ---------------------------------------------------------------------------- probabilities

  /** Ask for the probabilities, and set the timer to ask again. */
  async _refresh() {
    const began = performance.now();
    let wait;
    try {
      const clock = new Clock(OTHER_MS, true);
      const read = (body, tag) => [new Allocation(body), tag];
      const [path, tag] = ["/allocation", this._tag];
      const found = await this._service.send("GET", path, undefined, clock, read, { tag });
      if (found !== undefined) [this._allocation, this._tag] = [found[0], found[1] ?? undefined];
      this._confirmed = began;
      this._until = began + 1000 * this._allocation.lifetime;
      this._refreshFailures = 0;
      this._error = undefined;
      this._warned.delete("refresh");
      const refresh = this._refreshMs ?? 1000 * this._allocation.refresh;
      wait = Math.min(refresh * (0.9 + 0.2 * Math.random()), LONGEST_MS);
      if (this._sendFailures) this._sendSoon(0); // the service is back
    } catch (error) {
      this._error = error;
      if (error instanceof VartsError && !isPassing(error)) {
        [this._until, this._tag] = [-Infinity, undefined]; // such as: it is stopped
      }
      const until = this._isValid() ? "old probabilities are used" : "decisions get the fallback";
      this._warn("refresh", `no new probabilities: ${error.message}; ${until}`);
      wait = backOff((this._refreshFailures += 1));
    }
    this._refreshSoon(wait);
    for (const resolve of this._refreshes.splice(0)) resolve();
  }

  /** Set the only timer of the next request for probabilities. */
  _refreshSoon(ms) {
    clearTimeout(this._refreshTimer);
    if (!this._isClosed) this._refreshTimer = later(() => this._refresh(), ms, true);
  }

  // ---------------------------------------------------------------------------- reports

  /** Set the timer of the next report, which comes early if it fills a request. */
  _schedule() {
    if (this._sending !== undefined) return;
    if (this._sendFailures) {
      if (this._timer === undefined) this._sendSoon(backOff(this._sendFailures));
    } else if (this._waiting >= this._most) {
      if (!this._isHurried) this._sendSoon(0);
    } else if (this._timer === undefined) this._sendSoon(this._flushMs);
  }

  _sendSoon(ms) {
    clearTimeout(this._timer);
    if (this._isClosed) return;
    this._isHurried = ms === 0;
    this._timer = later(() => this._send(), ms, true);
  }

  /** Send all that waits now, once at a time: returns a promise of an error or undefined. */
  _send() {
    if (this._sending !== undefined) return this._sending;
    clearTimeout(this._timer);
    [this._timer, this._isHurried] = [undefined, false];
    this._sending = this._sendAll().then(
      () => this._sent(undefined),
      (error) => this._sent(error),
    );
    return this._sending;
  }

  _sent(error) {
    this._sending = undefined;
    if (error === undefined) {
      this._sendFailures = 0;
      this._warned.delete("send");
    } else {
      this._sendFailures += 1;
      this._warn("send", `decisions wait, because the service doesn't accept them: ${error.message}`);
    }
    if (this._waiting) this._schedule();
    return error;
  }

  async _flush(clock) {
    if (this._sending !== undefined) await clock.limit(this._sending); // may lack the latest
    for (let failures = 1; ; failures += 1) {
      const error = await clock.limit(this._send());
      if (error === undefined) return;
      const pause = backOff(failures);
      if (pause >= clock.left) throw error;
      await clock.sleep(pause);
    }
  }

  /** Send the decisions that wait, then the rewards that wait. */
  async _sendAll() {
    const rewards = [...this._rewards]; // of decisions that are sent below, or were before
    for (const [kind, entries] of Object.entries(this._byKind())) {
      for (const batch of this._batches(kind, entries)) await this._sendBatch(kind, batch);
    }
    const possible = this._possible(rewards);
    if (this._public) for (const one of possible) await this._sendReward(one);
    else for (const batch of this._batches("rewards", possible)) await this._sendBatch("rewards", batch);
  }

  _byKind() {
    const kinds = { exposures: [], fallbacks: [] };
    for (const one of this._decisions.values()) {
      kinds[one.allocation === undefined ? "fallbacks" : "exposures"].push(one);
    }
    return kinds;
  }

  _batches(kind, items, bytes = MOST_BYTES) {
    const share = kind === "exposures" ? (one) => one.allocation.ticket : undefined;
    return batches(items, { most: this._most, bytes, write: WRITE[kind], share });
  }

  /** Rewards whose decisions the service has. Those of decisions that it refused are forgotten. */
  _possible(rewards) {
    const possible = [];
    for (const one of rewards) {
      if (this._decisions.has(one.id)) continue; // made in the meantime
      if (this._unlogged.get(one.id) || (this._public && !this._receiptOf(one))) {
        this._rewards.delete(one);
        this._counts.dropped += 1;
      } else possible.push(one);
    }
    return possible;
  }

  _receiptOf({ id, receipt }) {
    return receipt ?? this._receipts.get(id);
  }

  /** If the service refuses a request as a whole, send its halves, to find the item at fault. */
  async _sendBatch(kind, batch, keepalive = false) {
    const body = () => {
      const items = batch.map(WRITE[kind]);
      if (kind !== "exposures") return { [kind === "rewards" ? kind : "decisions"]: items };
      const tickets = [...new Set(batch.map((one) => one.allocation.ticket))];
      return { client: this._client, tickets, exposures: items };
    };
    const read = (answer) => checkResults(answer, batch);
    let results;
    try {
      const clock = new Clock(OTHER_MS, true);
      results = await this._service.send("POST", `/${kind}`, body, clock, read, { keepalive });
    } catch (error) {
      if (!(error instanceof VartsError) || isPassing(error)) throw error;
      const half = batch.length >> 1;
      if (error.status === 413) this._most = Math.max(Math.min(this._most, half), 1);
      if (half && SPOILT.has(error.status)) {
        await this._sendBatch(kind, batch.slice(0, half), keepalive);
        return this._sendBatch(kind, batch.slice(half), keepalive);
      }
      const status = error.kind || "refused";
      results = batch.map(() => ({ status, detail: error.message }));
    }
    batch.forEach((one, at) => {
      if (kind === "rewards") this._rewardSent(one, results[at]);
      else this._decisionSent(one, results[at]);
    });
  }

  /** Send one reward with a public token. */
  async _sendReward(reward, keepalive = false) {
    const { id, value, metrics, key } = reward;
    const body = compact({ value, metrics, key, receipt: this._receiptOf(reward) });
    const path = `/decisions/${encode(id)}/reward`;
    const read = ({ status }) => ({ status: checkText("status", status) });
    let result;
    try {
      const clock = new Clock(OTHER_MS, true);
      result = await this._service.send("PUT", path, body, clock, read, { keepalive });
    } catch (error) {
      if (!(error instanceof VartsError)) throw error;
      if (isPassing(error) && error.kind !== "forbidden") throw error; // a wrong receipt stays wrong
      result = { status: error.kind || "refused", detail: error.message };
    }
    this._rewardSent(reward, result);
  }

  _rewardSent(reward, { status, detail }) {
    if (!this._rewards.delete(reward)) return; // sent twice, when the page was hidden
    if (status === "applied" || status === "duplicate") this._counts.rewarded += 1;
    else this._refused("reward", reward.id, status, detail);
  }

  _decisionSent(entry, { status, detail, arm, receipt }) {
    if (this._decisions.get(entry.id) !== entry) return; // sent twice, when the page was hidden
    this._decisions.delete(entry.id);
    if (status === "recorded" || status === "duplicate") {
      this._counts.recorded += 1;
      if (entry.memory !== undefined) entry.memory.isRecorded = true;
      if (typeof receipt === "string") this._receipts.set(entry.id, receipt);
      return;
    }
    this._unlogged.set(entry.id, true);
    this._refused("decision", entry.id, status, detail);
    if (entry.memory !== undefined) {
      const isTaken = status === "conflict" && typeof arm === "string"; // another process was first
      if (isTaken) this._units.set(entry.unit, { arm, isRecorded: true });
      else this._units.delete(entry.unit);
    }
    if (status === "unlikely" && !this._isMuted) this._mute(detail);
    if (status === "unknown-version") this._forget(entry.allocation);
  }

  _refused(what, id, status, detail = status) {
    const { refused } = this._counts;
    refused[status] = (refused[status] ?? 0) + 1;
    const shown = `${JSON.stringify(id)}: ${printable(detail)}`;
    this._warn(`${what} ${status}`, `the service refused the ${what} ${shown} (stats() has the number of them)`);
  }

  /** The service found that arms weren't drawn with the probabilities: nothing more is recorded. */
  _mute(detail = "the arms of this client don't match their probabilities") {
    this._isMuted = true;
    this._warn(
      "muted",
      `nothing more is recorded until a restart: ${printable(detail)}. Do you ask for decisions ` +
        "that you don't use, or use ids twice?",
    );
    for (const one of [...this._decisions.values()]) {
      if (one.allocation !== undefined) this._decisionSent(one, { status: "unlikely" });
    }
  }

  /** The database was restored: it may lack data that is remembered here. */
  _forget(allocation) {
    this._units = new Recent(MOST_REMEMBERED);
    if (allocation !== this._allocation || this._tag === undefined) return;
    this._tag = undefined;
    this._refreshSoon(0);
  }

  // ---------------------------------------------------------------------------- web pages

  _listen(how) {
    globalThis.document?.[how]?.("visibilitychange", this._leave);
    if (globalThis.document !== undefined) globalThis[how]?.("pagehide", this._leave);
  }

  /**
   * A page that is hidden may never run again: send as much as fits into requests that outlive it. If
   * it does run again, the rest follows.
   */
  async _leave({ type }) {
    const isHidden = type === "pagehide" || document.visibilityState === "hidden";
    if (!isHidden || this._isLeaving || !this._waiting) return;
    this._isLeaving = true;
    const sent = [];
    let room = KEEPALIVE_BYTES - 1000; // for the rest of the request around the items
    const kinds = this._byKind();
    const rewards = this._possible(this._rewards);
    if (!this._public) kinds.rewards = rewards;
    for (const [kind, items] of Object.entries(kinds)) {
      const [batch = []] = this._batches(kind, items, room);
      const tickets = new Set(kind === "exposures" ? batch.map((one) => one.allocation.ticket) : []);
      const size = encodeJson([batch.map(WRITE[kind]), ...tickets]).length;
      if (!batch.length || size > room) continue;
      room -= size;
      sent.push(this._sendBatch(kind, batch, true));
    }
    for (const one of this._public ? rewards : []) {
      room -= encodeJson([one, this._receiptOf(one)]).length;
      if (room < 0) break;
      sent.push(this._sendReward(one, true));
    }
    await Promise.allSettled(sent);
    this._isLeaving = false;
    if (this._waiting) this._sendSoon(0);
  }
}

/** What is sent of the things that wait. */
const WRITE = {
  exposures: ({ id, decision, unit, context, at }) => {
    const age = Math.max(Math.round(performance.now() - at), 0) / 1000;
    return { id, arm: decision.arm, version: decision.version, age, unit, context };
  },
  fallbacks: ({ id, decision, unit }) => ({ id, arm: decision.arm, unit: unit ?? null }),
  rewards: ({ id, value, metrics, key }) => compact({ id, value, metrics, key }),
};

/** The probabilities of a version of an experiment, as the service gives them to clients. */
class Allocation {
  constructor(body) {
    const { version, arms, probabilities, cells, active, holdout, sticky, key, winner } = body;
    const { refresh, lifetime, ticket, context = null } = body;
    if (!Number.isSafeInteger(version)) throw new TypeError("version must be an integer");
    checkList("arms", arms).forEach((arm) => checkText("an arm", arm));
    checkList("active", active, arms.length);
    if (!(winner === null || arms.includes(winner))) throw new TypeError("winner must be an arm");
    for (const [name, value] of Object.entries({ holdout, refresh, lifetime })) {
      if (!(Number.isFinite(value) && value >= 0)) throw new TypeError(`${name} must be a number`);
    }
    if (refresh < LEAST_REFRESH) throw new TypeError(`refresh must be at least ${LEAST_REFRESH}`);
    this.version = version;
    this.isSticky = sticky === true && winner === null;
    this.key = checkText("key", key);
    this.ticket = checkText("ticket", ticket);
    this.wanted = new Set(context === null ? [] : checkList("context", context));
    this.inPlay = new Set(arms.filter((_, at) => active[at]));
    this.reason = winner === null ? "local" : "winner";
    this.refresh = refresh;
    this.lifetime = lifetime;
    this._holdout = winner === null ? holdout : 0;
    const count = active.filter(Boolean).length;
    if (this._holdout) this._even = new Shares(arms, active.map((one) => (one ? 1 / count : 0)));
    if (winner !== null) this._shares = new Shares([winner], [1]);
    else if (cells === null) this._shares = new Shares(arms, probabilities);
    else this._cells = new Cells(arms, checkObject(cells));
  }

  /** The probabilities of a unit, or of the id of a decision without one. */
  sharesOf(who, context) {
    if (this._holdout && hashed(this.key, "holdout", who, 0) < this._holdout) return this._even;
    return this._shares ?? this._cells.sharesOf(context);
  }
}

/** Probabilities that depend on features, all of which are categories. */
class Cells {
  constructor(arms, { features, values, probabilities }) {
    this._arms = arms;
    this._features = checkList("features", features);
    this._places = checkList("values", values, features.length).map(
      (kind) => new Map(checkList("values", kind).map((value, at) => [value, at])),
    );
    const count = this._places.reduce((product, { size }) => product * size, 1);
    this._rows = checkList("probabilities", probabilities, count);
    this._rows.forEach((row) => checkProbabilities(row, arms.length));
    this._shares = []; // made when they are needed
  }

  sharesOf(context = {}) {
    let row = 0; // the last feature varies fastest
    this._features.forEach((name, at) => {
      const places = this._places[at];
      row = row * places.size + (places.get(categoryOf(context[name])) ?? places.size - 1);
    });
    return (this._shares[row] ??= new Shares(this._arms, this._rows[row]));
  }
}

function categoryOf(value) {
  if (typeof value === "boolean") return value ? "True" : "False"; // as the service writes them
  return value === undefined || value === null ? "missing" : String(value);
}

/** The arms that can be drawn, with their probabilities. */
class Shares {
  constructor(arms, probabilities) {
    checkProbabilities(probabilities, arms.length);
    this._at = arms.map((_, at) => at).filter((at) => probabilities[at] > 0);
    this.arms = this._at.map((at) => arms[at]);
    this.probabilities = this._at.map((at) => probabilities[at]);
    let sum = 0;
    this._ends = this.probabilities.map((one) => (sum += one));
    this._ends[this._ends.length - 1] = Infinity; // rounding leaves no gap
  }

  probabilityOf(arm) {
    return this.probabilities[this.arms.indexOf(arm)];
  }

  /** Draw at random. */
  draw() {
    const [number, ends] = [Math.random(), this._ends];
    let [low, high] = [0, ends.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (number < ends[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * The arm of a sticky unit: each arm gets its probability, and when probabilities change, few
   * units move (weighted rendezvous hashing).
   */
  choose(key, unit) {
    let [best, least] = [0, Infinity];
    this.probabilities.forEach((probability, place) => {
      const score = -Math.log(hashed(key, "sticky", unit, this._at[place])) / probability;
      if (score < least) [best, least] = [place, score];
    });
    return best;
  }
}

function checkProbabilities(probabilities, count) {
  let sum = 0;
  for (const one of checkList("probabilities", probabilities, count)) {
    if (!(typeof one === "number" && one >= 0)) throw new TypeError("a probability must be a number");
    sum += one;
  }
  if (!(Math.abs(sum - 1) < 1e-6)) throw new TypeError("probabilities must have the sum 1");
}

/** A map of half of `most` to `most` entries; it forgets the ones used least recently. */
class Recent {
  constructor(most) {
    this._half = Math.ceil(most / 2);
    this._old = new Map();
    this._new = new Map();
  }

  get(key) {
    const found = this._new.get(key);
    if (found !== undefined || !this._old.has(key)) return found;
    this.set(key, this._old.get(key));
    return this._new.get(key) ?? this._old.get(key);
  }

  delete(key) {
    this._old.delete(key);
    this._new.delete(key);
  }

  set(key, value) {
    this._new.set(key, value);
    if (this._new.size >= this._half) [this._old, this._new] = [this._new, new Map()];
  }
}

/** A number between 0 and 1 that depends on its arguments alone; every client computes the same. */
function hashed(key, purpose, text, index) {
  const digest = sha256(`${key}/${purpose}/${index >> 2}/${text}`);
  const at = 2 * (index & 3); // eight bytes of them
  const top = (digest[at] >>> 0) * 2 ** 20 + (digest[at + 1] >>> 12); // 52 bits
  return (top + 0.5) * 2 ** -52;
}
export { hashed as _hashed }; // for the tests

// SHA-256 (FIPS 180-4). Browsers have only an asynchronous one, and decisions don't wait.
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n += 1) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);
const fractionBits = (number) => ((number % 1) * 2 ** 32) | 0; // the first 32
const SHA_START = PRIMES.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));
const SHA_ROUNDS = Int32Array.from(PRIMES, (prime) => fractionBits(Math.cbrt(prime)));
const schedule = new Int32Array(64);
const digest = new Int32Array(8);
let padded = new Uint8Array(512);
let hashedText; // the last one: four arms share a hash

/** The SHA-256 of a text in UTF-8: eight numbers of 32 bits, valid until the next call. */
function sha256(text) {
  if (text === hashedText) return digest;
  hashedText = text;
  if (padded.length < 3 * text.length + 72) padded = new Uint8Array(6 * text.length + 72);
  const { written } = ENCODER.encodeInto(text, padded);
  const end = ((written + 72) >> 6) << 6; // whole blocks, with room for a bit and the length
  padded.fill(0, written, end);
  padded[written] = 0x80;
  for (let at = 1, bits = 8 * written; bits; at += 1, bits = Math.floor(bits / 256)) {
    padded[end - at] = bits;
  }
  digest.set(SHA_START);
  for (let at = 0; at < end; at += 64) addBlock(at);
  return digest;
}

function addBlock(start) {
  const w = schedule;
  for (let t = 0, at = start; t < 16; t += 1, at += 4) {
    w[t] = (padded[at] << 24) | (padded[at + 1] << 16) | (padded[at + 2] << 8) | padded[at + 3];
  }
  for (let t = 16; t < 64; t += 1) {
    const [x, y] = [w[t - 15], w[t - 2]];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = (w[t - 16] + s0 + w[t - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = digest;
  for (let t = 0; t < 64; t += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + SHA_ROUNDS[t] + w[t]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, at) => (digest[at] = (digest[at] + word) | 0));
}

/** The service's part for one experiment: requests, with retries within the time of a clock. */
class Service {
  constructor(name, { url, token, fetch: own }) {
    this._base = `${checkUrl(url)}/v1/experiments/${encode(checkName("name", name))}`;
    this._token = token;
    this._fetch = own ?? ((...given) => globalThis.fetch(...given));
  }

  /**
   * Send a request and read its response. A body that is a function is made again for every try.
   * With the `tag` of an earlier response, it returns undefined if nothing has changed since.
   */
  async send(method, path, body, clock, read, { keepalive = false, tag } = {}) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this._token !== undefined) headers["Authorization"] = `Bearer ${this._token}`;
    if (tag !== undefined) headers["If-None-Match"] = tag;
    const fixed = typeof body === "object" ? encodeJson(body) : undefined;
    let wait = FIRST_WAIT_MS;
    for (let left = TRIES - 1; ; left -= 1) {
      const content = typeof body === "function" ? encodeJson(body()) : fixed;
      if (keepalive && content.length > KEEPALIVE_BYTES) {
        throw new RangeError(
          `a request that outlives the page must have at most ${KEEPALIVE_BYTES} bytes, got ${content.length}`,
        );
      }
      const options = { method, headers, body: content, keepalive, redirect: "error" };
      const response = await this._try(this._base + path, options, clock);
      if (response.ok) return readResponse(response, read);
      if (response.status === 304 && tag !== undefined) return undefined;
      if (!left || !(response.status === 0 || AGAIN.has(response.status))) throw problemOf(response);
      const asked = Math.min(1000 * (Number(response.retryAfter) || 0), LONGEST_WAIT_MS);
      const pause = Math.max(wait * (0.5 + Math.random() / 2), asked);
      if (pause >= clock.left) throw problemOf(response);
      await clock.sleep(pause);
      wait *= 2;
    }
  }

  /** One try: a response, or status 0 and the reason why it failed. */
  async _try(url, options, clock) {
    const controller = new AbortController();
    try {
      // An own fetch, or a body that is under way, may ignore the signal.
      const response = this._fetchText(url, options, controller);
      return await clock.limit(response, () => controller.abort());
    } catch (error) {
      if (error instanceof VartsError) throw error;
      const reason = clock.left ? String(error?.cause ?? error) : clock.late;
      return { ok: false, status: 0, reason: printable(reason) };
    }
  }

  async _fetchText(url, options, controller) {
    const response = await this._fetch(url, { ...options, signal: controller.signal });
    const text = await readText(response, controller);
    const [retryAfter, tag] = ["Retry-After", "ETag"].map((name) => response.headers.get(name));
    return { ok: response.ok, status: response.status, text, retryAfter, tag };
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

  /** Forget the items that the service has, and those that it refuses. */
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

/** The time that a call has in all. In the background, it doesn't keep a program running. */
class Clock {
  constructor(allowed, isBackground = false) {
    this.late = `the deadline of ${allowed} ms passed`;
    this._end = performance.now() + allowed;
    this._isBackground = isBackground;
  }

  get left() {
    return Math.max(this._end - performance.now(), 0);
  }

  sleep(ms) {
    return new Promise((resolve) => later(resolve, ms, this._isBackground));
  }

  /** Wait for a promise, but not longer than the time that is left. */
  async limit(promise, giveUp = () => {}) {
    let timer;
    const passed = new Promise((_, reject) => {
      const end = () => {
        reject(problemOf({ status: 0, reason: this.late }));
        giveUp();
      };
      timer = later(end, this.left, this._isBackground);
    });
    try {
      return await Promise.race([promise, passed]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whether an error means that the service can't be used, not that it refused something. */
function isUnavailable(error) {
  if (!(error instanceof VartsError)) return false;
  return ["lost", "malformed"].includes(error.kind) || error.status >= 500 || error.status === 429;
}

/** Whether to try again later, in the background. Another server on the way explains nothing. */
function isPassing(error) {
  const { kind, status } = error;
  return isUnavailable(error) || LATER.has(status) || (kind === "" && !SPOILT.has(status));
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
function readResponse({ status, text, tag }, read) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw malformed(status, "it isn't JSON");
  }
  try {
    return read(checkObject(body), tag);
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

function checkList(name, value, count = value?.length) {
  if (!Array.isArray(value) || value.length !== count || !count) {
    throw new TypeError(`${name} must be a list${count ? ` of ${count}` : ""}`);
  }
  return value;
}

function checkDecisions({ decisions }, asked) {
  return checkList("decisions", decisions, asked.length).map((one, at) => {
    checkObject(one);
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
    if (checkObject(one).id !== sent[at].id) throw new TypeError("results must be those of what was sent");
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

/**
 * Lists that fit into one request. `write` returns what is sent of an item, and `share` a text that
 * the request has once for all items with the same.
 */
function* batches(items, { most = MOST_ITEMS, bytes = MOST_BYTES, write = same, share } = {}) {
  let [batch, size, shared] = [[], 0, new Set()];
  for (const item of items) {
    const own = encodeJson(write(item)).length + 1;
    const text = share?.(item);
    const more = () => (text === undefined || shared.has(text) ? own : own + text.length + 3);
    if (batch.length && (batch.length >= most || size + more() > bytes)) {
      yield batch;
      [batch, size, shared] = [[], 0, new Set()];
    }
    size += more();
    batch.push(item);
    shared.add(text);
  }
  if (batch.length) yield batch;
}

function same(item) {
  return item;
}

/** JSON in bytes. JSON.stringify would turn NaN into null. */
function encodeJson(value) {
  const text = JSON.stringify(value, (key, one) => {
    if (typeof one === "number" && !Number.isFinite(one)) {
      throw new RangeError(`${key || "value"} must be a finite number, got ${one}`);
    }
    return one;
  });
  return ENCODER.encode(text);
}

/** How long to wait before the next try in the background. */
function backOff(failures) {
  const most = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return most * (0.5 + Math.random() / 2);
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
  return deadline === undefined ? undefined : checkMs("deadline", deadline);
}

function checkMs(name, ms) {
  if (typeof ms !== "number" || !(ms > 0 && ms <= LONGEST_MS)) {
    throw new RangeError(
      `${name} must be milliseconds above 0 and at most ${LONGEST_MS}, got ${ms}`,
    );
  }
  return ms;
}

function checkCount(name, count) {
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new RangeError(`${name} must be an integer of at least 1, got ${count}`);
  }
  return count;
}

function checkContext(context) {
  if (typeof context !== "object" || context === null || Array.isArray(context)) {
    throw new TypeError(`context must be an object, got ${JSON.stringify(context)}`);
  }
  for (const [name, value] of Object.entries(context)) {
    if (!(value === null || ["string", "boolean", "number", "undefined"].includes(typeof value))) {
      throw new TypeError(`${name} must be text, a number, true, false or null, got ${typeof value}`);
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new RangeError(`${name} must be a finite number, got ${value}`);
    }
  }
}

function checkArm(name, arm) {
  if (typeof arm !== "string" || arm === "") {
    throw new TypeError(`${name} must be the name of an arm, got ${JSON.stringify(arm)}`);
  }
  return arm;
}

function checkDefault(arm) {
  return arm === undefined ? undefined : checkArm("default", arm);
}

function checkName(name, value) {
  if (typeof value !== "string" || value === "") {
    throw new TypeError(`${name} must be text that is not empty, got ${JSON.stringify(value)}`);
  }
  return value;
}

/** A part of a path. A part of dots alone would lead elsewhere; no id of a service is one. */
function encode(part) {
  if (/^\.{1,2}$/.test(part)) throw new RangeError(`"${part}" can't be part of an address`);
  return encodeURIComponent(part);
}

function compact(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Set a timer. One in the background doesn't keep a program of Node, Deno or Bun running. */
function later(action, ms, isBackground) {
  const timer = setTimeout(action, ms);
  if (!isBackground) return timer;
  if (typeof timer === "object") timer.unref();
  else globalThis.Deno?.unrefTimer(timer);
  return timer;
}
