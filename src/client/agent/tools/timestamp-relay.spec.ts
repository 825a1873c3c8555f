import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { integer, octetString, oid, sequence } from '../../../formats/asn1/der-writer.js';
import { ApiClient } from '../../api/api-client.js';
import { readEnvironment } from '../../api/transport.js';
import { TimestampRelay } from './timestamp-relay.js';

const SHA256 = sequence(oid('2.16.840.1.101.3.4.2.1'));
const queryOver = (bytes: Buffer) =>
  sequence(integer(1), sequence(SHA256, octetString(createHash('sha256').update(bytes).digest())));

it('forwards queries over signatures of this program, and no others', async () => {
  const queries: string[] = [];
  const authority = createServer((request, response) => {
    if (request.method === 'POST') queries.push(request.url ?? '');
    request.resume().on('end', () => response.end('answer'));
  }).listen(0, '127.0.0.1');
  await once(authority, 'listening');
  const address = `http://127.0.0.1:${(authority.address() as AddressInfo).port}`;
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-relay-'));
  const relay = await TimestampRelay.open(await ApiClient.open({ ...readEnvironment(), token: 'secret' }, address), directory); // prettier-ignore
  const asked = async (query: Buffer) => (await fetch(relay.place.url, { method: 'POST', body: query })).status;
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const raw = sign('sha256', Buffer.from('a file'), { key, dsaEncoding: 'ieee-p1363' });
  const der = sequence(integer(raw.subarray(0, 32)), integer(raw.subarray(32)));
  const others = [queryOver(Buffer.from('of another user')), queryOver(raw), queryOver(der), sequence()];
  expect(await Promise.all(others.map(asked))).toEqual([403, 403, 403, 403]);
  expect(queries).toEqual([]);
  relay.place.allow(raw);
  expect(await asked(queryOver(raw))).toBe(200);
  expect(await asked(queryOver(der))).toBe(200);
  expect(await asked(queryOver(Buffer.from('of another user')))).toBe(403);
  expect(queries).toEqual(['/tsa', '/tsa']);
  relay.close();
  authority.close().closeAllConnections();
  rmSync(directory, { recursive: true });
});
