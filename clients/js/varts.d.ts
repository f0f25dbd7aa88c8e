/** An error of a call. */
export class VartsError extends Error {
  constructor(message: string, kind: string, status: number, request?: string);
  /**
   * The last part of the problem's type, such as "reward-conflict"; "lost" without a response,
   * "malformed" if the response isn't one of a varts service.
   */
  readonly kind: string;
  /** The HTTP status; 0 without a response, 200 for one reward that was refused among several. */
  readonly status: number;
  /** The id of the request, to find it in the service's log. */
  readonly request?: string;
}

export interface Settings {
  /** The service's address: https://host, or http:// on this machine. */
  url: string;
  /** A token; leave it out for a service that was started without. */
  token?: string;
  /** Whether the token is a public one, which may be in a web page. */
  isPublic?: boolean;
  /** Milliseconds that a call may take in all; by default 1,000 to decide and 10,000 otherwise. */
  deadline?: number;
  /** The arm of decisions that the service doesn't make in time; without one, that is an error. */
  default?: string;
  /** Used instead of the global one. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Milliseconds that this call may take in all. */
  deadline?: number;
}

export interface DecideOptions extends CallOptions {
  /** The arm to return, with the reason "fallback", if the service doesn't answer in time. */
  default?: string;
}

export interface Asked {
  /** Who the decision is for; sticky experiments need it. */
  unit?: string;
  /** An id of your own: the same id gets the same decision again. Not with a public token. */
  id?: string;
  /** What you know about the unit, by feature. Null is unknown. */
  context?: Record<string, string | number | boolean | null>;
}

export interface Decision {
  id: string;
  arm: string;
  probability: number;
  version: number;
  reason: "policy" | "forced" | "floor" | "holdout" | "sticky" | "winner" | "fallback";
  estimated: boolean;
  /** For public tokens: its reward needs it. */
  receipt?: string;
}

export interface Reward {
  id: string;
  value: number;
  /** Other measurements, by the names of the option `metrics`. */
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

export interface RewardOptions extends CallOptions {
  metrics?: Record<string, number>;
  key?: string;
  /** The decision's, if another page made it; public tokens need one. */
  receipt?: string;
  /** Whether the request outlives the page. */
  keepalive?: boolean;
}

/** One experiment of a service. */
export class Experiment {
  constructor(name: string, settings: Settings);
  readonly name: string;
  decide(asked?: Asked & DecideOptions): Promise<Decision>;
  decideMany(asked: Iterable<Asked>, options?: DecideOptions): Promise<Decision[]>;
  /** True if that is new, false if it was already there. */
  reward(id: string, value: number, options?: RewardOptions): Promise<boolean>;
  /** A refused reward doesn't affect the others. Not with a public token. */
  rewardEach(
    rewards: Iterable<Reward>,
    options?: CallOptions & { keepalive?: boolean },
  ): Promise<Result[]>;
  /** As `varts experiment report --json` prints it. */
  report(options?: CallOptions & { level?: number }): Promise<Record<string, unknown>>;
  /** Send the decisions and rewards that wait for the service; an error if it doesn't answer. */
  flush(options?: CallOptions): Promise<void>;
  /** The same at the end of a program; warns instead of throwing. */
  close(options?: CallOptions): Promise<void>;
}

export interface LocalSettings {
  /** The service's address: https://host, or http:// on this machine. */
  url: string;
  /** A token; leave it out for a service that was started without. */
  token?: string;
  /** Whether the token is a public one, which may be in a web page. */
  isPublic?: boolean;
  /** The arm of decisions that are made without valid probabilities from the service. */
  fallback: string;
  /** Milliseconds after which to ask for new probabilities; by default the service says when. */
  refreshMs?: number;
  /** Milliseconds between two reports, 1,000 by default; a full request is sent at once. */
  flushMs?: number;
  /**
   * How many decisions and rewards may wait for the service: 100,000 by default. Further decisions
   * are made and not logged.
   */
  mostWaiting?: number;
  /** Used instead of the global one. */
  fetch?: typeof fetch;
}

export interface LocalDecision {
  readonly id: string;
  readonly arm: string;
  /** That of its draw. */
  readonly probability: number;
  /** The version of the experiment that the probability is from; 0 for a fallback. */
  readonly version: number;
  /** "sticky" if the unit has had this arm before. */
  readonly reason: "local" | "sticky" | "winner" | "fallback";
}

export interface LocalRewardOptions {
  metrics?: Record<string, number>;
  key?: string;
  /** The decision's, if another page made it; with a public token. */
  receipt?: string;
}

export interface LocalStats {
  /** Decisions and rewards that wait for the service. */
  waiting: number;
  /** Decisions that the service has. */
  recorded: number;
  /** Rewards that the service has. */
  rewarded: number;
  /**
   * Decisions and rewards that were not sent: too many waited, it was closed, or the decision of a
   * reward isn't logged.
   */
  dropped: number;
  /** Decisions and rewards that the service refused, by status. */
  refused: Record<string, number>;
  /** The version of the probabilities; null before the first. */
  version: number | null;
  /** Milliseconds since the service confirmed them; null before the first. */
  age: number | null;
}

/** One experiment that decides here, and reports decisions and rewards in the background. */
export class LocalExperiment {
  constructor(name: string, settings: LocalSettings);
  readonly name: string;
  /** Wait for the first probabilities; an error if the service refuses, or doesn't answer in time. */
  ready(options?: CallOptions): Promise<void>;
  /** Never waits, and never throws because of the service. */
  decide(asked?: Asked): LocalDecision;
  /** Whether it will be sent: false if the decision isn't logged, or too many rewards wait. */
  reward(id: string, value: number, options?: LocalRewardOptions): boolean;
  /** With a public token: send the decision, and return what its rewards need on a later page. */
  receipt(id: string, options?: CallOptions): Promise<string | undefined>;
  /** Send the decisions and rewards that wait for the service; an error if it doesn't answer. */
  flush(options?: CallOptions): Promise<void>;
  /** The same at the end of a program; warns instead of throwing, and stops the timers. */
  close(options?: CallOptions): Promise<void>;
  stats(): LocalStats;
}

/** A random UUID, also on pages without https. */
export function newId(): string;
