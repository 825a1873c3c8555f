import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fieldTextOf, readScriptOutput, type ScriptLine, WALK } from './host-scripts.js';

const KEY = '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----\n';

it('files of one account leave room for those of other accounts, each read once', () => {
  const root = mkdtempSync(join(tmpdir(), 'walk-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const put = (home: string, name: string, text: string) => {
    mkdirSync(join(root, home, '.ssh'), { recursive: true });
    writeFileSync(join(root, home, '.ssh', name), text);
  };
  for (let i = 0; i < 40; i += 1) put('aaa', `id_${i}`, '');
  put('zoe', 'id_rsa', KEY);
  const limited = WALK.replaceAll('5002', '22').replaceAll('5001', '21').replaceAll('5000', '20');
  const places = [root, join(root, 'aaa'), join(root, 'zoe')].join('\n');
  const found = readScriptOutput(execFileSync('sh', ['-c', limited], { input: `${places}\n` })) ?? [];
  expect(found.filter(({ tag }) => tag === 'key').map((one) => fieldTextOf(one, 0))).toEqual([
    join(root, 'zoe/.ssh/id_rsa'),
  ]);
  expect(found.some(({ tag }) => tag === 'cut')).toBe(true);
}, 20_000);

const walk = (root: string) => {
  const { stdout } = spawnSync('sh', ['-c', WALK], { input: `${root}\n`, maxBuffer: 64 * 1024 * 1024 });
  const found = readScriptOutput(stdout);
  if (found === undefined) throw new Error('the output is incomplete');
  return found;
};
const keysIn = (found: readonly ScriptLine[]) =>
  found.filter(({ tag }) => tag === 'key').map((one) => fieldTextOf(one, 0));

function newRoot() {
  const root = mkdtempSync(join(tmpdir(), 'walk-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  return root;
}

it.runIf(process.getuid?.() === 0)(
  'files of one owner leave room for those of others in the same directory',
  () => {
    const root = newRoot();
    const [eve, bob] = [21_001, 21_002];
    const put = (name: string, uid: number, text: string) => {
      writeFileSync(join(root, name), text);
      chownSync(join(root, name), uid, uid);
    };
    for (let i = 0; i < 40; i += 1) put(`a${i}.pem`, eve, '');
    put('z.key', bob, KEY);
    const limited = WALK.replaceAll('5002', '22').replaceAll('5001', '21').replaceAll('5000', '20');
    const found = readScriptOutput(execFileSync('sh', ['-c', limited], { input: `${root}\n` })) ?? [];
    expect(keysIn(found)).toEqual([join(root, 'z.key')]);
    // The output per owner is limited, because a total above 16 MiB is rejected.
    const certificate = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(130_000)}\n-----END CERTIFICATE-----\n`;
    for (let i = 0; i < 40; i += 1) put(`b${i}.pem`, eve, certificate);
    const whole = walk(root);
    expect(whole.filter(({ tag }) => tag === 'pem').length).toBeLessThan(25);
    expect(keysIn(whole)).toEqual([join(root, 'z.key')]);
    expect(whole.some(({ tag }) => tag === 'cut')).toBe(true);
  },
  60_000,
);

it('a FIFO that replaces a file after it was found does not stop the scan', () => {
  const root = newRoot();
  writeFileSync(join(root, 'z.key'), KEY);
  const fifo = join(root, 'a.key');
  execFileSync('mkfifo', [fifo]);
  writeFileSync(join(root, 'b.key'), KEY);
  // Simulates a race: the search finds a regular file, but the path is a FIFO when the script opens it.
  const raced = WALK.replace('if [ ! -f "$path" ] || [ -L "$path" ]; then continue; fi', '').replace('-type f', '');
  const { signal, stdout } = spawnSync('sh', ['-c', raced], { input: `${root}\n`, timeout: 20_000 });
  expect(signal).toBeNull();
  const found = readScriptOutput(stdout) ?? [];
  expect(keysIn(found)).toEqual([join(root, 'b.key'), join(root, 'z.key')]);
  expect(found.filter(({ tag }) => tag === 'denied').map((one) => fieldTextOf(one, 0))).toEqual([fifo]);
}, 60_000);
