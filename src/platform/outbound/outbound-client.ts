import { Injectable } from '@nestjs/common';
import type { LookupAddress } from 'node:dns';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Config } from '../config/config.js';
import { traceParent } from '../tracing/tracing.js';
import { OutboundAddressGuard } from './address-guard.js';
import { nameLookup, type NameLookup } from './name-lookup.js';
import { CLIENT_CIPHERS } from './tls-ciphers.js';

export interface OutboundOrder {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** PEM: authorities that certify the target, and what this side shows. */
  readonly tls?: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
  /** Time from the DNS look-up to the last byte. */
  readonly timeoutMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** UTF-8; at most 64 kB, the rest is not read. */
  readonly body: string;
}

/** How the operator allows an address. */
const REMEDY = 'add internal addresses that may be called to SVC_OUTBOUND_ALLOW';

/** The target may not be called. The message says why, and never what else the name resolves to. */
export class OutboundRefused extends Error {}

const MAX_BYTES = 64 * 1024;
const PATIENCE_MS = 15_000;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Sends requests to addresses that users chose. A name is resolved once, when the connection is opened; each address
 * that it has is judged, and the connection goes to one of those, so a name that resolves differently a moment later gains nothing.
 * Redirects are answers like any other and are not followed. Plain HTTP is spoken with addresses that the operator named alone.
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

  /** Calls the target. Rejects with OutboundRefused when it may not be called, else with the network's error. */
  async send(order: OutboundOrder): Promise<OutboundAnswer> {
    const url = this.read(order.url);
    const timeout = AbortSignal.timeout(order.timeoutMs ?? PATIENCE_MS);
    const signal = order.signal === undefined ? timeout : AbortSignal.any([timeout, order.signal]);
    try {
      return await this.exchange(url, order, signal);
    } catch (error) {
      if (timeout.aborted) throw new Error('the target did not answer in time', { cause: error });
      throw error;
    }
  }

  /** Why a call to this target would be refused now, or undefined when it would not. A name that does not resolve is none of that. */
  async refusalOf(target: string): Promise<string | undefined> {
    try {
      const url = this.read(target);
      if (isIP(hostOf(url)) === 0) await this.resolve(url);
      return undefined;
    } catch (error) {
      return error instanceof OutboundRefused ? error.message : undefined;
    }
  }

  /** The address of a host, for connections that speak TLS but not HTTP. Rejects with OutboundRefused when it may not be called. */
  async addressOf(host: string): Promise<string> {
    const url = new URL('https://host');
    url.host = isIP(host) === 6 ? `[${host}]` : host;
    if (isIP(host) !== 0) this.judge(host, url);
    const [first] = isIP(host) === 0 ? await this.resolve(url) : [{ address: host }];
    if (first === undefined) throw new Error('the name of the target has no address');
    return first.address;
  }

  /** Checks everything about the URL that needs no DNS look-up. */
  private read(target: string): URL {
    if (!URL.canParse(target)) throw new OutboundRefused('the target is not a URL');
    const url = new URL(target);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new OutboundRefused('the target is not https');
    if (url.username !== '' || url.password !== '') throw new OutboundRefused('the target holds a user or a password');
    const host = hostOf(url);
    if (isIP(host) !== 0) this.judge(host, url);
    return url;
  }

  private judge(address: string, { protocol }: URL): void {
    const kind = this.guard.refusal(address);
    if (kind !== undefined) throw new OutboundRefused(`the target has a forbidden address (${kind}); ${REMEDY}`);
    if (protocol === 'http:' && !this.guard.isNamed(address)) throw new OutboundRefused('the target is not https');
  }

  /** All addresses of the name; refused when one of them may not be called, since any may be the one that is taken. */
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
      // An agent for this call alone: no connection is kept that was opened under another judgement.
      agent: new (secure ? HttpsAgent : HttpAgent)({ keepAlive: false }),
      lookup: this.lookupOf(url),
      ...(secure ? { ciphers: CLIENT_CIPHERS } : {}),
      ...order.tls,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    let isAnswered = false;
    request.once('error', reject);
    request.once('response', (response) => {
      isAnswered = true;
      void readAnswer(response).then(resolve, reject);
    });
    // Node.js emits no error when a target answers 101 or closes the connection.
    request.once('upgrade', () => reject(new Error('the target answers 101 Switching Protocols')));
    request.once('close', () => {
      if (!isAnswered) reject(new Error('the target closed the connection without an answer'));
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

/** A call that is made for a trace tells it (W3C Trace Context). */
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
    if (bytes >= MAX_BYTES) break; // which also ends the connection
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** Seconds that an answer asks to wait by Retry-After: a number, or a date (RFC 9110 section 10.2.3). NaN when it says neither. */
export function secondsAsked({ headers }: Pick<OutboundAnswer, 'headers'>): number {
  const asked = headers['retry-after'] ?? '';
  const seconds = Number(asked === '' ? Number.NaN : asked);
  return Number.isNaN(seconds) ? (Date.parse(asked) - Date.now()) / 1000 : seconds;
}
