import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ServiceCryptoAsset, ServiceCryptoAssets } from '../../platform/events/service-crypto-assets.js';

/**
 * SigningCryptoAssets reports the signing keys (every version that has not been destroyed) and their certificates as crypto assets of this service.
 */
@Injectable()
export class SigningCryptoAssets {
  constructor(
    own: ServiceCryptoAssets,
    private readonly db: DataSource,
  ) {
    own.serve('signing', () => this.list());
  }

  private async list(): Promise<ServiceCryptoAsset[]> {
    const keys: { name: string; version: number; key: string }[] = await this.db.query(
      `SELECT k.name, v.version, encode(v.public_key, 'base64') AS key FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id
       WHERE v.public_key IS NOT NULL AND v.destroyed_at IS NULL ORDER BY k.id, v.version`,
    );
    const certificates: { name: string; signingKey: string | null; certificate: string }[] = await this.db.query(
      `SELECT coalesce(k.name, c.subject) AS name, k.name AS "signingKey", encode(c.chain[1], 'base64') AS certificate
       FROM certificate c LEFT JOIN signing_key k ON k.id = c.key_id ORDER BY c.id`,
    );
    return [
      ...keys.map(({ name, version, key }) => ({
        publicKey: key.replaceAll('\n', ''),
        signingKey: name,
        occurrence: { location: 'Sealwright signing keys', symbol: `${name} v${version}` },
      })),
      ...certificates.map(({ name, signingKey, certificate }) => ({
        certificate: certificate.replaceAll('\n', ''),
        ...(signingKey === null ? {} : { signingKey }),
        occurrence: { location: 'Sealwright certificates', symbol: name },
      })),
    ];
  }
}
