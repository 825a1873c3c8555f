import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ServiceCryptoAsset, ServiceCryptoAssets } from '../../platform/crypto-assets/service-crypto-assets.js';

/** Enters the pinned keys of hosts into what this service has itself: its logins stand on them. */
@Injectable()
export class OwnHostKeys {
  constructor(
    own: ServiceCryptoAssets,
    private readonly db: DataSource,
  ) {
    own.serve('hosts', () => this.list());
  }

  private async list(): Promise<ServiceCryptoAsset[]> {
    const rows: { address: string; port: number; type: string; blob: string }[] = await this.db.query(
      `SELECT h.address, h.port, k.type, encode(k.blob, 'base64') AS blob FROM host_key k JOIN host h ON h.id = k.host_id
       WHERE k.state = 'pinned' ORDER BY k.id`,
    );
    return rows.map(({ address, port, type, blob }) => ({
      publicKey: `${type} ${blob.replaceAll('\n', '')}`,
      occurrence: { location: `${address}:${port}` },
    }));
  }
}
