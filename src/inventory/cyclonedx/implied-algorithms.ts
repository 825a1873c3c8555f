import type { AlgorithmProperties, CdxComponent } from '../model/document.js';

/** Algorithms that a document names where it could refer to a component: each becomes a component of its own, once. */
export class ImpliedAlgorithms {
  private readonly byRef = new Map<string, CdxComponent>();

  /** The bom-ref of the algorithm. Documents hardly have one that begins with a space. */
  ref(name: string, algorithmProperties: AlgorithmProperties = {}): string {
    const ref = ` algorithm ${name} ${JSON.stringify(algorithmProperties)}`;
    if (!this.byRef.has(ref))
      this.byRef.set(ref, {
        'bom-ref': ref,
        type: 'cryptographic-asset',
        name,
        cryptoProperties: { assetType: 'algorithm', algorithmProperties },
      });
    return ref;
  }

  components(): Iterable<CdxComponent> {
    return this.byRef.values();
  }
}
