import { createHash } from 'node:crypto';

/** An algorithm in a small test document. */
export interface Algorithm {
  readonly name: string;
  readonly ref?: string;
  readonly properties?: object;
  readonly at?: string;
}

export function algorithm({ name, ref = name, properties = {}, at }: Algorithm): Record<string, unknown> {
  return {
    type: 'cryptographic-asset',
    'bom-ref': ref,
    name,
    ...(at === undefined ? {} : { evidence: { occurrences: [{ location: at, line: 7 }] } }),
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: properties },
  };
}

export function material(name: string, properties: object, at?: string): Record<string, unknown> {
  return {
    type: 'cryptographic-asset',
    'bom-ref': name,
    name,
    ...(at === undefined ? {} : { evidence: { occurrences: [{ location: at }] } }),
    cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: properties },
  };
}

export function bom(components: object[], more: object = {}): Record<string, unknown> {
  return { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components, ...more };
}

/** Returns metadata that identifies an application as the source of a document. */
export function about(name: string, timestamp?: string): object {
  return { metadata: { ...(timestamp === undefined ? {} : { timestamp }), component: { type: 'application', name } } };
}

/** Returns the items in a different order that depends only on the seed. */
export function inOtherOrder<Item>(items: readonly Item[], seed: string): Item[] {
  const keyOf = (item: Item) =>
    createHash('sha256')
      .update(`${seed}${JSON.stringify(item)}`)
      .digest('hex');
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}

/** Returns the value with the members of objects in a different order. Unless `keepsLists` is set, the items of lists are reordered too. */
export function shuffled<Value>(value: Value, seed: string, keepsLists = false): Value {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => shuffled(item, seed, keepsLists));
    return (keepsLists ? items : inOtherOrder(items, seed)) as Value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, shuffled(member, seed, keepsLists)] as const);
  return Object.fromEntries(inOtherOrder(members, seed)) as Value;
}
