// Compiled, not run, by tests/client/test_javascript.py: what a program may write, and what not.
import { Experiment, LocalExperiment, VartsError, newId } from "./varts.js";
import type { Decision, LocalDecision, LocalStats, Result } from "./varts.js";

const settings = { url: "https://varts.example.com", token: "varts_...", deadline: 500 };
const price = new Experiment("price", { ...settings, default: "9" });

async function visit(): Promise<void> {
  const made: Decision = await price.decide({ unit: "user-42", context: { visits: 3, age: null } });
  const late: Decision = await price.decide({ id: newId(), default: "12", deadline: 200 });
  const several: Decision[] = await price.decideMany([{}, { unit: "a" }], { default: "9" });
  const isNew: boolean = await price.reward(made.id, 11.7, { metrics: { refund: 0 }, key: "order" });
  const results: Result[] = await price.rewardEach([{ id: late.id, value: 1 }], { deadline: 100 });
  if (several[0]?.reason === "fallback" && isNew) console.log(results[0]?.status);
  const report: Record<string, unknown> = await price.report({ level: 0.9 });
  console.log(report, price.name);
  await price.flush();
  await price.close({ deadline: 1000 });
}

const local = new LocalExperiment("price", { ...settings, fallback: "9", refreshMs: 500 });

async function serve(): Promise<LocalStats> {
  await local.ready({ deadline: 2000 });
  const made: LocalDecision = local.decide({ unit: "user-42", id: newId(), context: { eu: true } });
  const isSent: boolean = local.reward(made.id, 11.7, { metrics: { refund: 0 }, key: "order" });
  const receipt: string | undefined = await local.receipt(made.id);
  if (isSent && made.reason !== "fallback") local.reward(made.id, 1, receipt ? { receipt } : {});
  await local.flush({ deadline: 1000 });
  await local.close();
  return local.stats();
}

function explain(error: unknown): string {
  return error instanceof VartsError ? `${error.kind} ${error.status} ${error.request ?? ""}` : "";
}

// @ts-expect-error the address is required
new Experiment("price", {});
// @ts-expect-error an arm is text
void price.decide({ default: 9 });
// @ts-expect-error a reward is a number
void price.reward("id", "11.7");
// @ts-expect-error there is no such reason
const reason: Decision["reason"] = "chance";
// @ts-expect-error the name can't change
price.name = "banner";
// @ts-expect-error a local experiment needs an arm to fall back to
new LocalExperiment("price", { url: "https://varts.example.com" });
// @ts-expect-error the arm is the service's
local.decide().arm = "9";

export { explain, reason, serve, visit };
