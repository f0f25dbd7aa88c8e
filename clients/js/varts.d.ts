/** What went wrong. */
export class VartsError extends Error {
  /** The last part of the problem's type, such as "reward-conflict"; "lost" without an answer. */
  readonly kind: string;
  /** The HTTP status; 0 without an answer, 200 for a reward that was refused among others. */
  readonly status: number;
  /** The id of the request, for the service's log. */
  readonly request?: string;
}

export interface Settings {
  /** The service's address, such as https://varts.example.com. */
  url: string;
  /** A token; none for a service that was started without. */
  token?: string;
  /** Whether the token is a public one, which may be in a web page. */
  isPublic?: boolean;
  /** Milliseconds that one try may take; 10,000 by default. */
  timeout?: number;
  /** Instead of the global one. */
  fetch?: typeof fetch;
}

export interface Asked {
  /** Who the decision is for; sticky experiments refuse to do without. */
  unit?: string;
  /** One of your own: the same id gets the same decision again. Not with a public token. */
  id?: string;
  /** What is known of the unit, by feature: needed where the experiment has some. Null is missing. */
  context?: Record<string, string | number | boolean | null>;
}

export interface Decision {
  id: string;
  arm: string;
  probability: number;
  version: number;
  reason: "policy" | "forced" | "floor" | "holdout" | "sticky" | "winner";
  estimated: boolean;
  /** For public tokens: what its reward has to be sent with. */
  receipt?: string;
}

export interface Reward {
  id: string;
  value: number;
  /** What else was measured, by the names of the option `metrics`. */
  metrics?: Record<string, number>;
  /** Makes it a part of the reward that counts once, such as the number of an order. */
  key?: string;
}

export interface Result {
  id: string;
  status: "applied" | "duplicate" | "conflict" | "unknown" | "expired" | "invalid";
  /** Why it was refused. */
  detail?: string;
}

export interface RewardOptions {
  metrics?: Record<string, number>;
  key?: string;
  /** That of the decision, if another page has made it; public tokens need one. */
  receipt?: string;
  /** Whether the request outlives the page. */
  keepalive?: boolean;
}

/** One experiment of a service. */
export class Experiment {
  constructor(name: string, settings: Settings);
  readonly name: string;
  decide(asked?: Asked): Promise<Decision>;
  decideMany(asked: Iterable<Asked>): Promise<Decision[]>;
  /** True if that is new, false if it was there already. */
  reward(id: string, value: number, options?: RewardOptions): Promise<boolean>;
  /** Each by itself: what is refused keeps none from counting. Not with a public token. */
  rewardEach(rewards: Iterable<Reward>, options?: { keepalive?: boolean }): Promise<Result[]>;
  /** As `varts experiment report --json` prints it. */
  report(options?: { level?: number }): Promise<Record<string, unknown>>;
}

/** A random UUID, on pages without https, too. */
export function newId(): string;
