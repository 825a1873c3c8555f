import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './project.mjs';

const DIST = inRoot('dist');
/** Oldest major version of Node.js for the service; the client, which is installed by itself, also runs on what `engines` names. */
const MIN_NODE = 24;
const INTERPRETER = '#!/usr/bin/env node\n';
/** What V8 compiled of modules is in a folder beside the programs. The environment names it to threads and the key process. */
const NAME_CACHE = `import { fileURLToPath } from 'node:url';
const directory = fileURLToPath(new URL('compile-cache', import.meta.url));
process.env.NODE_COMPILE_CACHE ??= directory;
`;
const USE_CACHE = `${NAME_CACHE}module.enableCompileCache(directory);\n`;
/** Runs before any import that an older Node.js does not have, which would end in a SyntaxError. */
const CHECK_VERSION = `import module from 'node:module';
if (Number(process.versions.node.split('.')[0]) < ${MIN_NODE}) {
  process.stderr.write(\`Sealwright needs Node.js ${MIN_NODE} or later; this is \${process.version}.\\n\`);
  process.exit(1);
}
`;
/** Lines before each program. A worker uses the cache itself, once it has told V8 how to treat memory. */
const PROLOGUES = {
  main: CHECK_VERSION + USE_CACHE,
  worker: CHECK_VERSION + NAME_CACHE,
  cli: CHECK_VERSION + USE_CACHE,
  sealwright: '',
};
const PROGRAMS = Object.keys(PROLOGUES);

/**
 * Packages that stay in node_modules: they have native parts or files beside them, or are loaded by name by other packages, which must
 * meet the same copy of them (TypeORM's drivers, the decorators' storage of class-validator, reflect-metadata).
 */
const KEPT = new Set([
  '@cyclonedx/cyclonedx-library',
  '@node-rs/argon2',
  'bull',
  'class-transformer',
  'class-validator',
  'ioredis',
  'pg',
  'pg-copy-streams',
  'pkcs11js',
  'reflect-metadata',
  'ssh2',
  'swagger-ui-dist',
  'typeorm',
]);

/**
 * Joins the modules of each program of dist/ into few files: most of a start is spent on finding and linking 2,500 modules. What starts by
 * its own path (threads, the key process) stays as the compiler wrote it.
 */
export async function bundlePrograms() {
  // Not before: in a fresh clone this file is loaded while there are no packages yet.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((name) => [name, path.join(DIST, `${name}.js`)])),
    platform: 'node',
    external: isKept,
    plugins: [{ name: 'compiled', load: withSourceMap, transform: atItsOwnPlace }],
    // Nest looks for packages that may be there and are not.
    onLog: (level, log, tell) => log.code === 'UNRESOLVED_IMPORT' || tell(level, log),
  });
  await bundle.write({
    dir: DIST,
    format: 'esm',
    sourcemap: true,
    keepNames: true,
    comments: { legal: true, jsdoc: false, annotation: false },
    entryFileNames: 'bundled/[name].js',
    chunkFileNames: 'bundled/[name]-[hash].js',
  });
  await bundle.close();
  const folder = path.join(DIST, 'bundled');
  await leavePackagesOut(folder);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
    const file = path.join(folder, name);
    writeFileSync(file, inAscii(readFileSync(file, 'utf8')));
  }
  for (const name of PROGRAMS) {
    writeFileSync(
      path.join(DIST, `${name}.js`),
      `${INTERPRETER}${PROLOGUES[name]}await import('./bundled/${name}.js');\n`,
    );
  }
}

/** A process reads the maps of all that it loads: those of packages, whose lines nobody looks for, would take 25 MB of it. */
async function leavePackagesOut(folder) {
  const { decode, encode } = await import('@jridgewell/sourcemap-codec');
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.map'))) {
    const file = path.join(folder, name);
    const { sourcesContent: _unused, ...map } = JSON.parse(readFileSync(file, 'utf8'));
    const isOwn = map.sources.map((source) => !source.includes('node_modules/'));
    writeFileSync(file, JSON.stringify({ ...map, mappings: encode(ownMappings(decode(map.mappings), isOwn)) }));
  }
}

/** A segment of one field ends what is mapped before it (ECMA-426), however many lines follow. */
export function ownMappings(lines, isOwn) {
  let isMapped = true;
  return lines.map((segments) =>
    segments.flatMap((segment) => {
      const [column, source] = segment;
      const wasMapped = isMapped;
      isMapped = source !== undefined && isOwn[source];
      if (isMapped) return [segment];
      return wasMapped ? [[column]] : [];
    }),
  );
}

/**
 * The same program with other characters than those of ASCII escaped: with a single one of them Node.js keeps the whole text of a file in two
 * bytes a character.
 */
export function inAscii(code) {
  return code.replaceAll(/\\?[^\0-\x7f]/g, (found) => {
    if (found.length > 1) throw new Error(`An escaped character cannot be escaped again: ${found}`);
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function isKept(id) {
  if (id.startsWith('.') || path.isAbsolute(id)) return false;
  const [scope, name] = id.split('/');
  return KEPT.has(id.startsWith('@') ? `${scope}/${name}` : scope);
}

function withSourceMap(id) {
  const map = `${id}.map`;
  if (!id.startsWith(DIST) || !existsSync(map)) return null;
  return { code: readFileSync(id, 'utf8'), map: readFileSync(map, 'utf8') };
}

/** A module that finds files by its own place still finds them when it is part of a file in dist/bundled. */
function atItsOwnPlace(code, id) {
  if (!code.includes('import.meta.')) return null;
  const place = path.relative(path.join(DIST, 'bundled'), id).split(path.sep).join('/');
  const url = `new URL(${JSON.stringify(place)}, import.meta.url)`;
  const directory = `process.getBuiltinModule('node:url').fileURLToPath(new URL('.', ${url}))`;
  const placed = code.replaceAll(/import\.meta\.(?:url|dirname)/g, (asked) =>
    asked.endsWith('url') ? `${url}.href` : directory,
  );
  // The lines stay those that the source map knows.
  return { code: placed, map: null };
}
