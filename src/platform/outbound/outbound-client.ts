import { Injectable } from '@nestjs/common';
import type { LookupAddress } from 'node:dns';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Config } from '../config/config.js';
import { oneLine } from '../text/truncate.js';
import { traceParent } from '../observability/tracing.js';
import { OutboundAddressGuard } from './address-guard.js';
import { nameLookup, type NameLookup } from './name-lookup.js';
import { CLIENT_CIPHERS } from './tls-ciphers.js';

export interface OutboundOrder {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** PEM: CA certificates for the target, client certificate, and private key of the client certificate. */
  readonly tls?: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
  /** Timeout from DNS lookup to the last byte, in milliseconds. */
  readonly timeoutMs?: number;
  /** Cancels the request. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Response body, decoded as UTF-8 and truncated to 64 kB. */
  readonly body: string;
}

/** Remedy for an address that is not allowed. */
const REMEDY = 'to allow it, an operator must add it to SVC_OUTBOUND_ALLOW';

/** OutboundRefused means that the target is not allowed. The message states the reason, but does not list the addresses of the name. */
export class OutboundRefused extends Error {}

const MAX_REASON = 300;

/** networkReason returns a network error as one line. The message about a refused address states the kind of the address, but not the address. */
export function networkReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return oneLine(code === undefined || message.includes(code) ? message : `${code}: ${message}`, MAX_REASON);
}

const MAX_BYTES = 64 * 1024;
const PATIENCE_MS = 15_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Maximum number of interim responses (RFC 9110 section 15.2) before the final response. */
const MAX_INTERIM = 10;

/**
 * OutboundClient sends requests to URLs chosen by users. A name is resolved once per connection, and the connection uses one of the addresses that were
 * checked, so DNS rebinding has no effect. Redirects are returned as responses and not followed. Plain HTTP is allowed only to addresses that the operator
 * allowed explicitly.
 */
@Injectable()
export class OutboundClient {
  private readonly guard: OutboundAddressGuard;
  constructor(
    config: Config,
    private readonly lookup: NameLookup = nameLookup(),
  ) {
    this.guard = new OutboundAddressGuard(config.outboundAllow);
  }

  /** Sends a request. Rejects with OutboundRefused if the target is not allowed, otherwise with the network error. */
  async send(order: OutboundOrder): Promise<OutboundAnswer> {
    const url = this.read(order.url);
    const timeout = AbortSignal.timeout(order.timeoutMs ?? PATIENCE_MS);
    const signal = order.signal === undefined ? timeout : AbortSignal.any([timeout, order.signal]);
    try {
      return await this.exchange(url, order, signal);
    } catch (error) {
      if (timeout.aborted) throw new Error('the target did not respond in time', { cause: error });
      throw error;
    }
  }

  /** Returns why a request to this target would be refused; undefined if the request would be allowed or if the name cannot be resolved. */
  async refusalOf(target: string): Promise<string | undefined> {
    try {
      const url = this.read(target);
      if (isIP(hostOf(url)) === 0) await this.resolve(url);
      return undefined;
    } catch (error) {
      return error instanceof OutboundRefused ? error.message : undefined;
    }
  }

  /** Returns an address of a host, for TLS connections other than HTTPS. Rejects with OutboundRefused if the target is not allowed. */
  async addressOf(host: string): Promise<string> {
    const url = new URL('https://host');
    url.host = isIP(host) === 6 ? `[${host}]` : host;
    if (isIP(host) !== 0) this.judge(host, url);
    const [first] = isIP(host) === 0 ? await this.resolve(url) : [{ address: host }];
    if (first === undefined) throw new Error('the host name of the target does not resolve to an address');
    return first.address;
  }

  /** Parses the URL and performs all checks that do not require DNS. */
  private read(target: string): URL {
    if (!URL.canParse(target)) throw new OutboundRefused('the target is not a URL');
    const url = new URL(target);
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new OutboundRefused('the target does not use HTTPS');
    if (url.username !== '' || url.password !== '')
      throw new OutboundRefused('the URL of the target contains a user or a password');
    const host = hostOf(url);
    if (isIP(host) !== 0) this.judge(host, url);
    return url;
  }

  private judge(address: string, { protocol }: URL): void {
    const kind = this.guard.refusal(address);
    if (kind !== undefined) throw new OutboundRefused(`the address of the target is not allowed (${kind}); ${REMEDY}`);
    if (protocol === 'http:' && !this.guard.isNamed(address))
      throw new OutboundRefused('the target does not use HTTPS');
  }

  /** Returns all addresses of the name. Rejects if one address is not allowed, because the connection may use any of the addresses. */
  private async resolve(url: URL): Promise<LookupAddress[]> {
    const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
    this.lookup(url.hostname, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
    const addresses = await promise;
    for (const { address } of addresses) this.judge(address, url);
    return addresses;
  }

  private exchange(url: URL, order: OutboundOrder, signal: AbortSignal): Promise<OutboundAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();
    const secure = url.protocol === 'https:';
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: order.method,
      headers: {
        ...tracedHeaders(),
        ...order.headers,
        ...(order.body === undefined ? {} : { 'content-length': Buffer.byteLength(order.body) }),
      },
      // An agent per request, so that no connection outlives the check that allowed it.
      agent: new (secure ? HttpsAgent : HttpAgent)({ keepAlive: false }),
      lookup: this.lookupOf(url),
      ...(secure ? { ciphers: CLIENT_CIPHERS } : {}),
      ...order.tls,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    let isAnswered = false;
    request.on('error', reject);
    request.once('response', (response) => {
      isAnswered = true;
      void readAnswer(response).then(resolve, reject);
    });
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) request.destroy(new Error('the target sent too many interim responses (1xx)'));
    });
    // Node.js emits no error if the target responds with 101 or closes the connection. The socket of a 101 response has no error listener.
    request.once('upgrade', (_response, socket) => {
      socket.on('error', () => undefined);
      socket.destroy();
      reject(new Error('the target responded with 101 Switching Protocols'));
    });
    request.once('close', () => {
      if (!isAnswered) reject(new Error('the target closed the connection without a response'));
    });
    request.end(order.body);
    return promise;
  }

  private lookupOf(url: URL): LookupFunction {
    return (_name, _options, done) => {
      this.resolve(url).then(
        (addresses) => done(null, addresses),
        (error: NodeJS.ErrnoException) => done(error, []),
      );
    };
  }
}

/** Propagates the current trace, if any (W3C Trace Context). */
function tracedHeaders(): Record<string, string> {
  const traceparent = traceParent();
  return traceparent === null ? {} : { traceparent };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

async function readAnswer(response: IncomingMessage): Promise<OutboundAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_BYTES) break; // also ends the connection
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** secondsAsked returns the seconds requested by Retry-After, given as a number or a date (RFC 9110 section 10.2.3). Returns NaN without a valid value. */
export function secondsAsked({ headers }: Pick<OutboundAnswer, 'headers'>): number {
  const asked = headers['retry-after'] ?? '';
  const seconds = Number(asked === '' ? Number.NaN : asked);
  return Number.isNaN(seconds) ? (Date.parse(asked) - Date.now()) / 1000 : seconds;
}
