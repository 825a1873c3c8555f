import { expect, it } from 'vitest';
import { type CdxComponent, keptMemberName } from '../../model/document.js';
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

it('values that 1.6 does not support are restored in 1.7', () => {
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
])('a property written by a reporter does not change %s', (path, value) => {
  const property = { name: keptMemberName(path), value: JSON.stringify(value) };
  const component = algorithm({ primitive: 'pke' }, { properties: [property] });
  expect(asVersion17(structuredClone(component))).toMatchObject({
    name: 'RSA-1024',
    type: 'cryptographic-asset',
    properties: [property],
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'pke' } },
  });
});

it('a component with thousands of kept members restores the first ones and keeps the others as properties', () => {
  const many = Array.from({ length: 5000 }, (_, index) => ({
    name: keptMemberName(`cryptoProperties.x${index}`),
    value: '1',
  }));
  const [kept] = asVersion16(algorithm({ primitive: 'key-wrap' }), implied).component.properties ?? [];
  const first = algorithm({ primitive: 'other' }, { properties: [kept, ...many] });
  expect(asVersion17(first)).toMatchObject({ cryptoProperties: { algorithmProperties: { primitive: 'key-wrap' } } });
  const last = algorithm({ primitive: 'other' }, { properties: [...many, kept] });
  expect(asVersion17(last)).toMatchObject({ cryptoProperties: { algorithmProperties: { primitive: 'other' } } });
});

it('a member is restored without reading evidence or other members that can be large', () => {
  const { component } = asVersion16(algorithm({ primitive: 'key-wrap' }), implied);
  let reads = 0;
  const evidence = Object.defineProperty({}, 'occurrences', { enumerable: true, get: () => (reads += 1) });
  const converted = asVersion17(Object.assign(component, { evidence }));
  expect(converted).toMatchObject({ cryptoProperties: { algorithmProperties: { primitive: 'key-wrap' } } });
  expect(reads).toBe(0);
});

it.each([{ name: 5, value: 7 }, 'x'])('a property that is not valid is exported as it is: %j', (property) => {
  const component = algorithm({ primitive: 'pke' }, { properties: [property] });
  expect(asVersion17(structuredClone(component)).properties).toEqual([property]);
});
