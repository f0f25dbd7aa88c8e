// Run by tests/client/test_javascript.py, which starts a service: node --test clients/js
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import net from "node:net";
import test from "node:test";
import { promisify } from "node:util";

import { Experiment, LocalExperiment, VartsError, _hashed, newId } from "./varts.js";

const { VARTS_URL: url, VARTS_TOKEN: token, VARTS_PUBLIC_TOKEN: publicToken } = process.env;
const PAGE = { Origin: "https://shop.example" };
const price = () => new Experiment("price", { url, token });

/** What a web page's requests have beside. */
const fromPage = (address, options) =>
  fetch(address, { ...options, headers: { ...options.headers, ...PAGE } });

/** A fetch that gives these answers one after the other: a status, or an error. */
function answering(...answers) {
  const asked = [];
  const own = async (address, options) => {
    asked.push({ address, ...options });
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next instanceof Error) throw next;
    return next(options);
  };
  return { own, asked };
}
/** A decision for whatever id was asked for. */
const good = ({ body }) => {
  const [{ id }] = JSON.parse(new TextDecoder().decode(body)).decisions;
  const made = { id, arm: "9", probability: 1, version: 1, reason: "policy", estimated: false };
  return Response.json({ decisions: [made] });
};
const busy = () => new Response("{}", { status: 503, headers: { "Retry-After": "0" } });

test("decides and rewards", async () => {
  const decision = await price().decide({ unit: "user-42" });
  assert.ok(["9", "12", "15"].includes(decision.arm));
  assert.equal(decision.receipt, undefined);
  assert.equal(await price().reward(decision.id, 11.7), true);
  assert.equal(await price().reward(decision.id, 11.7), false);
  await assert.rejects(price().reward(decision.id, 99), (error) => {
    assert.ok(error instanceof VartsError);
    assert.equal(error.kind, "reward-conflict");
    return /already has the reward 11.7, got 99/.test(error.message);
  });
});

test("the same id gets the same decision", async () => {
  const id = "a/b \u00fc .. ?#";
  const first = await price().decide({ id });
  assert.deepEqual(await price().decide({ id }), first);
  assert.equal(await price().reward(id, 1), true);
  assert.equal((await price().decide({ id: ".." })).id, "..");
  assert.equal(await price().reward("..", 1), true);
});

test("many at once, more than one request carries", async () => {
  const made = await price().decideMany(Array.from({ length: 2100 }, () => ({})));
  assert.equal(new Set(made.map((one) => one.id)).size, 2100);
  const rewards = made.map((one, at) => ({ id: one.id, value: at % 7, metrics: { refund: 0 } }));
  const results = await price().rewardEach([...rewards, { id: "never", value: 1 }]);
  assert.equal(results.length, 2101);
  assert.deepEqual(results.slice(0, 2100).filter((one) => one.status !== "applied"), []);
  assert.equal(results[2100].status, "unknown");
  const report = await price().report({ level: 0.9 });
  assert.equal(report.level, 0.9);
  assert.ok(report.arms.reduce((sum, arm) => sum + arm.n, 0) >= 2100);
});

test("parts of a reward count once by their key", async () => {
  const { id } = await price().decide();
  assert.equal(await price().reward(id, 10, { key: "order 1" }), true);
  assert.equal(await price().reward(id, 10, { key: "order 1" }), false);
  assert.equal(await price().reward(id, -10, { key: "refund" }), true);
});

test("a page decides and rewards with a public token", async () => {
  const settings = { url, token: publicToken, isPublic: true, fetch: fromPage };
  const banner = new Experiment("banner", settings);
  const decision = await banner.decide();
  assert.match(decision.receipt, /\S/);
  assert.equal(await banner.reward(decision.id, 1, { keepalive: true }), true);
  assert.equal(await banner.reward(decision.id, 1), false);
  const later = new Experiment("banner", settings); // the page after this one
  const kept = { receipt: decision.receipt };
  assert.equal(await later.reward(decision.id, 1, kept), false);
  await assert.rejects(later.reward(decision.id, 1), { kind: "forbidden", status: 403 });
  await assert.rejects(banner.decide({ id: "mine" }), TypeError);
  await assert.rejects(banner.rewardEach([{ id: decision.id, value: 1 }]), TypeError);
});

test("decides by what is known of a unit", async () => {
  const mug = new Experiment("mug", { url, token });
  const context = { country: "NL", visits: 3 };
  const made = await mug.decide({ id: "with context", context });
  assert.ok(["red", "blue"].includes(made.arm));
  const several = await mug.decideMany([{ context }, { context: { country: null, visits: 1 } }]);
  assert.equal(several.length, 2);
  for (const { id } of several) assert.equal(await mug.reward(id, 1), true);
  const refused = { kind: "refused", status: 422 };
  await assert.rejects(mug.decide(), { ...refused, message: /^context must be given/ });
  await assert.rejects(mug.decide({ context: { visit: 3 } }), {
    ...refused,
    message: "unknown feature 'visit'; did you mean 'visits'? known: country, visits",
  });
  await assert.rejects(price().decide({ context }), /context must be left out/);
  await assert.rejects(mug.decide({ context: { visits: NaN } }), /visits must be a finite number/);
});

test("a page says what it knows in categories", async () => {
  const settings = { url, token: publicToken, isPublic: true, fetch: fromPage };
  const banner = new Experiment("banner-by-device", settings);
  const { id } = await banner.decide({ context: { device: "phone" } });
  assert.equal(await banner.reward(id, 1), true);
  const mug = new Experiment("banner-by-visits", settings);
  await assert.rejects(mug.decide({ context: { visits: 1e300 } }), {
    kind: "forbidden",
    message: "a public token may decide only where no feature is a number",
  });
});

test("a refusal says why", async () => {
  const wrong = new Experiment("price", { url, token: "varts_wrong" });
  await assert.rejects(wrong.decide(), { kind: "unauthorized", status: 401 });
  const none = new Experiment("prise", { url, token });
  await assert.rejects(none.decide(), { kind: "unknown-experiment", status: 404 });
  await assert.rejects(price().reward("never", 1), { kind: "unknown-decision" });
  await assert.rejects(price().reward("d", NaN), /^RangeError: value must be a finite number/);
  assert.throws(() => new Experiment("", { url }), /name must be text/);
  assert.throws(() => new Experiment("price", { url: "host" }), /^TypeError: url must be https:/);
});

test("asks again, with the same id", async () => {
  const { own, asked } = answering(new TypeError("fetch failed"), busy, good);
  const made = await new Experiment("price", { url, fetch: own }).decide();
  assert.equal(made.arm, "9");
  assert.equal(asked.length, 3);
  const sent = asked.map(({ body }) => new TextDecoder().decode(body));
  assert.equal(new Set(sent).size, 1);
  assert.match(sent[0], /"id":"[0-9a-f-]{36}"/);
});

test("gives up in the end", async () => {
  const lost = answering(new TypeError("fetch failed"));
  await assert.rejects(new Experiment("price", { url, fetch: lost.own }).decide(), {
    kind: "lost",
    status: 0,
  });
  assert.ok(lost.asked.length >= 3); // as many as fit into a second
  const page = answering(() => new Response("<html>"));
  await assert.rejects(new Experiment("price", { url, fetch: page.own }).decide(), {
    kind: "malformed",
    message: "the response isn't one of a varts service: it isn't JSON",
  });
  assert.equal(page.asked.length, 1);
});

