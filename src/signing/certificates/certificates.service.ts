import { Injectable } from '@nestjs/common';
import { createHash, type X509Certificate } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { Clock } from '../../platform/work/clock.js';
import { activateVersion } from '../keys/signing-key-life.service.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { Certificate } from './certificate.entity.js';
import {
  leafCertificateOf,
  subjectNameOf,
  pathFrom,
  readCertificateChain,
  refusedCertificate,
  assertFits,
} from './certificate-chain.js';
import { certificateFactsOf } from '../../auth/credentials/certificates/certificate-facts.js';
import { confirmRead } from '../../platform/database/statements.js';

/**
 * CertificatesService imports certificates for signing keys and for external keys. Certificates for signing keys are validated completely, so that verifiers
 * accept signatures with these certificates.
 */
@Injectable()
export class CertificatesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly keys: SigningKeyReader,
    private readonly clock: Clock,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /**
   * Imports a key's certificate together with its issuers (PEM, in any order). The key version is found by the public key in the certificate. A version that is
   * waiting for its certificate becomes active.
   *
   * @throws Problem `certificate.other-key`, `certificate.purpose`, `certificate.known`, and the Problems of `pathFrom`
   */
  async importForKey(caller: Caller, keyId: string, pem: string, use?: IdempotentUse): Promise<Certificate> {
    const certificates = readCertificateChain(pem);
    const { key, leaf } = await this.match(caller, keyId, certificates);
    const path = pathFrom(leaf, without(certificates, leaf), this.clock.now());
    assertFits(key.purpose, certificateFactsOf(leaf));
    const stored = await this.store(caller, { path, key, use });
    this.keys.forget(key);
    return stored;
  }

  /** Like `importForKey`, but returns an already imported certificate unchanged. */
  async importOnce(caller: Caller, keyId: string, pem: string): Promise<Certificate> {
    const fingerprint = fingerprintOf(leafCertificateOf(readCertificateChain(pem)));
    const known = await this.db.manager.findOneBy(Certificate, { fingerprint });
    if (known === null) return this.importForKey(caller, keyId, pem);
    await confirmRead(this.db);
    return known;
  }

  /** Onboards an external certificate, to monitor its expiry. */
  async onboard(caller: Caller, pem: string, use?: IdempotentUse): Promise<Certificate> {
    const certificates = readCertificateChain(pem);
    const leaf = leafCertificateOf(certificates);
    const path = certificates.length === 1 ? [leaf] : pathFrom(leaf, without(certificates, leaf), this.clock.now());
    return this.store(caller, { path, use });
  }

  private async match(
    caller: Caller,
    keyId: string,
    certificates: X509Certificate[],
  ): Promise<{ key: ActiveKey; leaf: X509Certificate }> {
    for (const { version, publicKey } of await this.keys.versions(caller, keyId)) {
      const leaf = certificates.find((one) => publicKey?.equals(one.publicKey.export({ type: 'spki', format: 'der' })));
      if (leaf !== undefined) return { leaf, key: await this.keys.version(caller, keyId, version) };
    }
    throw refusedCertificate('certificate.other-key', 'no certificate in the chain belongs to a version of this key');
  }

  private async store(
    caller: Caller,
    { path, key, use }: { path: X509Certificate[]; key?: ActiveKey; use?: IdempotentUse },
  ): Promise<Certificate> {
    const row = { ...rowOf(path, caller, key), id: use?.resource ?? newId() };
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return tx.findOneByOrFail(Certificate, { id: earlier });
      await tx.insert(Certificate, row);
      if (key !== undefined) await this.activateNext(tx, key);
      await this.record(tx, caller, row);
      return tx.findOneByOrFail(Certificate, { id: row.id });
    };
    const known = () => new Problem('conflict', 'certificate.known', 'This certificate has already been imported.');
    return writeUnique(this.db, insert, known);
  }

  private async activateNext(tx: EntityManager, key: ActiveKey): Promise<void> {
    const [row]: { version: number }[] = await tx.query(`SELECT version FROM signing_key WHERE id = $1`, [key.keyId]);
    if (row !== undefined && row.version < key.version) await activateVersion(tx, key.keyId, key.version);
  }

  private record(tx: EntityManager, actor: Caller, row: ReturnType<typeof rowOf> & { id: string }): Promise<void> {
    const { keyId, keyVersion, subject, issuer, notAfter } = row;
    const fingerprint = row.fingerprint.toString('hex');
    const detail = { keyId, keyVersion, subject, issuer, notAfter, fingerprint };
    const target = { kind: 'certificate', id: row.id };
    return this.audit.appendBy(tx, actor, { action: 'certificate.imported', target, detail });
  }
}

function fingerprintOf({ raw }: X509Certificate): Buffer {
  return createHash('sha256').update(raw).digest();
}

function without(certificates: X509Certificate[], leaf: X509Certificate): X509Certificate[] {
  return certificates.filter((one) => one !== leaf);
}

function rowOf(path: X509Certificate[], caller: Caller, key: ActiveKey | undefined) {
  const [leaf] = path as [X509Certificate];
  return {
    keyId: key?.keyId ?? null,
    keyVersion: key?.version ?? null,
    // A certificate with an empty subject is identified by its alternative name (RFC 5280 section 4.1.2.6).
    subject: subjectNameOf(leaf.subject) || (leaf.subjectAltName ?? ''),
    issuer: subjectNameOf(leaf.issuer),
    serialNumber: leaf.serialNumber.toLowerCase(),
    fingerprint: fingerprintOf(leaf),
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(leaf.validTo),
    purposes: certificateFactsOf(leaf).purposes,
    chain: path.map(({ raw }) => raw),
    ownerId: caller.ownerId,
  };
}
