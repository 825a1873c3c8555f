import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PassedCall {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: string;
}

/**
 * `lose` drops the connection before the call reaches the service. `mute` drops the connection after the service has processed the call. `hang` never responds.
 */
export type Fate = 'pass' | 'lose' | 'mute' | 'hang';

/** Proxy between a client and the service that records all calls and breaks connections as the test specifies. */
export class DroppingProxy {
  readonly calls: PassedCall[] = [];
  /** Decides how to handle a call, given the number of earlier calls to the same path. */
  fate: (call: PassedCall, earlier: number) => Fate = () => 'pass';
  private readonly server = createServer((request, response) => void this.handle(request, response));

  constructor(private readonly target: string) {}

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the client was killed
    }
    const { url: path = '', method = 'GET', headers } = request;
    const call = {
      path,
      key: headers['idempotency-key'] as string | undefined,
      body: Buffer.concat(chunks).toString(),
    };
    const fate = this.fate(call, this.calls.filter((one) => one.path === path).length);
    this.calls.push(call);
    if (fate === 'lose') return void request.socket.destroy();
    if (fate === 'hang') return;
    const sent = { authorization: headers.authorization ?? '', 'content-type': 'application/json', ...(call.key === undefined ? {} : { 'idempotency-key': call.key }) }; // prettier-ignore
    const answer = await fetch(`${this.target}${path}`, {
      method,
      headers: sent,
      body: method === 'GET' ? null : call.body,
    });
    const text = await answer.text();
    if (fate === 'mute') return void request.socket.destroy();
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
      .end(text);
  }
}
