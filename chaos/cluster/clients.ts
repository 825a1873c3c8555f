import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeNumber } from './network.js';

const LANES = 4;
const PAUSE_MS = 250;
const PATIENCE_MS = 12_000;
/** Time in milliseconds during which an api that did not respond receives no calls, as with a load balancer. */
const REST_MS = 3000;
const KINDS = ['sign', 'sign later', 'push'] as const;
type Kind = (typeof KINDS)[number];

/** A completed call. Times are from performance.now(). */
export interface Call {
  readonly node: NodeNumber;
  readonly sent: number;
  readonly came: number;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly code: string;
}

/** Work acknowledged to a client. Acknowledged work must not be lost. */
export interface Acknowledged {
  readonly name: string;
  readonly kind: Kind;
  /** IDs and signatures in all responses for this name. Each set has one element unless the work was done twice. */
  readonly ids: Set<string>;
  readonly signatures: Set<string>;
  readonly sent: number;
  readonly came: number;
}

interface Target {
  readonly nodes: readonly NodeNumber[];
  readonly url: (node: NodeNumber) => string;
  readonly apiKey: string;
}

/**
 * Well-behaved clients. The name of a piece of work is also used as the Idempotency-Key. Clients send the work to one api after another until an api responds.
 * A tenth of the answered work is sent again.
 */
export class Clients {
  readonly calls: Call[] = [];
  readonly acknowledged = new Map<string, Acknowledged>();
  readonly refused: string[] = [];
  /** Names of work without a response yet. */
  readonly open = new Set<string>();
  /** If set, calls go only to this machine. */
  only: NodeNumber | undefined;
  private readonly resting = new Map<NodeNumber, number>();
  private turn = 0;
  private number = 0;
  private isStopped = false;
  private isGivenUp = false;
  private lanes: Promise<void>[] = [];

  constructor(private readonly target: Target) {}

  start(): void {
    this.lanes = Array.from({ length: LANES }, () => this.lane());
  }

  /** Stops sending new work and waits until all work is answered, for at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.isStopped = true;
    const timer = setTimeout(() => (this.isGivenUp = true), limitMs);
    await Promise.all(this.lanes);
    clearTimeout(timer);
  }

  /**
   * Returns the longest pause between successful writes in seconds. The period begins with the fault and ends with the response to the first write sent after
   * the takeover. Returns undefined if no write was sent after the takeover.
   */
  pauseAfter(fault: number, takenOver: number): number | undefined {
    const written = [...this.acknowledged.values()];
    const end = Math.min(...written.filter(({ sent }) => sent >= takenOver).map(({ came }) => came));
    if (end === Infinity) return undefined;
    const answers = written.map(({ came }) => came).filter((came) => came > fault && came <= end);
    const moments = [fault, ...answers.toSorted((a, b) => a - b)];
    return Math.max(...moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0))) / 1000;
  }

  private async lane(): Promise<void> {
    while (!this.isStopped) {
      this.number += 1;
      const name = `cluster-${this.number}`;
      const kind = KINDS[this.number % KINDS.length] ?? 'sign';
      this.open.add(name);
      const isAnswered = await this.untilAnswered(kind, name);
      if (isAnswered) this.open.delete(name);
      if (isAnswered && this.number % 10 === 0) await this.untilAnswered(kind, name);
      await sleep(PAUSE_MS);
    }
  }

  private async untilAnswered(kind: Kind, name: string): Promise<boolean> {
    while (!this.isGivenUp) {
      const node = this.next();
      const { status, text, sent } = await this.call(node, kind, name);
      if (status >= 200 && status < 300) {
        this.note(kind, name, text, sent);
        return true;
      }
      if (status >= 400 && status < 500 && status !== 408 && status !== 429 && status !== 409) {
        this.refused.push(`${name}: ${status} ${text.slice(0, 200)}`);
        return true;
      }
      await sleep(PAUSE_MS);
    }
    return false;
  }

  private next(): NodeNumber {
    const { nodes } = this.target;
    if (this.only !== undefined) return this.only;
    for (let tried = 0; ; tried += 1) {
      const node = nodes[(this.turn += 1) % nodes.length] ?? 1;
      if (tried >= nodes.length || (this.resting.get(node) ?? 0) < performance.now()) return node;
    }
  }

  private async call(node: NodeNumber, kind: Kind, name: string) {
    const sent = performance.now();
    const { path, body } = orderOf(kind, name);
    const headers = { authorization: `Bearer ${this.target.apiKey}`, 'content-type': 'application/json' };
    try {
      const response = await fetch(`${this.target.url(node)}${path}`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': name, connection: 'close' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      const code = response.status >= 300 ? (/"code":"([^"]*)"/.exec(text)?.[1] ?? '') : '';
      this.calls.push({ node, sent, came: performance.now(), status: response.status, code });
      return { status: response.status, text, sent };
    } catch {
      this.calls.push({ node, sent, came: performance.now(), status: 0, code: 'no answer' });
      this.resting.set(node, performance.now() + REST_MS);
      return { status: 0, text: '', sent };
    }
  }

  private note(kind: Kind, name: string, text: string, sent: number): void {
    const { requestId, signature } = JSON.parse(text) as { requestId?: string; signature?: string };
    const known = this.acknowledged.get(name);
    const came = performance.now();
    const one: Acknowledged = known ?? { name, kind, ids: new Set(), signatures: new Set(), sent, came };
    if (requestId !== undefined) one.ids.add(requestId);
    if (signature !== undefined) one.signatures.add(signature);
    this.acknowledged.set(name, one);
  }
}

function orderOf(kind: Kind, name: string): { path: string; body: object } {
  if (kind === 'push') return { path: '/api/ingest', body: documentOf(name) };
  const digest = createHash('sha256').update(name).digest('base64');
  const body = { digest, algorithm: 'sha256', reference: name, async: kind === 'sign later' };
  return { path: '/api/v1/sign/digest', body };
}

/** Returns a scan that contains one asset at a unique location. */
function documentOf(name: string): object {
  const algorithmProperties = { primitive: 'pke' };
  const component = {
    type: 'cryptographic-asset',
    name: 'RSA-2048',
    cryptoProperties: { assetType: 'algorithm', algorithmProperties },
  };
  return { scanId: name, source: name, complete: true, assets: [{ component, occurrence: { location: `${name}:/` } }] };
}
