import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KNOWN_TOOLS } from '../../src/client/agent/tools/known-tools.js';
import { has } from '../support/peers.js';
import { sealwright as run } from './program.js';

const TOOLS_PAGE = readFileSync(join(import.meta.dirname, '../../docs/tools.md'), 'utf8');

let home: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'sealwright-doctor-'));
  mkdirSync(join(home, 'bin'));
  symlinkSync(process.execPath, join(home, 'bin', 'node'));
});
afterAll(() => rmSync(home, { recursive: true }));

const doctor = (args: string[], path = process.env['PATH'] ?? '') =>
  run(['doctor', ...args], { env: { HOME: home, PATH: path } });

function program(name: string): void {
  writeFileSync(join(home, 'bin', name), '#!/bin/sh\n');
  chmodSync(join(home, 'bin', name), 0o755);
}

describe('sealwright doctor', () => {
  it.each(KNOWN_TOOLS.filter(({ programs }) => programs.length > 0))(
    '$name: lists the package of each missing program',
    async ({ name, programs, toInstall }) => {
      const { code, out } = await doctor([name], join(home, 'bin'));
      expect(code).toBe(1);
      for (const one of programs) expect(out).toContain(`MISSING  ${one} is not in PATH: ${toInstall}.`);
    },
  );

  it('knows exactly the tools on the tools page', () => {
    for (const { name } of KNOWN_TOOLS) expect([name, TOOLS_PAGE.toLowerCase().includes(name)]).toEqual([name, true]);
  });

  it('reports whether gpg on the path is the wrapper', async () => {
    program('git');
    program('gpg');
    const before = await doctor(['git'], join(home, 'bin'));
    expect(before).toMatchObject({ code: 1, out: expect.stringContaining(`The first gpg in PATH is ${join(home, 'bin/gpg')}`) }); // prettier-ignore
    await run(['wrappers', join(home, 'wrappers')], { env: { HOME: home } });
    const after = await doctor(['git'], [join(home, 'wrappers'), join(home, 'bin')].join(delimiter));
    expect(after).toMatchObject({ code: 0, out: expect.stringContaining('signs with keys of the service') });
  });

  it.skipIf(!has('jarsigner'))('lists every tool, and detects installed ones', async () => {
    const { code, out } = await doctor([]);
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => line !== '')).toHaveLength(KNOWN_TOOLS.length);
    expect(out).toMatch(/^jarsigner +ok$/m);
  });

  it('rejects an unknown tool with the known ones', async () => {
    expect(await doctor(['minisign'])).toMatchObject({ code: 2, err: expect.stringContaining('osslsigncode') });
  });
});
