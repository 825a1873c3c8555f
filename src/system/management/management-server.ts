import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MANAGEMENT_PATHS, type ManagementAnswer, type ManagementAnswers } from './management-answers.js';

/** Limits for requests, which can be small because a probe sends a single request line and no body. */
const LIMITS = { headersTimeout: 5000, requestTimeout: 5000, keepAliveTimeout: 5000, maxHeaderSize: 8 * 1024 };

/**
 * Serves health and metrics at a separate address, in every role and from the start of the process. No credential is required: anyone who can reach the
 * address can read health and metrics.
 */
export class ManagementServer {
  private readonly server: Server = createServer(LIMITS, (request, response) => void this.answer(request, response));

  /** @param answers initial responses, until `serve` replaces them */
  constructor(private answers: ManagementAnswers) {
    // Neither the server nor an open probe connection keeps the process from exiting.
    this.server.unref();
    this.server.on('connection', (socket) => socket.unref());
  }

  /** Starts listening. @returns the port */
  async listen(port: number, host: string): Promise<number> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  serve(answers: ManagementAnswers): void {
    this.answers = answers;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async answer({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, type, text } = await this.answerTo(method, url.split('?', 1)[0] ?? '/').catch(broken);
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
  }

  private async answerTo(method: string | undefined, path: string): Promise<ManagementAnswer> {
    const name = MANAGEMENT_PATHS.get(path);
    if (name === undefined) return this.answers.other();
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, type: 'text/plain', text: 'GET\n' };
    return this.answers[name]();
  }
}

function broken(error: unknown): ManagementAnswer {
  return { status: 500, type: 'text/plain', text: `${String(error)}\n` };
}
