import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type SchemaCheck, type Schema, SchemaCompiler } from './json-schema.js';

/** CycloneDX versions with an official schema. */
export const SPEC_VERSIONS = ['1.4', '1.5', '1.6', '1.7'] as const;
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

/** Folder of the official schemas, as packaged by their publisher. */
const FOLDER = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
);

const compiler = new SchemaCompiler(read);
const checks = new Map<string, SchemaCheck>();

/** bomCheck returns the schema check of a document, compiled on first use. */
export function bomCheck(version: SpecVersion): SchemaCheck {
  return once(version, () => compiler.compile(idOf(version)));
}

/** itemCheck returns the schema check of one item of a list. */
export function itemCheck(version: SpecVersion, list: string): SchemaCheck {
  return once(`${version} ${list}`, () => compiler.compileItem(idOf(version), list));
}

/** registryOf returns the names of a list in the algorithm registry of CycloneDX 1.7. */
export function registryOf(list: string): readonly string[] {
  const { definitions } = read(`${BASE}cryptography-defs.schema.json`) as {
    definitions?: Record<string, { enum?: string[] }>;
  };
  return definitions?.[list]?.enum ?? [];
}

function once(name: string, compile: () => SchemaCheck): SchemaCheck {
  const known = checks.get(name);
  if (known !== undefined) return known;
  const check = compile();
  checks.set(name, check);
  return check;
}

function idOf(version: SpecVersion): string {
  return `${BASE}bom-${version}.schema.json`;
}

/** Base of the schema ids. Schemas before 1.6 have ids with other hosts and file names. */
const BASE = 'http://cyclonedx.org/schema/';

function read(id: string): Schema {
  const file = join(FOLDER, id.slice(BASE.length).replace('.schema', '.SNAPSHOT.schema'));
  return JSON.parse(readFileSync(file, 'utf8').replaceAll('.SNAPSHOT.schema', '.schema')) as Schema;
}
