import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RegisteredSensor, beat } from '../../test/sensors/sensor-calls.js';
import type { Answer, Service } from '../../test/support/service.js';

const PAUSE_MS = 150;
const ASSETS_PER_DOCUMENT = 40;

/** An unexpected response. */
export interface Fault {
  readonly what: string;
  readonly version: string;
  readonly answer: string;
}

export interface Target {
  readonly version: string;
  readonly service: Service;
}

type Call = (to: Service) => Promise<Answer>;

/** Concurrent callers for every area of the API. Each caller sends its calls to the target processes in turn. */
export class Traffic {
  readonly counts = new Map<string, number>();
  readonly faults: Fault[] = [];
  /** IDs of accepted requests. */
  readonly accepted: string[] = [];
  private targets: readonly Target[] = [];
  private turn = 0;
  private stopped = false;
  private callers: Promise<void>[] = [];
  private documents = 0;

  constructor(
    private readonly key: string,
    private readonly sensor: RegisteredSensor,
  ) {}

  /** Sets the processes that receive calls from now on. */
  to(targets: readonly Target[]): void {
    this.targets = targets;
  }

  start(): void {
    this.callers = Object.entries(this.calls()).map(([what, call]) => this.caller(what, call));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  private calls(): Record<string, Call> {
    const get = (path: string) => (to: Service) => to.call('GET', path, { key: this.key });
    return {
      'sign at once': (to) => this.sign(to, false),
      'sign later': (to) => this.sign(to, true),
      'push new assets': (to) => this.push(to, `documents ${(this.documents += 1) % 50}`, this.documents),
      'push an unchanged scan': (to) => this.push(to, 'sensor scan', 0),
      heartbeat: (to) => beat(to, this.sensor.key),
      assets: get('/api/assets?limit=50&sort=-level'),
      summary: get('/api/analytics/summary'),
      sensors: get('/api/sensors'),
      webhooks: get('/api/webhooks'),
      alerts: get('/api/alerts'),
      hosts: get('/v1/hosts'),
      keys: get('/v1/keys'),
      'failed requests': get('/api/v1/sign/requests?status=FAILED'),
      audit: get('/api/v1/audit/entries?limit=20'),
      readiness: get('/actuator/health/readiness'),
    };
  }

  private async caller(what: string, call: Call): Promise<void> {
    while (!this.stopped) {
      const target = this.targets[(this.turn += 1) % this.targets.length];
      if (target !== undefined) await this.ask(what, target, call);
      await sleep(PAUSE_MS);
    }
  }

  private async ask(what: string, { version, service }: Target, call: Call): Promise<void> {
    const answer = await call(service).catch((error: unknown) => String(error));
    const status = typeof answer === 'string' ? 'no answer' : String(answer.status);
    const name = `${version} ${what}: ${status}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    if (typeof answer === 'string' || answer.status >= 400)
      this.faults.push({ what, version, answer: typeof answer === 'string' ? answer : JSON.stringify(answer.body) });
  }

  private async sign(to: Service, isAsync: boolean): Promise<Answer> {
    const digest = createHash('sha256').update(randomUUID()).digest('base64');
    const body = { digest, ...(isAsync && { async: true }) };
    const answer = await to.call('POST', '/api/v1/sign/digest', { key: this.key, body });
    if (answer.status < 300) this.accepted.push(answer.body.requestId);
    return answer;
  }

  private push(to: Service, source: string, part: number): Promise<Answer> {
    const assets = Array.from({ length: ASSETS_PER_DOCUMENT }, (_, index) => ({
      component: {
        type: 'cryptographic-asset',
        name: `RSA-${1024 + 8 * (index % 300)} ${part} ${index}`,
        cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'pke' } },
      },
      occurrence: { location: `host-${part}:/${index}` },
    }));
    const body = { scanId: randomUUID(), source, complete: true, assets };
    const headers = { 'idempotency-key': randomUUID() };
    return to.call('POST', '/api/ingest', { key: this.key, headers, body });
  }
}
