import { Injectable } from '@nestjs/common';
import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Config, ConfigError } from '../../platform/config/config.js';
import { Clock } from '../../platform/work/clock.js';
import { readCertificateChain } from '../certificates/certificate-chain.js';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';
import { element, integer, sequence } from '../../formats/asn1/der-writer.js';
import { BadTimestamp, checkedToken } from './timestamp-check.js';
import { messageImprint } from './timestamp-writer.js';

const CERT_REQ = element(0x01, Buffer.from([0xff]));
const MAX_ANSWER_BYTES = 64 * 1024;

/** TimestampClient queries external timestamp authorities (RFC 3161 section 3.4), and verifies their responses. */
@Injectable()
export class TimestampClient {
  /** Root certificates to which the certificates of external authorities must chain. */
  readonly roots: readonly X509Certificate[];

  constructor(
    config: Config,
    private readonly clock: Clock,
  ) {
    this.roots = rootsOf(config);
  }

  /** Returns a TimeStampToken over the digest. Throws BadTimestamp, or the error of fetch. */
  async ask(url: string, digest: Buffer, algorithm: FormatDigest, withinMs: number): Promise<Buffer> {
    const nonce = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
    const query = sequence(integer(1), messageImprint(algorithm, digest), integer(nonce), CERT_REQ);
    const response = await fetch(withoutCredentials(url), {
      method: 'POST',
      body: new Uint8Array(query),
      headers: { 'content-type': 'application/timestamp-query', ...credentialsOf(url) },
      redirect: 'error',
      signal: AbortSignal.timeout(Math.ceil(withinMs)),
    });
    const answer = await bodyOf(response);
    if (response.status !== 200) throw new BadTimestamp(`HTTP ${response.status}`);
    return checkedToken(answer, { digest, algorithm, nonce, roots: this.roots, now: this.clock.now() });
  }
}

/** Returns the part of a URL that may be logged: no user, password or query. */
export function publicName(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Reads the body up to the maximum length of a response. */
async function bodyOf(response: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    size += part.length;
    if (size > MAX_ANSWER_BYTES) throw new BadTimestamp('the response is too long');
  }
  return Buffer.concat(parts);
}

function withoutCredentials(url: string): URL {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return plain;
}

function credentialsOf(url: string): Record<string, string> {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(text).toString('base64')}` };
}

function rootsOf({ tsaAuthorities, tsaTrustFile }: Config): X509Certificate[] {
  if (tsaAuthorities.every((one) => one === 'own')) return [];
  try {
    return readCertificateChain(readFileSync(tsaTrustFile, 'utf8'));
  } catch {
    throw new ConfigError([
      'SVC_TSA_TRUST_FILE must refer to a PEM file with the root certificates of the authorities in SVC_TSA_AUTHORITIES',
    ]);
  }
}
