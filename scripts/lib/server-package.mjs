import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from './build.mjs';
import { buildDebianPackage, controlText, MAINTAINER, PACKAGED_NODE } from './debian-package.mjs';
import { inRoot } from './project.mjs';
import { writeRuntimeTree } from './runtime-tree.mjs';

const NAME = 'sealwright';
const OUT = inRoot('dist/packages');
const HOME = 'opt/sealwright';
const UNITS = ['sealwright-api.service', 'sealwright-worker.service', 'sealwright-migrate.service'];
/** Debian architectures by Node's names. */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };

/**
 * packServer builds the service and packs it into a .deb for this machine's architecture, together with Node.js 24 and all packages.
 * @param {string} [version] version of the package, by default the version in package.json
 * @returns {Promise<string>} path of the file
 */
export async function packServer(version = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')).version) {
  await build();
  const architecture = ARCHITECTURES[process.arch];
  const tree = path.join(OUT, 'server');
  rmSync(tree, { recursive: true, force: true });
  writeRuntimeTree(path.join(tree, HOME));
  setVersion(path.join(tree, HOME, 'package.json'), version);
  place(inRoot(`node_modules/node-linux-${process.arch}/bin/node`), path.join(tree, PACKAGED_NODE), 0o755);
  place(inRoot(`node_modules/node-linux-${process.arch}/LICENSE`), path.join(tree, `${HOME}/bin/LICENSE`), 0o644);
  for (const folder of ['docs', 'deploy']) cpSync(inRoot(folder), path.join(tree, HOME, folder), { recursive: true });
  for (const unit of UNITS)
    write(path.join(tree, 'usr/lib/systemd/system', unit), withPackagedNode(`deploy/systemd/${unit}`), 0o644);
  write(path.join(tree, 'usr/sbin/sealwright-admin'), withPackagedNode('deploy/systemd/sealwright-admin'), 0o755);
  place(inRoot('LICENSE'), path.join(tree, `usr/share/doc/${NAME}/copyright`), 0o644);
  for (const script of ['postinst', 'prerm', 'postrm'])
    place(inRoot(`deploy/debian/${script}`), path.join(tree, 'DEBIAN', script), 0o755);
  write(path.join(tree, 'DEBIAN/control'), control(version, architecture), 0o644);
  const file = path.join(OUT, `${NAME}_${version}_${architecture}.deb`);
  await buildDebianPackage(tree, file);
  rmSync(tree, { recursive: true });
  return file;
}

function setVersion(file, version) {
  write(file, `${JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), version }, null, 2)}\n`, 0o644);
}

function control(version, architecture) {
  return controlText(
    {
      Package: NAME,
      Version: version,
      Section: 'utils',
      Priority: 'optional',
      Architecture: architecture,
      Depends: 'passwd, util-linux, libc6, libstdc++6',
      Recommends: 'postgresql (>= 15), redis-server, softhsm2, openssl',
      Suggests: 'nginx, haproxy, postgresql-client',
      Maintainer: MAINTAINER,
      Description: 'signing service with approvals, SSH key rotation and a cryptographic inventory',
    },
    [
      'Signs digests with keys that never leave the HSM, after N-of-M approval where policy requires it.',
      'Includes Node.js and all dependencies. After the installation, run: sealwright-admin setup',
    ],
  );
}

function withPackagedNode(file) {
  return readFileSync(inRoot(file), 'utf8').replaceAll('/usr/bin/node', PACKAGED_NODE);
}

function place(from, to, mode) {
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function write(to, text, mode) {
  mkdirSync(path.dirname(to), { recursive: true });
  writeFileSync(to, text);
  chmodSync(to, mode);
}
