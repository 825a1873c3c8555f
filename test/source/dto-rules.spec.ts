import 'reflect-metadata';
import { getMetadataStorage } from 'class-validator';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { ROOT } from './product-sources.js';

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
type Class = new (...given: never[]) => unknown;

const classes = new Set<Class>();

/** Returns the rules that class-validator applies to a class. If a subclass decorates a member, class-validator drops all inherited rules of the member. */
const rulesOf = (type: Class): Rule[] => getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
const textOf = ({ propertyName, type, name, constraints, each }: Rule): string =>
  `${propertyName}: ${name ?? type}(${(constraints ?? []).map((one: unknown) => (typeof one === 'function' ? one.name : one instanceof RegExp ? String(one) : JSON.stringify(one))).join(', ')})${each ? ' of each' : ''}`;

beforeAll(async () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT, exclude: (name) => name.endsWith('.spec.ts') });
  const ruled = files
    .map((file) => join(ROOT, file))
    .filter((file) => /class-validator/.test(readFileSync(file, 'utf8')));
  for (const file of ruled) {
    const exported = (await import(file)) as Record<string, unknown>;
    for (const one of Object.values(exported))
      if (typeof one === 'function' && /^class\b/.test(String(one))) classes.add(one as Class);
  }
}, 60_000);

it('a body class that overrides a member keeps every inherited validation rule', () => {
  const all = [...classes];
  expect(all.filter((type) => rulesOf(type).length > 0).length).toBeGreaterThan(100);
  const lost = all.flatMap((type) => {
    const applied = new Set(rulesOf(type).map(textOf));
    const parent = Object.getPrototypeOf(type) as Class;
    const inherited = parent.prototype === undefined ? [] : rulesOf(parent).map(textOf);
    return inherited.filter((rule) => !applied.has(rule)).map((rule) => `${type.name}.${rule}`);
  });
  expect(lost).toEqual([]);
});
