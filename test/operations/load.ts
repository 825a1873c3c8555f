import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf } from '../support/signing.js';

/** Target of the calls, with the credentials to use. */
export interface Target {
  /** URLs of the api processes, used in turn. */
  readonly urls: () => readonly string[];
  readonly apiKey: string;
  /** Access token of a person. */
  readonly accessToken?: string;
}

export interface LoadResult {
  readonly answers: number;
  /** Outcomes of calls that failed or were not answered with 2xx. */
  readonly noticed: string[];
}

const PAUSE_MS = 20;

/** Signs and reads continuously until stopped, and counts failures that a client would notice. */
export class Load {
  private stopped = false;
  private answers = 0;
  private turn = 0;
  private readonly noticed: string[] = [];
  private readonly loops: Promise<void>[];

  constructor(
    private readonly target: Target,
    lanes = 3,
  ) {
    this.loops = Array.from({ length: lanes }, (_, lane) => this.loop(lane));
  }

  async stop(): Promise<LoadResult> {
    this.stopped = true;
    await Promise.all(this.loops);
    return { answers: this.answers, noticed: this.noticed };
  }

  private async loop(lane: number): Promise<void> {
    for (let number = 0; !this.stopped; number += 1) {
      const body = { digest: digestOf(`load ${lane} ${number}`), algorithm: 'sha256' };
      await this.once('POST', '/api/v1/sign/digest', this.target.apiKey, body);
      if (this.target.accessToken !== undefined) await this.once('GET', '/api/auth/me', this.target.accessToken);
      await sleep(PAUSE_MS);
    }
  }

  private async once(method: string, path: string, key: string, body?: object): Promise<void> {
    const urls = this.target.urls();
    const url = urls[(this.turn += 1) % urls.length] ?? '';
    try {
      const { status, text } = await call(`${url}${path}`, { method, key, body });
      this.answers += 1;
      if (status >= 300) this.noticed.push(`${method} ${path}: ${status} ${text}`);
    } catch (error) {
      this.noticed.push(`${method} ${path} at ${url}: ${String((error as Error).cause ?? error)}`);
    }
  }
}

interface Order {
  readonly method: string;
  readonly key: string;
  readonly body?: object | undefined;
}

/** Sends one call on a new connection, as clients behind a load balancer do. */
async function call(url: string, { method, key, body }: Order): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      connection: 'close',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}
