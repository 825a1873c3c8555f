import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { publicKeyFault, readPublicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { revocationList } from './revocation-list.js';
import { entry } from './ssh-authorities.service.js';
import type { CertificateKind } from './ssh-certificate.js';
import { assertSealed } from '../../platform/sealing/sealed-rows.js';
import { type RevocationRecord, RevocationRecords } from './revocation-records.js';
import { findAuthority, type RevocationKind, SshAuthority } from './ssh-authority.entity.js';

interface KeptList {
  readonly version: bigint;
  readonly records: readonly RevocationRecord[];
  readonly list: Buffer;
}

/** SshRevocationsService records revocations and creates the revocation lists (KRL) for hosts. */
@Injectable()
export class SshRevocationsService {
  /** Last list of each kind. Lists are public and change only with revocations. */
  private readonly lists = new Map<CertificateKind, KeptList>();

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly records: RevocationRecords,
  ) {}

  async revoke(caller: Caller, id: string, kind: RevocationKind, value: string, reason?: string): Promise<void> {
    const canonical = kind === 'publicKey' ? lineOf(value) : value;
    const authorityId = id.toLowerCase();
    await this.db.transaction(async (tx) => {
      const [, found]: [unknown, number] = await tx.query(
        `UPDATE ssh_authority SET list_version = list_version + 1 WHERE id = $1`,
        [authorityId],
      );
      if (found !== 1) throw missing('ssh-ca');
      await tx.query(
        `INSERT INTO ssh_revocation (id, authority_id, kind, value, reason) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        [newId(), authorityId, kind, canonical, reason ?? null],
      );
      await this.audit.appendBy(tx, caller, entry('ssh-ca.revoked', authorityId, { kind, value: canonical, reason }));
    });
  }

  /**
   * Returns the revocation list in the format of RevokedKeys. sshd reads only one list, so the list contains the revocations of all authorities of the same
   * kind.
   */
  async list(authorityId: string): Promise<Buffer> {
    const authority = await findAuthority(this.db.manager, authorityId);
    if (authority === null) throw missing('ssh-ca');
    return this.listOfKind(authority.kind);
  }

  /** Returns the revocation list for all authorities of a kind. Without authorities, the list is empty, which sshd accepts. */
  async listOfKind(kind: CertificateKind): Promise<Buffer> {
    const { manager } = this.db;
    // If a row was modified directly in the database, no list is created. Hosts then keep their current list, so no revocation is undone.
    const all = (await manager.find(SshAuthority, { order: { id: 'ASC' } })).map(
      (one) => assertSealed(manager, SshAuthority, one) ?? one,
    );
    const records = await this.records.all();
    const unknown = records.find(({ authorityId }) => all.every(({ id }) => id !== authorityId));
    if (unknown !== undefined) throw deleted(unknown);
    const ours = all.filter((one) => one.kind === kind);
    const version = BigInt(ours.reduce((sum, { listVersion }) => sum + listVersion, 0));
    const last = this.lists.get(kind);
    if (last?.version === version && last.records.length === records.length) return last.list;
    const list = listOf(ours, records, version);
    this.lists.set(kind, { version, records, list });
    return list;
  }
}

function listOf(authorities: readonly SshAuthority[], records: readonly RevocationRecord[], version: bigint): Buffer {
  const ids = new Set(authorities.map(({ id }) => id));
  const of = (kind: RevocationKind, id?: string) =>
    records.flatMap((one) =>
      one.kind === kind && (id === undefined ? ids.has(one.authorityId) : one.authorityId === id) ? [one.value] : [],
    );
  return revocationList({
    version,
    generatedAt: new Date(),
    certificates: authorities.map(({ id, publicKey }) => ({
      authority: sshPublicKeyOfSpki(publicKey).blob,
      serials: of('serial', id).map(BigInt),
      keyIds: of('keyId', id),
    })),
    keys: of('publicKey').flatMap((line) => readPublicKeyLine(line)?.blob ?? []),
  });
}

function lineOf(publicKey: string): string {
  const key = readPublicKeyLine(publicKey);
  if (key !== undefined) return `${key.type} ${key.blob.toString('base64')}`;
  const detail = publicKeyFault(publicKey);
  const errors = [{ pointer: '/value', detail }];
  throw new Problem('malformed', 'ssh-key.unreadable', `/value: ${detail}.`, { errors });
}

function deleted({ authorityId }: RevocationRecord): Problem {
  const detail = `The audit log has revocations of SSH authority ${authorityId}, but its row was deleted in the database. Restore the row. Until then, no revocation list is published, and hosts keep the last one.`;
  return new Problem('unavailable', 'ssh-ca.row-deleted', detail);
}
