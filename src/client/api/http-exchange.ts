import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { trimEndOf } from '../../platform/text/trim-end.js';

/** HttpServer is the URL of a service, parsed once instead of for each call. */
export interface HttpServer {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
  /** Prefix of every path, without a trailing slash. */
  readonly prefix: string;
}

export function httpServer(url: string): HttpServer {
  const { protocol, hostname, port, pathname } = new URL(url);
  // Node resolves IPv6 addresses only without brackets, but an IPv6 address in a URL has brackets.
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port, prefix: trimEndOf(pathname, '/') };
}

export interface HttpCall {
  readonly method: string;
  readonly server: HttpServer;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Time limit in milliseconds, including reading the response. */
  readonly limitMs: number;
  /** Aborts the call, including while the response is being read. */
  readonly signal: AbortSignal | undefined;
}

/** HttpAnswer is a response whose body has not been read. Redirects are not followed, so credentials are never sent to another server. */
export type HttpAnswer = IncomingMessage & { readonly statusCode: number };

/**
 * Sends a call and resolves with the head of the response. Node's `http` and a timer are used, because `fetch` or an AbortSignal for the time limit would each
 * increase the processor time by half, which an agent would spend for each signature. Connections are kept alive.
 *
 * @throws if there is no response, with the reason in the message or the cause
 */
export function exchange({ method, server, path, headers, body, limitMs, signal }: HttpCall): Promise<HttpAnswer> {
  const { prefix, ...place } = server;
  const request = server.protocol === 'https:' ? requestHttps : requestHttp;
  const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const call = request({ ...place, method, path: prefix + path, headers: { accept: '*/*', ...length, ...headers } });
    const timer = setTimeout(() => call.destroy(new Error(`timed out after ${limitMs} ms`)), limitMs).unref();
    const abandon = () => call.destroy(new Error('the caller stopped waiting for the response'));
    signal?.addEventListener('abort', abandon);
    call.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abandon);
    });
    // Node sets the status of every response that a client receives.
    call.on('response', (answer) => resolve(answer as HttpAnswer));
    call.on('error', reject);
    call.end(body);
    if (signal?.aborted === true) abandon();
  });
}

/** Reports whether the call succeeded (status 2xx). */
export function isOk({ statusCode }: HttpAnswer): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/**
 * Returns the number of seconds after which the call may be repeated. Returns undefined without Retry-After, and for a date, which the service does not send.
 */
export function retryAfterOf({ headers }: HttpAnswer): number | undefined {
  const header = headers['retry-after'] ?? '';
  return /^\d+$/.test(header) ? Number(header) : undefined;
}
