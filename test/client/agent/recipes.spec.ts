import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { has } from '../../support/peers.js';
import { createKey } from '../../support/signing.js';
import { hasTools, ToolBench } from './tool-bench.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/tools.md'), 'utf8');

/** Programs that each recipe needs. If a program is missing, or too large to install for tests, only the signing lines run. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'openssl smime': ['openssl'],
  'openssl cms, with two signers': ['openssl'],
  'openssl cms -resign, by a third party': ['openssl'],
  RAUC: ['rauc', 'mksquashfs'],
  mkimage: ['mkimage', 'dtc'],
  pesign: ['pesign', 'modutil', 'certutil'],
  'APK Signature Scheme v4': ['apksigner'],
  createrepo_c: ['createrepo_c'],
  debsigs: ['debsigs', 'ar'],
  ukify: ['ukify'],
  'cosign, for images': ['cosign'],
  oras: ['oras'],
  aptly: ['aptly'],
  Helm: ['helm'],
  'ostree and flatpak': ['ostree', 'flatpak'],
  'skopeo and podman': ['skopeo'],
  'PDF, Electron and TUF': [],
};
/** Recipes whose third-party programs contact a registry or need an image. Tests run only their signing lines. */
const SIGNING_ONLY = new Set(['cosign, for images', 'oras', 'Helm']);
const OURS = /^(?:sealwright|gpg|openssl|printf) /;

interface Recipe {
  readonly name: string;
  readonly lines: string;
}

/** Returns the recipes in docs/tools.md, by heading. */
function recipesOfPage(): Recipe[] {
  const [, section = ''] = /^## More tools$([\s\S]*?)^## /m.exec(PAGE) ?? [];
  return section
    .split(/^### /m)
    .slice(1)
    .map((part) => ({
      name: part.slice(0, part.indexOf('\n')),
      lines: [...part.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines = '']) => lines).join(''),
    }));
}

const isHere = (name: string): boolean => (NEEDS[name] ?? []).every((program) => has(program));

/** Returns the lines that can run on this machine: all lines, or only those that sign. */
function linesHere({ name, lines }: Recipe): string {
  if (isHere(name) && !SIGNING_ONLY.has(name)) return lines;
  const isOurs = (line: string): boolean => OURS.test(line) && !/ukify|rauc |pesign|mkimage/.test(line);
  return lines.split('\n').filter(isOurs).join('\n');
}

const FIT = `/dts-v1/; / { description = "app"; images { kernel { description = "k"; data = /incbin/("app.bin"); type = "firmware"; arch = "arm64"; compression = "none"; hash-1 { algo = "sha256"; }; }; }; configurations { default = "conf"; conf { firmware = "kernel"; signature { algo = "sha256,rsa3072"; key-name-hint = "release"; sign-images = "firmware"; }; }; }; };`;

describe.runIf(hasTools)('the recipes in docs/tools.md', () => {
  let certified: CertifiedStage;
  let bench: ToolBench;

  beforeAll(async () => {
    certified = await openCertifiedStage([]);
    const { service, apiKey, authority } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    bench.keep('root.pem', readFileSync(authority.root));
    await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'rsa-2048', purpose: 'timestamping' });
    for (const name of ['release', 'second']) {
      const key = await certifiedKey(service, apiKey, authority, { name, type: 'rsa-3072', purpose: 'code-signing' });
      const { body } = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
      const { chain } = (await service.call('GET', `/api/v1/certificates/${body.certificateId}`, { key: apiKey })).body;
      bench.keep(`${name}.pem`, (chain as string[])[0] ?? '');
      bench.keep('issuers.pem', (chain as string[]).slice(1).join(''));
      bench.keep(`${name}.pub`, body.publicKey);
    }
    const packages = await createKey(service, apiKey, { name: 'packages', type: 'rsa-3072', purpose: 'openpgp' });
    const userIds = ['Example packages <packages@example.org>'];
    await service.call('POST', `/api/v1/signing-keys/${packages.id}/openpgp`, { key: apiKey, body: { userIds } });
    await bench.run('sealwright wrappers wrappers; mkdir -m 700 -p .gnupg');
    const exported = await bench.run('gpg --export --armor packages | /usr/bin/gpg --batch --import', wrapped());
    expect(exported).toMatchObject({ code: 0 });
    furnish();
    await makeRepositories();
  });
  afterAll(async () => {
    bench.remove();
    await certified.close();
  });

  const wrapped = () => ({ PATH: [bench.at('wrappers'), bench.path].join(delimiter) });

  /** Creates the files named in the recipes. */
  function furnish(): void {
    for (const folder of ['nss', 'bundle', 'repository', 'pkg/DEBIAN', 'tree'])
      mkdirSync(bench.at(folder), { recursive: true });
    bench.makeFiles();
    bench.keep('payload.json', '{"critical":{}}');
    bench.keep('provenance.json', '{}');
    bench.keep('root.json', '{"signed":{}}');
    bench.keep('Chart.yaml', 'name: app\nversion: 1.0.0');
    bench.keep('app-1.0.0.tgz', 'a chart');
    bench.keep(
      'system.conf',
      '[system]\ncompatible=app\nbootloader=noop\n[keyring]\npath=root.pem\ncheck-purpose=codesign\n',
    );
    bench.keep('bundle/manifest.raucm', '[update]\ncompatible=app\nversion=1\n[image.rootfs]\nfilename=root.img\n');
    bench.keep('bundle/root.img', Buffer.alloc(4096));
    bench.keep('image.its', FIT);
    bench.keep('public.dts', '/dts-v1/; / { };');
    bench.keep(
      'pkg/DEBIAN/control',
      'Package: app\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: a\n',
    );
    const here = { cwd: bench.directory, stdio: 'pipe' as const };
    if (isHere('mkimage')) {
      execFileSync('mkimage', ['-f', 'image.its', 'image.fit'], here);
      execFileSync('dtc', ['-I', 'dts', '-O', 'dtb', '-S', '4096', '-o', 'public.dtb', 'public.dts'], here);
    }
    if (isHere('debsigs')) execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', 'pkg', 'app.deb'], here);
    bench.keep(
      'manifest.json',
      '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json"}',
    );
    copyFileSync(bench.at('boot.efi'), bench.at('vmlinuz'));
    bench.keep('initrd.img', 'an initrd');
    bench.keep('tree/file', 'content');
    bench.keep('.aptly.conf', '{"architectures":["amd64"]}');
  }

  /** Creates an aptly snapshot and an ostree repository with a flatpak application, both unsigned. */
  async function makeRepositories(): Promise<void> {
    const aptly = ['repo create -distribution=stable -component=main app', 'repo add app app.deb', 'snapshot create release from repo app']; // prettier-ignore
    const ostree = ['init --mode=archive', 'commit --branch=app/org.example.App/x86_64/master tree'];
    const lines = [
      ...(isHere('aptly') ? aptly.map((line) => `aptly ${line}`) : []),
      ...(isHere('ostree and flatpak') ? ostree.map((line) => `ostree --repo=repo ${line}`) : []),
    ];
    expect(await bench.run(lines.join('\n'))).toMatchObject({ code: 0 });
  }

  it('are all tested here', () => {
    expect(
      recipesOfPage()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(Object.keys(NEEDS).toSorted());
  });

  it.each(recipesOfPage().map((recipe) => [recipe.name, recipe] as const))('%s', async (name, recipe) => {
    const lines = linesHere(recipe);
    expect(isHere(name) || OURS.test(lines) || lines === '').toBe(true);
    const run = await bench.run(lines, wrapped());
    expect(run).toMatchObject({ code: 0 });
  });
});
