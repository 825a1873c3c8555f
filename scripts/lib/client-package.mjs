import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sourceCommit } from './build-info.mjs';
import { buildDebianPackage, controlText, MAINTAINER, PACKAGED_NODE } from './debian-package.mjs';
import { Failure } from './failure.mjs';
import { inRoot } from './project.mjs';
import { run } from './run.mjs';

/** Name of the client package, in npm and in Debian. */
const NAME = 'sealwright-client';
const OUT = inRoot('dist/packages');
const ENTRY = 'sealwright-client-entry';

/**
 * packClient builds an npm package and a .deb of the client from the sources. The client requires Node 20 or later and has no dependencies.
 * @returns {Promise<{ npm: string, deb: string }>} paths of the two files
 */
export async function packClient() {
  rmSync(OUT, { recursive: true, force: true });
  const directory = path.join(OUT, NAME);
  mkdirSync(directory, { recursive: true });
  await bundleClient(path.join(directory, 'sealwright.js'));
  const { version, description, license } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
  writeFileSync(path.join(directory, 'package.json'), manifest({ version, license }));
  copyFileSync(inRoot('LICENSE'), path.join(directory, 'LICENSE'));
  copyFileSync(inRoot('docs/command-line.md'), path.join(directory, 'README.md'));
  return { npm: await npmPackage(directory), deb: await debianPackage(directory, { version, description }) };
}

/** Bundles all modules of the client into one file. The remaining imports are Node's own modules. */
async function bundleClient(file) {
  const { rolldown } = await import('rolldown');
  const source = `import { run } from ${JSON.stringify(inRoot('src/client/commands/run.ts'))};\nprocess.exitCode = await run(process.argv.slice(2));\n`;
  const bundle = await rolldown({
    input: ENTRY,
    platform: 'node',
    // Source files import each other by the names of the compiled files.
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    transform: { target: 'es2023' },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => (id === ENTRY ? source : null),
        transform: atItsOwnPlace,
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', keepNames: true });
  await bundle.close();
  const [chunk] = output;
  const foreign = chunk.imports.filter((name) => !name.startsWith('node:'));
  if (output.length > 1 || foreign.length > 0)
    throw new Failure(`The client may depend only on Node, but needs: ${foreign.join(', ')}`);
  writeFileSync(file, `#!/usr/bin/env node\n${chunk.code}`);
  chmodSync(file, 0o755);
}

/** Rewrites import.meta.url, so that a module that locates package.json by its repository path finds the package.json of the package. */
function atItsOwnPlace(code, id) {
  if (!code.includes('import.meta.url')) return null;
  const place = path.relative(inRoot(), id).split(path.sep).join('/');
  return {
    code: code.replaceAll('import.meta.url', `new URL(${JSON.stringify(place)}, import.meta.url).href`),
    map: null,
  };
}

function manifest({ version, license }) {
  const about = {
    name: NAME,
    version,
    description:
      'Command line client of Sealwright: signs files, and lets other tools sign, with keys that never leave the HSM.',
    license,
    gitHead: sourceCommit(),
    type: 'module',
    bin: { sealwright: 'sealwright.js' },
    engines: { node: '>=20' },
    files: ['sealwright.js', 'LICENSE', 'README.md'],
  };
  return `${JSON.stringify(about, null, 2)}\n`;
}

async function npmPackage(directory) {
  const { code, output } = await run('npm', ['pack', '--pack-destination', OUT, '--loglevel=error'], {
    cwd: directory,
  });
  if (code !== 0) throw new Failure('npm pack failed', '', output);
  return path.join(OUT, output.trim().split('\n').at(-1));
}

async function debianPackage(directory, { version, description }) {
  const tree = path.join(OUT, 'debian');
  const library = path.join(tree, 'usr/lib/sealwright');
  for (const place of ['DEBIAN', 'usr/bin', 'usr/lib/sealwright', `usr/share/doc/${NAME}`])
    mkdirSync(path.join(tree, place), { recursive: true });
  copyFileSync(path.join(directory, 'sealwright.js'), path.join(library, 'sealwright.js'));
  copyFileSync(path.join(directory, 'package.json'), path.join(library, 'package.json'));
  program(path.join(tree, 'usr/bin/sealwright'), '');
  program(path.join(tree, 'usr/bin/notation-sealwright'), 'notation ');
  program(path.join(library, 'gpg'), 'gpg ');
  program(path.join(library, 'gpgconf'), 'gpgconf /usr/lib/sealwright ');
  cpSync(inRoot('LICENSE'), path.join(tree, `usr/share/doc/${NAME}/copyright`));
  writeFileSync(path.join(tree, 'DEBIAN/control'), control({ version, description }));
  const file = path.join(OUT, `${NAME}_${version}_all.deb`);
  await buildDebianPackage(tree, file);
  rmSync(tree, { recursive: true });
  return file;
}

/**
 * Writes a wrapper that runs the client with these leading arguments. The client recognizes its own wrappers by the comment `mark`. The wrapper prefers the
 * Node.js in the service's package, because Debian's Node.js may be too old.
 */
function program(file, words) {
  const mark = '# Runs sealwright in place of the program of this name.';
  const node = `node=${PACKAGED_NODE}\n[ -x "$node" ] || node=node`;
  writeFileSync(file, `#!/bin/sh\n${mark}\n${node}\nexec "$node" /usr/lib/sealwright/sealwright.js ${words}"$@"\n`);
  chmodSync(file, 0o755);
}

function control({ version, description }) {
  return controlText(
    {
      Package: NAME,
      Version: version,
      Section: 'utils',
      Priority: 'optional',
      Architecture: 'all',
      Depends: 'nodejs (>= 20) | sealwright',
      Recommends: 'gnupg',
      Suggests: 'p11-kit-modules, git, openssh-client',
      Maintainer: MAINTAINER,
      Description: 'command line client of Sealwright, a signing service with approvals',
    },
    [description, 'This package contains only the client. Keys and approvals are managed by the service.'],
  );
}
