import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { trimEndOf } from '../../formats/encoding/trim-end.js';

/** Where a service listens, read from its address once and not for each call. */
export interface HttpServer {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
  /** Before every path; without a slash at its end. */
  readonly prefix: string;
}

export function httpServer(url: string): HttpServer {
  const { protocol, hostname, port, pathname } = new URL(url);
  // Node resolves a bare address, and an IPv6 one has brackets in a URL alone.
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port, prefix: trimEndOf(pathname, '/') };
}

export interface HttpCall {
  readonly method: string;
  readonly server: HttpServer;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** The call ends after so long, also while its answer is read. */
  readonly limitMs: number;
  /** Ends the call, also while its answer is read. */
  readonly signal: AbortSignal | undefined;
}

/** An answer whose body was not read yet. A redirect is one like any other: no credential follows it. */
export type HttpAnswer = IncomingMessage & { readonly statusCode: number };

/**
 * Sends a call and resolves with the head of its answer. By Node's `http` and not by `fetch`, and with a timer in place of an AbortSignal:
 * both take half as much processor time again, which an agent would add to each signature of a tool. Connections are kept for the next call.
 *
 * @throws when no answer came, with the reason in the message or in the cause
 */
export function exchange({ method, server, path, headers, body, limitMs, signal }: HttpCall): Promise<HttpAnswer> {
  const { prefix, ...place } = server;
  const request = server.protocol === 'https:' ? requestHttps : requestHttp;
  const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const call = request({ ...place, method, path: prefix + path, headers: { accept: '*/*', ...length, ...headers } });
    const timer = setTimeout(() => call.destroy(new Error(`timeout after ${limitMs} ms`)), limitMs).unref();
    const abandon = () => call.destroy(new Error('the caller no longer waits for the response'));
    signal?.addEventListener('abort', abandon);
    call.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abandon);
    });
    // Node sets the status of every answer that a client gets.
    call.on('response', (answer) => resolve(answer as HttpAnswer));
    call.on('error', reject);
    call.end(body);
    if (signal?.aborted === true) abandon();
  });
}

/** Whether the service did what it was asked for. */
export function isOk({ statusCode }: HttpAnswer): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** Seconds after which the call may come again; undefined when the answer does not say so, or in a date, which this service sends none of. */
export function retryAfterOf({ headers }: HttpAnswer): number | undefined {
  const header = headers['retry-after'] ?? '';
  return /^\d+$/.test(header) ? Number(header) : undefined;
}
