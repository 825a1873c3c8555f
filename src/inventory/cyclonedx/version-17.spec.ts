import { expect, it } from 'vitest';
import { type CdxComponent, keptMemberName } from '../model/document.js';
import { asVersion16 } from './version-16.js';
import { asVersion17 } from './version-17.js';

const implied = { of: () => 'x' } as never;
const algorithm = (properties: object, more: object = {}): CdxComponent =>
  ({
    type: 'cryptographic-asset',
    name: 'RSA-1024',
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: properties },
    ...more,
  }) as unknown as CdxComponent;

it('what 1.6 cannot have comes back in 1.7', () => {
  const given = algorithm({ primitive: 'key-wrap' });
  const { component } = asVersion16(given, implied);
  expect(component.properties).toHaveLength(1);
  expect(asVersion17(structuredClone(component))).toMatchObject({
    cryptoProperties: { algorithmProperties: { primitive: 'key-wrap' } },
  });
});

it.each<[string, unknown]>([
  ['name', 'ML-DSA-87'],
  ['type', 'library'],
  ['bom-ref', 'id of another asset'],
  ['components', [{ type: 'library', name: 'x' }]],
  ['cryptoProperties.algorithmProperties.parameterSetIdentifier', '87'],
  ['cryptoProperties.algorithmProperties.nistQuantumSecurityLevel', 5],
  ['cryptoProperties.algorithmProperties.primitive', 'nonsense'],
  ['cryptoProperties', { assetType: 'certificate' }],
])('a property that a reporter wrote does not change %s', (path, value) => {
  const property = { name: keptMemberName(path), value: JSON.stringify(value) };
  const component = algorithm({ primitive: 'pke' }, { properties: [property] });
  expect(asVersion17(structuredClone(component))).toMatchObject({
    name: 'RSA-1024',
    type: 'cryptographic-asset',
    properties: [property],
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'pke' } },
  });
});