test("what outlives the page is small", async () => {
  const { own, asked } = answering(({ body }) => {
    const { rewards } = JSON.parse(new TextDecoder().decode(body));
    return Response.json({ results: rewards.map(({ id }) => ({ id, status: "applied" })) });
  });
  const exp = new Experiment("price", { url, fetch: own });
  const rewards = (count) => Array.from({ length: count }, (_, at) => ({ id: `${at}`, value: 1 }));
  await exp.rewardEach(rewards(100), { keepalive: true });
  assert.equal(asked[0].keepalive, true);
  const many = rewards(1000).map((one) => ({ ...one, id: one.id.padStart(100, "0") }));
  await assert.rejects(exp.rewardEach(many, { keepalive: true }), /must have at most 60000 bytes/);
});

test("ids are UUIDs without crypto.randomUUID, too", () => {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  assert.match(newId(), uuid);
  const kept = crypto.randomUUID;
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  const made = Array.from({ length: 100 }, newId);
  Object.defineProperty(crypto, "randomUUID", { value: kept, configurable: true });
  for (const id of made) assert.match(id, uuid);
  assert.equal(new Set(made).size, 100);
});

// ------------------------------------------------------------------------------ deadlines

const WIDE = 8000; // far more than the deadlines below
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const every20ms = (socket, text) => {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on("close", () => clearInterval(timer));
};
const HANGING = {
  "never answers": () => {},
  "drips the status": (socket) => {
    socket.write("HTTP/1.1 200 ");
    every20ms(socket, "O");
  },
  "drips headers": (socket) => {
    socket.write(`${HEAD}X-Header: `);
    every20ms(socket, "y");
  },
  "drips the body": (socket) => {
    socket.write(`${HEAD}Content-Length: 100000\r\n\r\n`);
    every20ms(socket, " ");
  },
  "drips chunks": (socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    every20ms(socket, "1\r\n \r\n");
  },
};
const length = (body) => `${HEAD}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const BROKEN = {
  "a closed connection": "",
  "no HTTP": "SSH-2.0-OpenSSH_9.2\r\n",
  "a truncated body": `${HEAD}Content-Length: 100\r\n\r\n{"decisions": [`,
  "a truncated chunk": `${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\n{`,
  "a wrong length": `${HEAD}Content-Length: -1\r\n\r\n{}`,
  "a page": length("<html>"),
  "a list": length("[]"),
  null: length("null"),
  "wrong types": length('{"decisions": [{"id": 7}], "results": {}}'),
  "another decision": length('{"decisions": [{"id": "x", "arm": "9", "reason": "policy", "probability": 1}]}'),
  "a deep nest": length("[".repeat(200_000)),
  "a redirect": "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
  "a page with status 500": length("<html>").replace("200 OK", "500 Oh"),
};

/** Run a test against a server that answers every request in the same way. */
async function against(answer, run) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${server.address().port}`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

for (const [how, answer] of Object.entries(HANGING)) {
  test(`a service that ${how} is given up at the deadline`, () =>
    against(answer, async (address) => {
      const exp = new Experiment("price", { url: address });
      const begun = performance.now();
      const lost = { kind: "lost", status: 0, message: /the deadline of 300 ms passed/ };
      await assert.rejects(exp.decide({ deadline: 300 }), lost);
      await assert.rejects(exp.report({ deadline: 300 }), lost);
      assert.ok(performance.now() - begun < WIDE);
      const made = await exp.decide({ id: "a", deadline: 300, default: "12" });
      assert.equal(made.arm, "12");
      assert.equal(made.reason, "fallback");
    }));
}

for (const [what, text] of Object.entries(BROKEN)) {
  test(`${what} is an error, and a reason to fall back`, () =>
    against(
      (socket) => socket.end(text),
      async (address) => {
        const exp = new Experiment("price", { url: address, deadline: 400 });
        await assert.rejects(exp.decide(), VartsError);
        await assert.rejects(exp.rewardEach([{ id: "x", value: 1 }]), VartsError);
        assert.equal((await exp.decide({ default: "9" })).reason, "fallback");
      },
    ));
}

test("a response has a largest size", () =>
  against(
    (socket) => {
      socket.write(`${HEAD}\r\n`);
      const blanks = Buffer.alloc(2 ** 20, " ");
      const more = () => {
        while (!socket.destroyed && socket.write(blanks));
      };
      socket.on("drain", more);
      more();
    },
    async (address) => {
      const exp = new Experiment("price", { url: address, deadline: 20_000 });
      await assert.rejects(exp.report(), { kind: "malformed", message: /more than 33554432 bytes$/ });
    },
  ));

test("a service that is always busy is given up at the deadline", async () => {
  const { own, asked } = answering(
    () => new Response('{"type": "/problems/busy", "detail": "\\u001b[2J busy"}', { status: 503 }),
  );
  const exp = new Experiment("price", { url, fetch: own });
  await assert.rejects(exp.decide({ deadline: 120 }), { kind: "busy", message: "\\u001b[2J busy" });
  assert.ok(asked.length < 4);
});

test("a fetch that ignores the signal is given up, too", async () => {
  const exp = new Experiment("price", { url, fetch: () => new Promise(() => {}) });
  await assert.rejects(exp.decide({ deadline: 50 }), /the deadline of 50 ms passed/);
});

test("deadlines and addresses are checked", async () => {
  for (const deadline of [0, -1, NaN, Infinity, "1", null]) {
    assert.throws(() => new Experiment("price", { url, deadline }), /^RangeError: deadline must be/);
    await assert.rejects(price().decide({ deadline: deadline ?? -1 }), /deadline must be/);
  }
  const wrong = ["http://varts.example.com", "http://10.0.0.1", "http://127.0.0.1.example.com"];
  for (const one of [...wrong, "ftp://localhost", "https://host?timeout=5", "http://x.localhost", 7]) {
    assert.throws(() => new Experiment("price", { url: one }), /url must be https:\/\/host, or http/);
  }
  assert.throws(() => new Experiment("price", { url: "https://me:secret@host" }), (error) => {
    return /use token$/.test(error.message) && !error.message.includes("secret");
  });
  for (const one of ["https://host", "http://localhost:1", "http://127.0.0.5/varts/", "http://[::1]:8"]) {
    assert.ok(new Experiment("price", { url: one }));
  }
  assert.throws(() => new Experiment("price", { url, default: 9 }), /default must be the name/);
});

// ------------------------------------------------------------------------------ fallbacks

/** A fetch to the real service that can be switched off. */
function switchable() {
  const state = { isDown: true, paths: [] };
  state.fetch = async (address, options) => {
    if (state.isDown) throw new TypeError("fetch failed");
    state.paths.push(new URL(address).pathname.split("/").pop());
    const response = await fetch(address, options);
    if (state.loses) throw new TypeError("fetch failed");
    return response;
  };
  return state;
}

test("decisions without the service are recorded later", async () => {
  const service = switchable();
  const settings = { url, token, default: "9", deadline: 5000, fetch: service.fetch };
  const exp = new Experiment("fallback", settings);
  const before = (await new Experiment("fallback", { url, token }).report()).arms;
  const id = newId();
  const made = await exp.decide({ id, unit: "ann", deadline: 50 });
  assert.deepEqual([made.arm, made.reason, made.probability], ["9", "fallback", 1]);
  assert.deepEqual(await exp.decide({ id, deadline: 50 }), made);
  const others = await exp.decideMany([{}, {}], { deadline: 50, default: "12" });
  assert.deepEqual(others.map((one) => one.arm), ["12", "12"]);
  assert.equal(await exp.reward(id, 5), true);
  assert.equal(await exp.reward(id, 5), false);
  const [first, second] = await exp.rewardEach(others.map((one) => ({ id: one.id, value: 1 })));
  assert.deepEqual([first.status, second.status], ["applied", "applied"]);
  await assert.rejects(exp.reward(id, NaN), RangeError);
  service.isDown = false;
  assert.notEqual((await exp.decide()).reason, "fallback");
  assert.deepEqual(service.paths, ["decisions", "fallbacks", "rewards"]);
  const record = await fetch(`${url}/v1/experiments/fallback/decisions/${id}`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  const found = await record.json();
  assert.deepEqual([found.arm, found.reason, found.reward], ["9", "fallback", 5]);
  assert.equal(await exp.reward(id, 5), false); // the service's answer
  const after = (await exp.report()).arms;
  assert.deepEqual(after.map((arm) => arm.n), before.map((arm) => arm.n)); // they count nowhere
});

test("closing sends what waits, and warns of what is lost", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const service = switchable();
  const settings = { url, token, default: "9", deadline: 5000, fetch: service.fetch };
  const exp = new Experiment("fallback", settings);
  await exp.decideMany([{}, {}], { deadline: 50 });
  await exp.close({ deadline: 50 });
  assert.match(warned.mock.calls[0].arguments[0], /^varts: 2 decisions never reached the service/);
  service.isDown = false;
  await exp.close();
  assert.deepEqual(service.paths, ["fallbacks"]);
  await exp.flush();
  assert.deepEqual(service.paths, ["fallbacks"]);
});

test("what waits is bounded, and what is refused is dropped", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const service = switchable();
  const exp = new Experiment("fallback", { url, token, default: "9", fetch: service.fetch });
  const made = await exp.decideMany(Array.from({ length: 1100 }, () => ({})), { deadline: 50 });
  assert.equal(new Set(made.map((one) => one.id)).size, 1100);
  assert.match(warned.mock.calls[0].arguments[0], /more than 1000 decisions and rewards wait/);
  await exp.decide({ deadline: 50, default: "no such arm" });
  service.isDown = false;
  await exp.close();
  const refused = warned.mock.calls.map((call) => call.arguments[0]).filter((s) => /refused/.test(s));
  assert.equal(refused.length, 1);
  assert.match(refused[0], /unknown arm 'no such arm'/);
});

test("a public token falls back without recording", async () => {
  const service = switchable();
  const exp = new Experiment("banner", {
    url,
    token: publicToken,
    isPublic: true,
    default: "red",
    fetch: service.fetch,
  });
  const made = await exp.decide({ deadline: 50 });
  assert.deepEqual([made.arm, made.reason], ["red", "fallback"]);
  assert.equal(await exp.reward(made.id, 1), true);
  service.isDown = false;
  await exp.close();
  assert.deepEqual(service.paths, []);
});

// ------------------------------------------------------------------------------ local decisions

const VECTORS = JSON.parse(
  readFileSync(new URL("../../tests/client/local_vectors.json", import.meta.url), "utf8"),
);
const ALLOCATION = {
  experiment: "price",
  version: 7,
  arms: ["9", "12", "15"],
  probabilities: [0.1, 0.6, 0.3],
  cells: null,
  holdout: 0,
  active: [true, true, true],
  sticky: false,
  context: null,
  key: "0123456789abcdef0123456789abcdef",
  refresh: 3600,
  lifetime: 3600,
  winner: null,
  ticket: "ticket of 7",
};
const LOCAL = { url: "http://localhost", fallback: "9", flushMs: 2 ** 31 - 1, refreshMs: 2 ** 31 - 1 };

/** A service that is played here: it logs each decision and reward once, and notes all requests. */
class Played {
  constructor(changes = {}) {
    this.allocation = { ...ALLOCATION, ...changes };
    this.log = new Map();
    this.rewards = new Map();
    this.requests = [];
    this.isDown = false;
    this.before = () => {}; // may throw, or return a response
    this.after = () => {}; // the same, when the request has taken effect
    this.statusOf = () => "recorded";
    this.fetch = async (address, options) => {
      const path = new URL(address).pathname.split("/").slice(4).join("/");
      const body = options.body && JSON.parse(new TextDecoder().decode(options.body));
      const request = { path, body, size: options.body?.length, ...options };
      this.requests.push({ ...request, body });
      await null;
      if (this.isDown) throw new TypeError("fetch failed");
      const early = this.before({ path, body });
      if (early) return early;
      const response = this.answer(path, body, options);
      return this.after({ path, body }) ?? response;
    };
  }

  answer(path, body, { headers }) {
    const { version, ticket } = this.allocation;
    if (path === "allocation") {
      const tag = `"${version}-0"`;
      if (headers["If-None-Match"] === tag) return new Response(null, { status: 304 });
      return Response.json(this.allocation, { headers: { ETag: tag } });
    }
    if (path.endsWith("/reward")) {
      const id = decodeURIComponent(path.split("/")[1]);
      assert.equal(body.receipt, `receipt of ${id}`);
      return Response.json({ status: this.reward(id, body.value) });
    }
    if (path === "rewards") {
      const one = ({ id, value }) => ({ id, status: this.reward(id, value) });
      return Response.json({ results: body.rewards.map(one) });
    }
    const items = body.exposures ?? body.decisions;
    assert.ok(items.length <= 1000);
    if (body.exposures && ticket) assert.equal(new Set(body.tickets).size, body.tickets.length);
    const results = items.map((item) => {
      const given = this.statusOf(item);
      if (given !== "recorded") return { id: item.id, ...(given.status ? given : { status: given }) };
      const status = this.log.has(item.id) ? "duplicate" : "recorded";
      if (status === "recorded") this.log.set(item.id, { path, ...item });
      return { id: item.id, status, receipt: `receipt of ${item.id}` };
    });
    return Response.json({ results });
  }

  reward(id, value) {
    if (!this.log.has(id)) return "unknown";
    if (this.rewards.has(id)) return "duplicate";
    this.rewards.set(id, value);
    return "applied";
  }

  asked(path) {
    return this.requests.filter((one) => one.path === path);
  }

  async open(settings) {
    const exp = this.start(settings);
    await exp.ready();
    return exp;
  }

  start(settings) {
    return new LocalExperiment("price", { ...LOCAL, fetch: this.fetch, ...settings });
  }
}

/** Wait for something that happens in the background. */
async function until(condition) {
  for (let left = 1000; !condition(); left -= 1) {
    assert.ok(left, "it never happened");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The same random numbers in every run (mulberry32). */
function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Pearson's statistic of how often each arm was drawn. */
function misfit(arms, drawn, probabilities) {
  const counts = new Map(arms.map((arm) => [arm, 0]));
  for (const arm of drawn) counts.set(arm, counts.get(arm) + 1);
  return arms.reduce((sum, arm, at) => {
    const expected = drawn.length * probabilities[at];
    if (!expected) assert.equal(counts.get(arm), 0);
    return expected ? sum + (counts.get(arm) - expected) ** 2 / expected : sum;
  }, 0);
}
/** What the statistic exceeds once in a million tests, by degrees of freedom. */
const RARE = { 1: 23.93, 2: 27.63, 9: 44.82 };

test("hashes are those of the other clients", () => {
  for (const { key, purpose, text, index, number } of VECTORS.number) {
    assert.equal(_hashed(key, purpose, text, index), number);
  }
  assert.ok(VECTORS.number.length > 100);
  const random = seeded(1);
  for (let length = 0; length < 300; length += 1) {
    const text = Array.from({ length }, () => "aé€😀"[Math.floor(5 * random())]).join("");
    const message = Buffer.from(`k/sticky/1/${text}`);
    const bits = createHash("sha256").update(message).digest().readBigUInt64BE(16) >> 12n;
    assert.equal(_hashed("k", "sticky", text, 6), (Number(bits) + 0.5) * 2 ** -52);
  }
});

test("units are in the holdout of the other clients", async () => {
  for (const { key, text, holdout, member } of VECTORS.holdout) {
    if (!text) continue; // no unit is empty
    const arms = { arms: ["a", "b"], probabilities: [1, 0], active: [true, true] };
    const exp = await new Played({ key, holdout, ...arms }).open();
    assert.equal(exp.decide({ unit: text }).probability, member ? 0.5 : 1);
    assert.equal(exp.decide({ id: text }).probability, member ? 0.5 : 1);
  }
});

test("sticky units get the arms of the other clients", async () => {
  let members = 0;
  const vectors = VECTORS.sticky.filter(({ unit }) => unit); // no unit is empty
  for (const { unit, chosen, probability, member, ...given } of vectors) {
    const exp = await new Played({ ...given, sticky: true }).open();
    const made = exp.decide({ unit });
    assert.deepEqual([made.arm, made.probability], [chosen, probability]);
    members += member;
  }
  assert.ok(members > 10);
});

test("contexts lead to the cells of the other clients", async () => {
  const { features, values, rows } = VECTORS.cells;
  const count = values.reduce((product, kind) => product * kind.length, 1);
  const arms = Array.from({ length: count }, (_, at) => `row ${at}`);
  const probabilities = arms.map((_, at) => arms.map((_, row) => (at === row ? 1 : 0)));
  const cells = { features, values, probabilities };
  const active = arms.map(() => true);
  const given = { arms, active, cells, probabilities: null, context: features };
  const exp = await new Played(given).open();
  for (const { context, row } of rows) assert.equal(exp.decide({ context }).arm, `row ${row}`);
  assert.equal(exp.decide().arm, exp.decide({ context: {} }).arm);
  assert.ok(rows.length > 5);
});

test("arms are drawn with their probabilities", async (t) => {
  t.mock.method(Math, "random", seeded(20));
  t.mock.method(console, "warn", () => {});
  const arms = Array.from({ length: 11 }, (_, at) => `arm ${at}`);
  const probabilities = arms.map((_, at) => at / 55);
  const active = arms.map(() => true);
  const exp = await new Played({ arms, active, probabilities }).open({ mostWaiting: 1 });
  const drawn = Array.from({ length: 200_000 }, () => exp.decide());
  assert.ok(drawn.every((one) => one.probability === probabilities[arms.indexOf(one.arm)]));
  const names = drawn.map((one) => one.arm);
  assert.ok(misfit(arms, names, probabilities) < RARE[9]);
  const wrong = [...probabilities];
  [wrong[5], wrong[6]] = [wrong[5] + 0.01, wrong[6] - 0.01];
  assert.ok(misfit(arms, names, wrong) > RARE[9]); // a difference of a hundredth would be noticed
});

test("sticky arms and the holdout have their shares, and few units move", async () => {
  const played = new Played({ sticky: true, holdout: 0.2, probabilities: [0, 0.7, 0.3] });
  const units = Array.from({ length: 40_000 }, (_, at) => `unit ${at}`);
  const before = await played.open();
  const first = units.map((unit) => before.decide({ unit }));
  const isHeld = first.map((one) => one.probability === 1 / 3);
  const held = first.filter((_, at) => isHeld[at]);
  const free = first.filter((_, at) => !isHeld[at]);
  assert.ok(misfit([true, false], isHeld, [0.2, 0.8]) < RARE[1]);
  const { arms } = ALLOCATION;
  assert.ok(misfit(arms, held.map((one) => one.arm), [1 / 3, 1 / 3, 1 / 3]) < RARE[2]);
  assert.ok(misfit(arms, free.map((one) => one.arm), [0, 0.7, 0.3]) < RARE[1]);
  assert.ok(misfit(arms, free.map((one) => one.arm), [0, 0.68, 0.32]) > RARE[1]);
  played.allocation = { ...played.allocation, version: 8, probabilities: [0, 0.6, 0.4] };
  const after = await played.open(); // it remembers nothing
  const moved = first.map((one, at) => [one.arm, after.decide({ unit: units[at] }).arm]);
  const changed = moved.filter(([old, now]) => old !== now);
  assert.ok(changed.every(([old, now]) => old === "12" && now === "15"));
  assert.ok(misfit([true, false], moved.map(([old, now]) => old !== now), [0.08, 0.92]) < RARE[1]);
});

test("local decisions and their rewards are reported in batches", async () => {
  const played = new Played();
  const exp = await played.open();
  const made = Array.from({ length: 2500 }, (_, at) => exp.decide({ unit: `u${at}` }));
  for (const one of made) assert.equal(exp.reward(one.id, Number(one.arm)), true);
  assert.equal(exp.stats().waiting, 5000);
  await exp.flush();
  assert.deepEqual(played.asked("exposures").map(({ body }) => body.exposures.length), [1000, 1000, 500]);
  assert.deepEqual(played.asked("rewards").map(({ body }) => body.rewards.length), [1000, 1000, 500]);
  made.forEach(({ id, arm, version }, at) => {
    const { age, ...found } = played.log.get(id);
    assert.deepEqual(found, { path: "exposures", id, arm, version, unit: `u${at}` });
    assert.ok(age >= 0);
    assert.equal(played.rewards.get(id), Number(arm));
  });
  const clients = played.asked("exposures").map(({ body }) => body.client);
  assert.equal(new Set(clients).size, 1);
  assert.match(clients[0], /^[0-9a-f]{32}$/);
  assert.deepEqual(played.asked("exposures")[0].body.tickets, ["ticket of 7"]);
  const { age, ...rest } = exp.stats();
  assert.ok(age >= 0);
  const counts = { waiting: 0, recorded: 2500, rewarded: 2500, dropped: 0, refused: {}, version: 7 };
  assert.deepEqual(rest, counts);
  await exp.flush();
  assert.equal(played.requests.length, 7);
  const other = (await played.open()).decide().id;
  assert.notEqual(other.split("-")[0], made[0].id.split("-")[0]);
});

test("a report is one request of at most 900 kB, tickets included", async () => {
  const played = new Played({ ticket: "x".repeat(200_000) });
  const exp = await played.open();
  const unit = "u".repeat(250);
  for (let version = 8; version < 14; version += 1) {
    for (let n = 0; n < 10; n += 1) exp.decide({ unit });
    const ticket = `${version}`.repeat(100_000);
    played.allocation = { ...played.allocation, version, ticket };
    await exp._refresh();
  }
  await exp.flush();
  assert.equal(played.log.size, 60);
  const sent = played.asked("exposures");
  assert.ok(sent.length >= 2 && sent.every(({ size }) => size < 950_000));
  for (const { body } of sent) {
    const versions = new Set(body.exposures.map((one) => one.version));
    assert.equal(body.tickets.length, versions.size);
  }
});

test("an allocation is asked for with its tag, and replaced when it changes", async () => {
  const played = new Played();
  const exp = await played.open({ refreshMs: 5 });
  await until(() => played.asked("allocation").length > 3);
  const tags = played.asked("allocation").map(({ headers }) => headers["If-None-Match"]);
  assert.deepEqual(tags.slice(0, 3), [undefined, '"7-0"', '"7-0"']);
  assert.equal(exp.decide().version, 7);
  played.allocation = { ...ALLOCATION, version: 8, probabilities: [0, 0, 1], ticket: "ticket of 8" };
  await until(() => exp.stats().version === 8);
  assert.equal(exp.decide().arm, "15");
  await exp.flush();
  const [{ body }] = played.asked("exposures");
  assert.deepEqual(body.exposures.map((one) => one.version), [7, 8]);
  assert.deepEqual(body.tickets, ["ticket of 7", "ticket of 8"]);
  await exp.close();
  const count = played.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(played.requests.length, count);
});

test("without the service you get the fallback, and it is reported later", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played();
  played.isDown = true;
  const exp = played.start({ flushMs: 5 });
  await assert.rejects(exp.ready({ deadline: 50 }), { kind: "lost", status: 0 });
  const made = exp.decide({ unit: "ann" });
  const { id, ...rest } = made;
  assert.deepEqual(rest, { arm: "9", probability: 1, version: 0, reason: "fallback" });
  assert.equal(exp.reward(id, 5), true);
  await assert.rejects(exp.flush({ deadline: 50 }), { kind: "lost" });
  assert.equal(exp.stats().waiting, 2);
  played.isDown = false;
  await exp.ready();
  assert.equal(exp.decide().reason, "local");
  await until(() => exp.stats().waiting === 0);
  assert.deepEqual(played.log.get(id), { path: "fallbacks", id, arm: "9", unit: "ann" });
  assert.equal(played.rewards.get(id), 5);
});

test("an allocation is used while the service is down, until it is too old", async (t) => {
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const played = new Played({ lifetime: 3600 });
  const exp = await played.open();
  now += 3_599_000;
  assert.equal(exp.decide().reason, "local");
  now += 2000;
  assert.equal(exp.decide().reason, "fallback");
  await exp._refresh(); // 304: it is still the latest
  now += 3_599_000;
  assert.equal(exp.decide().reason, "local");
  await exp.flush();
  assert.deepEqual([...played.log.values()].map((one) => one.path), ["exposures", "exposures", "fallbacks"]);
});

test("a refusal ends the use of an allocation, and ready reports it", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  const detail = "the experiment is stopped";
  const refusal = () => Response.json({ type: "/problems/stopped", detail }, { status: 409 });
  played.before = ({ path }) => (path === "allocation" ? refusal() : undefined);
  await exp._refresh();
  assert.equal(exp.decide().reason, "fallback");
  await assert.rejects(exp.ready(), { kind: "stopped", status: 409, message: detail });
  const [text] = warned.mock.calls[0].arguments;
  assert.match(text, /no new probabilities: the experiment is stopped; decisions get the fallback/);
  played.before = () => {};
  await exp._refresh();
  assert.equal(exp.decide().reason, "local");
});

const WRONG = {
  "no JSON": () => new Response("<html>"),
  "a list": () => Response.json([]),
  "no arms": () => Response.json({ ...ALLOCATION, arms: [] }),
  "too few probabilities": () => Response.json({ ...ALLOCATION, probabilities: [0.5, 0.5] }),
  "a negative probability": () => Response.json({ ...ALLOCATION, probabilities: [-0.5, 0.5, 1] }),
  "a wrong sum": () => Response.json({ ...ALLOCATION, probabilities: [0.1, 0.1, 0.1] }),
  "text as a probability": () => Response.json({ ...ALLOCATION, probabilities: ["0", "0", "1"] }),
  "an unknown winner": () => Response.json({ ...ALLOCATION, winner: "7" }),
  "no ticket": () => Response.json({ ...ALLOCATION, ticket: undefined }),
  "no cells": () => Response.json({ ...ALLOCATION, probabilities: null, cells: {} }),
  "no lifetime": () => Response.json({ ...ALLOCATION, lifetime: null }),
  "an unexpected 304": () => new Response(null, { status: 304 }),
  "no time between requests": () => Response.json({ ...ALLOCATION, refresh: 0 }),
  "nobody in play": () => Response.json({ ...ALLOCATION, holdout: 0.5, active: [false, false, false] }),
};
for (const [what, answer] of Object.entries(WRONG)) {
  test(`an allocation with ${what} isn't used`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const played = new Played();
    played.before = answer;
    const exp = played.start();
    await assert.rejects(exp.ready({ deadline: 100 }), VartsError);
    assert.equal(exp.decide().reason, "fallback");
    played.before = () => {};
    await exp._refresh();
    assert.equal(exp.decide().reason, "local");
  });
}

test("what is lost on the way is repeated, and logged once", async (t) => {
  t.mock.method(console, "warn", () => {});
  t.mock.method(Math, "random", seeded(3));
  const [played, chance] = [new Played(), seeded(4)];
  const fail = () => {
    if (chance() < 0.15) throw new TypeError("fetch failed");
    if (chance() < 0.15) return new Response("{}", { status: 503, headers: { "Retry-After": "0" } });
  };
  const exp = await played.open();
  const made = [];
  played.before = fail;
  played.after = fail; // the response is lost, or replaced by an error of a proxy
  for (let round = 0; round < 8; round += 1) {
    for (let n = 0; n < 300; n += 1) {
      made.push(exp.decide({ unit: `u${n}` }));
      exp.reward(made.at(-1).id, made.length);
    }
    await exp.flush({ deadline: 60_000 });
  }
  [played.before, played.after] = [() => {}, () => {}];
  await exp.flush();
  assert.deepEqual([...played.log.keys()].sort(), made.map((one) => one.id).sort());
  made.forEach((one, at) => assert.equal(played.rewards.get(one.id), at + 1));
  assert.ok(played.asked("exposures").length > 8); // something was lost
  const { waiting, recorded, rewarded, refused } = exp.stats();
  assert.deepEqual([waiting, recorded, rewarded, refused], [0, 2400, 2400, {}]);
});

test("a full request is sent at once, and flushing and closing send the latest, too", async () => {
  const played = new Played();
  const exp = await played.open();
  for (let n = 0; n < 1000; n += 1) exp.decide();
  await until(() => played.log.size === 1000);
  exp.decide();
  const sending = exp.flush();
  exp.decide(); // that request doesn't have it
  await exp.flush();
  assert.equal(played.log.size, 1002);
  await sending;
  exp.decide();
  let late;
  played.before = ({ path }) => {
    if (path === "exposures") late ??= exp.decide();
  };
  await exp.close();
  assert.ok(played.log.has(late.id));
});

test("an age is that of the attempt", async (t) => {
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const played = new Played();
  const exp = await played.open();
  exp.decide();
  now += 2000;
  played.before = ({ path }) => {
    now += 1000;
    if (path === "exposures" && played.asked(path).length < 3) return busy();
  };
  await exp.flush();
  const ages = played.asked("exposures").map(({ body }) => body.exposures[0].age);
  assert.deepEqual(ages, [2, 3, 4]);
});

test("a reward follows its decision, and stays behind if that is refused", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  const [good, bad] = [exp.decide({ unit: "good" }), exp.decide({ unit: "bad" })];
  played.statusOf = ({ unit }) =>
    unit === "bad" ? { status: "conflict", detail: "it has arm 12\u001b", arm: "12" } : "recorded";
  played.before = ({ path, body }) => {
    if (path === "rewards") for (const { id } of body.rewards) assert.ok(played.log.has(id));
    if (path === "exposures" && played.isBusy) return new Response("{}", { status: 503 });
  };
  assert.ok(exp.reward(good.id, 1) && exp.reward(bad.id, 1));
  played.isBusy = true;
  await assert.rejects(exp.flush({ deadline: 50 }), VartsError);
  assert.equal(played.asked("rewards").length, 0);
  played.isBusy = false;
  await exp.flush();
  assert.deepEqual(played.asked("rewards").flatMap(({ body }) => body.rewards), [{ id: good.id, value: 1 }]);
  assert.equal(exp.reward(bad.id, 2), false);
  assert.deepEqual([exp.stats().refused, exp.stats().dropped], [{ conflict: 1 }, 2]);
  const [text] = warned.mock.calls.at(-1).arguments;
  assert.match(text, /refused the decision ".*": it has arm 12\\u001b/);
  assert.equal(exp.stats().waiting, 0);
});

test("the same id gets the same decision, and is reported once", async () => {
  const played = new Played();
  const exp = await played.open();
  const made = Array.from({ length: 50 }, (_, at) => exp.decide({ id: `visit ${at}` }));
  await exp.flush();
  made.forEach((one) => assert.equal(exp.decide({ id: one.id }), one));
  assert.equal(exp.stats().waiting, 0);
  assert.equal(played.log.size, 50);
});

test("what waits is bounded; decisions beyond that are made and not logged", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open({ mostWaiting: 100 });
  played.isDown = true;
  const made = Array.from({ length: 150 }, () => exp.decide());
  assert.ok(made.every((one) => one.reason === "local"));
  assert.deepEqual([exp.stats().waiting, exp.stats().dropped], [100, 50]);
  assert.deepEqual(made.map((one) => exp.reward(one.id, 1)), made.map((_, at) => at < 100));
  assert.equal(exp.reward(made[0].id, 2, { key: "one more" }), false);
  const texts = warned.mock.calls.map(({ arguments: [text] }) => text);
  assert.equal(texts.filter((text) => /aren't sent to the service: 100 wait already/.test(text)).length, 1);
  played.isDown = false;
  await exp.flush();
  assert.deepEqual([...played.log.keys()], made.slice(0, 100).map((one) => one.id));
  assert.equal(played.rewards.size, 100);
  exp.decide();
  await exp.flush();
  assert.equal(played.log.size, 101);
});

test("an item that spoils its request is found, and refused alone", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  played.before = ({ body }) => {
    const items = body?.exposures ?? body?.rewards ?? [];
    if (items.length > 400) return new Response("{}", { status: 413 });
    if (items.some((one) => one.unit === "bad" || one.value === 13)) {
      return Response.json({ type: "/problems/invalid", detail: "no" }, { status: 422 });
    }
  };
  const made = Array.from({ length: 900 }, (_, at) => exp.decide({ unit: at === 77 ? "bad" : "u" }));
  made.forEach((one, at) => exp.reward(one.id, at));
  await exp.flush();
  assert.equal(played.log.size, 899);
  assert.equal(played.rewards.size, 898);
  assert.deepEqual(exp.stats().refused, { invalid: 2 });
  const before = played.asked("exposures").length;
  for (let n = 0; n < 900; n += 1) exp.decide();
  await exp.flush(); // it has learned how many the service accepts
  const sizes = played.asked("exposures").slice(before).map(({ body }) => body.exposures.length);
  assert.deepEqual(sizes, [225, 225, 225, 225]);
});

test("a sticky unit keeps its arm while it can", async () => {
  const played = new Played({ sticky: true });
  const exp = await played.open();
  const units = Array.from({ length: 300 }, (_, at) => `unit ${at}`);
  const first = new Map(units.map((unit) => [unit, exp.decide({ unit })]));
  const tell = (version, probabilities, active = [true, true, true]) => {
    const ticket = `of ${version}`;
    played.allocation = { ...played.allocation, version, probabilities, active, ticket };
    return exp._refresh();
  };
  await tell(8, [0.6, 0.1, 0.3]);
  for (const [unit, one] of first) {
    const { id, ...again } = exp.decide({ unit });
    assert.notEqual(id, one.id);
    // Not recorded yet, so it is reported as it was drawn.
    const { arm, probability } = one;
    assert.deepEqual(again, { arm, probability, version: 7, reason: "sticky" });
  }
  const forgetful = await played.open();
  const moves = units.filter((unit) => forgetful.decide({ unit }).arm !== first.get(unit).arm);
  assert.ok(moves.length > 50); // memory matters
  await exp.flush();
  for (const [unit, { arm, probability }] of first) {
    const { id, ...again } = exp.decide({ unit });
    assert.deepEqual(again, { arm, probability, version: 8, reason: "sticky" });
  }
  await tell(9, [0.5, 0, 0.5]); // in play, so the service keeps it for its units
  for (const [unit, { arm }] of first) assert.equal(exp.decide({ unit }).arm, arm);
  await tell(10, [0.5, 0, 0.5], [true, false, true]);
  for (const [unit, { arm }] of first) {
    const again = exp.decide({ unit });
    if (arm !== "12") assert.equal(again.arm, arm);
    else assert.deepEqual([again.probability, again.version, again.reason], [0.5, 10, "local"]);
  }
});

test("a sticky unit takes the arm that another process gave it", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played({ sticky: true });
  const exp = await played.open();
  const { arm, id } = exp.decide({ unit: "ann" });
  const other = ALLOCATION.arms.find((one) => one !== arm);
  played.statusOf = (item) => (item.arm === other ? "recorded" : { status: "conflict", arm: other });
  await exp.flush();
  const again = exp.decide({ unit: "ann" });
  const probability = ALLOCATION.probabilities[ALLOCATION.arms.indexOf(other)];
  assert.deepEqual([again.arm, again.probability, again.reason], [other, probability, "sticky"]);
  await exp.flush();
  assert.deepEqual([played.log.has(id), played.log.has(again.id)], [false, true]);
  const bob = exp.decide({ unit: "bob" });
  played.statusOf = () => "impossible-arm";
  await exp.flush();
  assert.equal(played.log.has(bob.id), false);
  assert.equal(exp.decide({ unit: "bob" }).reason, "local"); // the refused draw is forgotten
});

