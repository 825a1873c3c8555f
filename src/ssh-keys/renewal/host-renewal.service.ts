import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { readCertificateLine, type SshCertificateContent } from '../../formats/ssh/certificate-reader.js';
import { sshFingerprintOf, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { isUniqueViolation } from '../../platform/errors/database-error.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Origin } from '../../platform/http/origin.js';
import { Clock } from '../../platform/work/clock.js';
import { authoritiesBy, type SshAuthority } from '../certificate-authority/ssh-authority.entity.js';
import { SshCertificate } from '../certificate-authority/ssh-certificate.entity.js';
import { SshCertificateSigner } from '../certificate-authority/ssh-certificate-signer.js';
import { type SshCertificateOrder, SshCertificatesService } from '../certificate-authority/ssh-certificates.service.js';
import { RenewalReasons } from './renewal-reasons.js';
import { assertProven, assertRenewable, nextTimes, type RenewalProof } from './renewal-rules.js';

/** A certificate presented by a host, with the certificate's authority and row. */
interface Shown {
  readonly authority: SshAuthority;
  readonly row: SshCertificate;
}

/**
 * HostRenewalService renews host certificates: a host presents its current certificate, proves possession of the key, and gets the next certificate with the
 * same names. No approval is needed unless a policy requires one. Each certificate is renewed once. A repeated request returns the same new certificate.
 */
@Injectable()
export class HostRenewalService {
  constructor(
    private readonly db: DataSource,
    private readonly clock: Clock,
    private readonly reasons: RenewalReasons,
    private readonly certificates: SshCertificatesService,
    private readonly signer: SshCertificateSigner,
  ) {}

  async renew(origin: Origin, proof: RenewalProof): Promise<SshCertificate> {
    const now = this.clock.now();
    const content = readCertificateLine(proof.certificate);
    if (content === undefined || content.kind !== 'host') throw unreadable();
    // Find the row before verifying anything: the key in a forged certificate can make verification arbitrarily expensive.
    const { authority, row } = await this.find(content);
    assertProven(content, proof, now);
    const terms = row.request?.renewal;
    assertRenewable(row, terms, { address: origin.address, now });
    await this.reasons.assertHold(authority, row);
    const earlier = await this.successorOf(row.id);
    if (earlier !== undefined) return earlier;
    const { keyId, principals, request } = row;
    const order: SshCertificateOrder = {
      publicKey: request?.publicKey ?? '',
      keyId,
      principals,
      ...nextTimes(row, terms, now),
      extensions: [],
      renewal: terms,
      renews: row.id,
    };
    return this.issue({ authority, row }, order, origin);
  }

  private async issue({ authority, row }: Shown, order: SshCertificateOrder, origin: Origin): Promise<SshCertificate> {
    try {
      return await this.certificates.issue(hostOf(row, origin), authority.id, order);
    } catch (error) {
      const isRenewed = isUniqueViolation(error) || (error instanceof Problem && error.code === 'ssh-renewal.renewed');
      const other = isRenewed ? await this.successorOf(row.id) : undefined;
      if (other !== undefined) return other; // the host sent two concurrent requests
      throw error;
    }
  }

  private async successorOf(id: string): Promise<SshCertificate | undefined> {
    const next = await this.db.manager.findOneBy(SshCertificate, { renews: id });
    return next === null ? undefined : this.signer.sign(next.id);
  }

  /**
   * Returns the row that contains exactly this certificate. The comparison is needed because another authority could issue a certificate under this authority's
   * name.
   */
  private async find(shown: SshCertificateContent): Promise<Shown> {
    const { authority: fingerprint, serial, blob } = shown;
    const authorities = await authoritiesBy(this.db.manager, { kind: 'host' });
    const authority = authorities.find(
      ({ publicKey }) => sshFingerprintOf(sshPublicKeyOfSpki(publicKey).blob) === fingerprint,
    );
    if (authority !== undefined) {
      const where = { authorityId: authority.id, serial: String(serial) };
      const row = await this.db.manager.findOneBy(SshCertificate, where);
      if (row?.certificate?.split(' ')[1] === blob.toString('base64') && isOf(shown, row)) return { authority, row };
    }
    throw new Problem(
      'forbidden',
      'ssh-renewal.unknown',
      'The certificate was not issued by an authority of this service.',
    );
  }
}

/** Reports whether a certificate matches its row. The certificate is signed by the authority, but the row may have been modified directly in the database. */
function isOf(
  { key, keyId, principals, validAfter, validBefore }: SshCertificateContent,
  row: SshCertificate,
): boolean {
  const isKey = sshFingerprintOf(key.blob) === row.fingerprint && keyId === row.keyId;
  const isNamed =
    principals.length === row.principals.length && principals.every((name, i) => name === row.principals[i]);
  return isKey && isNamed && isSameSecond(validAfter, row.validAfter) && isSameSecond(validBefore, row.validBefore);
}

function isSameSecond(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < 1000;
}

/** Returns the caller for a renewal, on behalf of the first certificate's requester. The requester can therefore never approve the renewal. */
function hostOf({ keyId, fingerprint, request }: SshCertificate, origin: Origin): Caller {
  const { ownerId = '', behind = [], requesters, credentials = [] } = request?.requestedBy ?? {};
  const credential = request?.renewal?.credential;
  const ordered = { requesters, credentials: credential === undefined ? credentials : [...credentials, credential] };
  const id = `ssh-host:${fingerprint}`;
  const using = ['ssh-ca:issue'] as const;
  return { kind: 'anonymous', id, name: keyId, ownerId, behind, ordered, using, scopes: new Set(), origin };
}

function unreadable(): Problem {
  const detail = 'must be a host certificate, as in a -cert.pub file';
  const errors = [{ pointer: '/certificate', detail }];
  return new Problem('malformed', 'ssh-renewal.unreadable', `/certificate: ${detail}.`, { errors });
}
