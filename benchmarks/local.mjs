// How long a local decision takes in JavaScript, beside looking up a name in a Map and in an object:
//   node benchmarks/local.mjs
// The three take turns, so that a slow minute of the machine slows all of them. Nothing leaves the
// process: a service that is played here accepts every decision between two turns.
import { LocalExperiment } from "../clients/js/varts.js";

const [TURNS, EACH] = [1000, 1000]; // a million of each
const arms = Array.from({ length: 10 }, (_, at) => `arm ${at}`);
const allocation = {
  version: 1,
  arms,
  probabilities: arms.map((_, at) => (at + 1) / 55),
  cells: null,
  holdout: 0,
  active: arms.map(() => true),
  sticky: false,
  context: null,
  key: "0".repeat(32),
  refresh: 3600,
  lifetime: 3600,
  winner: null,
  ticket: "ticket",
};

/** An experiment whose service says that every decision is recorded. */
async function start(changes) {
  const played = async (_, { body }) => {
    if (body === undefined) return Response.json({ ...allocation, ...changes });
    const { exposures } = JSON.parse(new TextDecoder().decode(body));
    return Response.json({ results: exposures.map(({ id }) => ({ id, status: "recorded" })) });
  };
  const settings = { url: "http://localhost", fallback: arms[0], fetch: played };
  const exp = new LocalExperiment("benchmark", settings);
  await exp.ready();
  return exp;
}

const [plain, sticky] = [await start({}), await start({ sticky: true })];
const names = Array.from({ length: 1000 }, (_, at) => `unit ${at}`);
const units = Array.from({ length: (TURNS + 1) * EACH }, (_, at) => `unit ${at}`);
const map = new Map(names.map((name, at) => [name, at]));
const object = Object.fromEntries(map);
let kept; // so that no work is optimized away
const actions = {
  "a decision": () => (kept = plain.decide()),
  "a decision for a unit": (at) => (kept = plain.decide({ unit: names[at % 1000] })),
  "the first decision for a sticky unit": (at) => (kept = sticky.decide({ unit: units[at] })),
  "a further decision for a sticky unit": (at) => (kept = sticky.decide({ unit: units[at] })),
  "looking up a name in a Map": (at) => (kept = map.get(names[at % 1000])),
  "looking up a name in an object": (at) => (kept = object[names[at % 1000]]),
};

const times = Object.fromEntries(Object.keys(actions).map((name) => [name, []]));
let reporting = 0;
for (let turn = 0; turn <= TURNS; turn += 1) {
  for (const [name, action] of Object.entries(actions)) {
    const began = performance.now();
    for (let at = turn * EACH; at < (turn + 1) * EACH; at += 1) action(at);
    if (turn) times[name].push((performance.now() - began) / EACH); // the first is to warm up
    const sent = performance.now();
    await Promise.all([plain.flush(), sticky.flush()]);
    if (turn && name === "a decision") reporting += (performance.now() - sent) / EACH;
  }
}
await Promise.all([plain.close(), sticky.close()]);
if (kept === undefined) throw new Error("nothing was looked up");

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const base = times["looking up a name in a Map"];
for (const [name, found] of Object.entries(times)) {
  const ratio = median(found.map((time, at) => time / base[at]));
  console.log(`${name}: ${(1000 * median(found)).toFixed(3)} µs, ${ratio.toFixed(1)} × a Map`);
}
console.log(`reporting a decision later: ${((1000 * reporting) / TURNS).toFixed(3)} µs`);