test("a sticky experiment without a unit gets the fallback, and a warning", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const exp = await new Played({ sticky: true }).open();
  assert.equal(exp.decide().reason, "fallback");
  assert.match(warned.mock.calls[0].arguments[0], /is sticky: pass a unit/);
});

test("everybody gets the winner of a stopped experiment", async () => {
  const changes = { winner: "15", sticky: true, holdout: 0.5, probabilities: [0, 0, 1] };
  const exp = await new Played(changes).open();
  for (let n = 0; n < 50; n += 1) {
    const { id, ...made } = exp.decide(n % 2 ? { unit: `u${n}` } : {});
    assert.deepEqual(made, { arm: "15", probability: 1, version: 7, reason: "winner" });
  }
});

test("a client whose arms are unlikely decides on, and records nothing more", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  const made = Array.from({ length: 1500 }, () => exp.decide());
  made.forEach((one) => exp.reward(one.id, 1));
  played.statusOf = () => ({ status: "unlikely", detail: "its arms don't match" });
  await exp.flush();
  assert.equal(played.log.size, 0);
  assert.equal(played.asked("exposures").length, 2); // of one round
  assert.equal(played.asked("rewards").length, 0);
  assert.deepEqual(exp.stats().refused, { unlikely: 1500 });
  const texts = warned.mock.calls.map(({ arguments: [text] }) => text);
  assert.equal(texts.filter((text) => /nothing more is recorded until a restart/.test(text)).length, 1);
  const { id, reason } = exp.decide();
  assert.equal(reason, "local");
  assert.equal(exp.reward(id, 1), false);
  await exp.flush();
  assert.equal(played.asked("exposures").length, 2);
});

