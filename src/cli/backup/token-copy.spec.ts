import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { copyToken, isSoftHsm, overlap, putToken, tokenDirectory } from './token-copy.js';

let place: string;
let tokens: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'sealwright-token-'));
  tokens = join(place, 'tokens');
  mkdirSync(join(tokens, 'one'), { recursive: true });
  writeFileSync(join(tokens, 'one', 'token.object'), 'token');
  writeFileSync(join(tokens, 'one', 'key.object'), 'key 0');
  writeFileSync(join(tokens, 'one', 'key.lock'), '');
});

describe('a token copy', () => {
  it('contains every file unchanged', async () => {
    await copyToken(tokens, join(place, 'copy'));
    expect(readdirSync(join(place, 'copy', 'one')).sort()).toEqual(readdirSync(join(tokens, 'one')).sort());
    expect(readFileSync(join(place, 'copy', 'one', 'key.object'), 'utf8')).toBe('key 0');
  });

  it('is consistent when related objects are written during the copy', async () => {
    const write = (round: number) => {
      writeFileSync(join(tokens, 'one', 'a.object'), `round ${round}`);
      for (let file = 0; file < 40; file += 1) writeFileSync(join(tokens, 'one', `m${file}.object`), `${round}`);
      writeFileSync(join(tokens, 'one', 'z.object'), `round ${round}`);
    };
    write(0);
    const copied = copyToken(tokens, join(place, 'copy'));
    // Each round rewrites all files, so a file copied before a round does not match a file copied after the round.
    for (let round = 1; round <= 30; round += 1) {
      await sleep(2);
      write(round);
    }
    await copied;
    const text = (name: string) => readFileSync(join(place, 'copy', 'one', name), 'utf8');
    expect(text('a.object')).toBe(text('z.object'));
  });

  it('is private, whatever the mode of the original', async () => {
    chmodSync(join(tokens, 'one'), 0o755);
    chmodSync(join(tokens, 'one', 'key.object'), 0o644);
    await copyToken(tokens, join(place, 'copy'));
    const modes = ['copy', 'copy/one', 'copy/one/key.object'].map((path) => statSync(join(place, path)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  it('is refused for a directory without a token', async () => {
    mkdirSync(join(place, 'empty'));
    await expect(copyToken(join(place, 'empty'), join(place, 'copy'))).rejects.toThrow('contains no token');
    await expect(copyToken(join(place, 'none'), join(place, 'copy'))).rejects.toThrow('contains no token');
  });
});

describe('a restored token', () => {
  it('appears completely in an empty directory, even after an interrupted attempt', async () => {
    const home = join(place, 'home', 'tokens');
    mkdirSync(`${home}.restoring`, { recursive: true });
    writeFileSync(join(`${home}.restoring`, 'half'), 'x');
    expect(await putToken(tokens, home)).toBe(true);
    expect(readdirSync(home)).toEqual(['one']);
  });

  it('never replaces an existing token', async () => {
    const home = join(place, 'home');
    mkdirSync(home);
    writeFileSync(join(home, 'newer.object'), 'newer');
    expect(await putToken(tokens, home)).toBe(false);
    expect(readdirSync(home)).toEqual(['newer.object']);
  });
});

describe('the token directory', () => {
  const configured = (text: string) => {
    writeFileSync(join(place, 'softhsm2.conf'), text);
    return tokenDirectory(join(place, 'softhsm2.conf'));
  };

  it('is read from the SoftHSM configuration', async () => {
    expect(await configured('log.level = ERROR\n  directories.tokendir = /var/lib/x/tokens/\n')).toBe(
      '/var/lib/x/tokens',
    );
  });

  it.each(['', 'directories.tokendir = tokens\n'])('must be configured as an absolute path: "%s"', async (text) => {
    await expect(configured(text)).rejects.toThrow('directories.tokendir');
  });

  it('that is unreadable is reported with the variable that configures it', async () => {
    await expect(tokenDirectory(join(place, 'none'))).rejects.toThrow('SOFTHSM2_CONF');
  });
});

it.each([
  ['/a/b', '/a/b', true],
  ['/a/b/c', '/a/b', true],
  ['/a', '/a/b', true],
  ['/a/bc', '/a/b', false],
  ['/x', '/a/b', false],
])('%s and %s overlap: %s', (one, other, expected) => {
  expect(overlap(one, other)).toBe(expected);
});

it('SoftHSM is recognized by the name of its library', () => {
  expect(isSoftHsm('/usr/lib/softhsm/libsofthsm2.so')).toBe(true);
  expect(isSoftHsm('/opt/vendor/libCryptoki2.so')).toBe(false);
});
