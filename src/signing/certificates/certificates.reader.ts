import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { assertIncludesKey, includesKey, type KeyLimits } from '../../access/key-patterns.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { notSealed } from '../../platform/sealing/sealed-rows.js';
import { Certificate } from './certificate.entity.js';

/**
 * CertificatesReader finds certificates. Rows never change, so they can be cached. The import of a signing key's certificate must be in the audit log.
 * Otherwise, a certificate inserted directly into the database would become part of signatures.
 */
@Injectable()
export class CertificatesReader {
  private readonly byId = new TtlCache<Certificate>((id) => this.read(id));

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly vouched: VouchedEntries,
  ) {}

  async get(id: string): Promise<Certificate> {
    const certificate = await this.byId.find(id);
    if (certificate !== null) return certificate;
    throw missing('certificate');
  }

  /** @throws Problem `row.not-sealed` if the certificate is for a signing key and its import is not in the audit log */
  private async read(id: string): Promise<Certificate | null> {
    const certificate = await this.db.manager.findOneBy(Certificate, { id });
    if (certificate?.keyId == null) return certificate;
    const { keyId, keyVersion, chain } = certificate;
    const fingerprint = createHash('sha256')
      .update(chain[0] ?? '')
      .digest('hex');
    const imports = await this.vouched.about(this.db.manager, [certificate.id], ['certificate.imported']);
    const isImported = imports.some(
      ({ detail }) =>
        detail['keyId'] === keyId && detail['keyVersion'] === keyVersion && detail['fingerprint'] === fingerprint,
    );
    if (!isImported) throw notSealed('certificate', certificate.id);
    return certificate;
  }

  /** Returns the chain for a response, starting with the certificate itself; undefined if there is no certificate. */
  async chain(id: string | null): Promise<Buffer[] | undefined> {
    return id === null ? undefined : (await this.get(id)).chain;
  }

  /**
   * Like `get`, for a call.
   *
   * @throws Problem `credential.key` if the certificate is of a signing key that the caller cannot use
   */
  async getFor(limits: KeyLimits, id: string): Promise<Certificate> {
    const certificate = await this.get(id);
    const [key] = (await this.keysOutside(limits)).filter((one) => one.id === certificate.keyId);
    if (key !== undefined) assertIncludesKey(limits, key.name, key.id);
    return certificate;
  }

  /** Returns certificates, newest first, without the certificates of signing keys that the caller cannot use. */
  async list(limits: KeyLimits, page: PageQuery): Promise<Page<Certificate>> {
    const query = this.db.createQueryBuilder(Certificate, 'certificate');
    const ids = (await this.keysOutside(limits)).map(({ id }) => id);
    if (ids.length > 0) query.andWhere('(certificate.keyId = ANY(:ids::uuid[])) IS NOT TRUE', { ids });
    return this.cursors.newest('certificates', query, page);
  }

  private async keysOutside({ keys }: KeyLimits): Promise<{ readonly id: string; readonly name: string }[]> {
    if (keys === undefined) return [];
    const all: { id: string; name: string }[] = await this.db.query(`SELECT id, name FROM signing_key`);
    return all.filter(({ name }) => !includesKey(keys, name));
  }
}
