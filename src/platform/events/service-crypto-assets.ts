import { Injectable } from '@nestjs/common';

/** ServiceCryptoAsset is a certificate (base64 DER) or public key (base64 SubjectPublicKeyInfo or an authorized_keys line) that the service itself uses. */
export interface ServiceCryptoAsset {
  readonly certificate?: string;
  readonly publicKey?: string;
  /** Name of the signing key to which the asset belongs. Callers that cannot use the signing key are not shown the asset. */
  readonly signingKey?: string;
  readonly occurrence: { readonly location: string; readonly symbol?: string };
}

/** ServiceCryptoAssets collects the cryptographic assets that the service itself uses. Each module registers its assets at startup. */
@Injectable()
export class ServiceCryptoAssets {
  private readonly lists = new Map<string, () => Promise<ServiceCryptoAsset[]>>();

  serve(owner: string, list: () => Promise<ServiceCryptoAsset[]>): void {
    this.lists.set(owner, list);
  }

  /** Returns all assets in a stable order. */
  async all(): Promise<ServiceCryptoAsset[]> {
    const owners = [...this.lists].sort(([a], [b]) => (a < b ? -1 : 1));
    return (await Promise.all(owners.map(([, list]) => list()))).flat();
  }
}