test("a restored database is noticed: units are forgotten, and new probabilities are asked for", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played({ sticky: true });
  const exp = await played.open();
  const units = Array.from({ length: 30 }, (_, at) => `unit ${at}`);
  units.forEach((unit) => exp.decide({ unit }));
  await exp.flush();
  played.allocation = { ...played.allocation, version: 3, key: "f".repeat(32), ticket: "of 3" };
  played.statusOf = ({ version }) => (version === 3 ? "recorded" : "unknown-version");
  units.forEach((unit) => assert.equal(exp.decide({ unit }).reason, "sticky"));
  await exp.flush();
  assert.deepEqual(exp.stats().refused, { "unknown-version": 30 });
  await until(() => exp.stats().version === 3);
  assert.equal(played.asked("allocation").length, 2);
  for (const unit of units) assert.equal(exp.decide({ unit }).reason, "local");
  await exp.flush();
  assert.equal(played.log.size, 60);
});

test("a token that is repaired loses nothing, nor does a server on the way", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  const { id } = exp.decide();
  const problem = (kind, status) => Response.json({ type: `/problems/${kind}` }, { status });
  const answers = [
    () => problem("unauthorized", 401),
    () => problem("forbidden", 403),
    () => new Response("<html>", { status: 404 }),
  ];
  for (const answer of answers) {
    played.before = answer;
    await assert.rejects(exp.flush({ deadline: 40 }), VartsError);
    await exp._refresh();
    assert.equal(exp.decide().reason, "local");
  }
  assert.equal(exp.stats().waiting, 4);
  played.before = () => {};
  await exp.flush();
  assert.ok(played.log.has(id) && played.log.size === 4);
});

