// Run by tests/client/test_javascript.py, which starts a service: node --test clients/js
import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";

import { Experiment, VartsError, newId } from "./varts.js";

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
  state.fetch = (address, options) => {
    if (state.isDown) return Promise.reject(new TypeError("fetch failed"));
    state.paths.push(new URL(address).pathname.split("/").pop());
    return fetch(address, options);
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
