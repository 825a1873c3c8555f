import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { lookAtTree } from './endpoint-scan.js';
import { SensorScan } from './scan.js';
import { Spool } from './spool.js';
import { readCandidate } from './tree.js';

const directory = mkdtempSync(join(tmpdir(), 'sensor-scan-'));
afterAll(() => rmSync(directory, { recursive: true }));
const put = (name: string, text: string) => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};
const order = (path: string) => ({ source: 'here', paths: [path], endpoints: [], exclude: [], storePasswords: [] });
const CIPHERS = 'Ciphers aes128-ctr\n';

describe('a file that an account replaces after its directory was read', () => {
  it('by a FIFO does not delay the sensor', async () => {
    const fifo = join(directory, 'fifo.pem');
    execFileSync('mkfifo', [fifo]);
    const read = readCandidate(fifo);
    expect(await Promise.race([read, sleep(2000, 'waiting', { ref: false })])).toBeUndefined();
  });

  it('by a symbolic link is not opened', async () => {
    const link = join(directory, 'link.pem');
    symlinkSync(put('target.pem', CIPHERS), link);
    await expect(readCandidate(link)).rejects.toThrow('ELOOP');
  });

  it('by a file that is too large is not read', async () => {
    const large = put('large.pem', CIPHERS);
    truncateSync(large, 16 * 1024 * 1024);
    expect(await readCandidate(large)).toBeUndefined();
  });
});

it.runIf(process.getuid?.() === 0)('an account cannot use up the findings of a scan', async () => {
  const [tree, other] = [mkdtempSync(join(directory, 'tree-')), 21_000];
  const add = (name: string, lines: number, uid: number) => {
    const file = join(tree, name);
    writeFileSync(file, CIPHERS.repeat(lines));
    chownSync(file, uid, uid);
  };
  add('a.conf', 60_000, other);
  add('b.conf', 10, other);
  add('c.conf', 10, other + 1);
  add('d.conf', 60_000, 0);
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for await (const { place } of lookAtTree(tree, { ...order(tree), onFault: (where) => faults.push(where) }))
    counts.set(place.location, (counts.get(place.location) ?? 0) + 1);
  const of = (name: string) => counts.get(`here:${join(tree, name)}`);
  expect(['a.conf', 'b.conf', 'c.conf', 'd.conf'].map(of)).toEqual([50_000, undefined, 10, 60_000]);
  expect(faults).toEqual([join(tree, 'a.conf')]);
});

it.runIf(process.platform === 'linux')('a scan of many parts opens few files at once', async () => {
  const spooled = join(directory, 'spool');
  const tree = mkdtempSync(join(directory, 'parts-'));
  for (let i = 0; i < 50; i += 1) writeFileSync(join(tree, `${i}.conf`), CIPHERS);
  const spool = await Spool.open(spooled);
  writeFileSync(join(spooled, 'state.json'), JSON.stringify({ [`here:${tree}`]: { parts: 512, sources: [] } }));
  const limit = (soft: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${soft}:`]);
  const before = execFileSync('prlimit', ['--pid', String(process.pid), '--nofile', '--noheadings', '-o', 'SOFT']);
  limit('256');
  try {
    expect(await SensorScan.run(order(tree), spool, undefined)).toMatchObject({ ok: true, detail: expect.any(String) });
  } finally {
    limit(before.toString().trim());
    await spool.close();
  }
});
