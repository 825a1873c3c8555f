import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bomCheck, type SpecVersion } from './bom-schemas.js';
import { SchemaFaults } from './schema-faults.js';

const RESOURCES = join(import.meta.dirname, '../../../../../shared/data/spec-1.6/resources');

function judge(document: unknown, version: SpecVersion = '1.6'): SchemaFaults {
  const found = new SchemaFaults();
  const good = bomCheck(version)(document, found);
  expect(good).toBe(found.count === 0);
  return found;
}

const bom = (more: object) => ({ bomFormat: 'CycloneDX', specVersion: '1.6', ...more });
const algorithm = (more: object = {}) => ({
  type: 'cryptographic-asset',
  name: 'AES',
  cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'ae' } },
  ...more,
});

describe('CycloneDX 1.6 validation', () => {
  it('accepts a valid document', () => {
    expect(judge(bom({ components: [algorithm()] })).faults).toEqual([]);
  });

  it.each([
    ['an unknown member', bom({ components: [algorithm({ colour: 'red' })] }), '/components/0/colour'],
    ['a missing name', bom({ components: [{ type: 'library' }] }), '/components/0'],
    [
      'an unknown primitive',
      bom({
        components: [
          { ...algorithm(), cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'magic' } } },
        ],
      }),
      '/components/0/cryptoProperties/algorithmProperties/primitive',
    ],
    [
      'an upper-case serial number',
      bom({ serialNumber: 'urn:uuid:3E671687-395B-41F5-A30F-A58921A69B79' }),
      '/serialNumber',
    ],
    ['a day that does not exist', bom({ metadata: { timestamp: '2024-02-30T00:00:00Z' } }), '/metadata/timestamp'],
    ['a name that needs escaping', bom({ 'a/b~c': 1 }), '/a~1b~0c'],
  ])('reports the pointer of %s', (_, document, pointer) => {
    expect(judge(document).faults.map((fault) => fault.pointer)).toContain(pointer);
  });

  it('finds duplicate items regardless of member order', () => {
    const found = judge(
      bom({
        dependencies: [
          { ref: 'a', dependsOn: ['b'] },
          { dependsOn: ['b'], ref: 'a' },
        ],
      }),
    );
    expect(found.duplicates.map(({ index, pointer }) => ({ index, pointer }))).toEqual([
      { index: 1, pointer: '/dependencies/1' },
    ]);
  });

  it('takes time linear in the number of components', () => {
    const seconds = (count: number) => {
      const components = Array.from({ length: count }, (_, i) => algorithm({ 'bom-ref': `a${i}`, name: `AES ${i}` }));
      const dependencies = components.map((component) => ({
        ref: component['bom-ref' as keyof typeof component],
        dependsOn: ['a0'],
      }));
      const started = performance.now();
      judge(bom({ components, dependencies }));
      return performance.now() - started;
    };
    seconds(2000);
    const few = seconds(4000);
    expect(seconds(40_000)).toBeLessThan(few * 40 + 200);
  });
});

describe.skipIf(!existsSync(RESOURCES))('official test resources are rejected only if named invalid', () => {
  const files = existsSync(RESOURCES) ? readdirSync(RESOURCES).filter((name) => name.endsWith('.json')) : [];
  it.each(files)('%s', (name) => {
    const document: unknown = JSON.parse(readFileSync(join(RESOURCES, name), 'utf8'));
    const version = name.includes('1.7') ? '1.7' : '1.6';
    const found = judge(document, version);
    expect({ found: found.count > 0 ? found.faults.slice(0, 3) : 'nothing', refused: found.count > 0 }).toEqual({
      found: expect.anything(),
      refused: name.startsWith('invalid'),
    });
  });
});
