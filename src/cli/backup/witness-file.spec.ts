import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { noteText, signedNote } from '../../verifier/signed-note.js';
import { tellWitness } from '../../audit/log/witness.js';
import { witnessAddressFault } from '../../platform/config/witness-address.js';
import { newestWitnessed, readWitness } from './witness-file.js';

const SAID = { at: '2026-11-26T03:00:00.000Z', backup: 'one', manifestSha256: 'a'.repeat(64) };
let server: Server | undefined;

afterEach(() => server?.close());

async function witness(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/witness`;
}

describe('a witness', () => {
  it('receives a POST request with JSON', async () => {
    let got = '';
    const address = await witness((request, response) => {
      request.on('data', (chunk) => (got += String(chunk))).on('end', () => response.end());
    });
    await tellWitness(address, SAID);
    expect(JSON.parse(got)).toEqual(SAID);
  });

  it('that answers with an error fails the call', async () => {
    const address = await witness((_request, response) => response.writeHead(507).end());
    await expect(tellWitness(address, SAID)).rejects.toThrow('The witness responded with 507');
  });

  it('does not follow redirects', async () => {
    const address = await witness((_request, response) => response.writeHead(307, { location: '/other' }).end());
    await expect(tellWitness(address, SAID)).rejects.toThrow('is not responding');
  });

  it.each(['http://witness.example/x', 'ftp://witness.example/x', 'https://'])('is rejected at %s', (address) => {
    expect(witnessAddressFault(address)).toBe(`must be the path of a file or an https:// URL, not "${address}"`);
  });

  it.each(['https://witness.example/x', '/mnt/witness.jsonl', 'witness.jsonl'])('is accepted at %s', (address) => {
    expect(witnessAddressFault(address)).toBeUndefined();
  });
});

describe('a witness file', () => {
  it('contains backups and checkpoints, and skips lines of another format', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'witness-')), 'witness.jsonl');
    await tellWitness(file, SAID);
    await tellWitness(file, { at: SAID.at, checkpoint: 'a note' });
    appendFileSync(file, 'torn {"at":\n{"at":1}\n');
    expect(await readWitness(file)).toEqual([
      { ...SAID, checkpoint: undefined },
      { at: SAID.at, backup: undefined, manifestSha256: undefined, checkpoint: 'a note' },
    ]);
  });

  it('is read from its end when it is larger than 16 MiB', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'witness-')), 'witness.jsonl');
    writeFileSync(file, `${JSON.stringify({ at: SAID.at, checkpoint: 'x'.repeat(17 * 1024 * 1024) })}\n`);
    await tellWitness(file, SAID);
    expect(await readWitness(file)).toMatchObject([SAID]);
  });
});

describe('the newest state a witness recorded', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ format: 'der', type: 'spki' });
  const noteOf = (size: number, origin = 'host/log', key = privateKey) => {
    const checkpoint = { origin, size, root: Buffer.alloc(32, size) };
    return signedNote(checkpoint, sign('sha256', Buffer.from(noteText(checkpoint)), key), der);
  };
  const seen = (...notes: string[]) =>
    newestWitnessed(
      notes.map((checkpoint) => ({ ...SAID, checkpoint })),
      { origin: 'host/log', publicKey: der },
    );

  it('is the largest one signed by the log key, in any order', () => {
    expect(seen(noteOf(5), noteOf(9), noteOf(7))).toMatchObject({ size: 9, root: Buffer.alloc(32, 9) });
  });

  it('ignores other signers, other logs, and lines that are not checkpoints', () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(seen(noteOf(9, 'host/log', other), noteOf(9, 'else/log'), 'x')).toBeUndefined();
    expect(seen()).toBeUndefined();
  });
});