test("a public token has receipts, and a request per reward", async (t) => {
  t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open({ isPublic: true });
  const [one, two] = [exp.decide(), exp.decide()];
  assert.ok(exp.reward(one.id, 1));
  assert.equal(await exp.receipt(two.id), `receipt of ${two.id}`);
  assert.equal(await exp.receipt("never"), undefined);
  assert.equal(played.rewards.get(one.id), 1);
  assert.equal(exp.reward("never", 1), false);
  const later = await played.open({ isPublic: true }); // the page after this one
  assert.equal(later.reward(two.id, 2, { receipt: `receipt of ${two.id}` }), true);
  await later.flush();
  assert.equal(played.rewards.get(two.id), 2);
  assert.equal(played.asked("rewards").length, 0);
  assert.throws(() => exp.decide({ id: "mine" }), /id must be left out with a public token/);
  played.isDown = true;
  const lost = played.start({ isPublic: true });
  assert.equal(lost.reward(lost.decide().id, 1), false); // it can't report a fallback
  assert.equal(lost.stats().waiting, 0);
});

/** Run a test in a page that can be hidden. */
async function inPage(run) {
  const [page, document] = [new EventTarget(), new EventTarget()];
  document.visibilityState = "visible";
  const names = ["addEventListener", "removeEventListener"];
  for (const name of names) globalThis[name] = (...given) => page[name](...given);
  globalThis.document = document;
  const hide = () => {
    document.visibilityState = "hidden";
    document.dispatchEvent(new Event("visibilitychange"));
    page.dispatchEvent(new Event("pagehide"));
  };
  try {
    await run(hide, document);
  } finally {
    for (const name of ["document", ...names]) delete globalThis[name];
  }
}

