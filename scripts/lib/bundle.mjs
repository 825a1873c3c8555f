import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './project.mjs';

const DIST = inRoot('dist');
/** Minimum major version of Node.js for the service. The client, which can be installed separately, also supports the older versions in `engines`. */
const MIN_NODE = 24;
const INTERPRETER = '#!/usr/bin/env node\n';
/**
 * Code that determines the path of the compile cache, a directory next to the programs. An environment variable passes the path to threads and the key process.
 */
const NAME_CACHE = `import { fileURLToPath } from 'node:url';
const directory = fileURLToPath(new URL('compile-cache', import.meta.url));
process.env.NODE_COMPILE_CACHE ??= directory;
`;
const USE_CACHE = `${NAME_CACHE}module.enableCompileCache(directory);\n`;
/** Checks the Node.js version before any import that an older version would report as a SyntaxError. */
const CHECK_VERSION = `import module from 'node:module';
if (Number(process.versions.node.split('.')[0]) < ${MIN_NODE}) {
  process.stderr.write(\`Sealwright needs Node.js ${MIN_NODE} or later; this is \${process.version}.\\n\`);
  process.exit(1);
}
`;
/** Code at the beginning of each program. The worker enables the compile cache itself, after it has configured V8's memory settings. */
const PROLOGUES = {
  main: CHECK_VERSION + USE_CACHE,
  worker: CHECK_VERSION + NAME_CACHE,
  cli: CHECK_VERSION + USE_CACHE,
  sealwright: '',
};
const PROGRAMS = Object.keys(PROLOGUES);

/**
 * Packages that stay in node_modules, because they have native parts or extra files, or because other packages load them by name and must get the same copy
 * (TypeORM's drivers, class-validator's decorator storage, reflect-metadata).
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
 * bundlePrograms joins the modules of each program of dist/ into a few files, because finding and linking 2,500 modules would take most of the startup time.
 * Code that is started by path (threads, the key process) is not bundled.
 */
export async function bundlePrograms() {
  // Imported lazily, because this module is also loaded in a fresh clone, before any package is installed.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((name) => [name, path.join(DIST, `${name}.js`)])),
    platform: 'node',
    external: isKept,
    plugins: [{ name: 'compiled', load: withSourceMap, transform: atItsOwnPlace }],
    // Nest tries to load optional packages that are not installed.
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

/** Removes packages from source maps. A process loads all source maps of its code, and the maps of packages would take 25 MB without any benefit. */
async function leavePackagesOut(folder) {
  const { decode, encode } = await import('@jridgewell/sourcemap-codec');
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.map'))) {
    const file = path.join(folder, name);
    const { sourcesContent: _unused, ...map } = JSON.parse(readFileSync(file, 'utf8'));
    const isOwn = map.sources.map((source) => !source.includes('node_modules/'));
    writeFileSync(file, JSON.stringify({ ...map, mappings: encode(ownMappings(decode(map.mappings), isOwn)) }));
  }
}

/** ownMappings removes mappings to sources for which `isOwn` is false. A segment with one field ends the preceding mapping (ECMA-426), even across lines. */
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
 * inAscii escapes all non-ASCII characters of a program. With a single non-ASCII character, V8 stores the whole source text with two bytes per character.
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

/** Rewrites import.meta, so that a module that locates files by its own path still finds the files when it is bundled into dist/bundled. */
function atItsOwnPlace(code, id) {
  if (!code.includes('import.meta.')) return null;
  const place = path.relative(path.join(DIST, 'bundled'), id).split(path.sep).join('/');
  const url = `new URL(${JSON.stringify(place)}, import.meta.url)`;
  const directory = `process.getBuiltinModule('node:url').fileURLToPath(new URL('.', ${url}))`;
  const placed = code.replaceAll(/import\.meta\.(?:url|dirname)/g, (asked) =>
    asked.endsWith('url') ? `${url}.href` : directory,
  );
  // Line numbers do not change, so the source map stays valid.
  return { code: placed, map: null };
}
