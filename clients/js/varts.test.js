// Run by tests/client/test_javascript.py, which starts a service: node --test clients/js
import assert from "node:assert/strict";
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
    return next();
  };
  return { own, asked };
}
const good = () => Response.json({ decisions: [{ id: "d", arm: "9" }] });
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
  assert.throws(() => new Experiment("price", { url: "host" }), /url must be an address/);
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
  assert.equal(lost.asked.length, 5);
  const page = answering(() => new Response("<html>"));
  await assert.rejects(new Experiment("price", { url, fetch: page.own }).decide(), {
    message: "the service answered 200 without saying why",
  });
  assert.equal(page.asked.length, 1);
});

test("what outlives the page is small", async () => {
  const { own, asked } = answering(() => Response.json({ results: [] }));
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