test("a page that is hidden sends what fits into requests that outlive it", () =>
  inPage(async (hide, document) => {
    const played = new Played();
    const exp = await played.open();
    const early = exp.decide();
    await exp.flush();
    exp.reward(early.id, 1);
    const made = Array.from({ length: 700 }, () => exp.decide({ unit: "u".repeat(50) }));
    exp.reward(made[0].id, 2);
    document.dispatchEvent(new Event("visibilitychange")); // it was shown
    const before = played.requests.length;
    hide();
    const sent = played.requests.slice(before); // at once: nothing may be waited for
    assert.deepEqual(sent.map(({ path }) => path), ["exposures", "rewards"]);
    assert.ok(sent.every(({ keepalive }) => keepalive));
    assert.ok(sent.reduce((sum, { size }) => sum + size, 0) <= 60_000);
    assert.ok(sent[0].body.exposures.length > 200);
    assert.deepEqual(sent[1].body.rewards, [{ id: early.id, value: 1 }]); // it may come first
    await until(() => exp.stats().waiting === 0); // the page went on
    assert.equal(played.log.size, 701);
    assert.deepEqual([played.rewards.get(early.id), played.rewards.get(made[0].id)], [1, 2]);
    await exp.close();
    const count = played.requests.length;
    hide();
    assert.equal(played.requests.length, count);
  }));

