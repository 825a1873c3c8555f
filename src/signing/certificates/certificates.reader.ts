import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { includesKey, type KeyLimits } from '../../access/key-patterns.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { filteredList } from '../../platform/http/list-filter.js';
import { missing } from '../../platform/errors/problem.js';
import { notSealed } from '../../platform/sealing/sealed-rows.js';
import { Clock } from '../../platform/work/clock.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { Certificate } from './certificate.entity.js';

export interface CertificateFilter extends PageQuery {
  readonly expiresBefore?: Date;
  readonly expiresAfter?: Date;
  /** The current calendar month, UTC. */
  readonly expires?: 'this-month';
  /** Name or ID of a signing key. */
  readonly key?: string;
  readonly subject?: string;
}

/**
 * CertificatesReader finds certificates. Rows never change, so the rows can be cached. The import of a signing key's certificate must be in the audit log.
 * Otherwise, a certificate inserted directly into the database would become part of signatures.
 */
@Injectable()
export class CertificatesReader {
  private readonly byId = new TtlCache<Certificate>((id) => this.read(id));

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly vouched: VouchedEntries,
    private readonly keys: SigningKeyReader,
    private readonly clock: Clock,
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
   * Like `get`, but enforces the caller's key limits.
   *
   * @throws Problem `credential.key` if the certificate belongs to a signing key that the caller cannot use
   */
  async getFor(limits: KeyLimits, id: string): Promise<Certificate> {
    const certificate = await this.get(id);
    if (limits.keys !== undefined && certificate.keyId !== null) await this.keys.known(limits, certificate.keyId);
    return certificate;
  }

  /** Returns certificates, newest first. Certificates of signing keys that the caller cannot use are omitted. */
  async list(limits: KeyLimits, { limit, cursor, ...filter }: CertificateFilter): Promise<Page<Certificate>> {
    const { expiresBefore, expiresAfter, expires, key, subject } = filter;
    const query = this.db.createQueryBuilder(Certificate, 'certificate');
    if (expiresBefore !== undefined) query.andWhere('certificate.notAfter < :expiresBefore', { expiresBefore });
    if (expiresAfter !== undefined) query.andWhere('certificate.notAfter >= :expiresAfter', { expiresAfter });
    if (expires !== undefined)
      query.andWhere('certificate.notAfter >= :first AND certificate.notAfter < :next', month(this.clock.now()));
    if (key !== undefined) query.andWhere('certificate.keyId = :key', { key: (await this.keys.known(limits, key)).id });
    if (subject !== undefined) query.andWhere('strpos(lower(certificate.subject), lower(:subject)) > 0', { subject });
    const ids = await this.keysOutside(limits);
    if (ids.length > 0) query.andWhere('(certificate.keyId = ANY(:ids::uuid[])) IS NOT TRUE', { ids });
    return this.cursors.newest(filteredList('certificates', filter), query, { limit, cursor });
  }

  /** Returns the IDs of the signing keys that the caller cannot use. */
  private async keysOutside({ keys }: KeyLimits): Promise<string[]> {
    if (keys === undefined) return [];
    const all: { id: string; name: string }[] = await this.db.query(`SELECT id, name FROM signing_key`);
    return all.filter(({ name }) => !includesKey(keys, name)).map(({ id }) => id);
  }
}

/** Returns the start of the calendar month that contains a time, and the start of the next month (UTC). */
function month(now: Date): { first: Date; next: Date } {
  const startOf = (index: number) => new Date(Date.UTC(now.getUTCFullYear(), index));
  return { first: startOf(now.getUTCMonth()), next: startOf(now.getUTCMonth() + 1) };
}
