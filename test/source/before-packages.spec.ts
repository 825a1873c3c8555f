import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const STATIC_IMPORT = /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'/gm;

/** Returns the packages that are imported when a script is loaded, directly or through other files. */
function packagesOf(script: string, seen = new Set<string>()): string[] {
  if (seen.has(script)) return [];
  seen.add(script);
  const found = [...readFileSync(script, 'utf8').matchAll(STATIC_IMPORT)].map(
    ([, named, plain]) => named ?? plain ?? '',
  );
  return found.flatMap((specifier) => {
    if (specifier.startsWith('node:')) return [];
    if (specifier.startsWith('.')) return packagesOf(join(dirname(script), specifier), seen);
    return [`${relative(ROOT, script)}: ${specifier}`];
  });
}

it.each(['start', 'test', 'check', 'on-stores', 'build'])(
  'scripts/%s.mjs loads in a fresh clone, before any package is installed',
  (name) => expect(packagesOf(join(ROOT, 'scripts', `${name}.mjs`))).toEqual([]),
);
