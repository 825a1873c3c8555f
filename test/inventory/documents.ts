/** Small documents that tests make themselves. */
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

/** The description of an application, which names the source of a document. */
export function about(name: string, timestamp?: string): object {
  return { metadata: { ...(timestamp === undefined ? {} : { timestamp }), component: { type: 'application', name } } };
}
