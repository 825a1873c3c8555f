import { expect, it } from 'vitest';
import { assetOf } from './component-reader.js';

it('a component keeps no bom-ref and no signature of its document, at any depth', () => {
  const inner = (name: string) => ({ type: 'library', name, 'bom-ref': 'theirs', signature: { value: 'AAAA' } });
  const component = {
    ...inner('outer'),
    licenses: [{ license: { id: 'MIT', 'bom-ref': 'theirs' } }],
    modelCard: { 'bom-ref': 'theirs' },
    data: [{ type: 'dataset', 'bom-ref': 'theirs' }],
    pedigree: { ancestors: [{ ...inner('older'), components: [inner('oldest')] }] },
  };
  const text = JSON.stringify(assetOf(component, 'theirs').component);
  expect(text).not.toMatch(/theirs|AAAA/);
  expect(text).toMatch(/MIT.*oldest/);
});
