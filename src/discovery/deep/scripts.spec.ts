import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fieldTextOf, readScriptOutput, WALK } from './scripts.js';

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
  const limited = WALK.replaceAll('5000', '20').replaceAll('5001', '21');
  const places = [root, join(root, 'aaa'), join(root, 'zoe')].join('\n');
  const found = readScriptOutput(execFileSync('sh', ['-c', limited], { input: `${places}\n` })) ?? [];
  expect(found.filter(({ tag }) => tag === 'key').map((one) => fieldTextOf(one, 0))).toEqual([
    join(root, 'zoe/.ssh/id_rsa'),
  ]);
  expect(found.some(({ tag }) => tag === 'cut')).toBe(true);
}, 20_000);
