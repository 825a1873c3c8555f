import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vote } from '../approvals/approvers.js';
import { has } from '../support/peers.js';
import type { ToolEnd } from '../support/tools.js';
import { newGuardedOpenPgpKey, newOpenPgpKey, openOpenPgpStage, type OpenPgpKey, type OpenPgpStage, waitingRequest } from './openpgp-keys.js'; // prettier-ignore

let place: OpenPgpStage;
const CASES = [
  ['rsa-3072', 'at once'],
  ['ec-p256', 'at once'],
  ['rsa-3072', 'after approval'],
  ['ec-p256', 'after approval'],
] as const;

beforeAll(async () => {
  place = await openOpenPgpStage();
});
afterAll(() => place.close());

const at = (...names: string[]): string => join(place.home, ...names);

/** Runs a tool that creates one or more signatures. If approval is required, an approver approves each signature. */
async function signing(
  type: string,
  how: string,
  run: (key: OpenPgpKey) => Promise<ToolEnd>,
): Promise<{ key: OpenPgpKey; ended: ToolEnd }> {
  if (how === 'at once') {
    const key = await newOpenPgpKey(place, type);
    return { key, ended: await run(key) };
  }
  const { key, approver } = await newGuardedOpenPgpKey(place, type);
  const ending = run(key);
  let isOver = false;
  void ending.finally(() => (isOver = true));
  for (;;) {
    const next = await Promise.race([waitingRequest(place, key.name), ending]);
    if ('code' in next || isOver) return { key, ended: await ending };
    await vote(place.service, next.approvalId, approver);
  }
}

describe.skipIf(!has('rpmsign') || !has('rpmbuild'))('rpmsign', () => {
  const SPEC = ['Name: hello', 'Version: 1', 'Release: 1', 'Summary: s', 'License: none', 'BuildArch: noarch', '%description', 'd', '%files', '']; // prettier-ignore

  // rpm 4.18 in Debian 12 does not support ECDSA signatures: `error: Unsupported PGP signature`.
  it.each(CASES.filter(([type]) => type === 'rsa-3072'))(
    '%s, %s: rpm -K accepts the package, and rejects a modified one',
    async (type, how) => {
      const top = at(`rpm-${type}-${how.length}`);
      mkdirSync(top, { recursive: true });
      writeFileSync(join(top, 'hello.spec'), SPEC.join('\n'));
      const built = await place.run('rpmbuild', ['--define', `_topdir ${top}`, '-bb', join(top, 'hello.spec')]);
      expect(built).toMatchObject({ code: 0 });
      const file = join(top, 'RPMS/noarch/hello-1-1.noarch.rpm');
      const { key, ended } = await signing(type, how, ({ fingerprint }) =>
        place.run('rpmsign', [
          '--define',
          `__gpg ${join(place.wrappers, 'gpg')}`,
          '--define',
          `_gpg_name ${fingerprint}`,
          '--addsign',
          file,
        ]),
      );
      expect(ended).toMatchObject({ code: 0 });
      const database = ['--dbpath', join(top, 'db')];
      writeFileSync(join(top, 'key.asc'), key.certificate);
      expect((await place.run('rpmkeys', [...database, '--import', join(top, 'key.asc')])).code).toBe(0);
      const checked = await place.run('rpm', [...database, '-K', file]);
      expect([checked.code, checked.out.toString()]).toEqual([0, expect.stringContaining('digests signatures OK')]);
      const bytes = readFileSync(file);
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 5) ^ 1, bytes.length - 5);
      writeFileSync(file, bytes);
      expect((await place.run('rpm', [...database, '-K', file])).code).not.toBe(0);
    },
  );
});

/** Creates a package that apt can read. */
async function makeDebianPackage(directory: string): Promise<string> {
  mkdirSync(join(directory, 'hello/DEBIAN'), { recursive: true });
  const control = ['Package: hello', 'Version: 1', 'Architecture: all', 'Maintainer: A <a@b.example>', 'Section: misc', 'Priority: optional', 'Description: d', '']; // prettier-ignore
  writeFileSync(join(directory, 'hello/DEBIAN/control'), control.join('\n'));
  const file = join(directory, 'hello_1_all.deb');
  const built = await place.run('dpkg-deb', ['--root-owner-group', '-b', join(directory, 'hello'), file]);
  if (built.code !== 0) throw new Error(built.err);
  return file;
}

describe.skipIf(!has('reprepro') || !has('apt-get'))('reprepro', () => {
  it.each(CASES)('%s, %s: apt-get update accepts the repository, and rejects a modified one', async (type, how) => {
    const directory = at(`repository-${type}-${how.length}`);
    mkdirSync(join(directory, 'conf'), { recursive: true });
    const deb = await makeDebianPackage(directory);
    const { key, ended } = await signing(type, how, async ({ fingerprint }) => {
      const distribution = [
        'Codename: stable',
        'Components: main',
        'Architectures: amd64',
        `SignWith: ${fingerprint}`,
        '',
      ];
      writeFileSync(join(directory, 'conf/distributions'), distribution.join('\n'));
      return place.run('reprepro', ['-b', directory, 'includedeb', 'stable', deb]);
    });
    expect(ended).toMatchObject({ code: 0 });
    expect(await updated(directory, key)).toMatchObject({ code: 0, out: expect.stringContaining('stable InRelease') });
    const release = join(directory, 'dists/stable/InRelease');
    writeFileSync(release, readFileSync(release, 'utf8').replace('Codename: stable', 'Codename: stablE'));
    const changed = await updated(directory, key);
    expect(`${changed.code} ${changed.err}`).toMatch(/BADSIG|invalid|not signed/i);
  });

  /** Runs `apt-get update` with separate directories and this repository as the only source. */
  async function updated(
    directory: string,
    { name, certificate }: OpenPgpKey,
  ): Promise<{ code: number; out: string; err: string }> {
    const root = at(`apt-${name}`);
    for (const path of [
      'etc/apt/apt.conf.d',
      'etc/apt/preferences.d',
      'var/lib/apt/lists/partial',
      'var/cache/apt/archives/partial',
      'var/lib/dpkg',
    ])
      mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, 'var/lib/dpkg/status'), '');
    writeFileSync(join(root, 'key.asc'), certificate);
    const source = `deb [arch=amd64 signed-by=${join(root, 'key.asc')}] file:${directory} stable main\n`;
    writeFileSync(join(root, 'etc/apt/sources.list'), source);
    const options = { Dir: root, 'Dir::State::status': join(root, 'var/lib/dpkg/status'), 'APT::Sandbox::User': 'root', 'APT::Architecture': 'amd64' }; // prettier-ignore
    const args = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
    const { code, out, err } = await place.run('/usr/bin/apt-get', [...args, 'update']);
    return { code, out: out.toString(), err: `${err}${out.toString()}` };
  }
});

describe.skipIf(!has('debsign'))('debsign', () => {
  it.each(CASES)('%s, %s: gpg accepts the signed .dsc', async (type, how) => {
    const file = at(`hello-${type}-${how.length}.dsc`);
    writeFileSync(file, 'Format: 3.0 (native)\nSource: hello\nVersion: 1\nMaintainer: A <a@b.example>\n');
    const { ended } = await signing(type, how, ({ fingerprint }) =>
      place.run('debsign', ['--no-conf', `-p${join(place.wrappers, 'gpg')}`, `-k${fingerprint}`, file]),
    );
    expect(ended).toMatchObject({ code: 0 });
    expect(await place.run('/usr/bin/gpg', ['--verify', file])).toMatchObject({
      code: 0,
      err: expect.stringContaining('Good signature'),
    });
  });
});