test("a page that is hidden during a report sends it again, and it counts once", () =>
  inPage(async (hide) => {
    const played = new Played();
    const exp = await played.open({ isPublic: true });
    const made = [exp.decide(), exp.decide()];
    made.forEach((one) => exp.reward(one.id, 1));
    const sending = exp.flush();
    hide();
    await sending;
    assert.deepEqual(played.asked("exposures").map(({ keepalive }) => keepalive), [false, true]);
    await until(() => exp.stats().waiting === 0);
    const { recorded, rewarded } = exp.stats();
    assert.deepEqual([recorded, rewarded, played.log.size, played.rewards.size], [2, 2, 2, 2]);
    hide();
    assert.equal(played.asked("exposures").length, 2); // nothing waits
    const shop = await played.open();
    const { id } = shop.decide();
    await shop.flush();
    shop.reward(id, 1);
    const sendsAgain = shop.flush();
    hide();
    await sendsAgain;
    await until(() => !shop._isLeaving);
    assert.equal(played.asked("rewards").length, 2);
    assert.equal(shop.stats().rewarded, 1);
  }));

test("arguments of local decisions are checked, and contexts are copied", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played({ context: ["country", "visits"] });
  const exp = await played.open();
  for (const unit of ["", 7, null]) assert.throws(() => exp.decide({ unit }), /^TypeError: unit must be/);
  assert.throws(() => exp.decide({ id: "" }), /^TypeError: id must be/);
  assert.throws(() => exp.decide({ context: "NL" }), /^TypeError: context must be an object/);
  assert.throws(() => exp.decide({ context: { visits: NaN } }), /visits must be a finite number, got NaN/);
  assert.throws(() => exp.decide({ context: { country: {} } }), /country must be text, a number/);
  for (const value of [NaN, "1", undefined]) assert.throws(() => exp.reward("d", value), RangeError);
  assert.throws(() => exp.reward("d", 1, { metrics: { refund: Infinity } }), /refund must be a finite/);
  const settings = { url: "http://localhost", fallback: "9", fetch: played.fetch };
  const make = (changes) => new LocalExperiment("price", { ...settings, ...changes });
  assert.throws(() => make({ fallback: undefined }), /fallback must be the name of an arm, got undefined/);
  assert.throws(() => make({ flushMs: 0 }), /^RangeError: flushMs must be milliseconds/);
  assert.throws(() => make({ refreshMs: -1 }), /^RangeError: refreshMs must be milliseconds/);
  assert.throws(() => make({ mostWaiting: 0.5 }), /^RangeError: mostWaiting must be an integer/);
  assert.throws(() => make({ url: "http://example.com" }), /url must be https/);
  const context = { country: "NL", visits: 3, name: "Ann" }; // the service doesn't want the name
  const { id } = exp.decide({ context });
  const metrics = { refund: 1 };
  exp.reward(id, 2, { metrics, key: "order" });
  context.country = metrics.refund = undefined;
  await exp.close();
  assert.deepEqual(played.log.get(id).context, { country: "NL", visits: 3 });
  assert.match(warned.mock.calls[0].arguments[0], /has no feature "name"; it isn't sent/);
  const [{ body }] = played.asked("rewards");
  assert.deepEqual(body.rewards, [{ id, value: 2, metrics: { refund: 1 }, key: "order" }]);
});

