import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../support/signing.js';

export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Reaction = (response: ServerResponse, call: ReceivedCall) => void;

/** An HTTP server that records requests and responds as the test specifies. */
export class WebReceiver {
  readonly received: ReceivedCall[] = [];
  /** Number of connections opened, regardless of the data received. */
  connections = 0;
  private react: Reaction = (response) => response.end();
  private readonly reactions = new Map<string, Reaction>();
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
      this.received.push(call);
      (this.reactions.get(call.path) ?? this.react)(response, call);
    });
  });

  async start(address = '127.0.0.1', port = 0): Promise<void> {
    this.server.on('connection', () => {
      this.connections += 1;
    });
    this.server.listen(port, address);
    await once(this.server, 'listening');
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Responds with these statuses in turn and then repeats the last status. */
  answers(...statuses: number[]): void {
    this.reacts(answering(statuses));
  }

  reacts(react: Reaction): void {
    this.react = react;
  }

  /** Like `answers`, but for one path only, for tests that run concurrently. */
  answersAt(path: string, ...statuses: number[]): void {
    this.reactions.set(path, answering(statuses));
  }

  reactsAt(path: string, react: Reaction): void {
    this.reactions.set(path, react);
  }

  /** Waits until this path has received `count` requests, and returns these requests. */
  calls(path: string, count = 1, seconds = 30): Promise<ReceivedCall[]> {
    return until(`${count} calls to ${path}`, seconds, async () => {
      const found = this.received.filter((call) => call.path === path);
      return found.length >= count ? found : undefined;
    });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

function answering(statuses: number[]): Reaction {
  return (response) => {
    response.statusCode = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 200;
    response.end();
  };
}
