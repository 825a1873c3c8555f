import { expect, it } from 'vitest';
import type { CdxComponent } from '../../model/document.js';
import { MAX_COMPONENT_CHARACTERS, shortened } from './component-size.js';

const component = (more: object): CdxComponent => ({ type: 'library', name: 'x', ...more });

it('an oversized component loses its largest dispensable members, and no others', () => {
  const given = component({
    description: 'd'.repeat(MAX_COMPONENT_CHARACTERS),
    licenses: [{ license: { id: 'MIT' } }],
    purl: 'pkg:x/y',
  });
  const left = shortened(given);
  expect(left).toMatchObject({ name: 'x', purl: 'pkg:x/y', licenses: [{ license: { id: 'MIT' } }] });
  expect(left?.['description']).toBeUndefined();
});

it('a component keeps the properties that its verdict uses', () => {
  const read = { name: 'sealwright:withheld', value: 'value' };
  const given = component({ properties: [{ name: 'notes', value: 'n'.repeat(MAX_COMPONENT_CHARACTERS) }, read] });
  expect(shortened(given)?.properties).toEqual([read]);
});

it('a large public key is replaced by its fingerprint', () => {
  const material = { type: 'public-key', value: 'k'.repeat(2 * MAX_COMPONENT_CHARACTERS), format: 'DER' };
  const given = component({ cryptoProperties: { relatedCryptoMaterialProperties: material } });
  expect(shortened(given)?.cryptoProperties?.relatedCryptoMaterialProperties).toEqual({
    type: 'public-key',
    format: 'DER',
    value: undefined,
  });
});

it('a component that is still too large is dropped', () => {
  expect(shortened(component({ hashes: ['h'.repeat(MAX_COMPONENT_CHARACTERS)] }))).toBeUndefined();
});
