import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Check, type Schema, SchemaCompiler } from './json-schema.js';

/** Versions whose official schema judges a document. */
export const SPEC_VERSIONS = ['1.4', '1.5', '1.6', '1.7'] as const;
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

/** The official schemas, as their publisher packs them. */
const FOLDER = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
);

const compiler = new SchemaCompiler(read);
const checks = new Map<SpecVersion, Check>();

/** The check of one version of the specification; compiled when it is first asked for. */
export function bomCheck(version: SpecVersion): Check {
  const known = checks.get(version);
  if (known !== undefined) return known;
  const check = compiler.compile(`${BASE}bom-${version}.schema.json`);
  checks.set(version, check);
  return check;
}

/** Versions before 1.6 call themselves by other hosts and file names; here all go by one. */
const BASE = 'http://cyclonedx.org/schema/';

function read(id: string): Schema {
  const file = join(FOLDER, id.slice(BASE.length).replace('.schema', '.SNAPSHOT.schema'));
  return JSON.parse(readFileSync(file, 'utf8').replaceAll('.SNAPSHOT.schema', '.schema')) as Schema;
}
