import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { elementsInside, elementsOfSequence } from '../../../formats/asn1/der-reader.js';
import { integer, sequence } from '../../../formats/asn1/der-writer.js';
import type { ApiClient } from '../../api/api-client.js';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { isOwnPeer } from '../../api/loopback-peer.js';
import type { TimestampPlace } from './file-tool.js';

const QUERY = 'application/timestamp-query';
const ANSWER = 'application/timestamp-reply';
const MAX_QUERY_BYTES = 64 * 1024;

/** Digests that tools use for message imprints of timestamps. */
const IMPRINT_DIGESTS = ['sha1', 'sha256', 'sha384', 'sha512'] as const;

/**
 * TimestampRelay forwards RFC 3161 queries of tools to the service's timestamp authority, using the credential of this program. The tools need neither a
 * credential nor trust in the service's TLS certificate. The relay listens on the loopback address at an unguessable path. Other users can see the path in the
 * arguments of tools. Therefore, the relay forwards only queries for signatures that this program obtained, and on Linux accepts only connections from the same
 * user.
 */
export class TimestampRelay {
  private constructor(
    private readonly server: Server,
    readonly place: TimestampPlace,
  ) {}

  /** Opens a relay. Throws before any approval is requested if the service has no timestamp authority. */
  static async open(api: ApiClient, directory: string): Promise<TimestampRelay> {
    const chain = join(directory, 'timestamp-authority.pem');
    await writeFile(chain, await chainOf(api));
    const path = `/${randomBytes(16).toString('hex')}`;
    const imprints = new Set<string>();
    const allow = (signature: Buffer) => {
      for (const imprint of imprintsOf(signature)) imprints.add(imprint);
    };
    const server = createServer((request, response) => void answer(api, { path, imprints }, request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new TimestampRelay(server, { url: `http://127.0.0.1:${port}${path}`, chain, allow });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

async function chainOf(api: ApiClient): Promise<Buffer> {
  try {
    return (await api.bytes('GET', '/tsa/chain.pem')).body;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    throw new ClientError(EXIT.failed, `--timestamp requires the timestamp authority of the service: ${error.message}`, error.status); // prettier-ignore
  }
}

/** Returns the message imprints of possible timestamps for a signature, in hexadecimal. Tools encode r ‖ s as SEQUENCE { r, s } (RFC 3279 section 2.2.3). */
function imprintsOf(signature: Buffer): string[] {
  const half = signature.length / 2;
  const der = sequence(integer(signature.subarray(0, half)), integer(signature.subarray(half)));
  return [signature, der].flatMap((value) => IMPRINT_DIGESTS.map((digest) => hash(digest, value, 'hex')));
}

/** Returns the hashed message of a TimeStampReq (RFC 3161 section 2.4.1), in hexadecimal. Throws RangeError if the query is not a TimeStampReq. */
function imprintIn(query: Buffer): string {
  const [, imprint] = elementsOfSequence(query);
  const [, hashedMessage] = elementsInside(imprint);
  return hashedMessage?.contents.toString('hex') ?? '';
}

interface Relayed {
  readonly path: string;
  /** Message imprints for which the relay requests timestamps. */
  readonly imprints: ReadonlySet<string>;
}

async function answer(
  api: ApiClient,
  { path, imprints }: Relayed,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const isAllowed = request.method === 'POST' && request.url === path && (await isOwnPeer(request.socket));
    if (!isAllowed) return void response.writeHead(404).end();
    const query = await queryOf(request);
    if (!imprints.has(imprintIn(query))) return void response.writeHead(403).end();
    const { body } = await api.bytes('POST', '/tsa', { type: QUERY, body: query });
    response.writeHead(200, { 'content-type': ANSWER, 'content-length': body.length }).end(body);
  } catch (error) {
    response.writeHead(502, { 'content-type': 'text/plain' }).end(error instanceof Error ? error.message : 'failed');
  }
}

async function queryOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_QUERY_BYTES) throw new RangeError('the query is too large');
    parts.push(part);
  }
  return Buffer.concat(parts);
}
