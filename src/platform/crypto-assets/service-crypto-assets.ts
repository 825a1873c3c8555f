import { Injectable } from '@nestjs/common';

/** A certificate (base64 DER) or public key (base64 SubjectPublicKeyInfo, or a line as in authorized_keys) that this service has itself. */
export interface ServiceCryptoAsset {
  readonly certificate?: string;
  readonly publicKey?: string;
  readonly occurrence: { readonly location: string; readonly symbol?: string };
}

/** The cryptographic assets of this service itself. Each module adds its own when it is made. */
@Injectable()
export class ServiceCryptoAssets {
  private readonly lists = new Map<string, () => Promise<ServiceCryptoAsset[]>>();

  serve(owner: string, list: () => Promise<ServiceCryptoAsset[]>): void {
    this.lists.set(owner, list);
  }

  /** In the same order each time. */
  async all(): Promise<ServiceCryptoAsset[]> {
    const owners = [...this.lists].sort(([a], [b]) => (a < b ? -1 : 1));
    return (await Promise.all(owners.map(([, list]) => list()))).flat();
  }
}
