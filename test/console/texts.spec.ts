import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { de } from '../../ui/src/i18n/de.js';
import { en } from '../../ui/src/i18n/en.js';

const SOURCES = join(import.meta.dirname, '../../ui/src');
const API = join(import.meta.dirname, '../../docs/openapi.json');
/** Properties whose values are shown to users or read aloud. */
const READ = [
  'aria-label',
  'alt',
  'content',
  'description',
  'helperText',
  'label',
  'placeholder',
  'title',
  'titleText',
];
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(
  (name) => /\.tsx?$/.test(name) && !name.includes('generated') && !name.endsWith('.spec.ts'),
);
const textOf = (name: string) => readFileSync(join(SOURCES, name), 'utf8');

/** Finds user-visible text in the code that should be in a catalogue. */
function hardCoded(name: string, text: string): string[] {
  const found: string[] = [];
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TSX);
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}{2}/u.test(node.text)) found.push(node.text.trim());
    if (ts.isJsxAttribute(node) && node.initializer !== undefined && ts.isStringLiteral(node.initializer)) {
      if (READ.includes(node.name.getText()) && /\p{L}{2}/u.test(node.initializer.text)) {
        found.push(`${node.name.getText()}="${node.initializer.text}"`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('console texts', () => {
  it('all come from a catalog', () => {
    const found = files.flatMap((name) => hardCoded(name, textOf(name)).map((text) => `${name}: ${text}`));
    expect(found).toEqual([]);
    // Checks that `hardCoded` finds hard-coded text.
    expect(hardCoded('x.tsx', '<p>Two words</p>')).toEqual(['Two words']);
    expect(hardCoded('x.tsx', '<a aria-label="Close" href="x">{t("a")}</a>')).toEqual(['aria-label="Close"']);
  });

  it('have the same keys and placeholders in both languages', () => {
    const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      const german = de[key as keyof typeof en];
      expect([key, places(german)]).toEqual([key, places(text)]);
      expect(german.trim()).not.toBe('');
    }
  });

  it('cover every state, step, permission and condition of the API', () => {
    const prefixes: Readonly<Record<string, readonly string[]>> = {
      status: ['status'],
      state: ['status', 'target'],
      severity: ['severity', 'level'],
      condition: ['condition'],
      grouping: ['grouping'],
      permissions: ['scope'],
      scopes: ['scope'],
      stance: ['stance'],
      custody: ['custody'],
      way: ['way'],
    };
    interface Property {
      readonly enum?: readonly (string | null)[];
      readonly items?: Property;
    }
    const { components } = JSON.parse(readFileSync(API, 'utf8')) as {
      components: { schemas: Record<string, { properties?: Record<string, Property> }> };
    };
    const nameless = Object.entries(components.schemas).flatMap(([schema, { properties = {} }]) =>
      Object.entries(properties).flatMap(([name, property]) =>
        (prefixes[name] === undefined ? [] : (property.enum ?? property.items?.enum ?? []))
          .filter((value) => value !== null && !prefixes[name]?.some((prefix) => `${prefix}.${value}` in en))
          .map((value) => `${schema}.${name} ${value}`),
      ),
    );
    expect(nameless).toEqual([]);
  });

  it('are all used', () => {
    const code = files
      .filter((name) => !/^i18n.(?:en|de)\b/.test(name))
      .map(textOf)
      .join('\n');
    const prefixes = [...code.matchAll(/named\(\s*'(\w+)'/g), ...code.matchAll(/`([\w.]+)\.\$\{/g)].map(
      ([, name]) => name,
    );
    const unused = Object.keys(en).filter(
      (key) =>
        !code.includes(`'${key}'`) &&
        !code.includes(`'${key.replace(/\.one$/, '')}'`) &&
        !prefixes.some((prefix) => key.startsWith(`${prefix}.`)),
    );
    expect(unused).toEqual([]);
  });
});
