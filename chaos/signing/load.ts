import { setTimeout as sleep } from 'node:timers/promises';
import type { Intent } from './intents.js';
import type { Random } from './random.js';

/** A final response: neither a network error nor a 5xx. */
export interface Answer {
  readonly intent: Intent;
  readonly purpose: 'first' | 'repeat' | 'other-body' | 'follow';
  /** Times at which the call was sent and its response arrived, in milliseconds since 1970. */
  readonly sent: number;
  readonly came: number;
  readonly status: number;
  readonly code: string | undefined;
  /** ID of the signing request, from the body or from the problem's `instance`. */
  readonly id: string | undefined;
  readonly state: string | undefined;
  readonly signature: string | undefined;
}

/** The client's dependencies. */
export interface World {
  readonly urls: () => string[];
  readonly apiKey: string;
  /** Receives every response body before the client evaluates the body. */
  readonly inspect: (body: string, what: string) => void;
  readonly random: Random;
}

const PATIENCE_MS = 13_000;

interface RequestView {
  readonly requestId?: string;
  readonly status?: string | number;
  readonly signature?: string;
  readonly code?: string;
  readonly instance?: string;
}

/**
 * A well-behaved client. Each intent has an Idempotency-Key. After a network error, a time-out, 408, 429 or 5xx, the client repeats the call with the same key
 * and body at any listening api until it receives a final response.
 */
export class Load {
  readonly answers: Answer[] = [];
  /** Number of repeated calls, by cause. */
  readonly retries = new Map<string, number>();
  calls = 0;
  private readonly open = new Set<string>();
  private givenUp = false;

  constructor(private readonly world: World) {}

  /** Sends every intent at its scheduled time. Resolves when the last intent has been sent. */
  async run(intents: readonly Intent[]): Promise<void> {
    const start = Date.now();
    for (const intent of intents) {
      const early = start + intent.at - Date.now();
      if (early > 1) await sleep(early);
      this.open.add(intent.name);
      void this.pursue(intent).finally(() => this.open.delete(intent.name));
    }
  }

  /** Waits until every client has received all of its responses. Returns the names of intents without a response at the time limit. */
  async finish(limitMs: number): Promise<string[]> {
    const deadline = Date.now() + limitMs;
    while (this.open.size > 0 && Date.now() < deadline) await sleep(50);
    this.givenUp = true;
    return [...this.open];
  }

  private async pursue(intent: Intent): Promise<void> {
    const first = this.submit(intent, 'first');
    if (intent.repeat === 'at-once') await this.submit(intent, 'repeat');
    const { id, state } = (await first) ?? {};
    if (id !== undefined && intent.follows && state !== 'SIGNED') await this.follow(intent, id);
    if (intent.repeat === 'later') await this.submit(intent, 'repeat');
    if (intent.otherDigest !== undefined) await this.submit(intent, 'other-body');
  }

  private submit(intent: Intent, purpose: Answer['purpose']): Promise<Answer | undefined> {
    const digest = purpose === 'other-body' ? (intent.otherDigest ?? intent.digest) : intent.digest;
    const { algorithm, key, scheme, background, name } = intent;
    const body = { digest: digest.toString('base64'), algorithm, key, scheme, async: background, reference: name };
    return this.untilAnswered(intent, purpose, '/api/v1/sign/digest', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'idempotency-key': name },
    });
  }

  private async follow(intent: Intent, id: string): Promise<void> {
    for (;;) {
      const answer = await this.untilAnswered(intent, 'follow', `/api/v1/sign/requests/${id}?wait=8`, {});
      if (answer === undefined || answer.status !== 200 || answer.state === 'SIGNED' || answer.state === 'FAILED')
        return;
    }
  }

  private async untilAnswered(
    intent: Intent,
    purpose: Answer['purpose'],
    path: string,
    request: RequestInit,
  ): Promise<Answer | undefined> {
    for (let attempt = 1; !this.givenUp; attempt += 1) {
      const sent = Date.now();
      const met = await this.call(path, request);
      if (typeof met !== 'string') {
        const answer = { ...read(met.text, path), intent, purpose, sent, came: Date.now(), status: met.status };
        this.answers.push(answer);
        return answer;
      }
      this.retries.set(met, (this.retries.get(met) ?? 0) + 1);
      await sleep(this.world.random.between(0.5, 1) * Math.min(2000, 100 * 2 ** attempt));
    }
    return undefined;
  }

  /** Sends one call. Returns the response, or a word that describes the failure. */
  private async call(path: string, request: RequestInit): Promise<{ status: number; text: string } | string> {
    const urls = this.world.urls();
    if (urls.length === 0) return 'nobody listens';
    this.calls += 1;
    const headers = { ...(request.headers as Record<string, string>), authorization: `Bearer ${this.world.apiKey}` };
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetch(`${this.world.random.pick(urls)}${path}`, { ...request, headers, signal });
      const text = await response.text();
      this.world.inspect(text, `${request.method ?? 'GET'} ${path}`);
      const passing = response.status === 408 || response.status === 429 || response.status >= 500;
      if (passing) return `${response.status} ${read(text, path).code ?? ''}`;
      return { status: response.status, text };
    } catch (error) {
      return (error as Error).name === 'TimeoutError' ? 'no answer in time' : 'connection lost or refused';
    }
  }
}

function read(text: string, path: string): Pick<Answer, 'id' | 'state' | 'code' | 'signature'> {
  let view: RequestView;
  try {
    view = JSON.parse(text) as RequestView;
  } catch {
    return { id: undefined, state: undefined, code: `not JSON, from ${path}`, signature: undefined };
  }
  // In a problem, `requestId` identifies the call. `instance` identifies the signing request, if one exists.
  if (view.code !== undefined) {
    return { id: view.instance?.split('/').at(-1), state: undefined, code: view.code, signature: undefined };
  }
  return { id: view.requestId, state: String(view.status), code: undefined, signature: view.signature };
}