test("closing sends what waits, or warns; what comes later isn't sent", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const played = new Played();
  const exp = await played.open();
  const { id } = exp.decide();
  exp.reward(id, 1);
  await exp.close();
  assert.deepEqual([...played.rewards], [[id, 1]]);
  assert.equal(exp.decide().reason, "local");
  assert.deepEqual([exp.stats().waiting, exp.stats().dropped], [0, 1]);
  assert.equal(warned.mock.calls.length, 1);
  const lost = await played.open();
  lost.decide();
  played.isDown = true;
  await lost.close({ deadline: 50 });
  const [text] = warned.mock.calls.at(-1).arguments;
  assert.match(text, /1 decisions and rewards never reached the service/);
});

/** What a program prints; its experiment never gets a response. */
async function run(program, before = "") {
  const begin = `
    import { LocalExperiment, newId } from "./varts.js";
    ${before}
    const fetch = () => new Promise(() => {});
    const exp = new LocalExperiment("price", { url: "http://localhost", fallback: "9", fetch });`;
  const given = ["--input-type=module", "--eval", begin + program];
  const folder = new URL(".", import.meta.url);
  return promisify(execFile)(process.execPath, given, { cwd: folder, timeout: 60_000 });
}

test("a program ends although its experiment is open, and not while it is closed", async () => {
  const printed = /^[0-9a-f]{24}-1 [0-9a-f-]{36}\n$/;
  assert.match((await run("console.log(exp.decide().id, newId());")).stdout, printed);
  const waits = "exp.decide(); await exp.close({ deadline: 50 }); console.log('closed');";
  const closed = await run(waits);
  assert.equal(closed.stdout, "closed\n");
  assert.match(closed.stderr, /1 decisions and rewards never reached the service/);
});

test("ids are random without a global crypto, as in Node 18", async () => {
  const program = "console.log(typeof globalThis.crypto, exp.decide().id, newId());";
  const printed = /^undefined [0-9a-f]{24}-1 [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f-]{17}\n$/;
  const without = () => run(program, "delete globalThis.crypto;");
  const [one, two] = [await without(), await without()];
  for (const { stdout } of [one, two]) assert.match(stdout, printed);
  assert.notEqual(one.stdout, two.stdout);
});

// ------------------------------------------------------------------------------ local decisions, for real

const local = (name, settings) =>
  new LocalExperiment(name, { url, token, fallback: "red", flushMs: 20, ...settings });
const logged = async (name, id) => {
  const address = `${url}/v1/experiments/${name}/decisions/${encodeURIComponent(id)}`;
  return (await fetch(address, { headers: { Authorization: `Bearer ${token}` } })).json();
};

test("a service logs local decisions with their probabilities", async () => {
  const exp = local("local");
  await exp.ready();
  const made = Array.from({ length: 2500 }, (_, at) => exp.decide({ unit: `u${at}` }));
  for (const one of made) assert.equal(exp.reward(one.id, one.arm === "red" ? 1 : 2), true);
  await exp.close();
  const { waiting, recorded, rewarded, dropped, refused } = exp.stats();
  assert.deepEqual([waiting, recorded, rewarded, dropped, refused], [0, 2500, 2500, 0, {}]);
  for (const one of [made[0], made[2499]]) {
    const found = await logged("local", one.id);
    assert.deepEqual(
      [found.arm, found.probability, found.version, found.reason],
      [one.arm, one.probability, one.version, "local"],
    );
  }
  const report = await new Experiment("local", { url, token }).report();
  assert.equal(report.arms.reduce((sum, arm) => sum + arm.n, 0), 2500);
});

test("a service that goes away and comes back has every local decision once", async (t) => {
  t.mock.method(console, "warn", () => {});
  const service = switchable();
  const exp = local("local-again", { fetch: service.fetch, flushMs: 1 });
  assert.equal(exp.decide().reason, "fallback");
  service.isDown = false;
  await exp.ready();
  const made = [];
  for (let round = 0; round < 20; round += 1) {
    service.isDown = round % 4 === 1;
    service.loses = round % 4 === 3; // it gets the request, and its response is lost
    for (let n = 0; n < 20; n += 1) made.push(exp.decide());
    for (const one of made.slice(-20)) exp.reward(one.id, 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  service.isDown = service.loses = false;
  await exp.close();
  const { recorded, rewarded, refused } = exp.stats();
  assert.deepEqual([recorded, rewarded, refused], [401, 400, {}]);
  const report = await new Experiment("local-again", { url, token }).report();
  const count = made.filter((one) => one.reason === "local").length;
  assert.equal(report.arms.reduce((sum, arm) => sum + arm.n, 0), count);
});

test("a service gives a sticky unit one arm, wherever it is decided", async (t) => {
  t.mock.method(console, "warn", () => {});
  const [exp, asked] = [local("local-sticky"), new Experiment("local-sticky", { url, token })];
  await exp.ready();
  const units = Array.from({ length: 40 }, (_, at) => `unit ${at}`);
  const theirs = await asked.decideMany(units.slice(0, 20).map((unit) => ({ unit })));
  const arms = new Map(units.map((unit) => [unit, exp.decide({ unit }).arm]));
  await exp.flush();
  const { recorded, refused } = exp.stats();
  assert.ok(refused.conflict > 0); // the service had decided already
  assert.equal(recorded + refused.conflict, 40);
  theirs.forEach(({ arm }, at) => assert.equal(exp.decide({ unit: units[at] }).arm, arm));
  const ours = await asked.decideMany(units.slice(20).map((unit) => ({ unit })));
  ours.forEach(({ arm }, at) => assert.equal(arm, arms.get(units[20 + at])));
  await exp.close();
  assert.equal(exp.stats().refused.conflict, refused.conflict);
});

test("a service and a client agree on cells and on the holdout", async () => {
  const exp = local("local-cells");
  await exp.ready();
  const contexts = [null, "NL", "BE", "FR"].flatMap((country) =>
    [true, false, null].map((phone) => ({ country, phone })),
  );
  const made = Array.from({ length: 600 }, (_, at) => exp.decide({ context: contexts[at % 12] }));
  await exp.close();
  const { recorded, refused } = exp.stats();
  assert.deepEqual([recorded, refused], [600, {}]);
  for (const one of made.slice(0, 24)) {
    const found = await logged("local-cells", one.id);
    assert.deepEqual([found.arm, found.probability], [one.arm, one.probability]);
  }
  assert.ok(new Set(made.map((one) => one.probability)).size > 2); // the holdout's, and others
});

test("a service says why it gives no allocation", async (t) => {
  t.mock.method(console, "warn", () => {});
  await assert.rejects(local("mug").ready(), { kind: "not-local", status: 409 });
  await assert.rejects(local("prise").ready(), { kind: "unknown-experiment", status: 404 });
  const wrong = local("local", { token: "varts_wrong" });
  await assert.rejects(wrong.ready(), { kind: "unauthorized", status: 401 });
});

test("a page decides locally with a public token", async () => {
  const settings = { token: publicToken, isPublic: true, fetch: fromPage };
  const exp = local("banner-local", settings);
  await exp.ready();
  const [one, two] = [exp.decide(), exp.decide()];
  assert.ok(exp.reward(one.id, 1));
  const receipt = await exp.receipt(two.id);
  assert.match(receipt, /\S/);
  await exp.close({ deadline: 30_000 });
  const later = local("banner-local", settings);
  assert.ok(later.reward(two.id, 2, { receipt }));
  await later.close({ deadline: 30_000 });
  assert.deepEqual([exp.stats().rewarded, later.stats().rewarded], [1, 1]);
  assert.equal((await logged("banner-local", two.id)).reward, 2);
  const busy = local("banner-local", settings);
  await busy.ready();
  for (let n = 0; n < 15; n += 1) busy.decide(); // more than such a token may send at once
  await busy.flush({ deadline: 60_000 });
  assert.deepEqual([busy.stats().recorded, busy.stats().refused], [15, {}]);
});
