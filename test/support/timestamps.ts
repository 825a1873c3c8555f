import { execFileSync } from 'node:child_process';
import { ContentInfo, SignedData } from '@peculiar/asn1-cms';
import { AsnConvert } from '@peculiar/asn1-schema';
import { TimeStampResp, TSTInfo } from '@peculiar/asn1-tsp';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, type Authority, type Verdict } from './authority.js';
import type { Answer, Service } from './service.js';

export const TIMESTAMP_QUERY = 'application/timestamp-query';

/** A timestamp client that uses `openssl ts` to create queries and verify replies. Files are in the authority's directory. */
export class TimestampClient {
  constructor(
    private readonly service: Service,
    private readonly apiKey: string,
    private readonly authority: Authority,
  ) {}

  /** Creates a query with `openssl ts -query`. */
  query(file: string, options: string[] = ['-sha256', '-cert']): Buffer {
    const out = this.at('q.tsq');
    execFileSync('openssl', ['ts', '-query', '-data', file, ...options, '-out', out], { stdio: 'pipe' });
    return readFileSync(out);
  }

  /** Sends the query with curl, with the API key as HTTP Basic password. Returns the status and body of the response. */
  curl(query: Buffer, credentials = ['-u', `anyone:${this.apiKey}`]): { status: number; reply: Buffer } {
    const input = this.authority.keep('sent.tsq', query);
    const out = this.at('r.tsr');
    const status = execFileSync('curl', [
      '-sS',
      ...credentials,
      '-H',
      `Content-Type: ${TIMESTAMP_QUERY}`,
      '--data-binary',
      `@${input}`,
      '-o',
      out,
      '-w',
      '%{http_code} %{content_type}',
      `${this.service.url}/tsa`,
    ]).toString();
    if (!status.startsWith('200 application/timestamp-reply') && !status.startsWith('4')) throw new Error(status);
    return { status: Number(status.split(' ')[0]), reply: readFileSync(out) };
  }

  /** Returns the text that `openssl ts -reply -text` prints for a reply. */
  text(reply: Buffer): string {
    return ask('openssl', ['ts', '-reply', '-in', this.authority.keep('shown.tsr', reply), '-text']).text;
  }

  /**
   * Runs `openssl ts -verify`.
   * @param untrusted whether to add the chain published by the service, for tokens without certificates
   */
  async verify(reply: Buffer, query: Buffer, untrusted = false): Promise<Verdict> {
    const files = ['-in', this.authority.keep('v.tsr', reply), '-queryfile', this.authority.keep('v.tsq', query)];
    const chain = untrusted ? ['-untrusted', this.authority.keep('chain.pem', await this.chain())] : [];
    return ask('openssl', ['ts', '-verify', ...files, '-CAfile', this.authority.root, ...chain]);
  }

  async chain(): Promise<string> {
    const { status, body }: Answer = await this.service.call('GET', '/tsa/chain.pem');
    if (status !== 200) throw new Error(`chain.pem: ${status}`);
    return body;
  }

  /** Sends the query with fetch, which is faster for many calls. */
  async post(query: Buffer): Promise<Buffer> {
    const response = await fetch(`${this.service.url}/tsa`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': TIMESTAMP_QUERY },
      body: new Uint8Array(query),
    });
    return Buffer.from(await response.arrayBuffer());
  }

  private at(name: string): string {
    return join(this.authority.directory, name);
  }
}

/** Parses the SignedData of the token in a reply with a library that the service does not use for writing. */
export function signedDataOf(reply: Buffer): SignedData {
  const token = AsnConvert.parse(reply, TimeStampResp).timeStampToken;
  if (token === undefined) throw new Error('no token');
  return AsnConvert.parse(AsnConvert.parse(AsnConvert.serialize(token), ContentInfo).content, SignedData);
}

/** Requests `count` tokens from all clients in parallel. @returns their serial numbers as 32 hexadecimal digits */
export async function serialsOf(clients: readonly TimestampClient[], count: number, file: string): Promise<string[]> {
  const query = clients[0]?.query(file, ['-sha256', '-no_nonce']) ?? Buffer.alloc(0);
  const serials: string[] = [];
  let left = count;
  const worker = async (client: TimestampClient) => {
    while (left-- > 0) serials.push(serialOf(await client.post(query)));
  };
  await Promise.all(clients.flatMap((client) => Array.from({ length: 32 }, () => worker(client))));
  return serials;
}

function serialOf(reply: Buffer): string {
  const { eContent } = signedDataOf(reply).encapContentInfo;
  const info = AsnConvert.parse(eContent?.single?.buffer ?? new ArrayBuffer(0), TSTInfo);
  return Buffer.from(info.serialNumber).toString('hex').padStart(32, '0');
}
